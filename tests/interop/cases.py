"""The table of arrays that other implementations write: plain data, so that a writer in another environment can have it.

A case is a dict: id, writer (zarr3, zarr2, tensorstore), zarr_format, dtype, shape, chunks, shards or None, codec, order, fill,
and more that a writer understands. Its values follow from it alone: values(case). Used by test_interop.py and tests/data/make.py.
"""
import zlib

import numpy as np

PLAIN = ["|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"]
OLD = [">i2", ">u4", ">f8", ">c16", "|S5", "<U3", ">U3", "|V6", "<M8[s]", "<M8[ns]", "<m8[D]", ">M8[ms]"]

# shape, chunks, shards
GEOMETRIES = {
    "line": ([101], [10], None),
    "tile": ([23, 37], [8, 16], None),
    "cube": ([7, 12, 11], [3, 5, 11], None),
    "line-shard": ([101], [8], [40]),
    "tile-shard": ([23, 37], [4, 8], [12, 16]),
    "cube-shard": ([7, 12, 11], [2, 3, 11], [4, 6, 22]),
    "even-shard": ([7, 9, 11], [2, 2, 2], [4, 4, 4]),
    "one-shard": ([9, 10], [3, 5], [9, 10]),
    "tesseract": ([3, 4, 5, 6], [2, 3, 2, 4], [4, 3, 4, 4]),
    "scalar": ([], [], None),
    "empty": ([0, 5], [1, 5], None),
    "empty-tail": ([4, 0], [2, 5], None),
    "empty-middle": ([3, 0, 7], [2, 4, 3], None),
    "empty-shard": ([4, 0], [2, 5], [4, 10]),
}

CODECS_V3 = [
    "none", "zstd", "zstd-checksum", "gzip", "crc32c", "blosc-lz4-shuffle", "blosc-lz4hc-noshuffle", "blosc-zstd-bitshuffle",
    "blosc-zlib-shuffle", "blosc-blosclz-shuffle", "blosc-lz4-bitshuffle", "gzip-crc32c", "big-endian",
]
CODECS_V2 = [
    "none", "zlib", "gzip", "lz4", "zstd", "blosc-lz4-shuffle", "blosc-lz4hc-noshuffle", "blosc-zstd-bitshuffle", "blosc-zlib-shuffle",
    "blosc-blosclz-shuffle",
]
# Every parameter of numcodecs' compressors that changes what is written.
NUMCODECS = {
    "zlib-0": {"id": "zlib", "level": 0},
    "zlib-9": {"id": "zlib", "level": 9},
    "gzip-0": {"id": "gzip", "level": 0},
    "gzip-9": {"id": "gzip", "level": 9},
    "bz2-1": {"id": "bz2", "level": 1},
    "bz2-9": {"id": "bz2", "level": 9},
    "lz4-10": {"id": "lz4", "acceleration": 10},
    "zstd-fast": {"id": "zstd", "level": -5},
    "zstd-22": {"id": "zstd", "level": 22, "checksum": True},
    "lzma": {"id": "lzma"},
    "lzma-none": {"id": "lzma", "format": 1, "check": 0, "preset": 0},
    "lzma-crc32": {"id": "lzma", "format": 1, "check": 1, "preset": 9},
    "lzma-sha256": {"id": "lzma", "format": 1, "check": 10, "preset": 6 | 1 << 31},
    "lzma-alone": {"id": "lzma", "format": 2, "preset": 3},
    "lzma-alone-bits": {"id": "lzma", "format": 2, "filters": [{"id": 0x4000000000000001, "lc": 0, "lp": 3, "pb": 1}]},
    "lzma-raw": {"id": "lzma", "format": 3, "filters": [{"id": 33, "preset": 9}]},
    "lzma-raw-lzma1": {"id": "lzma", "format": 3, "filters": [{"id": 0x4000000000000001, "dict_size": 4096, "lc": 1, "lp": 2}]},
    "lzma-raw-deltas": {"id": "lzma", "format": 3, "filters": [{"id": 3, "dist": 256}, {"id": 3}, {"id": 3, "dist": 8}, {"id": 33}]},
    "lzma-raw-x86": {"id": "lzma", "format": 3, "filters": [{"id": 4}, {"id": 33, "preset": 1}]},
    "lzma-raw-powerpc": {"id": "lzma", "format": 3, "filters": [{"id": 5}, {"id": 33, "preset": 1}]},
    "lzma-raw-ia64": {"id": "lzma", "format": 3, "filters": [{"id": 6, "start_offset": 16}, {"id": 33, "preset": 1}]},
    "lzma-raw-arm": {"id": "lzma", "format": 3, "filters": [{"id": 7, "start_offset": 4}, {"id": 33, "preset": 1}]},
    "lzma-raw-armthumb": {"id": "lzma", "format": 3, "filters": [{"id": 8}, {"id": 3, "dist": 2}, {"id": 33, "preset": 1}]},
    "lzma-raw-sparc": {"id": "lzma", "format": 3, "filters": [{"id": 9}, {"id": 33, "preset": 1}]},
}
CODECS_TENSORSTORE_V3 = ["none", "zstd", "gzip", "crc32c", "blosc-lz4-shuffle", "blosc-zstd-bitshuffle", "blosc-blosclz-noshuffle", "big-endian"]
CODECS_TENSORSTORE_V2 = ["none", "zlib", "zstd", "blosc-lz4-shuffle", "blosc-zstd-bitshuffle"]


