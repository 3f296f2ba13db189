"""Cases from public reports that need many readers, stores that change, mounts that fail, or a bound on memory. README.md has the table."""
import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
import zarr
from mounts import is_mounted

# ---------------------------------------------------------------- O-32: many readers


def sharded(folder, side=256, inner=16):
    """One shard of side/inner squared inner chunks."""
    values = np.arange(side * side, dtype="<u4").reshape(side, side)
    zarr.create_group(folder).create_array("a", data=values, chunks=(inner, inner), shards=(side, side))
    return values


def in_threads(count, act):
    barrier, wrong = threading.Barrier(count), []

    def one(number):
        barrier.wait()
        try:
            act(number)
        except Exception as why:  # noqa: BLE001: told by the test
            wrong.append(repr(why))

    threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]


def test_O_32_many_readers_of_one_shard_fetch_its_index_once_and_decode_each_chunk_once(mount, tmp_path):
    values = sharded(tmp_path / "s.zarr")
    with mount(tmp_path / "s.zarr") as mounted:

        def element(row, column):
            """By a file of its own: one that is shared may look as if it were read in sequence, and is read ahead."""
            fd = os.open(mounted / "a.raw", os.O_RDONLY | os.O_DIRECT)
            assert os.pread(fd, 4, (row * 256 + column) * 4) == values[row, column].tobytes()
            os.close(fd)

        in_threads(64, lambda n: element(16 * (n // 16), 16 * (n % 16)))
        counted = mounted.stats()
        assert counted["indexes_read"] == 1 and counted["chunks_decoded"] == 64
        in_threads(64, lambda n: element(100, 96 + n % 16))
        counted = mounted.stats()
        assert counted["indexes_read"] == 1 and counted["chunks_decoded"] == 65


# ---------------------------------------------------------------- O-35, O-36: stores that change


@pytest.mark.parametrize("how", ["in place", "replaced"])
def test_O_35_a_chunk_rewritten_with_the_same_size_is_old_or_new_and_new_after_a_remount(mount, tmp_path, how):
    store = tmp_path / "s.zarr"
    array = zarr.create_group(store).create_array("a", shape=(2048,), chunks=(1024,), dtype="<i4", compressors=None)
    array[:] = 1
    old, new = np.full(1024, 1, "<i4").tobytes(), np.full(1024, 2, "<i4").tobytes()
    with mount(store) as mounted:
        assert np.fromfile(mounted / "a.raw", "<i4").tolist() == [1] * 2048
        chunk = store / "a/c/0"
        if how == "in place":
            with open(chunk, "r+b") as file:
                file.write(new)
        else:
            (store / "a/c/0.new").write_bytes(new)
            os.replace(store / "a/c/0.new", chunk)
        for _ in range(5):
            with open(mounted / "a.raw", "rb") as file:
                assert file.read(4096) in (old, new)
                assert file.read(4096) == old
    with mount(store) as mounted:
        assert np.fromfile(mounted / "a.raw", "<i4").tolist() == [2] * 1024 + [1] * 1024


def test_O_36_an_array_that_grew_keeps_its_old_size_in_a_mount_and_has_the_new_one_in_the_next(mount, tmp_path):
    store = tmp_path / "s.zarr"
    array = zarr.create_group(store, zarr_format=2).create_array("a", shape=(4,), chunks=(4,), dtype="<i4", compressors=None)
    array[:] = [1, 2, 3, 4]
    with mount(store) as mounted:
        before = open(mounted / "a.raw", "rb").read()
        mapped = np.memmap(mounted / "a.raw", "<i4", "r")
        array.resize((8,))
        array[4:] = 9
        after = np.array([1, 2, 3, 4, 9, 9, 9, 9], "<i4").tobytes()
        seen = []
        for _ in range(5):
            with open(mounted / "a.raw", "rb") as file:
                seen.append(file.read())
        assert all(content in (before, after) for content in seen)
        assert seen == sorted(seen, key=len)  # once new, it stays new
        assert np.load(mounted / "a.npy").tobytes() in (before, after)
        assert mapped.tobytes() == before
        del mapped
    with mount(store) as mounted:
        assert open(mounted / "a.raw", "rb").read() == after and np.load(mounted / "a.npy").tobytes() == after


# ---------------------------------------------------------------- O-43: mounts that fail


def place(tmp_path, what):
    path = tmp_path / "place"
    if what == "a file":
        path.write_text("x")
    elif what != "missing":
        path.mkdir()
    return path


@pytest.mark.parametrize("point,store,code", [
    ("missing", "good", 2), ("a file", "good", 2), ("good", "missing", 3), ("good", "no zarr", 3), ("good", "a file", 3),
])
def test_O_43_a_mount_in_the_background_fails_with_the_words_of_one_in_the_foreground(run, tmp_path, point, store, code):
    sharded(tmp_path / "good.zarr", 32)
    (tmp_path / "no zarr").mkdir()
    (tmp_path / "a file").write_text("x")
    source = tmp_path / {"good": "good.zarr"}.get(store, store)
    where = place(tmp_path, point)
    said = [run("mount", *words, source, where, timeout=10) for words in ([], ["-f"])]
    assert [done.returncode for done in said] == [code, code], said
    assert said[0].stderr == said[1].stderr and said[0].stderr.count("\n") == 1 and not said[0].stdout
    assert not is_mounted(str(where))


def test_O_43_a_mount_over_files_hides_them_until_it_ends(run, tmp_path):
    sharded(tmp_path / "good.zarr", 32)
    where = place(tmp_path, "good")
    (where / "here").write_text("x")
    assert run("mount", tmp_path / "good.zarr", where).returncode == 0
    assert sorted(os.listdir(where)) == ["a.json", "a.npy", "a.raw"]
    assert run("umount", where).returncode == 0
    assert os.listdir(where) == ["here"]


# ---------------------------------------------------------------- O-46: any .npy


def npy(version, header, body):
    size = 2 if version == 1 else 4
    return b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(size, "little") + header.encode("utf8") + body


ROWS = np.arange(6, dtype=">f8").reshape(2, 3)
TINY = "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }"


@pytest.mark.parametrize("content,values", [
    (npy(1, TINY + "\n", b"\1\0\2\0\3\0"), np.array([1, 2, 3], "<i2")),
    (npy(2, TINY + "\n", b"\1\0\2\0\3\0"), np.array([1, 2, 3], "<i2")),
    (npy(3, TINY + "\n", b"\1\0\2\0\3\0"), np.array([1, 2, 3], "<i2")),
    (npy(1, TINY + " " * (80 - 10 - len(TINY) - 1) + "\n", b"\1\0\2\0\3\0"), np.array([1, 2, 3], "<i2")),
    (npy(1, "{'shape':(3,),'fortran_order':False,'descr':'<i2'}\n", b"\1\0\2\0\3\0"), np.array([1, 2, 3], "<i2")),
    (npy(1, "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }\n", ROWS.tobytes("F")), ROWS),
    (npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (), }\n", b"\x2a\0\0\0"), np.array(42, "<i4")),
    (npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (0, 4), }\n", b""), np.zeros((0, 4), "<i4")),
    (npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n", b"\0\1"), np.array([False, True])),
])
def test_O_46_every_header_that_numpy_reads_is_packed(run, tmp_path, content, values):
    (tmp_path / "in.npy").write_bytes(content)
    assert np.array_equal(np.load(tmp_path / "in.npy"), values)
    done = run("pack", tmp_path / "in.npy", tmp_path / "out.zarr")
    assert done.returncode == 0, done.stderr
    packed = zarr.open_group(tmp_path / "out.zarr", mode="r")["in"]
    assert packed.shape == values.shape and np.array_equal(packed[...], values)


def test_O_46_a_header_of_4_GiB_is_refused(run, tmp_path):
    (tmp_path / "in.npy").write_bytes(b"\x93NUMPY\2\0\xff\xff\xff\xff{'descr'")
    done = run("pack", tmp_path / "in.npy", tmp_path / "out.zarr")
    assert done.returncode == 5 and done.stderr.count("\n") == 1 and os.listdir(tmp_path) == ["in.npy"]


# ---------------------------------------------------------------- O-47, O-48: memory


def status(mounted, name):
    with open(f"/proc/{mounted.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) * 1024


@pytest.mark.parametrize("kind", ["plain", "compressed", "sharded"])
def test_O_47_memory_of_many_open_arrays_has_the_bound_that_was_given(mount, tmp_path, kind):
    """60 arrays open at once, 16 threads, chunks of 1 MiB and a cache of 16 MiB: the peak holds, and rounds do not add up."""
    store, arrays = tmp_path / "s.zarr", 60
    group = zarr.create_group(store)
    values = np.random.default_rng(1).integers(0, 1000, (512, 1024)).astype("<u4")
    shape = {"chunks": (64, 64), "shards": (256, 1024)} if kind == "sharded" else {"chunks": (256, 1024)}
    for number in range(arrays):
        group.create_array(f"a{number}", data=values, compressors=None if kind == "plain" else "auto", **shape)
    right = values.tobytes()
    with mount(store, "--cache-size", "16M") as mounted:
        files = [os.open(mounted / f"a{n}.raw", os.O_RDONLY | os.O_DIRECT) for n in range(arrays)]

        def read(number):
            draw = random.Random(number)
            for _ in range(25):
                at = draw.randrange(len(right) - 4096)
                assert os.pread(files[draw.randrange(arrays)], 4096, at) == right[at : at + 4096]

        resident = []
        for _ in range(4):
            in_threads(16, read)
            resident.append(status(mounted, "VmRSS"))
        for file in files:
            os.close(file)
        assert status(mounted, "VmHWM") <= (16 + 112) << 20
        assert resident[-1] <= resident[0] + (16 << 20)
        counted = mounted.stats()
        assert {"cache_hits", "chunks_decoded", "indexes_read"} <= set(counted)


LIMITED = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (320 << 20,) * 2); os.execv(sys.argv[1], sys.argv[1:])"


def test_O_48_a_shard_larger_than_memory_is_packed_and_read(zarrfs, tmp_path):
    """400 MiB in one shard, in 320 MiB of address space."""
    side, rows = 10240, 10240
    array = np.lib.format.open_memmap(tmp_path / "in.npy", "w+", "<u4", (rows, side))
    array[::1024] = np.arange(side, dtype="<u4")
    array.flush()
    del array
    limited = [sys.executable, "-c", LIMITED, zarrfs]
    words = ["pack", "in.npy", "out.zarr", "--chunk", "512,512", "--shard", "10240,10240", "--codec", "zstd:1", "--threads", "1"]
    done = subprocess.run([*limited, *words], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path / "out.zarr/in/c/0") == ["0"]
    words = ["cat", "out.zarr/in.npy", "--cache-size", "64M", "--threads", "1"]
    with open(tmp_path / "copy.npy", "wb") as copy:
        done = subprocess.run([*limited, *words], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=copy, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(["cmp", "in.npy", "copy.npy"], cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("chunk,shard,axis", [("3,5", "10,10", 0), ("5,3", "10,10", 1), ("20,20", "10,10", 0)])
def test_O_48_shards_that_inner_chunks_do_not_divide_are_refused_with_both_lengths(run, tmp_path, chunk, shard, axis):
    np.save(tmp_path / "in.npy", np.zeros((100, 100)))
    done = run("pack", tmp_path / "in.npy", tmp_path / "out.zarr", "--chunk", chunk, "--shard", shard)
    assert done.returncode == 2 and os.listdir(tmp_path) == ["in.npy"]
    inner, outer = chunk.split(",")[axis], shard.split(",")[axis]
    assert f"{outer} is no multiple of the chunk's {inner} along axis {axis}" in done.stderr
