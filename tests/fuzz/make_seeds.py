#!/usr/bin/env python3
"""Makes the seeds of fuzz_codec and fuzz_pipeline in corpus/: small inputs that get past the first checks.

Only Python's standard library: zstd and lz4 seeds are written out by hand. Run it again after codec_rows changed, since a
codec is chosen by its row's number.
"""
import gzip
import json
import pathlib
import struct
import zlib

ROWS = ["blosc", "bytes", "crc32c", "gzip", "lz4", "sharding_indexed", "transpose", "zlib", "zstd"]
TEXT = b"Hello zarrfs"
HERE = pathlib.Path(__file__).resolve().parent / "corpus"


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
    yield seed("crc32c-start", "crc32c", 12, crc32c(TEXT) + TEXT)
    yield seed("crc32c-end", "crc32c", 12, TEXT + crc32c(TEXT), 1)
    yield seed("gzip", "gzip", 12, member)
    yield seed("gzip-two-members", "gzip", 24, member + member)
    yield seed("gzip-padded", "gzip", 12, member + bytes(4))
    yield seed("gzip-of-zlib", "gzip", 12, zlib.compress(TEXT))
    yield seed("lz4", "lz4", 12, lz4(TEXT))
    yield seed("lz4-claims-2gib", "lz4", 12, lz4(TEXT, 0x7FFFFFFF))
    yield seed("lz4-frame", "lz4", 12, bytes.fromhex("04224d186040730c000080") + TEXT + bytes(4))
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
    yield seed("unknown", [little, codec("jpegxl")], chunk)
    yield seed("no-chain", ["zstd", little], chunk)
    yield seed("nodiv", [sharding([3, 6, 8], [little], [little])], chunk)


def main():
    for folder, seeds in (("codec", codec_seeds()), ("pipeline", pipeline_seeds())):
        (HERE / folder).mkdir(parents=True, exist_ok=True)
        for name, data in seeds:
            (HERE / folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
