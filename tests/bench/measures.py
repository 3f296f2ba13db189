"""What is measured. Rounds are A B A B: each round lets every system read the same files once, in the same order; ratios are of
one round. Round 0 warms up (the store's files come into the page cache) and its answers are compared with the original."""
import gc
import mmap
import os
import statistics
import subprocess
import time

import numpy as np

import data
import systems

MEMORY_BEYOND_CACHE = 112 << 20
RANDOM_READS = 512
LS_ROUNDS = 5


def timed(act):
    start = time.perf_counter()
    answer = act()
    return time.perf_counter() - start, answer


def must_equal(got, want, who):
    if got.shape != want.shape or got.dtype != want.dtype:
        raise RuntimeError(f"{who}: {got.dtype} {got.shape}, not {want.dtype} {want.shape}")
    for row in range(0, len(want), 1000):
        if not np.array_equal(got[row : row + 1000], want[row : row + 1000]):
            raise RuntimeError(f"{who}: wrong values in rows {row} to {row + 999}")


# ---------------------------------------------------------------- whole reads


def whole_reads(report, zarrfs, nullfs, store, pairs):
    """np.load through a fresh mount, and again; the peers into new arrays."""
    name = os.path.basename(store).removesuffix(".zarr")
    want = np.load(os.path.join(os.path.dirname(store), "native.npy"), mmap_mode="r")
    readers = [zarrfs.whole, systems.tensorstore_whole, systems.zarr_whole, systems.native_whole]
    if nullfs:
        readers.append(systems.null_whole(nullfs))
    times = {}
    for number in range(pairs + 1):
        for reader in readers:
            with reader(store) as acts:
                for system, act in acts:
                    systems.touch(2 * want.nbytes)
                    seconds, got = timed(act)
                    if number:
                        times.setdefault(system, []).append(seconds)
                    elif system != "nullfs":
                        must_equal(got, want, f"{system}, {name}")
                    del got
                    gc.collect()
    again = {system: times[system] for system in ("zarrfs, second read", "native .npy")}
    del times["zarrfs, second read"]
    if data.SETS[name]:
        name += f" ({want.nbytes / data.stored_bytes(store):.2f}x)"
    report.times("whole array", "store-warm", name, times, want.nbytes)
    report.times("whole array", "hot", name, again, want.nbytes, against="zarrfs, second read")


def memory(report, zarrfs):
    """The daemons' peak memory in all that ran before."""
    for store, peaks in zarrfs.peaks.items():
        bound = zarrfs.cache_size + MEMORY_BEYOND_CACHE
        report.count("peak memory of the daemon (VmHWM)", "all above", store.removesuffix(".zarr"), max(peaks) >> 20, 0, bound >> 20, "MiB")


# ---------------------------------------------------------------- counts


