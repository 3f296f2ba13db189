"""Reference files, mounted: kerchunk's own over HDF5 and netCDF-3 (data/references), stores turned into references, and strangers'."""
import base64
import errno
import hashlib
import json
import os
import shutil

import numpy as np
import pytest

REFERENCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "references")
with open(os.path.join(REFERENCES, "manifest.json")) as _f:
    MANIFEST = json.load(_f)
FILES = sorted({e["store"] for e in MANIFEST})


def test_the_manifest_names_every_reference_file():
    there = {f"references/{n}" for n in os.listdir(REFERENCES) if n.endswith(".json") and n != "manifest.json"}
    assert there == set(FILES) and len(FILES) == 6


@pytest.mark.parametrize("file", FILES)
def test_kerchunks_references_read_as_h5py_and_scipy_do(mount, file):
    entries = [e for e in MANIFEST if e["store"] == file]
    assert len(entries) >= 4
    with mount(os.path.join(os.path.dirname(REFERENCES), file)) as mounted:
        for entry in entries:
            with open(mounted / f"{entry['array']}.raw", "rb") as f:
                assert hashlib.sha256(f.read()).hexdigest() == entry["sha256"], entry["array"]
            loaded = np.load(mounted / f"{entry['array']}.npy")
            assert list(loaded.shape) == entry["shape"] and loaded.dtype.newbyteorder("<") == np.dtype(entry["dtype"])


def references_of(store, folder, inline=False):
    """A store's values in one file behind each other, and references to them; documents as text."""
    refs = {}
    with open(os.path.join(folder, "all.bin"), "wb") as target:
        for where, _, names in os.walk(store):
            for name in sorted(names):
                key = os.path.relpath(os.path.join(where, name), store)
                with open(os.path.join(where, name), "rb") as value:
                    data = value.read()
                if name.endswith(".json") or name.startswith(".z"):
                    refs[key] = data.decode()
                elif inline:
                    refs[key] = "base64:" + base64.b64encode(data).decode()
                else:
                    target.write(b"noise")
                    refs[key] = ["{{u}}", target.tell(), len(data)]
                    target.write(data)
    path = os.path.join(folder, "refs.json")
    with open(path, "w") as f:
        json.dump({"version": 1, "templates": {"u": "all.bin"}, "refs": refs}, f)
    return path


@pytest.mark.parametrize("inline", [False, True], ids=["targets", "inline"])
def test_a_store_as_references_is_the_same_store(mount, stores, tmp_path, inline):
    """Of v3, with shards: their indexes are ranges of ranges."""
    path = references_of(stores.path("weather"), tmp_path, inline)
    with mount(stores.path("weather")) as mounted:
        names = set(os.listdir(mounted.path))
    with mount(path) as mounted:
        assert set(os.listdir(mounted.path)) == names
        for name, values in stores.arrays["weather"].items():
            assert np.load(mounted / f"{name}.npy").tobytes() == values.tobytes()


def test_a_store_that_is_an_array_has_the_name_of_the_file(mount, stores, tmp_path):
    path = references_of(stores.path("alone"), tmp_path)
    os.rename(path, tmp_path / "alone.json")
    with mount(tmp_path / "alone.json") as mounted:
        assert set(os.listdir(mounted.path)) == {"alone.npy", "alone.raw", "alone.json"}
        assert np.array_equal(np.load(mounted / "alone.npy"), stores.arrays["alone"]["alone"])


ARRAY = {
    "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C", "filters": None,
}  # fmt: skip


def strange(folder, targets, name="refs.json"):
    """An array of one chunk for each target."""
    refs = {".zgroup": {"zarr_format": 2}}
    for array, target in targets.items():
        refs[f"{array}/.zarray"] = ARRAY
        refs[f"{array}/0"] = target
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        json.dump({"version": 1, "refs": refs}, f)
    return path


def read_fails(path):
    with open(path, "rb") as f, pytest.raises(OSError) as failed:
        f.read()
    return failed.value.errno


@pytest.fixture
def folders(tmp_path):
    """own/ with a target and a link that leads out, and other/ with a secret."""
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (own / "data.bin").write_bytes(b"abcdefgh")
    (other / "secret").write_bytes(b"secret..")
    (own / "out").symlink_to("../other/secret")
    return own, other


