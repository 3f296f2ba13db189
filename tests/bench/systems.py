"""The readers that are compared. Each is a context that gives a list of (label, function): what is done before the function
runs, as mounting, is not timed, and all that the function does is: opening, reading metadata, making the array."""
import contextlib
import os
import sys
import tempfile

import numpy as np
import tensorstore
import zarr

import data

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mount"))
import mounts  # noqa: E402  (the mounts of the tests, with their orderly end)

MOUNT_SECONDS = 900


class Zarrfs:
    """The program, and the peaks of memory of its daemons."""

    def __init__(self, program, cache_size):
        self.program, self.cache_size, self.peaks = program, cache_size, {}

    @contextlib.contextmanager
    def mount(self, store):
        """A fresh mount of a store."""
        with tempfile.TemporaryDirectory(prefix="zarrfs-bench-mount.") as folder:
            path = os.path.join(folder, "m")
            os.mkdir(path)
            mounted = mounts.Mount(self.program, store, path, ["--cache-size", str(self.cache_size)], MOUNT_SECONDS)
            try:
                yield mounted
                self.peaks.setdefault(os.path.basename(store), []).append(peak_memory(mounted.process.pid))
            finally:
                code = mounted.stop()
            if code:
                raise RuntimeError(f"zarrfs mount ended with {code}: {mounted.words()}")

    @contextlib.contextmanager
    def whole(self, store):
        with self.mount(store) as mounted:
            path = mounted / view_of(store, ".npy")
            yield [("zarrfs", lambda: np.load(path)), ("zarrfs, second read", lambda: np.load(path))]


def view_of(store, suffix):
    """The file of a store's only array, under the mount point."""
    return os.path.basename(data.array_path(store)).removesuffix(".zarr") + suffix


def peak_memory(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:"))


def open_tensorstore(store, cache_size=0):
    """With a cache of that size; 0 is TensorStore's default."""
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": data.array_path(store) + "/"}}
    if cache_size:
        spec |= {"context": {"cache_pool": {"total_bytes_limit": cache_size}}, "recheck_cached_data": False}
    return tensorstore.open(spec, open=True, read=True).result()


def open_zarr(store):
    return zarr.open_array(data.array_path(store), mode="r")


@contextlib.contextmanager
def tensorstore_whole(store):
    yield [("tensorstore", lambda: open_tensorstore(store).read().result())]


@contextlib.contextmanager
def zarr_whole(store):
    yield [("zarr-python 3", lambda: open_zarr(store)[...])]


@contextlib.contextmanager
def native_whole(store):
    path = os.path.join(os.path.dirname(store), "native.npy")
    yield [("native .npy", lambda: np.load(path))]


def null_whole(program):
    """np.load through nullfs: the same reader, the same kernel path, no work."""

    @contextlib.contextmanager
    def whole(store):
        with tempfile.TemporaryDirectory(prefix="zarrfs-bench-mount.") as folder:
            path = os.path.join(folder, "m")
            os.mkdir(path)
            mounted = mounts.Mount(program, os.path.join(os.path.dirname(store), "native.npy"), path, seconds=MOUNT_SECONDS)
            try:
                yield [("nullfs", lambda: np.load(mounted / "null.npy"))]
            finally:
                mounted.stop()

    return whole


def touch(size):
    """Makes the kernel have that much free memory which the host has backed: the first touch of a page that the host has taken
    back costs more than reading it."""
    memory = np.empty(size, "u1")
    memory[::4096] = 1