def chunks_within(first, last, header):
    """The written inner chunks and the shards, as pairs of numbers, that the bytes first to last - 1 of a view of the int64
    array touch."""
    elements = np.arange(max(first - header, 0) // 8, -(-max(last - header, 0) // 8))
    rows, columns = np.divmod(elements, data.COUNTS_SHAPE[1])
    written = (rows < data.COUNTS_PRESENT[0]) & (columns < data.COUNTS_PRESENT[1])
    at = np.stack([rows, columns], 1)[written]
    return [{tuple(map(int, pair)) for pair in np.unique(at // shape, axis=0)} for shape in (data.COUNTS_CHUNKS, data.COUNTS_SHARDS)]


def cost(mounted, act):
    """What an act adds to the mount's counters."""
    before = mounted.stats()
    act()
    after = mounted.stats()
    return {name: after[name] - before[name] for name in before if isinstance(before[name], (int, float))}


def read_ahead(path):
    """Bytes that the kernel reads around a fault, or ahead, in this mount."""
    device = os.stat(path).st_dev
    with open(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb") as f:
        return int(f.read()) * 1024


def expect(got, want):
    if got != want:
        raise RuntimeError(f"an element is {got}, not {want}")


ROW, COLUMN = 150, 10900  # the element: its page lies within one shard, its read-ahead within what is written


def count_preads(report, zarrfs, store, values):
    """One element by pread on a fresh mount: direct, the index and one inner chunk; buffered, the chunks of its page.

    Where the kernel has only the beginning of a chunk, the read that must not wait gets that, and the read that waits takes it
    again: both are counted. So the bytes are exact of a warm store; of a cold one they may reach twice as many."""
    at = (ROW * data.COUNTS_SHAPE[1] + COLUMN) * 8
    page = at // mmap.PAGESIZE * mmap.PAGESIZE
    for state, prepare in (("store-warm", data.warm), ("cold", data.chill)):
        for how, flags, first, last in (("O_DIRECT", os.O_DIRECT, at, at + 8), ("buffered", 0, page, page + mmap.PAGESIZE)):
            chunks, shards = chunks_within(first, last, 0)
            lengths = [data.inner_length(store, r * data.COUNTS_CHUNKS[0], c * data.COUNTS_CHUNKS[1]) for r, c in chunks]
            size = len(shards) * data.COUNTS_INDEX + sum(lengths)

            def act():
                fd = os.open(mounted / "i8.raw", os.O_RDONLY | flags)
                expect(int.from_bytes(os.pread(fd, 8, at), "little"), values[ROW, COLUMN])
                os.close(fd)

            with zarrfs.mount(store) as mounted:
                os.stat(mounted / "i8.raw")
                prepare(store)
                spent = cost(mounted, act)
            what = f"one element, {how} pread: "
            highest = size if state == "store-warm" else 2 * size
            report.count(what + "bytes from the store", state, "i8", spent["store_bytes"], size, highest, "B")
            report.count(what + "values opened", state, "i8", spent["store_opens"], len(shards), len(shards))
            report.count(what + "indexes", state, "i8", spent["indexes_read"], len(shards), len(shards))
            report.count(what + "chunks decoded", state, "i8", spent["chunks_decoded"], len(chunks), len(chunks))


def count_memmap(report, zarrfs, store, values):
    """np.load(mmap_mode="r") and one element, as it is and with MADV_RANDOM, on fresh mounts."""
    header = 128
    at = header + (ROW * data.COUNTS_SHAPE[1] + COLUMN) * 8
    page = at // mmap.PAGESIZE * mmap.PAGESIZE
    data.warm(store)
    for advice in (None, mmap.MADV_RANDOM):
        with zarrfs.mount(store) as mounted:
            path, mapped = mounted / "i8.npy", []
            os.stat(path)
            window = read_ahead(mounted.path)
            opened = cost(mounted, lambda: mapped.append(np.load(path, mmap_mode="r")))
            if advice is None:
                # The kernel begins a file with a small window: 16 KiB when it reads 128 KiB ahead.
                highest = len(chunks_within(0, max(window // 4, 4 * mmap.PAGESIZE), header)[0])
                report.count("np.load(mmap_mode='r') alone: chunks decoded", "store-warm", "i8", opened["chunks_decoded"], 0, highest)
                around, how = (page - window // 2 - mmap.PAGESIZE, page + window // 2 + mmap.PAGESIZE), ""
            else:
                mapped[0]._mmap.madvise(advice)
                around, how = (page, page + mmap.PAGESIZE), " with MADV_RANDOM"
            spent = cost(mounted, lambda: expect(mapped[0][ROW, COLUMN], values[ROW, COLUMN]))
            highest = len(chunks_within(*around, header)[0])
            report.count(f"one element of the memmap{how}: chunks decoded", "store-warm", "i8", spent["chunks_decoded"], 1, highest)
            mapped.clear()


# ---------------------------------------------------------------- latency


def mounted_reader(zarrfs, store, flags):
    def reader(read_all):
        with zarrfs.mount(store) as mounted:
            fd = os.open(mounted / systems.view_of(store, ".raw"), os.O_RDONLY | flags)
            try:
                return read_all(lambda row, column, width: os.pread(fd, 1, row * width + column)[0])
            finally:
                os.close(fd)

    return reader


def tensorstore_reader(store, cache_size):
    def reader(read_all):
        array = systems.open_tensorstore(store, cache_size)
        return read_all(lambda row, column, width: array[row, column].read().result()[()])

    return reader


def zarr_reader(store):
    def reader(read_all):
        array = systems.open_zarr(store)
        return read_all(lambda row, column, width: array[row, column])

    return reader


def latency(report, zarrfs, store, pairs):
    """Random reads of one element, one after another: the median of 512 a round. Mounting and opening are not timed."""
    name = os.path.basename(store).removesuffix(".zarr")
    want = np.load(os.path.join(os.path.dirname(store), "native.npy"), mmap_mode="r")
    random = np.random.default_rng(512)
    places = [(int(random.integers(want.shape[0])), int(random.integers(want.shape[1]))) for _ in range(RANDOM_READS)]
    values = [int(want[place]) for place in places]

    def read_all(read):
        seconds = []
        for place, value in zip(places, values, strict=True):
            took, got = timed(lambda: read(*place, want.shape[1]))
            seconds.append(took)
            expect(int(got), value)
        return sorted(seconds)

    readers = {
        "zarrfs, O_DIRECT": mounted_reader(zarrfs, store, os.O_DIRECT),
        "zarrfs, buffered": mounted_reader(zarrfs, store, 0),
        "tensorstore, same cache": tensorstore_reader(store, zarrfs.cache_size),
        "tensorstore": tensorstore_reader(store, 0),
        "zarr-python 3": zarr_reader(store),
    }
    rounds = {system: [] for system in readers}
    for number in range(pairs + 1):
        for system, reader in readers.items():
            seconds = reader(read_all)
            if number:
                rounds[system].append(seconds)
    medians = {system: [statistics.median(s) for s in lists] for system, lists in rounds.items()}
    late = {system: {"p99": statistics.median(s[len(s) * 99 // 100] for s in lists)} for system, lists in rounds.items()}
    report.times("one random element", "store-warm", name, medians, against="zarrfs, O_DIRECT", **late)


# ---------------------------------------------------------------- listing


def listing(report, zarrfs, store):
    """ls -lR of 2,000 arrays on a fresh mount, beside that of the store's own folders."""
    times = {"zarrfs": [], "native store": []}
    files = decoded = None

    def ls(path):
        return subprocess.run(["ls", "-lR", path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout

    for number in range(LS_ROUNDS + 1):
        with zarrfs.mount(store) as mounted:
            before = mounted.stats()
            seconds, text = timed(lambda: ls(mounted.path))
            decoded = mounted.stats()["chunks_decoded"] - before["chunks_decoded"]
            files = sum(line.startswith("-") for line in text.splitlines())
        native, _ = timed(lambda: ls(store))
        if number:
            times["zarrfs"].append(seconds)
            times["native store"].append(native)
    arrays = data.TREE_GROUPS * data.TREE_ARRAYS
    report.times("ls -lR of 2,000 arrays", "store-warm", "tree", times)
    report.count("ls -lR: files listed", "store-warm", "tree", files, 3 * arrays, 3 * arrays)
    report.count("ls -lR: chunks decoded", "store-warm", "tree", decoded, 0, 0)