def fill_of(dtype, number):
    """A fill value as JSON: plain zero for half of the cases, something that is not zero for the others."""
    kind = np.dtype(dtype).kind
    if kind in "SUV" or number % 2 == 0:
        return None
    return {"b": True, "i": -3, "u": 200, "f": "NaN" if number % 4 == 1 else -1.5, "c": [1.5, -2.5], "M": 17, "m": -17}[kind]


def case(writer, zarr_format, dtype, geometry, codec, number, **more):
    shape, chunks, shards = GEOMETRIES[geometry]
    name = f"{writer}-v{zarr_format}-{dtype.strip('<|').replace('>', 'big-').replace('[', '-').replace(']', '')}-{geometry}-{codec}"
    for key, value in more.items():
        name += f"-{key}-{value if isinstance(value, str) else ''.join(map(str, value))}"
    name = name.replace("/", "slash").replace(".", "dot")
    return {
        "id": name, "writer": writer, "zarr_format": zarr_format, "dtype": dtype, "shape": shape, "chunks": chunks, "shards": shards,
        "codec": codec, "fill": fill_of(dtype, number), "partial": number % 3 == 0 and len(shape) > 0 and shape[0] > 0, "order": "C", **more,
    }


def _rotated(writer, zarr_format, dtypes, geometries, codecs):
    """Every type with every geometry, and the codecs in turn: each pair of geometry and codec, and of type and codec, occurs."""
    return [
        case(writer, zarr_format, dtype, geometry, codecs[(i + 3 * k) % len(codecs)], i + k)
        for i, dtype in enumerate(dtypes)
        for k, geometry in enumerate(geometries)
    ]


