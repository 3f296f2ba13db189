"""Writes cases with TensorStore: both formats."""
import json
import os

import numpy as np
import tensorstore
from cases import values, written

KEYS = {"default/": ("default", "/"), "default.": ("default", "."), "v2.": ("v2", "."), "v2/": ("v2", "/")}


def compressors_v3(codec):
    if codec.startswith("blosc"):
        _, name, shuffle = codec.split("-")
        return [{"name": "blosc", "configuration": {"cname": name, "clevel": 5, "shuffle": shuffle}}]
    return {
        "none": [],
        "big-endian": [],
        "zstd": [{"name": "zstd", "configuration": {"level": 3}}],
        "gzip": [{"name": "gzip", "configuration": {"level": 5}}],
        "crc32c": [{"name": "crc32c"}],
    }[codec]


def compressor_v2(codec):
    if codec.startswith("blosc"):
        _, name, shuffle = codec.split("-")
        return {"id": "blosc", "cname": name, "clevel": 5, "shuffle": {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[shuffle]}
    return {"none": None, "zlib": {"id": "zlib", "level": 5}, "zstd": {"id": "zstd", "level": 3}}[codec]


def fill_v3(c):
    """As the format spells it: "NaN" is a string, a complex number a pair."""
    kind = np.dtype(c["dtype"]).kind
    if c["fill"] is None:
        return {"b": False, "c": [0.0, 0.0], "f": 0.0}.get(kind, 0)
    return c["fill"]


def metadata_v3(c):
    codecs = [{"name": "bytes", "configuration": {"endian": "big" if c["codec"] == "big-endian" else "little"}}, *compressors_v3(c["codec"])]
    if c["shards"]:
        index = {"index_location": c.get("index", "end"), "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}
        codecs = [{"name": "sharding_indexed", "configuration": {"chunk_shape": c["chunks"], "codecs": codecs, **index}}]
    kind, separator = KEYS[c.get("keys", "default/")]
    return {
        "shape": c["shape"],
        "data_type": np.dtype(c["dtype"]).name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": c["shards"] or c["chunks"]}},
        "chunk_key_encoding": {"name": kind, "configuration": {"separator": separator}},
        "fill_value": fill_v3(c),
        "codecs": codecs,
    }


def metadata_v2(c):
    fill = c["fill"]
    if fill is not None and np.dtype(c["dtype"]).kind == "c":
        import base64

        fill = base64.b64encode(np.array(complex(*fill), c["dtype"]).tobytes()).decode()
    return {
        "shape": c["shape"],
        "chunks": c["chunks"],
        "dtype": c["dtype"],
        "compressor": compressor_v2(c["codec"]),
        "fill_value": fill,
        "order": c["order"],
        "dimension_separator": c.get("keys", "."),
        "filters": None,
    }


def write(c, store, path):
    spec = {
        "driver": "zarr3" if c["zarr_format"] == 3 else "zarr",
        "kvstore": {"driver": "file", "path": os.path.join(store, path).rstrip("/") + "/"},
        "metadata": metadata_v3(c) if c["zarr_format"] == 3 else metadata_v2(c),
        "create": True,
    }
    made = tensorstore.open(spec).result()
    made[written(c)].write(values(c)[written(c)]).result()


def write_group(store, zarr_format):
    """TensorStore knows no groups: their documents are written here."""
    os.makedirs(store, exist_ok=True)
    name, document = ("zarr.json", {"zarr_format": 3, "node_type": "group"}) if zarr_format == 3 else (".zgroup", {"zarr_format": 2})
    with open(os.path.join(store, name), "w") as f:
        json.dump(document, f)


def write_all(cases, store):
    stores = {}
    for zarr_format in sorted({c["zarr_format"] for c in cases}):
        stores[zarr_format] = f"{store}-v{zarr_format}.zarr"
        write_group(stores[zarr_format], zarr_format)
    for c in cases:
        write(c, stores[c["zarr_format"]], c["id"])
    return stores
