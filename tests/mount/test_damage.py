"""Damage: EIO for what needs the damaged bytes and nothing else; never zeros, never a short read; absence is the fill value."""
import errno
import os
import shutil

import numpy as np
import pytest

SHARD = 10 * 2048 * 4  # bytes of one shard of `temp` in temp.raw; the shards follow each other
CHUNKS = 8  # inner chunks of a shard
INDEX = CHUNKS * 16 + 4


@pytest.fixture
def copy(stores, tmp_path):
    """A copy of the store `weather` to damage, and the path of a shard in it."""
    store = tmp_path / "weather.zarr"
    shutil.copytree(stores.path("weather"), store)
    return store


def shard(store, number):
    return os.path.join(store, f"temp/c/{number}/0")


def flip(path, at):
    """Flips one bit; a negative place counts from the end."""
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        data[at] ^= 0x10
        f.seek(0)
        f.write(data)


def entries(path):
    """The index of a shard: offset and length of each inner chunk."""
    with open(path, "rb") as f:
        data = f.read()
    return np.frombuffer(data[-INDEX:-4], "<u8").reshape(CHUNKS, 2)


def read(path, at, length):
    """Bytes, or the errno. One pread after the other, as a short read is allowed by POSIX."""
    fd = os.open(path, os.O_RDONLY)
    try:
        found = b""
        while len(found) < length:
            part = os.pread(fd, length - len(found), at + len(found))
            if not part:
                break
            found += part
        return found
    except OSError as why:
        return why.errno
    finally:
        os.close(fd)


def only_shard_is_damaged(mounted, want, number):
    """Reads of that shard fail, all others are right, through .raw and .npy."""
    for k in range(4):
        got = read(mounted / "temp.raw", k * SHARD, SHARD)
        if k == number:
            assert got == errno.EIO
            assert read(mounted / "temp.raw", k * SHARD + 40000, 4) == errno.EIO
        else:
            assert got == want[k * SHARD : (k + 1) * SHARD]
    with pytest.raises((OSError, ValueError)):  # numpy says ValueError: its fread keeps the errno to itself
        np.load(mounted / "temp.npy")
    assert read(mounted / "temp.raw", 0, len(want)) == errno.EIO


@pytest.mark.parametrize("at", [-1, -4, -5, -INDEX, -INDEX + 9], ids=["checksum", "checksum's first", "last entry", "first entry", "length"])
def test_a_flipped_bit_in_a_shard_index(mount, stores, copy, at):
    flip(shard(copy, 2), at)
    with mount(copy) as mounted:
        only_shard_is_damaged(mounted, stores.arrays["weather"]["temp"].tobytes(), 2)


@pytest.mark.parametrize("keep", [0, 1, INDEX - 1, INDEX, -1, -1000])
def test_a_truncated_shard(mount, stores, copy, keep):
    path = shard(copy, 1)
    os.truncate(path, keep if keep >= 0 else os.path.getsize(path) + keep)
    with mount(copy) as mounted:
        only_shard_is_damaged(mounted, stores.arrays["weather"]["temp"].tobytes(), 1)


def test_a_damaged_inner_chunk_harms_no_other(mount, stores, copy):
    """Inner chunk (0, 2) of shard 3: rows 30..35, columns 1024..1536."""
    path = shard(copy, 3)
    offset, length = entries(path)[2]
    with open(path, "r+b") as f:
        f.seek(int(offset))
        f.write(b"\xff" * int(length))
    want = stores.arrays["weather"]["temp"]
    with mount(copy) as mounted:
        fd = os.open(mounted / "temp.raw", os.O_RDONLY | os.O_DIRECT)
        try:
            for row in range(28, 40):
                for column in range(0, 2048, 512):
                    at = (row * 2048 + column) * 4
                    if 30 <= row < 35 and column == 1024:
                        with pytest.raises(OSError) as raised:
                            os.pread(fd, 2048, at)
                        assert raised.value.errno == errno.EIO
                    else:
                        assert os.pread(fd, 2048, at) == want[row, column : column + 512].tobytes()
        finally:
            os.close(fd)


def test_an_index_entry_outside_the_shard(mount, stores, copy):
    """A right checksum over a wrong index: the entry points behind the data."""
    import google_crc32c

    path = shard(copy, 0)
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        index = np.frombuffer(bytes(data[-INDEX:-4]), "<u8").reshape(CHUNKS, 2).copy()
        index[0] = [len(data) - 3, 1000]
        data[-INDEX:-4] = index.tobytes()
        data[-4:] = google_crc32c.value(index.tobytes()).to_bytes(4, "little")
        f.seek(0)
        f.write(data)
    want = stores.arrays["weather"]["temp"].tobytes()
    with mount(copy) as mounted:
        assert read(mounted / "temp.raw", 0, 100) == errno.EIO
        assert read(mounted / "temp.raw", SHARD, 3 * SHARD) == want[SHARD:]


