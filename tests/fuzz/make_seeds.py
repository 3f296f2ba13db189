#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets in corpus/ (but fuzz_blosc's): small inputs that get past the first checks.

Only Python's standard library: zstd and lz4 seeds are written out by hand. Run it again after codec_rows changed, since a
codec is chosen by its row's number.
"""
import base64
import bz2
import gzip
import json
import lzma
import pathlib
import struct
import zlib

ROWS = [
    "adler32", "astype", "base64", "bitround", "blosc", "bytes", "bz2", "cast_value", "crc32", "crc32c", "delta", "fixedscaleoffset", "fletcher32", "gzip",
    "imagecodecs_snappy", "jenkins_lookup3", "lz4", "lzma", "nvcomp_batch", "numcodecs.packbits", "packbits", "quantize", "reshape", "scale_offset",
    "sharding_indexed", "shuffle", "transpose", "zarrs.squeeze", "zlib", "zstd",
]
TEXT = b"Hello zarrfs"
HERE = pathlib.Path(__file__).resolve().parent / "corpus"
STORES = HERE.parents[1] / "data" / "stores"


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def zstd(data, claimed=None):
    """One frame of one raw block, with the content size `claimed` or none."""
    head = b"\x28\xb5\x2f\xfd"
    head += b"\x00\x58" if claimed is None else b"\xc0\x58" + struct.pack("<Q", claimed)
    return head + struct.pack("<I", len(data) << 3 | 1)[:3] + data


def lz4(data, claimed=None):
    """numcodecs: u32 size, then one block that is a single run of at most 14 literals."""
    return struct.pack("<I", len(data) if claimed is None else claimed) + bytes([len(data) << 4]) + data


def blosc(data, flags=0x02, blocksize=None):
    """One chunk that holds its bytes plainly (flag 0x02)."""
    return struct.pack("<BBBBIII", 2, 1, flags, 4, len(data), blocksize or len(data), len(data) + 16) + data


def blosc_block(stream, nbytes, flags):
    """One chunk of one block of one stream."""
    body = struct.pack("<ii", 20, len(stream)) + stream
    return struct.pack("<BBBBIII", 2, 1, flags, 4, nbytes, nbytes, 16 + len(body)) + body


def shard(parts, at_start=False, big=False):
    n = len(parts)
    at = 16 * n if at_start else 0
    index, body = b"", b""
    for part in parts:
        entry = (2**64 - 1, 2**64 - 1) if part is None else (at + len(body), len(part))
        index += struct.pack(">QQ" if big else "<QQ", *entry)
        body += part or b""
    return index + body if at_start else body + index


def codec_seeds():
    def seed(name, row, room, data, variant=0):
        return name, struct.pack("<BBH", ROWS.index(row), variant, room) + data

    member = gzip.compress(TEXT, mtime=0)
    block = bytes([len(TEXT) << 4]) + TEXT
    yield seed("blosc-plain", "blosc", 12, blosc(TEXT))
    yield seed("blosc-lz4-shuffled", "blosc", 12, blosc_block(block, 12, 0x31))
    yield seed("blosc-lz4-bits", "blosc", 12, blosc_block(block, 12, 0x34))
    yield seed("blosc-zlib", "blosc", 12, blosc_block(zlib.compress(TEXT), 12, 0x70))
    yield seed("blosc-zstd", "blosc", 12, blosc_block(zstd(TEXT), 12, 0x90))
    yield seed("blosc-blosclz", "blosc", 12, blosc_block(b"\x0b" + TEXT, 12, 0x10))
    yield seed("blosc-huge", "blosc", 12, blosc(TEXT).replace(struct.pack("<I", 12), b"\xff\xff\xff\x7f", 1))
    yield seed("bytes-big", "bytes", 2, bytes(range(24)))
    yield seed("bz2", "bz2", 12, bz2.compress(TEXT))
    yield seed("bz2-streams", "bz2", 24, bz2.compress(TEXT, 1) + bz2.compress(b"") + bz2.compress(TEXT))
    yield seed("crc32c-start", "crc32c", 12, crc32c(TEXT) + TEXT)
    yield seed("crc32c-end", "crc32c", 12, TEXT + crc32c(TEXT), 1)
    yield seed("gzip", "gzip", 12, member)
    yield seed("gzip-two-members", "gzip", 24, member + member)
    yield seed("gzip-padded", "gzip", 12, member + bytes(4))
    yield seed("gzip-of-zlib", "gzip", 12, zlib.compress(TEXT))
    yield seed("snappy", "imagecodecs_snappy", 28, b"\x1c\x2c" + TEXT + b"\x1d\x0c\x12\x05\x00")
    yield seed("snappy-overlap", "imagecodecs_snappy", 12, b"\x0c\x00x\x1d\x01")
    yield seed("snappy-cut", "imagecodecs_snappy", 28, b"\x1c\x2c" + TEXT + b"\xff\x0c")
    yield seed("lz4", "lz4", 12, lz4(TEXT))
    yield seed("lz4-claims-2gib", "lz4", 12, lz4(TEXT, 0x7FFFFFFF))
    yield seed("lz4-frame", "lz4", 12, bytes.fromhex("04224d186040730c000080") + TEXT + bytes(4))
    delta = [{"id": lzma.FILTER_DELTA, "dist": 3}, {"id": lzma.FILTER_LZMA2}]
    yield seed("lzma-xz", "lzma", 12, lzma.compress(TEXT))
    yield seed("lzma-xz-streams", "lzma", 24, lzma.compress(TEXT, check=lzma.CHECK_SHA256) + bytes(4) + lzma.compress(TEXT, filters=delta))
    yield seed("lzma-xz-unchecked", "lzma", 200, lzma.compress(TEXT * 16 + TEXT[:8], check=lzma.CHECK_NONE))
    yield seed("lzma-raw", "lzma", 12, lzma.compress(TEXT, lzma.FORMAT_RAW, filters=delta), 1)
    yield seed("lzma-alone", "lzma", 12, lzma.compress(TEXT, lzma.FORMAT_ALONE), 2)
    yield seed("nvcomp-deflate", "nvcomp_batch", 12, zlib.compress(TEXT)[2:-4])
    yield seed("nvcomp-lz4", "nvcomp_batch", 12, lz4(TEXT)[4:], 1)
    yield seed("nvcomp-zstd", "nvcomp_batch", 12, zstd(TEXT), 2)
    yield seed("packbits-first", "packbits", 2, b"\6" + bytes(range(22)))
    yield seed("packbits-last-bit", "packbits", 2, bytes(range(24)), 1)
    yield seed("adler32", "adler32", 12, struct.pack("<I", zlib.adler32(TEXT)) + TEXT)
    yield seed("astype", "astype", 6, struct.pack(">6f", 1.5, -300, float("nan"), float("inf"), 3e9, 1e30))
    yield seed("astype-complex", "astype", 32, struct.pack("<4f", 1.5, float("inf"), -0.0, 3e38), 1)
    yield seed("base64", "base64", 12, base64.b64encode(TEXT))
    yield seed("base64-padded", "base64", 12, base64.b64encode(TEXT[:10]))
    floats = struct.pack("<6d", 1.5, -2.5, 0.5, 3e9, -3e9, float("inf"))
    yield seed("cast_value", "cast_value", 2, floats)
    yield seed("cast_value-map", "cast_value", 1, struct.pack("<4d", float("nan"), 0, -2.0**40, 1e300), 1)
    yield seed("cast_value-integers", "cast_value", 1, struct.pack("<4Q", 0, 2**31 - 1, 2**31, 2**64 - 1), 2)
    yield seed("crc32", "crc32", 12, struct.pack("<I", zlib.crc32(TEXT)) + TEXT)
    yield seed("crc32-end", "crc32", 12, struct.pack("<I", zlib.crc32(TEXT)) + TEXT, 1)
    yield seed("delta", "delta", 24, struct.pack("<6d", 1, -1, 2**40, float("nan"), -1e300, 0.5))
    yield seed("delta-halves", "delta", 12, struct.pack("<6e", 1, -1, 65504, 65504, 0.1, -0.0), 1)
    yield seed("fixedscaleoffset", "fixedscaleoffset", 24, struct.pack("<6d", 1, -1, 2**40, float("nan"), -1e300, 0.5))
    yield seed("fixedscaleoffset-zero", "fixedscaleoffset", 12, struct.pack("<6e", 1, -1, 65504, 0, 0.1, -0.0), 1)
    yield seed("fletcher32", "fletcher32", 12, TEXT + bytes(4))
    yield seed("jenkins_lookup3", "jenkins_lookup3", 12, TEXT + bytes(4))
    yield seed("numcodecs-packbits", "numcodecs.packbits", 13, b"\3\xaa\x50")
    yield seed("numcodecs-packbits-padding", "numcodecs.packbits", 13, b"\x08\xaa\x50")
    yield seed("quantize", "quantize", 24, struct.pack("<6d", 1, -1, 2**40, float("nan"), -1e300, 0.5))
    yield seed("scale_offset", "scale_offset", 2, struct.pack("<6i", 0, 1, -1, -(2**31), 2**31 - 1, 7))
    yield seed("scale_offset-remainder", "scale_offset", 2, struct.pack("<6i", 0, 3, -3, 6, 9, 7), 1)
    yield seed("shuffle", "shuffle", 12, bytes(range(12)))
    yield seed("reshape", "reshape", 2, bytes(range(24)))
    yield seed("squeeze", "zarrs.squeeze", 2, bytes(range(24)))
    yield seed("sharding-end", "sharding_indexed", 1, shard([lz4(b"abcd"), None, lz4(b"efgh"), lz4(b"ijkl")]))
    yield seed("sharding-start", "sharding_indexed", 1, shard([zstd(b"abcdefgh"), None], True, True), 1)
    yield seed("sharding-past-end", "sharding_indexed", 1, lz4(b"abcd") + struct.pack("<8Q", 0, 9, 2**63, 2**63, 4, 0, 68, 1))
    yield seed("transpose", "transpose", 2, bytes(range(24)))
    yield seed("zlib", "zlib", 12, zlib.compress(TEXT))
    yield seed("zlib-cut", "zlib", 12, zlib.compress(TEXT)[:-3])
    yield seed("zstd", "zstd", 12, zstd(TEXT, 12))
    yield seed("zstd-no-size", "zstd", 12, zstd(TEXT))
    yield seed("zstd-frames", "zstd", 24, b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstd(TEXT) + zstd(TEXT, 12))
    yield seed("zstd-claims-1tib", "zstd", 12, zstd(TEXT, 2**40))


def pipeline_seeds():
    def seed(name, codecs, payload):
        text = json.dumps(codecs, separators=(",", ":")).encode()
        return name, struct.pack("<H", len(text)) + text + payload

    def codec(name, **config):
        return {"name": name, "configuration": config}

    def sharding(shape, codecs, index, **more):
        return codec("sharding_indexed", chunk_shape=shape, codecs=codecs, index_codecs=index, **more)

    little, big = codec("bytes", endian="little"), codec("bytes", endian="big")
    chunk = bytes(i % 251 for i in range(4 * 6 * 8 * 4))
    half = chunk[: len(chunk) // 2]
    yield seed("bytes", [little], chunk)
    yield seed("transposes", [codec("transpose", order=[1, 2, 0]), codec("transpose", order="F"), big], chunk)
    yield seed("gzip-zlib", [little, "gzip", "numcodecs.zlib"], zlib.compress(gzip.compress(chunk, mtime=0)))
    yield seed("zstd-crc32c", [big, codec("zstd", level=3), "crc32c"], zstd(chunk) + crc32c(zstd(chunk)))
    yield seed("numcodecs-crc32c", [little, codec("numcodecs.crc32c", location="start")], crc32c(chunk) + chunk)
    yield seed("sharding", [sharding([2, 6, 8], [little, "zstd"], [little])], shard([zstd(half), None]))
    yield seed("sharding-start", [sharding([2, 6, 8], [little], [big], index_location="start")],
               shard([half, half], True, True))
    inner = shard([zstd(chunk[:64]), None] + [zstd(chunk[64:128])] * 4)
    nested = sharding([2, 6, 8], [sharding([1, 2, 8], [little, "zstd"], [little])], [little, "crc32c"])
    index = struct.pack("<4Q", 0, len(inner), 2**64 - 1, 2**64 - 1)
    yield seed("nested-transposed", [codec("transpose", order=[0, 1, 2]), nested], inner + index + crc32c(index))
    yield seed("sharding-gzip", [sharding([4, 6, 8], [little], [little]), "gzip"],
               gzip.compress(shard([chunk]), mtime=0))
    scaled = [codec("scale_offset", offset=100, scale=10), codec("cast_value", data_type="int16", out_of_range="wrap")]
    yield seed("scaled-sharded", scaled + [sharding([2, 6, 8], [little], [little])], shard([bytes(192), None]))
    filters = [codec("numcodecs.delta", dtype="<i4", astype=">i2"), codec("numcodecs.fixedscaleoffset", dtype="i2", astype="f8", offset=1, scale=0)]
    yield seed("filters", filters + [little, codec("numcodecs.shuffle"), codec("numcodecs.fletcher32")], bytes(192 * 8 + 4))
    yield seed("unknown", [little, codec("jpegxl")], chunk)
    yield seed("no-chain", ["zstd", little], chunk)
    yield seed("nodiv", [sharding([3, 6, 8], [little], [little])], chunk)


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def meta_v3(data_type="float32", shape=(4, 6), chunks=(2, 3), fill=0, codecs=("bytes",), **more):
    grid = {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}
    document = {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
                "chunk_grid": grid, "chunk_key_encoding": {"name": "default"}, "fill_value": fill,
                "codecs": list(codecs), **more}
    return compact(document)


def meta_v2(dtype="<f4", fill=0, **more):
    return compact({"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": dtype, "compressor": None,
                    "fill_value": fill, "order": "C", "filters": None, **more})


def meta_seeds():
    def seed(name, kind, *texts):
        return name, bytes([kind]) + b"\x1e".join(texts)

    yield seed("json-values", 0, b'\xef\xbb\xbf [null,true,-0.5e+3,NaN,-Infinity,"\\u0000\\ud83d\\ude00\\n",[],{},18446744073709551615]\0')
    yield seed("json-duplicates", 0, b'{"a":1,"b":{"a":1,"a":[2]},"a":[3,1e3]}')
    time = {"name": "numpy.datetime64", "configuration": {"unit": "us", "scale_factor": 10}}
    text = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}
    string = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}}
    fills = {"bool": True, "int8": -128, "uint64": 2**64 - 1, "float16": "0x7e01", "float32": 0.1, "float64": "-Infinity",
             "complex64": ["NaN", -0.0], "r24": [1, 2, 255]}
    for name, fill in fills.items():
        yield seed("v3-" + name, 1, meta_v3(name, fill=fill))
    yield seed("v3-time", 1, meta_v3(time, fill="NaT"))
    yield seed("v3-text", 1, meta_v3(text, fill="a\u20ac"))
    yield seed("v3-string", 1, meta_v3(string, fill="YWI="))
    raw = {"name": "raw_bytes", "configuration": {"length_bytes": 3}}
    yield seed("v3-raw", 1, meta_v3(raw, fill="AQID"))
    fields = [{"name": "x", "data_type": "uint8"}, {"name": "p", "data_type": [["y", "bfloat16"], ["z", time]]}]
    record = {"name": "struct", "configuration": {"fields": fields}}
    big = [{"name": "bytes", "configuration": {"endian": "big"}}]
    yield seed("v3-struct", 1, meta_v3(record, fill={"x": 7, "p": {"y": "0x7fc1", "z": "NaT"}}))
    yield seed("v3-structured", 1, meta_v3({**record, "name": "structured"}, fill="AQIDBAUGBwgJCgs=", codecs=big))
    yield seed("v3-unserved", 1, meta_v3({"name": "zarrs.optional", "configuration": {}}, fill=None))
    for name, fill in {"int4": -8, "float8_e4m3fnuz": "NaN", "float4_e2m1fn": "0xff", "complex_bfloat16": [1.5, "NaN"]}.items():
        yield seed("v3-" + name, 1, meta_v3(name, fill=fill))
    yield seed("v3-scalar", 1, meta_v3(shape=(), chunks=()))
    yield seed("v3-largest", 1, meta_v3("uint8", shape=(2**62, 0, 2), chunks=(2**61, 1, 1)))
    yield seed("v3-all", 1, meta_v3(dimension_names=["x", None], attributes={"a": [1.5, "b"]}, storage_transformers=[],
                                    more={"must_understand": False}, extensions=[]))
    yield seed("v3-keys", 1, meta_v3().replace(b'"default"', b'"v2","configuration":{"separator":"/"}'))
    for store in ("zarr3-v3-i2-tile-shard-gzip-nested-24", "tree-v3-consolidated", "unknown-codec"):
        yield seed("v3-" + store, 1, compact(json.loads((STORES / (store + ".zarr") / "zarr.json").read_bytes())))
    yield seed("v2-large-elements", 2, meta_v2("|S1048576", ""))
    chain = {"compressor": {"id": "zlib", "level": 1}, "filters": [{"id": "crc32c"}], "order": "F"}
    yield seed("v2-chain", 2, meta_v2(**chain, dimension_separator="/"), b' {"a": 1}\n')
    v2_fills = {"|b1": 1, ">i2": "-3", "<u4": [7], "<f2": "NaN", ">c16": 1.5, "|S3": "YWI=", "|V2": "AAE=", "<U2": "ab",
                "<M8[10us]": "NaT", "<m8": 0, "|S0": "", "<f8": None}
    for dtype, fill in v2_fills.items():
        yield seed("v2-" + dtype.translate(str.maketrans("<>|[]", "lbn--")), 2, meta_v2(dtype, fill))
    record = [["a", ">u2"], ["", "|V1"], ["m", "<i4", [2, 1]], ["n", [["x", ">f4"], ["\u00e9", "bfloat16"]], 2]]
    yield seed("v2-record", 2, meta_v2(record, "AAEAAQAAAAIAAAA/gAAAAQI/gAAAAwQ="))
    yield seed("v2-unserved", 2, meta_v2([["a", "|O"]], 0))
    yield seed("v2-group", 3, b'{"zarr_format":2}', b"{}")
    yield seed("v2-consolidated", 4, (STORES / "tree-v2-consolidated.zarr" / ".zmetadata").read_bytes())


def npy_seeds():
    def seed(name, text, version=1):
        length = struct.pack("<H" if version == 1 else "<I", len(text))
        return name, b"\x93NUMPY" + bytes([version, 0]) + length + text.encode()

    def dict_of(descr, order, shape):
        return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)

    yield seed("saved", dict_of("'<f4'", "False", "(3, 4)") + " " * 57 + "\n")
    yield seed("fortran", dict_of("'>c16'", "True", "(3, 4L, 0)"), 2)
    yield seed("scalar", dict_of("'|S12'", "False", "()"), 3)
    yield seed("line", dict_of("'<M8[25us]'", "False", "(18446744073709551615,)"))
    yield seed("largest", dict_of("'<U2'", "False", "(1152921504606846975,)"))
    yield seed("quotes", '{"shape":(1,),"descr":"|b1","fortran_order":False}')
    yield seed("structured", dict_of("[('a', '<f4')]", "False", "(1,)"))
    yield seed("nested", dict_of("[('a', '>f4'), ('it\\'s', [('\\u0416', '<i2'), (\"q\", '|S3')])]", "False", "(1,)"))
    yield seed("sub-array", dict_of("[('a', '>f4', (2, 3)), ('', '|V4'), ('b', '>M8[s]', 2)]", "True", "(2, 1)"), 2)
    yield seed("unicode", dict_of("[('\u0416', '<f4')]", "False", "(1,)"), 3)


def layout_seeds():
    def seed(name, flags, item_size, axes, *rest):
        data = bytes([flags, len(axes), item_size - 1])
        return name, data + b"".join(bytes(axis) for axis in axes) + bytes(rest)

    large = [255] + [0xFF] * 7
    yield seed("small", 0, 4, [(7, 2), (5, 3)], 9, 60)
    yield seed("permuted", 2, 2, [(4, 2), (3, 3), (5, 2)], 2, 1, 3, 90)
    yield seed("sliced", 4, 3, [(12, 5), (10, 3)], 1, 1, 4, 2, 2, 3, 5, 40)
    yield seed("all", 14, 1, [(9, 4), (8, 3), (7, 2)], 1, 1, 4, 0, 2, 4, 1, 1, 3, 1, 1, 0, 1, 3, 1, 0, 2, 0, 0, 3, 2, 30)
    yield seed("scalar", 0, 8, [], 1, 5)
    yield seed("empty", 0, 2, [(5, 2), (0, 3)])
    yield seed("bytes", 0, 16, [(3, 1)], 5, 20)
    yield seed("large", 15, 2, [(*large, 100), (3, 2)], *range(60))
    yield seed("many-axes", 3, 1, [(2, 1)] * 32, *range(100))
    yield seed("huge-chunk", 1, 1, [(200, 0, 0, 0, 0, 0, 0, 0, 64, 200, 0, 0, 0, 0, 0, 0, 0, 64)], 130, *[255] * 20)


def step_value(key, text):
    return b"\x00" + key.encode() + b"\n" + text + b"\x1e"


def step_chunk(key, data, entries=0, at_start=0):
    return b"\x01" + key.encode() + b"\n" + struct.pack("<BBH", entries, at_start, len(data)) + data


def step_array(key, axes, *choices):
    return bytes([2, key, len(axes)]) + b"".join(bytes(axis) for axis in axes) + bytes(choices)


def step_encode(array, coords, flips=(), cut=()):
    data = bytes([3, array]) + bytes(coords) + bytes([len(flips)])
    return data + b"".join(struct.pack("<HB", *flip) for flip in flips) + (bytes([8, *cut]) if cut else bytes(1))


def step_lookup(handle, name):
    return bytes([6, handle]) + name.encode() + b"\n"


def step_list(handle):
    return bytes([7, handle])


def step_read(handle, offset=0, size=4096, reads=6, shift=0):
    return struct.pack("<BBBBIH", 8, handle, shift, reads - 1, offset, size)


def step_xattrs(handle):
    return bytes([9, handle])


def step_fault(key, opening=0, reading=0, short=0):
    return bytes([5, opening, reading, short]) + key.encode() + b"\n"


def store_of(folder, keep=lambda key: True):
    """The steps that make a store of tests/data."""
    steps = b""
    for path in sorted((STORES / folder).rglob("*")):
        key = str(path.relative_to(STORES / folder))
        if path.is_file() and keep(key):
            data = path.read_bytes()
            is_document = path.name[0] in ".z"
            steps += step_value(key, compact(json.loads(data))) if is_document else step_chunk(key, data)
    return steps


def store_seeds():
    # the root's children are handles 1 to 3 (npy, raw, json) where it is an array, in the order of its listing
    look = step_list(0) + step_read(1) + step_read(2, 100, 50, 2) + step_read(3) + step_xattrs(1)
    deep = step_list(0) + step_list(1) + step_list(2) + step_list(3) + b"".join(step_read(i, 0, 512) for i in range(14))
    few = lambda key: key.count("/") < 2 or key.endswith("/0")
    yield "nested-shards", b"\0" + store_of("zarr3-v3-i2-tile-shard-gzip-nested-24.zarr", few) + look
    yield "index-start", b"\2" + store_of("zarr3-v3-u2-even-shard-gzip-transpose-120-index-start.zarr", few) + look
    yield "order-f", b"\4" + store_of("zarr2-v2-i4-cube-none-order-F.zarr", lambda key: key[0] in ".0") + look
    yield "blosc", b"\0" + store_of("zarr2-v2-U3-line-blosc-blosclz-shuffle.zarr") + look
    yield "flipped-index", b"\0" + store_of("flipped-index.zarr") + look
    yield "unknown-codec", b"\0" + store_of("unknown-codec.zarr") + look
    for name in ("tree-v2", "tree-v2-consolidated", "tree-v3-consolidated"):
        for unlisted in (0, 1):
            yield name + ("-unlisted" if unlisted else ""), bytes([unlisted]) + store_of(name + ".zarr", few) + deep
    axes = [(10, 1, 1), (7, 2, 0)]
    made = {"v3-zstd": (0, axes, 1, 0, 0, 1), "v3-sharded": (0, axes, 2, 1, 0, 2, 0, 0), "v3-sharded-twice": (0, axes, 1, 2, 1, 1, 0, 0, 0, 1),
            "v3-transposed": (0, axes, 3, 4, 1, 3), "v3-whole-shards": (0, axes, 0, 9, 0, 1, 1, 0), "v2-zlib": (4, axes, 2, 1, 1),
            "v2-slashes": (4, axes, 3, 3, 2), "scalar": (0, [], 1, 0, 0, 2), "empty": (0, [(0, 1, 1), (5, 1, 1)], 1, 0, 0, 0),
            "cube": (0, [(9, 1, 2), (8, 2, 1), (7, 3, 0)], 1, 1, 0, 1, 0, 0)}
    for name, choices in made.items():
        steps = step_array(*choices)
        n = len(choices[1])
        for i in range(3):
            steps += step_encode(0, [i % 3] + [0] * (n - 1) if n else [])
        yield name, b"\0" + steps + look
        damaged = steps + step_encode(0, [1] * n, [(9, 1), (200, 128)], (3,))
        yield name + "-damaged", b"\2" + damaged + look
    index = b"".join(struct.pack("<QQ", 8 * i, 8) for i in range(4)) + bytes(4)
    yield "repaired-index", (b"\0" + step_array(0, [(8, 1, 1), (8, 1, 1)], 1, 1, 0, 0, 0, 0) +
                             step_chunk("c/0/0", bytes(range(64)) + index, 4) + look)
    plain = step_array(0, axes, 1, 0, 0, 0) + step_encode(0, [0, 0])
    yield "faults", b"\0" + plain + step_fault("c/0/0", 0, 1) + look + step_fault("c/0", 2) + look + step_fault("", 0, 0, 3) + look
    yield "changes", b"\0" + plain + look + step_encode(0, [0, 0], [(1, 1)]) + b"\4c/0/0\n" + look + b"\x0a\2"
    yield "names", (b"\0" + step_value("zarr.json", compact({"zarr_format": 3, "node_type": "group"})) + step_value("a/zarr.json", meta_v3()) +
                    step_value("a.npy/zarr.json", meta_v3()) + step_value("broken/zarr.json", b"{") + step_value("x//y/../zarr.json", b"{}") +
                    step_list(0) + b"".join(step_lookup(0, n) for n in ("a", "a.npy", "a.raw", "broken.json", "..", "", ".zarrfs")) +
                    step_lookup(9, "stats.json") + b"".join(step_read(i, 0, 300, 1) for i in range(20)))
    yield "n5", b"\0" + step_value("attributes.json", b"{}") + step_list(0)
    yield "huge", b"\0" + step_value("zarr.json", meta_v3("uint8", shape=(2**40, 2**20), chunks=(1, 1))) + step_list(0) + \
        step_read(2, 2**31, 300, 3, 30) + step_read(1, 5, 1000, 6)


def zip_member(name, method=0, flags=0, size=40, step=3):
    return name + b"\n" + struct.pack("<BBHB", method, flags, size, step)


def zip_damage(place, member, offset, value, width=4):
    """place: 0 central record, 1 local header, 2 end record, 3 zip64 end record, 4 anywhere (offset of 3 bytes)"""
    start = bytes([member, place, 0 if place == 4 else offset, width - 1]) + value.to_bytes(width, "little")
    return start + (offset.to_bytes(3, "little") if place == 4 else b"")


def zip_seeds():
    def seed(name, members, damages=(), flags=0, comment=b"", cut=0):
        return name, (bytes([flags, len(comment)]) + comment + bytes([len(members)]) + b"".join(members) +
                      bytes([len(damages)]) + b"".join(damages) + struct.pack("<H", cut))

    three = [zip_member(b"a"), zip_member(b"b/c", 1, size=3000), zip_member(b"b/d", 2, size=3000)]
    yield seed("plain", three)
    yield seed("empty", [])
    yield seed("zip64", [zip_member(n, i, 2) for i, n in enumerate((b"a", b"b", b"c", b"d"))], flags=2)
    yield seed("descriptors", [zip_member(n, i, 8) for i, n in enumerate((b"a", b"b", b"c"))], comment=b"text")
    yield seed("before", three, flags=16)
    yield seed("before-counted", three, flags=28)
    yield seed("before-zip64", [zip_member(b"a", 1, 15)], flags=26)
    yield seed("top-folder", [zip_member(b"t/"), zip_member(b"t/a"), zip_member(b"t/b/c", 1), zip_member(b"__MACOSX/t")])
    yield seed("twice", [zip_member(b"a", 0, size=5), zip_member(b"b"), zip_member(b"a", 1, size=900)])
    yield seed("names", [zip_member(n, 0, i & 1) for i, n in enumerate((b"../a", b"/a", b"a//b", b"a\0b", b"\xe1\x80", b"\xc3\xab", b".", b"x"))])
    yield seed("end-in-comment", three, comment=b"PK\5\6" + bytes(18))
    for name, place, offset, value, width in (("stored", 0, 20, 0xFFFFFFFF, 4), ("size", 0, 24, 0x7FFFFFFF, 4), ("offset", 0, 42, 0xFFFFFFF0, 4),
                                              ("neighbour", 0, 42, 0, 4), ("name-size", 0, 28, 0xFFFF, 2), ("method", 0, 10, 8, 2), ("local", 1, 0, 0, 4),
                                              ("local-extra", 1, 28, 0xFFFF, 2), ("data", 1, 40, 0xFFFFFF, 3), ("count", 2, 8, 0x00090009, 4),
                                              ("directory-size", 2, 12, 9, 4), ("directory-offset", 2, 16, 0xFFFFFFFF, 4), ("anywhere", 4, 50, 0, 2)):
        yield seed("lie-" + name, three, [zip_damage(place, 1, offset, value, width)])
    wide = [zip_member(b"a", 0, 2), zip_member(b"b", 1, 2)]
    for name, place, offset, value in (("size", 0, 51, 2**64 - 1), ("offset", 0, 67, 2**64 - 30), ("end-size", 3, 4, 2**64 - 1),
                                       ("end-directory", 3, 40, 2**64 - 1), ("locator", 3, 64, 2**64 - 56)):
        yield seed("lie64-" + name, wide, [zip_damage(place, 1, offset, value, 8)], flags=2)
    yield seed("cut", three, cut=30)
    yield "raw", b"\1" + b"PK\5\6" + bytes(18)


def reference_seeds():
    def seed(name, refs, **more):
        return name, json.dumps({"version": 1, **more, "refs": refs}).encode()

    def gen(**more):
        return {"key": "g/{{i}}", "url": "{{t}}", "dimensions": {"i": {"stop": 3}}, **more}

    few = {".zgroup": "{\"zarr_format\":2}", "a/.zattrs": {"x": [1, None]}, "a/0": ["t"], "a/1": ["d/t", 2, 5],
           "b": "base64:AAECAw==", "b/c": "\u00e9\n"}
    yield "flat", json.dumps(few).encode()
    yield "nan", b'{"a/.zarray": {"fill_value": NaN}, "a/0": "\\u0000\\ud83d\\ude00\\ud83d"}'
    yield seed("plain", few)
    yield seed("targets", {f"k{i}": [url, 1, 4] for i, url in enumerate((
        "t", "./t", "d/../t", "../own/t", "out", "d/up/secret", "../secret", "/etc/passwd", "file:///t", "s3://b/t", "no", "d", ""))})
    yield seed("places", {f"k{i}": ["t", *place] for i, place in enumerate((
        (0, 16), (16, 0), (16, 1), (-1, 2), (1.5, 2), (1e300, 1), (2**64 - 1, 1), (2**63, 2**63), (None, None), ("0", "1"), (1,)))})
    yield seed("templates", {"a": ["{{t}}", 0, 2], "b": ["{{f(x='d', y=\"t\")}}"], "c": ["{{no}}"], "d": ["{{t + 1}}"], "e": ["{{t"]},
               templates={"t": "t", "f": "{{x}}/{{y}}", "n": 7})
    yield seed("gen", {}, templates={"t": "t"}, gen=[gen(), gen(key="h{{i}}{{j}}", offset="{{i}}", length="{{j}}", dimensions={
        "i": {"start": 5, "stop": 0, "step": -2}, "j": [1, 2]})])
    yield seed("gen-bad", {}, gen=[gen(offset="{{i*2}}", length="1")])
    yield "names", b'{"refs":{"../x":"","/a":"","b/":"","a//b":"","":"","\\u002e\\u002e":"","k":"1","\\u006b":"2"}}'
    yield "cut", b'{"version":1,"refs":{"a":["t",0,1],"b":"x'


def main():
    targets = {"codec": codec_seeds(), "layout": layout_seeds(), "meta": meta_seeds(), "npy": npy_seeds(),
               "pipeline": pipeline_seeds(), "store": store_seeds(), "zip": zip_seeds(),
               "reference": reference_seeds()}
    for folder, seeds in targets.items():
        (HERE / folder).mkdir(parents=True, exist_ok=True)
        for name, data in seeds:
            (HERE / folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
