"""Zips as programs make them, mounted: by Python's zipfile, zarr-python, Info-ZIP and 7-Zip; and zips that change, or are over 4 GiB."""
import errno
import io
import json
import os
import random
import shutil
import struct
import subprocess
import zipfile

import numpy as np
import pytest


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names)


def by_zipfile(source, target, top="", mode="w", method=zipfile.ZIP_STORED, mixed=False, raw=None):
    with zipfile.ZipFile(raw or target, mode, method) as made:
        for i, name in enumerate(files_below(source)):
            made.write(os.path.join(source, name), top + name, zipfile.ZIP_DEFLATED if mixed and i % 2 else method)


class Pipe(io.RawIOBase):
    """A file that cannot seek: members get data descriptors."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


def by_zipfile_twice(source, target):
    """As zarr-python leaves a store whose chunks were written again: the first ones are noise."""
    with zipfile.ZipFile(target, "w") as made:
        for name in files_below(source):
            made.writestr(name, b"{" if name.endswith("zarr.json") else b"an older version")
    with pytest.warns(UserWarning, match="Duplicate name"):
        by_zipfile(source, target, mode="a")


def by_zipfile_piped(source, target):
    with open(target, "wb") as file:
        by_zipfile(source, target, method=zipfile.ZIP_DEFLATED, raw=Pipe(file))


def program(*words, cwd, **more):
    done = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def by_info_zip_piped(source, target):
    with open(target, "wb") as file:
        file.write(program("zip", "-q", "-r", "-", ".", cwd=source))


def by_info_zip_behind_a_stub(source, target, adjusted):
    program("zip", "-q", "-r", target + ".tail", ".", cwd=source)
    tail = target + ".tail" if os.path.exists(target + ".tail") else target + ".tail.zip"
    with open(target, "wb") as file, open(tail, "rb") as rest:
        file.write(b"#!/bin/sh\n" + b"exit 0\n" * 10000 + rest.read())
    if adjusted:
        program("zip", "-q", "-A", target, cwd=source)


MAKERS = {
    "zipfile-stored": by_zipfile,
    "zipfile-deflated": lambda s, t: by_zipfile(s, t, method=zipfile.ZIP_DEFLATED),
    "zipfile-mixed": lambda s, t: by_zipfile(s, t, mixed=True),
    "zipfile-from-outside": lambda s, t: by_zipfile(s, t, top="weather.zarr/", mixed=True),
    "zipfile-written-twice": by_zipfile_twice,
    "zipfile-piped": by_zipfile_piped,
    "info-zip": lambda s, t: program("zip", "-q", "-r", t, ".", cwd=s),
    "info-zip-stored": lambda s, t: program("zip", "-q", "-0", "-r", t, ".", cwd=s),
    "info-zip-no-directories": lambda s, t: program("zip", "-q", "-D", "-9", "-r", t, ".", cwd=s),
    "info-zip-from-outside": lambda s, t: program("zip", "-q", "-r", t, os.path.basename(s), cwd=os.path.dirname(s)),
    "info-zip-zip64": lambda s, t: program("zip", "-q", "-fz", "-r", t, ".", cwd=s),
    "info-zip-piped": by_info_zip_piped,
    "info-zip-behind-a-stub": lambda s, t: by_info_zip_behind_a_stub(s, t, False),
    "info-zip-behind-a-stub-adjusted": lambda s, t: by_info_zip_behind_a_stub(s, t, True),
    "7-zip": lambda s, t: program("7z", "a", "-tzip", "-bd", t, ".", cwd=s),
    "7-zip-stored": lambda s, t: program("7z", "a", "-tzip", "-bd", "-mm=Copy", t, ".", cwd=s),
    "7-zip-from-outside": lambda s, t: program("7z", "a", "-tzip", "-bd", "-mx=9", t, os.path.basename(s), cwd=os.path.dirname(s)),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_zip_shows_the_directory_that_it_was_made_of(mount, stores, tmp_path, maker):
    target = str(tmp_path / "made.zip")
    MAKERS[maker](stores.path("weather"), target)
    draw = random.Random(maker)
    with mount(target) as mounted:
        assert set(os.listdir(mounted.path)) == set(mounted_names(mount, stores))
        for name, values in stores.arrays["weather"].items():
            got = np.load(mounted / f"{name}.npy")
            assert got.dtype == values.dtype and got.tobytes() == values.tobytes()
            with open(mounted / f"{name}.raw", "rb") as file:
                for _ in range(20):
                    at, size = draw.randrange(values.nbytes + 1), draw.randrange(5000)
                    assert os.pread(file.fileno(), size, at) == values.tobytes()[at : at + size]


def mounted_names(mount, stores):
    with mount(stores.path("weather")) as mounted:
        return os.listdir(mounted.path)


def test_a_zip_by_zarr_python(mount, tmp_path):
    import zarr

    path, values = str(tmp_path / "store.zip"), np.arange(50 * 70, dtype="<i4").reshape(50, 70)
    store = zarr.storage.ZipStore(path, mode="w")
    root = zarr.create_group(store, zarr_format=3)
    root.create_array("plain", data=values, chunks=(9, 9))
    root.create_array("sharded", data=values, chunks=(5, 7), shards=(25, 35))
    with pytest.warns(UserWarning, match="Duplicate name"):
        root["plain"][:] = values + 1
    store.close()
    with mount(path) as mounted:
        assert np.array_equal(np.load(mounted / "plain.npy"), values + 1)
        assert np.array_equal(np.load(mounted / "sharded.npy"), values)


@pytest.mark.parametrize("name", ["alone.zip", "alone.zarr.zip", "alone"])
def test_a_root_array_has_the_name_of_the_zip(mount, stores, tmp_path, name):
    path = str(tmp_path / name)
    by_zipfile(stores.path("alone"), path)
    with mount(path) as mounted:
        assert set(os.listdir(mounted.path)) == {"alone.npy", "alone.raw", "alone.json"}
        assert np.array_equal(np.load(mounted / "alone.npy"), stores.arrays["alone"]["alone"])


def tiny(folder, name, values):
    """An array of bytes in one chunk, written by hand."""
    os.makedirs(folder / name / "c")
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [len(values)], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [len(values)]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}],
    }
    (folder / name / "zarr.json").write_text(json.dumps(document))
    (folder / name / "c" / "0").write_bytes(values)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("words", [("zip", "-q", "-r"), ("7z", "a", "-tzip", "-bd")], ids=["info-zip", "7-zip"])
def test_names_beyond_ascii(mount, tmp_path, words, locale):
    source = tmp_path / "source"
    names = ["t\u00ebmp", "\u6e29\u5ea6", "plain"]
    for i, name in enumerate(names):
        tiny(source, name, bytes([i]) * 9)
    path = str(tmp_path / "named.zip")
    program(*words, path, ".", cwd=source, env={**os.environ, "LC_ALL": locale})
    with mount(path) as mounted:
        assert {f"{n}.raw" for n in names} <= set(os.listdir(mounted.path))
        for i, name in enumerate(names):
            assert np.fromfile(mounted / f"{name}.raw", "u1").tolist() == [i] * 9


def test_a_member_that_is_not_read_is_named_and_harms_no_other(mount, run, tmp_path):
    source = tmp_path / "source"
    for name in ("good", "squeezed"):
        tiny(source, name, b"123456789")
    path = str(tmp_path / "methods.zip")
    with zipfile.ZipFile(path, "w") as made:
        for name in files_below(source):
            made.write(source / name, name, zipfile.ZIP_BZIP2 if name == "squeezed/c/0" else zipfile.ZIP_STORED)
    with mount(path) as mounted:
        with open(mounted / "squeezed.raw", "rb") as file, pytest.raises(OSError) as failed:
            file.read()
        assert failed.value.errno == errno.ENOTSUP
        assert "squeezed/c/0: compression method 12 (bzip2) of the zip file is not read" in mounted.words()
        assert np.fromfile(mounted / "good.raw", "u1").tobytes() == b"123456789"


def test_a_deflated_shard_is_inflated_once(mount, stores, tmp_path):
    """Rows of small inner chunks, at random: each shard is read whole, and once."""
    path = str(tmp_path / "deflated.zip")
    by_zipfile(stores.path("weather"), path, method=zipfile.ZIP_DEFLATED)
    shards = [os.path.join(stores.path("weather"), "temp", n) for n in files_below(os.path.join(stores.path("weather"), "temp"))]
    sizes = sum(os.path.getsize(n) for n in shards if not n.endswith("zarr.json"))
    values = stores.arrays["weather"]["temp"]
    with mount(path) as mounted:
        with open(mounted / "temp.raw", "rb") as file:
            before = mounted.stats()["store_bytes"]
            for row in random.Random(1).sample(range(values.shape[0]), values.shape[0]):
                assert os.pread(file.fileno(), 4, row * values.strides[0]) == values[row, :1].tobytes()
            assert mounted.stats()["store_bytes"] - before == sizes


@pytest.mark.parametrize("change", ["replaced", "appended", "removed"])
def test_a_zip_that_changed_is_ESTALE(mount, stores, tmp_path, change):
    path = str(tmp_path / "changing.zip")
    by_zipfile(stores.path("weather"), path)
    with mount(path) as mounted:
        temp = np.load(mounted / "temp.npy")
        with open(mounted / "mask.raw", "rb", buffering=0) as file:
            if change == "replaced":
                by_zipfile(stores.path("weather"), path + ".new")
                os.rename(path + ".new", path)
            elif change == "appended":
                with zipfile.ZipFile(path, "a") as more:
                    more.writestr("mask/c/9/9", b"more")
            else:
                os.unlink(path)
            with pytest.raises(OSError) as failed:
                file.read()
            assert failed.value.errno == errno.ESTALE
        assert np.array_equal(temp, stores.arrays["weather"]["temp"])


class Sparse(io.FileIO):
    """Writes zeros by seeking over them."""

    def write(self, data):
        if len(data) >= 1 << 16 and not memoryview(data).cast("B")[:1][0] and bytes(data).count(0) == len(data):
            self.seek(len(data), os.SEEK_CUR)
            return len(data)
        return super().write(data)


def test_a_zip_over_4_gib(mount, tmp_path):
    """A shard of 5 GiB of zeros with marks in it, of inner chunks of 64 MiB, then another array; by zipfile, with zip64."""
    piece, n = 64 << 20, 80
    marks = {0: b"first", 30: b"below 2 GiB", 70: b"above 4 GiB", n - 1: b"last"}
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [piece * n], "data_type": "uint8", "fill_value": 7,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [piece * n]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [piece], "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        }}],
    }  # fmt: skip
    source, path = tmp_path / "source", str(tmp_path / "large.zip")
    tiny(source, "small", b"123456789")
    zeros = bytes(1 << 20)
    with Sparse(path, "w") as raw, zipfile.ZipFile(raw, "w") as made:
        made.writestr("large/zarr.json", json.dumps(document))
        with made.open(zipfile.ZipInfo("large/c/0"), "w", force_zip64=True) as member:
            for i in range(n):
                head = marks.get(i, b"")
                member.write(head + zeros[len(head) :])
                for _ in range(piece // len(zeros) - 1):
                    member.write(zeros)
            member.write(b"".join(struct.pack("<QQ", i * piece, piece) for i in range(n)))
        for name in files_below(source):
            made.write(source / name, name)
    assert os.path.getsize(path) > 5 << 30 and os.stat(path).st_blocks * 512 < 1 << 30
    with mount(path) as mounted:
        assert os.path.getsize(mounted / "large.raw") == piece * n
        with open(mounted / "large.raw", "rb") as file:
            for i, mark in marks.items():
                assert os.pread(file.fileno(), 20, i * piece) == mark + bytes(20 - len(mark))
            assert os.pread(file.fileno(), 20, n * piece - 10) == bytes(10)
        assert np.fromfile(mounted / "small.raw", "u1").tobytes() == b"123456789"


@pytest.mark.parametrize("before", ["", "file://", "zip://"])
def test_a_path_goes_into_a_zip(run, stores, tmp_path, before):
    path = str(tmp_path / "weather.bin")
    by_zipfile(stores.path("weather"), path, mixed=True)
    assert run("ls", f"{before}{path}/deep").stdout.split() == ["empty/", "level"]
    done = run("cat", f"{before}{path}/deep/level.raw", binary=True)
    assert done.returncode == 0 and done.stdout == stores.arrays["weather"]["deep/level"].tobytes()
    assert "shards        10x2048" in run("info", f"{before}{path}/temp").stdout
    assert run("info", f"{before}{path}/none").returncode == 1


def test_kinds_of_stores_that_are_not_built_in_say_so(run):
    for scheme in ("http", "https", "s3", "gs"):
        done = run("ls", f"{scheme}://host/store.zarr")
        assert done.returncode == 4
        assert f"{scheme}: this kind of store is known, not built in" in done.stderr