def test_targets_elsewhere_are_refused_by_name_and_harm_no_other(mount, folders):
    own, other = folders
    targets = {
        "good": (["data.bin", 2, 4], 0, ""),
        "up": (["../other/secret", 0, 4], errno.EACCES, "up/0: ../other/secret: outside of the reference file's folder"),
        "absolute": ([f"file://{other}/secret", 0, 4], errno.EACCES, "absolute/0: file://"),
        "passwd": (["/etc/passwd", 0, 4], errno.EACCES, "passwd/0: /etc/passwd: outside"),
        "link": (["out", 0, 4], errno.EIO, "link/0: out: a symbolic link leads out"),
        "s3": (["s3://bucket/key", 0, 4], errno.ENOTSUP, "s3/0: s3://bucket/key: not a local file"),
        "http": (["https://host/key"], errno.ENOTSUP, "http/0: https://host/key: not a local file"),
        "missing": (["no.bin", 0, 4], errno.EIO, "missing/0: no.bin: no such file"),
        "short": (["data.bin", 6, 4], errno.EIO, "short/0: data.bin: 4 bytes from byte 6 on are not in a file of 8"),
        "negative": (["data.bin", -1, 4], errno.EIO, "negative/0: offset: "),
        "huge": (["data.bin", 1e300, 4], errno.EIO, "huge/0: offset: "),
    }
    with mount(strange(own, {name: target for name, (target, _, _) in targets.items()})) as mounted:
        for name, (_, code, says) in targets.items():
            if code:
                assert read_fails(mounted / f"{name}.raw") == code
                assert says in mounted.words()
        assert np.fromfile(mounted / "good.raw", "u1").tobytes() == b"cdef"


@pytest.mark.parametrize("form", ["--reference-root={}", "-oreference-root={}"])
def test_another_root_is_allowed_by_option(mount, folders, form):
    own, other = folders
    path = strange(own, {"up": ["../other/secret", 0, 4], "absolute": [f"{other}/secret", 2, 4], "passwd": ["/etc/passwd", 0, 4]})
    with mount(path, form.format(other)) as mounted:
        assert np.fromfile(mounted / "up.raw", "u1").tobytes() == b"secr"
        assert np.fromfile(mounted / "absolute.raw", "u1").tobytes() == b"cret"
        assert read_fails(mounted / "passwd.raw") == errno.EACCES


def test_the_other_commands_take_the_option_too(run, folders):
    own, other = folders
    path = strange(own, {"up": ["../other/secret", 0, 4]})
    assert run("cat", f"{path}/up.raw").returncode == 5
    assert run("cat", "--reference-root", other, f"{path}/up.raw").stdout == "secr"
    assert run("ls", "--reference-root", other, path).stdout == "up\n"
    assert run("info", "--reference-root", other, f"{path}/up").returncode == 0
    assert run("check", "--reference-root", other, path).returncode == 0
    done = run("check", path)
    assert done.returncode == 5 and "unreadable: up: up/0: elements [0:4]: ../other/secret: outside" in done.stdout
    done = run("info", "--reference-root", other / "no", f"{path}/up")
    assert done.returncode == 2 and "--reference-root" in done.stderr


def test_a_target_that_was_replaced_is_never_mixed(mount, folders):
    own, _ = folders
    with mount(strange(own, {"a": ["data.bin", 0, 4], "b": ["data.bin", 4, 4]})) as mounted:
        assert np.fromfile(mounted / "a.raw", "u1").tobytes() == b"abcd"
        (own / "next").write_bytes(b"ABCDEFGH")
        os.rename(own / "next", own / "data.bin")
        assert np.fromfile(mounted / "b.raw", "u1").tobytes() == b"EFGH"
        with open(own / "data.bin", "wb") as f:
            f.write(b"ABCDE")
    with mount(own / "refs.json") as mounted:
        assert np.fromfile(mounted / "a.raw", "u1").tobytes() == b"ABCD"
        assert read_fails(mounted / "b.raw") == errno.EIO


def test_a_reference_file_that_was_replaced_is_ESTALE(mount, folders):
    own, _ = folders
    path = strange(own, {"a": ["data.bin", 0, 4], "b": ["data.bin", 4, 4]})
    with mount(path) as mounted:
        assert sorted(os.listdir(mounted.path))[0] == "a.json"
        shutil.copy(path, path + ".next")
        os.rename(path + ".next", path)
        assert read_fails(mounted / "b.raw") == errno.ESTALE
        assert "the reference file: replaced or removed while it was open" in mounted.words()


def test_what_is_json_and_no_reference_is_no_store(run, tmp_path):
    path = tmp_path / "package.json"
    path.write_text('{"name": "a", "version": "1.0"}')
    done = run("ls", path)
    assert done.returncode == 3 and "not a Zarr store (a JSON file without" in done.stderr
    path.write_text('{"version": 1, "refs": {"a": "')
    done = run("ls", path)
    assert done.returncode == 5 and "ends early" in done.stderr


def test_parquet_references_are_refused_by_name(run, tmp_path):
    folder = tmp_path / "refs.parq"
    (folder / "temp").mkdir(parents=True)
    (folder / ".zmetadata").write_text(json.dumps({"metadata": {".zgroup": {"zarr_format": 2}, "temp/.zarray": ARRAY}, "record_size": 10}))
    (folder / "temp" / "refs.0.parq").write_bytes(b"PAR1")
    done = run("ls", folder)
    assert done.returncode == 4 and "references of kerchunk in Parquet" in done.stderr
