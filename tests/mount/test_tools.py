"""The mount through ordinary programs: dd, cp, cmp, tail, md5sum, head, od, find; and reads at odd places."""
import hashlib
import os
import random
import subprocess

import pytest


def command(*words, **more):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def temp(mount, stores):
    """A mounted store, a file of it, and its bytes."""
    with mount(stores.path("weather")) as mounted:
        yield mounted / "temp.raw", stores.arrays["weather"]["temp"].tobytes()


@pytest.mark.parametrize("size", [1, 3, 7, 13, 511, 512, 4095, 4097, 65537, 131072, 1 << 20])
def test_dd_with_odd_block_sizes(temp, size):
    path, want = temp
    # Small blocks take a part only, so that dd ends soon.
    count = max(1, min(len(want) // size + 2, 20000))
    assert command("dd", f"if={path}", f"bs={size}", f"count={count}", "status=none") == want[: size * count]


@pytest.mark.parametrize("size, skip, count", [(1, 12345, 77), (7, 999, 1001), (4096, 3, 5), (1000, 100, 50), (81920, 1, 2), (30001, 5, 9)])
def test_dd_with_skip_and_count(temp, size, skip, count):
    path, want = temp
    got = command("dd", f"if={path}", f"bs={size}", f"skip={skip}", f"count={count}", "status=none")
    assert got == want[size * skip : size * (skip + count)]


def test_dd_by_bytes_across_shards(temp):
    path, want = temp
    at, length = 81920 - 5, 81920 + 11
    flags = "iflag=skip_bytes,count_bytes"
    assert command("dd", f"if={path}", "bs=64K", f"skip={at}", f"count={length}", flags, "status=none") == want[at : at + length]


def test_dd_direct(temp):
    """O_DIRECT on a file in the page cache mode reads the same bytes."""
    path, want = temp
    assert command("dd", f"if={path}", "bs=64K", "iflag=direct", "status=none") == want


def test_cp_and_cmp(temp, tmp_path):
    path, want = temp
    copy = tmp_path / "copy"
    command("cp", path, copy)
    assert copy.read_bytes() == want
    command("cmp", path, copy)
    # cmp finds a byte that differs; the copy has the mode of the original
    copy.chmod(0o644)
    copy.write_bytes(want[:70000] + bytes([want[70000] ^ 1]) + want[70001:])
    assert subprocess.run(["cmp", "-s", path, copy]).returncode == 1


@pytest.mark.parametrize("length", [1, 10, 4096, 100001])
def test_tail(temp, length):
    path, want = temp
    assert command("tail", "-c", str(length), path) == want[-length:]


def test_head(temp):
    path, want = temp
    assert command("head", "-c", "100003", path) == want[:100003]


def test_md5sum(temp):
    path, want = temp
    assert command("md5sum", path).split()[0].decode() == hashlib.md5(want).hexdigest()


def test_cp_of_the_whole_tree(mount, stores, tmp_path):
    with mount(stores.path("weather")) as mounted:
        command("cp", "-r", mounted.path, tmp_path / "copy")
        command("diff", "-r", mounted.path, tmp_path / "copy")
    assert (tmp_path / "copy/deep/level.raw").read_bytes() == stores.arrays["weather"]["deep/level"].tobytes()


def test_find_and_du(mount, stores):
    with mount(stores.path("weather")) as mounted:
        names = command("find", ".", "-type", "f", "-name", "*.npy", cwd=mounted.path).decode().split()
        assert sorted(names) == ["./deep/level.npy", "./mask.npy", "./nothing.npy", "./scalar.npy", "./temp.npy"]
        assert int(command("du", "--apparent-size", "-b", mounted / "temp.raw").split()[0]) == 40 * 2048 * 4


def test_reads_past_the_end_are_empty(temp):
    path, want = temp
    fd = os.open(path, os.O_RDONLY)
    try:
        assert os.pread(fd, 100, len(want)) == b""
        assert os.pread(fd, 100, len(want) + 1) == b""
        assert os.pread(fd, 100, 1 << 50) == b""
        assert os.pread(fd, 100, len(want) - 30) == want[-30:]
        assert os.pread(fd, 1 << 20, len(want) - 5000) == want[-5000:]
        assert os.pread(fd, 0, 0) == b""
    finally:
        os.close(fd)


@pytest.mark.parametrize("flags", [0, os.O_DIRECT], ids=["buffered", "direct"])
@pytest.mark.parametrize("store, array", [("weather", "temp"), ("plain", "shard_i2"), ("plain", "tiles_f8"), ("holes", "sharded")])
def test_windows_at_random(mount, stores, store, array, flags):
    want = stores.arrays[store][array].tobytes()
    seed = int(os.environ.get("ZARRFS_TEST_SEED") or random.randrange(1 << 30))
    print(f"ZARRFS_TEST_SEED={seed}")
    draw = random.Random(seed)
    with mount(stores.path(store)) as mounted:
        fd = os.open(mounted / f"{array}.raw", os.O_RDONLY | flags)
        try:
            for _ in range(200):
                at = draw.randrange(len(want))
                length = draw.choice([1, 2, 4, 5, 63, 512, 4096, 4097, draw.randint(1, len(want))])
                assert os.pread(fd, length, at) == want[at : at + length], (at, length)
        finally:
            os.close(fd)
