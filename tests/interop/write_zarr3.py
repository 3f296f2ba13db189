"""Writes cases with zarr-python 3: both formats."""
import zarr
from cases import NUMCODECS, compressor_v2, fill_value, values, written
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

KEYS = {"v2.": ("v2", "."), "v2/": ("v2", "/"), "default.": ("default", "."), "default/": ("default", "/")}


def compressors_v3(codec):
    if codec in NUMCODECS:
        configuration = dict(NUMCODECS[codec])
        return [{"name": "numcodecs." + configuration.pop("id"), "configuration": configuration}]
    if codec.startswith("blosc"):
        _, name, shuffle = codec.split("-")
        return [BloscCodec(cname=name, clevel=5, shuffle=shuffle)]
    return {
        "none": [],
        "big-endian": [],
        "zstd": [ZstdCodec(level=3)],
        "zstd-checksum": [ZstdCodec(level=3, checksum=True)],
        "gzip": [GzipCodec(level=5)],
        "crc32c": [Crc32cCodec()],
        "gzip-crc32c": [GzipCodec(level=1), Crc32cCodec()],
    }[codec]


def write(c, store, path):
    """Makes the array at `path` of a store (a group that exists, or nothing for a root array), and fills it."""
    common = {"store": store, "name": path or None, "shape": tuple(c["shape"]), "dtype": c["dtype"], "fill_value": fill_value(c)[()]}
    if c["zarr_format"] == 2:
        made = zarr.create_array(
            **common, zarr_format=2, chunks=tuple(c["chunks"]), compressors=compressor_v2(c["codec"]), order=c["order"]
        )
    else:
        kind, separator = KEYS[c.get("keys", "default/")]
        chunks, shards = tuple(c["chunks"]), c["shards"] and tuple(c["shards"])
        compressors = compressors_v3(c["codec"])
        serializer = BytesCodec(endian="big" if c["codec"] == "big-endian" else "little")
        filters = [TransposeCodec(order=tuple(c["transpose"]))] if "transpose" in c else []
        if "nested" in c:
            # A shard of shards: the chunks of the table hold inner chunks again.
            serializer = ShardingCodec(chunk_shape=tuple(c["nested"]), codecs=[serializer, *compressors])
            serializer = ShardingCodec(chunk_shape=chunks, codecs=[serializer])
            chunks, shards, compressors = shards, None, []
        elif "index" in c:
            # A transpose, if any, is outside of the shards here.
            serializer = ShardingCodec(chunk_shape=chunks, codecs=[serializer, *compressors], index_location=c["index"])
            chunks, shards, compressors = shards, None, []
        made = zarr.create_array(
            **common, zarr_format=3, chunks=chunks, shards=shards, compressors=compressors, serializer=serializer, filters=filters,
            chunk_key_encoding={"name": kind, "separator": separator},
        )
    made[written(c)] = values(c)[written(c)]


def write_all(cases, store):
    """All cases as arrays of one group a format; returns the store of each format."""
    stores = {}
    for zarr_format in sorted({c["zarr_format"] for c in cases}):
        stores[zarr_format] = f"{store}-v{zarr_format}.zarr"
        zarr.create_group(stores[zarr_format], zarr_format=zarr_format)
    for c in cases:
        write(c, stores[c["zarr_format"]], c["id"])
    return stores
