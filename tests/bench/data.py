"""The data sets, all from seeds.

W0 is a "photo" (a smooth field and Gaussian noise) repeated by np.resize, so that its rows come again after 75: within LZ4's
window at chunks 100 columns wide, which compress about 6.5 times. It is written thrice: native.npy, and two sharded v3 stores.
The sparse int64 array has inner chunks of 320 KB, of which only those are written that the counts can touch. The tree has
2,000 arrays.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import tensorstore

SIZES = {  # shape of W0, its photo
    "small": ((20000, 5000), (250, 1500)),
    "full": ((50000, 20000), (1000, 1500)),
}
CHUNKS, SHARDS = (500, 100), (5000, 2000)
SETS = {  # codecs of the inner chunks, for TensorStore
    "blosc-lz4": [{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}}],
    "bytes": [],
}
PACK_CODECS = {"blosc-lz4": "blosc:lz4:5", "bytes": "none"}  # the same, as `zarrfs pack` spells them
NOISE = 4.0

COUNTS_SHAPE, COUNTS_CHUNKS, COUNTS_SHARDS = (2000, 100000), (200, 200), (2000, 2000)
COUNTS_PRESENT = (200, 40000)  # rows and columns that are written, from the origin
COUNTS_INDEX = 16 * (COUNTS_SHARDS[0] // COUNTS_CHUNKS[0]) * (COUNTS_SHARDS[1] // COUNTS_CHUNKS[1]) + 4

TREE_GROUPS, TREE_ARRAYS = 20, 100


def photo(height, width):
    y, x = np.mgrid[0:height, 0:width]
    smooth = 128 + 60 * np.sin(x / width * 7 + 1) * np.cos(y / height * 5) + 25 * np.sin((x + y) / 120)
    noise = np.random.default_rng(20260101).normal(0, NOISE, smooth.shape)
    return np.clip(smooth + noise, 0, 255).astype("u1")


def create(path, shape, dtype, chunks, shards, codecs):
    """A sharded v3 array, open in TensorStore."""
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    inner = [little if np.dtype(dtype).itemsize > 1 else {"name": "bytes"}, *codecs]
    sharding = {"chunk_shape": chunks, "codecs": inner, "index_codecs": [little, {"name": "crc32c"}], "index_location": "end"}
    return tensorstore.open(
        {
            "driver": "zarr3",
            "kvstore": {"driver": "file", "path": path + "/"},
            "metadata": {
                "shape": shape,
                "data_type": np.dtype(dtype).name,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shards}},
                "chunk_key_encoding": {"name": "default"},
                "fill_value": 0,
                "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
            },
            "create": True,
            "delete_existing": True,
        }
    ).result()


def writer_of(program):
    """Who writes W0: the program, when it can."""
    done = subprocess.run([program, "pack", "--help"], stdin=subprocess.DEVNULL, capture_output=True)
    return "tensorstore" if done.returncode else "zarrfs pack"


def write_w0(folder, program, writer, size):
    shape, small = SIZES[size]
    native = os.path.join(folder, "native.npy")
    array = np.resize(photo(*small), shape)
    np.save(native, array)
    for name, codecs in SETS.items():
        store = os.path.join(folder, name + ".zarr")
        shutil.rmtree(store, ignore_errors=True)
        if writer == "zarrfs pack":
            chunk, shard = (",".join(map(str, numbers)) for numbers in (CHUNKS, SHARDS))
            words = ["--chunk", chunk, "--shard", shard, "--codec", PACK_CODECS[name], "--name", name]
            subprocess.run([program, "pack", *words, native, store], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
        else:
            create(store, shape, "u1", CHUNKS, SHARDS, codecs).write(array).result()


def write_counts(folder):
    store = create(os.path.join(folder, "i8.zarr"), COUNTS_SHAPE, "i8", COUNTS_CHUNKS, COUNTS_SHARDS, SETS["blosc-lz4"])
    rows, columns = COUNTS_PRESENT
    store[:rows, :columns].write(counts_values()).result()


def counts_values():
    """What is written of the int64 array."""
    return np.random.default_rng(2).integers(0, 1000, COUNTS_PRESENT, dtype="i8")


def write_tree(folder):
    """Groups of arrays of one chunk each: plain JSON, so that it takes no second."""
    group = json.dumps({"zarr_format": 3, "node_type": "group"})
    array = json.dumps(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [4, 4],
            "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
            "chunk_key_encoding": {"name": "default"},
            "fill_value": 0,
            "codecs": [{"name": "bytes"}],
        }
    )
    tree = os.path.join(folder, "tree.zarr")

    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    write(f"{tree}/zarr.json", group)
    for g in range(TREE_GROUPS):
        write(f"{tree}/g{g:02}/zarr.json", group)
        for a in range(TREE_ARRAYS):
            write(f"{tree}/g{g:02}/a{a:02}/zarr.json", array)
            write(f"{tree}/g{g:02}/a{a:02}/c/0/0", "0123456789abcdef")


def make(folder, program, size):
    """Writes all, unless the folder has it from an earlier run."""
    mark, writer = os.path.join(folder, "made"), writer_of(program)
    want = f"{size}, W0 by {writer}"
    with contextlib.suppress(FileNotFoundError), open(mark) as f:
        if f.read() == want:
            return
    write_w0(folder, program, writer, size)
    write_counts(folder)
    write_tree(folder)
    os.sync()
    with open(mark, "w") as f:
        f.write(want)


def array_path(store):
    """Where in a store its only array is: the root, or the child of the root."""
    with open(os.path.join(store, "zarr.json")) as f:
        if json.load(f)["node_type"] == "array":
            return store
    (name,) = [entry.name for entry in os.scandir(store) if entry.is_dir()]
    return os.path.join(store, name)


def files_of(store):
    return [os.path.join(where, name) for where, _, names in os.walk(store) for name in names]


def stored_bytes(store):
    return sum(map(os.path.getsize, files_of(store)))


def warm(store):
    """Brings a store's files into the page cache: a kernel that reclaims by itself may have dropped some."""
    for path in files_of(store):
        with open(path, "rb") as f:
            while f.read(1 << 20):
                pass


def chill(store):
    """Asks the kernel to drop a store's files, which needs no root. It may keep some."""
    for path in files_of(store):
        with open(path, "rb") as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def inner_length(store, row, column):
    """Stored bytes of the inner chunk of the int64 array that holds an element, from its shard's index."""
    shard = os.path.join(store, f"c/{row // COUNTS_SHARDS[0]}/{column // COUNTS_SHARDS[1]}")
    with open(shard, "rb") as f:
        f.seek(-COUNTS_INDEX, os.SEEK_END)
        index = np.frombuffer(f.read(COUNTS_INDEX - 4), "<u8").reshape(-1, 2)
    across = COUNTS_SHARDS[1] // COUNTS_CHUNKS[1]
    place = row % COUNTS_SHARDS[0] // COUNTS_CHUNKS[0] * across + column % COUNTS_SHARDS[1] // COUNTS_CHUNKS[1]
    return int(index[place, 1])
