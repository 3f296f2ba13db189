"""Stores by zarr-python 3 for the tests in mount/, and what is in them."""
import os

import numpy as np


class Stores:
    """Stores by zarr-python 3, and what is in them: stores.path(name), stores.arrays[name][array path]."""

    def __init__(self, folder):
        self.folder, self.arrays = str(folder), {}

    def path(self, name):
        return os.path.join(self.folder, name + ".zarr")


def numbers(shape, dtype, seed=1):
    """Bytes at random, but with runs, so that codecs have something to find; bool is 0 or 1."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    values = random.integers(0, 7, int(np.prod(shape)) * dtype.itemsize, "u1") * 37
    if dtype.kind == "b":
        values &= 1
    return values.view(dtype).reshape(shape)


def make_stores(folder):
    import zarr
    from zarr.codecs import BloscCodec, BytesCodec, ZstdCodec

    zarr.config.set({"async.concurrency": 4, "threading.max_workers": 1})
    stores = Stores(folder)

    def group(name, **attributes):
        stores.arrays[name] = {}
        return zarr.create_group(stores.path(name), zarr_format=3, attributes=attributes)

    def array(store, root, path, values, **options):
        made = root.create_array(path, shape=values.shape, dtype=values.dtype, **options)
        made[...] = values
        stores.arrays[store][path] = values
        return made

    # What a person has: a few arrays, a nested group, attributes, dimension names.
    root = group("weather", title="fields")
    temp = numbers((40, 2048), "<f4")
    array(
        "weather", root, "temp", temp, chunks=(5, 512), shards=(10, 2048), compressors=ZstdCodec(level=3), fill_value=-1.5,
        dimension_names=["y", "x"], attributes={"units": "K", "nested": {"a": [1, 2.5, None]}},
    )
    array("weather", root, "mask", numbers((33, 57), "bool", 2), chunks=(10, 20), compressors=None)
    deep = root.create_group("deep")
    deep.create_group("empty")
    array("weather", deep, "level", numbers((3, 17, 19), "<i2", 3), chunks=(2, 8, 8), compressors=BloscCodec(cname="lz4"))
    stores.arrays["weather"]["deep/level"] = stores.arrays["weather"].pop("level")
    array("weather", root, "scalar", np.array(-7, "<i8"))
    array("weather", root, "nothing", np.zeros((0, 5), "<u2"), chunks=(1, 5))

    # Plain and sharded, without compression, several types: the walking skeleton.
    root = group("plain")
    for dtype in ("i1", "<i2", "<u4", "<i8", "<f8"):
        array("plain", root, "whole_" + dtype.strip("<"), numbers((101, 67), dtype, 4), chunks=(16, 67), compressors=None)
        array("plain", root, "tiles_" + dtype.strip("<"), numbers((101, 67), dtype, 5), chunks=(17, 10), compressors=None)
        array(
            "plain", root, "shard_" + dtype.strip("<"), numbers((101, 67), dtype, 6), chunks=(8, 16), shards=(32, 32), compressors=None
        )
    array("plain", root, "big", numbers((51, 33), ">f4", 7), chunks=(10, 10), compressors=None, serializer=BytesCodec(endian="big"))

    # Chunks that are missing: half of the shards, and inner chunks of one.
    root = group("holes")
    values = np.full((64, 64), 12345, "<i4")
    values[:16, :32] = numbers((16, 32), "<i4", 8)
    for name, options in {"plain": {"chunks": (16, 16)}, "sharded": {"chunks": (16, 16), "shards": (32, 32)}}.items():
        made = root.create_array(name, shape=values.shape, dtype="<i4", fill_value=12345, **options)
        made[:16, :32] = values[:16, :32]
        stores.arrays["holes"][name] = values
    root.create_array("never", shape=(1000, 1000), dtype="<f8", chunks=(100, 100), fill_value=float("nan"))
    stores.arrays["holes"]["never"] = np.full((1000, 1000), np.nan)

    # A store whose root is an array.
    values = numbers((37, 41), "<u2", 9)
    made = zarr.create_array(stores.path("alone"), shape=values.shape, dtype=values.dtype, chunks=(10, 10), shards=(20, 20))
    made[...] = values
    stores.arrays["alone"] = {"alone": values}

    # 32 MiB in 80 KB chunks: long enough to be interrupted.
    root = group("long")
    array("long", root, "field", numbers((4096, 2048), "<f4", 10), chunks=(64, 320), shards=(1024, 1280), compressors=ZstdCodec(level=1))
    return stores