def test_a_failed_read_may_be_tried_again(mount, stores, copy, tmp_path):
    """A failure is remembered for a second, never as data: repaired, the shard reads, and a new open sees it."""
    path = shard(copy, 2)
    shutil.copy(path, tmp_path / "whole")
    flip(path, -1)
    want = stores.arrays["weather"]["temp"].tobytes()
    with mount(copy) as mounted:
        assert read(mounted / "temp.raw", 2 * SHARD, SHARD) == errno.EIO
        shutil.copy(tmp_path / "whole", path + ".new")
        os.rename(path + ".new", path)
        import time

        time.sleep(1.2)
        assert read(mounted / "temp.raw", 2 * SHARD, SHARD) == want[2 * SHARD : 3 * SHARD]


def test_a_missing_shard_reads_as_the_fill_value(mount, stores, copy):
    os.unlink(shard(copy, 1))
    want = stores.arrays["weather"]["temp"].copy()
    want[10:20] = -1.5
    with mount(copy) as mounted:
        assert np.array_equal(np.load(mounted / "temp.npy"), want)


def test_a_missing_chunk_reads_as_the_fill_value(mount, stores):
    with mount(stores.path("holes")) as mounted:
        for name in ("plain", "sharded"):
            got = np.load(mounted / f"{name}.npy")
            assert (got[16:] == 12345).all() and (got[:, 32:] == 12345).all()
            assert np.array_equal(got, stores.arrays["holes"][name])
        assert mounted.stats()["read_errors"] == 0


def test_a_chunk_that_may_not_be_read_is_not_absent(mount, stores, copy):
    if os.getuid() == 0:
        # root may read anything, but nobody can follow a link to itself
        os.unlink(shard(copy, 1))
        os.symlink("0", shard(copy, 1))
    else:
        os.chmod(shard(copy, 1), 0)
    with mount(copy) as mounted:
        assert read(mounted / "temp.raw", SHARD, 100) in (errno.EIO, errno.EACCES)
        assert read(mounted / "temp.raw", 0, SHARD) == stores.arrays["weather"]["temp"].tobytes()[:SHARD]


MALFORMED = {
    "no JSON": b"{",
    "empty": b"",
    "a list": b"[]",
    "no shape": b'{"zarr_format":3,"node_type":"array"}',
    "negative shape": b'{"zarr_format":3,"node_type":"array","shape":[-1],"data_type":"int8","chunk_grid":{"name":"regular",'
    b'"configuration":{"chunk_shape":[1]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}',
    "not UTF-8": b'{"zarr_format":3,"node_type":"array","x":"\xff"}',
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_document_harms_its_own_node_only(mount, stores, copy, what):
    (copy / "temp/zarr.json").write_bytes(MALFORMED[what])
    with mount(copy) as mounted:
        assert "temp.raw" in os.listdir(mounted.path)
        with pytest.raises(OSError) as raised:
            os.open(mounted / "temp.raw", os.O_RDONLY)
        assert raised.value.errno == errno.EIO
        with open(mounted / "temp.json") as f:
            assert "error" in f.read()
        assert os.getxattr(mounted / "temp.raw", "user.zarr.error")
        assert np.array_equal(np.load(mounted / "mask.npy"), stores.arrays["weather"]["mask"])


def test_an_unknown_codec_is_refused_by_name(mount, stores, copy):
    document = (copy / "mask/zarr.json").read_text()
    (copy / "mask/zarr.json").write_text(document.replace('"name": "bytes"', '"name": "bytes"}, {"name": "acme.squeeze"', 1))
    with mount(copy) as mounted:
        for view in ("npy", "raw"):
            with pytest.raises(OSError) as raised:
                os.open(mounted / f"mask.{view}", os.O_RDONLY)
            assert raised.value.errno == errno.ENOTSUP
        with open(mounted / "mask.json") as f:
            assert "acme.squeeze" in f.read()
        reason = os.getxattr(mounted / "mask.raw", "user.zarr.error")
        assert b'unknown codec "acme.squeeze"' in reason and not reason.startswith(b'"')
        assert np.array_equal(np.load(mounted / "temp.npy"), stores.arrays["weather"]["temp"])