def table():
    unsharded = ["line", "tile", "cube", "scalar", "empty"]
    sharded = ["line-shard", "tile-shard", "cube-shard", "one-shard", "tesseract"]
    cases = _rotated("zarr3", 3, PLAIN, [*unsharded, *sharded], CODECS_V3)
    cases += [case("zarr3", 3, "<i4", g, c, n) for n, c in enumerate(CODECS_V3) for g in ("tile", "cube-shard")]
    cases += [case("zarr3", 3, "<f4", "tile-shard", "zstd", n, index=index) for n, index in enumerate(["start", "end"])]
    cases += [case("zarr3", 3, "<u2", g, "zstd", 1, transpose=t) for g in ("cube", "cube-shard") for t in ([2, 1, 0], [1, 2, 0])]
    cases += [case("zarr3", 3, "<u2", "even-shard", "gzip", 1, transpose=[1, 2, 0], index=index) for index in ("start", "end")]
    cases += [case("zarr3", 3, "<u2", g, "none", 2, keys=k) for g in ("tile", "cube-shard") for k in ("v2.", "v2/", "default.")]
    cases += [case("zarr3", 3, "<i2", "tile-shard", "gzip", 1, nested=[2, 4])]
    cases += [case("zarr3", 3, "<i2", g, "zstd", 1) for g in ("empty-tail", "empty-middle", "empty-shard")]
    cases += [case("zarr3", 2, "<i4", g, c, n, order=o) for n, c in enumerate(CODECS_V2) for g in ("tile", "cube") for o in "CF"]
    cases += _rotated("zarr2", 2, [*PLAIN, *OLD], unsharded, CODECS_V2)
    cases += [case("zarr2", 2, d, g, c, n, order="F") for n, c in enumerate(CODECS_V2) for g in ("tile", "cube") for d in ("<i4", ">f8")]
    cases += [case("zarr2", 2, ">i8", g, "none", 1) for g in ("empty-tail", "empty-middle")]
    cases += [case("zarr2", 2, "<u2", g, "zlib", 1, keys=k) for g in ("tile", "cube") for k in "./"]
    cases += [case("zarr2", 2, d, g, c, n, order=o) for n, c in enumerate(NUMCODECS) for d, g, o in (("<i4", "tile", "C"), (">f8", "cube", "F"))]
    cases += [case("zarr3", 3, d, g, c, n) for n, c in enumerate(NUMCODECS) for d, g in (("|u1", "tile"), ("<f8", "cube-shard"))]
    cases += _rotated("tensorstore", 3, PLAIN, ["tile", "cube", "scalar", *sharded], CODECS_TENSORSTORE_V3)
    cases += [case("tensorstore", 3, "<i4", "tile-shard", "zstd", n, index=index) for n, index in enumerate(["start", "end"])]
    cases += _rotated("tensorstore", 2, PLAIN, ["tile", "cube"], CODECS_TENSORSTORE_V2)
    cases += [case("tensorstore", 2, "<u2", g, "zlib", 1, order="F", keys=k) for g in ("tile", "cube") for k in "./"]
    return list({c["id"]: c for c in cases}.values())


def fill_value(c):
    """The fill value as a numpy scalar."""
    dtype = np.dtype(c["dtype"])
    fill = c["fill"]
    if fill is None:
        return np.zeros((), dtype)
    if dtype.kind == "c":
        return np.array(complex(*fill), dtype)
    return np.array(float(fill) if dtype.kind == "f" else fill, dtype)


def written(c):
    """The part of the array that is written: all, or the first half along the first axis, so that chunks are missing."""
    return (slice(0, (c["shape"][0] + 1) // 2),) if c["partial"] else (...,)


def values(c):
    """The whole array, in the byte order of the case. Bytes at random, with runs, where every pattern is a value."""
    dtype, shape = np.dtype(c["dtype"]), c["shape"]
    random = np.random.default_rng(zlib.crc32(c["id"].encode()))
    count = int(np.prod(shape))
    if dtype.kind == "S":
        drawn = np.array([b"abc" * int(n) for n in random.integers(0, 3, count)], dtype)
    elif dtype.kind == "U":
        drawn = np.array(["aé\U0001f600"[: int(n)] for n in random.integers(0, 4, count)], dtype)
    elif dtype.kind == "b":
        drawn = random.integers(0, 2, count).astype("?")
    else:
        drawn = (random.integers(0, 9, count * dtype.itemsize, "u1") * 29).view(dtype)
    result = np.empty(shape, dtype)
    result[...] = fill_value(c)
    result[written(c)] = drawn.reshape(shape)[written(c)]
    return result


def little(array):
    """The bytes of a .raw file: C order, little-endian."""
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()


def compressor_v2(codec):
    """The numcodecs compressor of a codec's name, for zarr-python 2 and 3."""
    import numcodecs

    if codec in NUMCODECS:
        return numcodecs.get_codec(dict(NUMCODECS[codec]))
    if codec.startswith("blosc"):
        _, name, shuffle = codec.split("-")
        return numcodecs.Blosc(cname=name, clevel=5, shuffle={"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[shuffle])
    return {"none": None, "zlib": numcodecs.Zlib(5), "gzip": numcodecs.GZip(5), "lz4": numcodecs.LZ4(), "zstd": numcodecs.Zstd(3)}[codec]
