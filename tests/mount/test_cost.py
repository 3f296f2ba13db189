"""What a read costs the store, counted in .zarrfs/stats.json."""
import os

import numpy as np
import pytest

SHARD_INDEX = 8 * 16 + 4  # of `temp`: 2 x 4 inner chunks, crc32c


def difference(mounted, act):
    before = mounted.stats()
    act()
    after = mounted.stats()
    return {name: after[name] - before[name] for name in before if isinstance(before[name], (int, float))}


def read_at(path, at, length, flags=0):
    fd = os.open(path, os.O_RDONLY | flags)
    try:
        return os.pread(fd, length, at)
    finally:
        os.close(fd)


def inner_length(store, shard, number):
    with open(os.path.join(store, f"temp/c/{shard}/0"), "rb") as f:
        data = f.read()
    return int(np.frombuffer(data[-SHARD_INDEX:-4], "<u8").reshape(-1, 2)[number, 1])


def test_one_element_reads_the_index_and_one_inner_chunk(mount, stores):
    """O_DIRECT pread of one element on a fresh mount."""
    want = stores.arrays["weather"]["temp"]
    row, column = 26, 1500  # shard 2, inner chunk (1, 2): number 6
    with mount(stores.path("weather")) as mounted:
        os.stat(mounted / "temp.raw")
        got = []
        cost = difference(mounted, lambda: got.append(read_at(mounted / "temp.raw", (row * 2048 + column) * 4, 4, os.O_DIRECT)))
        assert got[0] == want[row, column].tobytes()
        assert cost["indexes_read"] == 1
        assert cost["chunks_decoded"] == 1
        assert cost["store_bytes"] == SHARD_INDEX + inner_length(stores.path("weather"), 2, 6)


def test_the_neighbour_costs_nothing_and_the_next_chunk_no_index(mount, stores):
    with mount(stores.path("weather")) as mounted:
        at = (26 * 2048 + 1500) * 4
        read_at(mounted / "temp.raw", at, 4, os.O_DIRECT)
        again = difference(mounted, lambda: read_at(mounted / "temp.raw", at + 4, 4, os.O_DIRECT))
        assert again["store_bytes"] == 0 and again["chunks_decoded"] == 0 and again["cache_hits"] == 1
        other = difference(mounted, lambda: read_at(mounted / "temp.raw", at - 2048, 4, os.O_DIRECT))
        assert other["indexes_read"] == 0 and other["chunks_decoded"] == 1
        assert other["store_bytes"] == inner_length(stores.path("weather"), 2, 5)


def test_a_buffered_element_costs_the_chunks_of_its_page(mount, stores):
    """A 4 KiB page of `temp` is half a row: two inner chunks of 512 columns."""
    with mount(stores.path("weather")) as mounted:
        cost = difference(mounted, lambda: read_at(mounted / "temp.raw", (26 * 2048 + 1500) * 4, 4))
        assert cost["indexes_read"] == 1
        assert 1 <= cost["chunks_decoded"] <= 2


def test_a_second_read_costs_no_request(mount, stores):
    """The page cache answers, across opens: keep_cache."""
    want = stores.arrays["weather"]["temp"].tobytes()
    with mount(stores.path("weather")) as mounted:
        assert read_at(mounted / "temp.raw", 0, len(want)) == want
        cost = difference(mounted, lambda: read_at(mounted / "temp.raw", 0, len(want)))
        # the two reads of stats.json itself may be counted
        assert cost["store_bytes"] == 0 and cost["read_bytes"] < 16384


def test_the_whole_array_decodes_each_chunk_once(mount, stores):
    with mount(stores.path("weather")) as mounted:
        cost = difference(mounted, lambda: np.load(mounted / "temp.npy"))
        assert cost["chunks_decoded"] == 32 and cost["indexes_read"] == 4


def test_an_absent_array_reads_nothing_from_the_store(mount, stores):
    """Absent is a value: 8 MB of fill values cost no byte of the store."""
    with mount(stores.path("holes")) as mounted:
        os.stat(mounted / "never.raw")
        cost = difference(mounted, lambda: np.load(mounted / "never.npy"))
        assert cost["store_bytes"] == 0 and cost["chunks_decoded"] == 0


@pytest.mark.parametrize("array", ["shard_i2", "whole_i2"])
def test_uncompressed_chunks_are_read_by_range(mount, stores, array):
    """A chain of `bytes` alone: one element costs its own bytes, not its chunk, when nothing was read before."""
    with mount(stores.path("plain")) as mounted:
        os.stat(mounted / f"{array}.raw")
        cost = difference(mounted, lambda: read_at(mounted / f"{array}.raw", (50 * 67 + 20) * 2, 2, os.O_DIRECT))
        index = 4 * 2 * 16 + 4 if array == "shard_i2" else 0
        inner = 8 * 16 * 2 if array == "shard_i2" else 16 * 67 * 2
        assert index < cost["store_bytes"] <= index + inner


def test_mmap_of_one_element_is_bounded(mount, stores):
    """np.load(mmap_mode="r") and one element: header and one fault of at most 128 KiB around it, not the file."""
    with mount(stores.path("long")) as mounted:
        want = stores.arrays["long"]["field"]

        def act():
            mapped = np.load(mounted / "field.npy", mmap_mode="r")
            assert mapped[2000, 1000] == want[2000, 1000]

        cost = difference(mounted, act)
        # 64 x 320 chunks, rows of 8 KiB: 128 KiB are 16 rows and touch at most 2 x 7 chunks; the header's page a few more.
        assert cost["chunks_decoded"] <= 2 * 2 * 7
