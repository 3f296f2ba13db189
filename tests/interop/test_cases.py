"""Cases from public reports of people who read Zarr, as small stores made by hand. README.md has the table: case, test, result.

A test's name begins with its case's number. Stores are read with `zarrfs cat`, which gives the bytes of the mount
(tests/mount/test_program.py); what concerns the mount itself is tested through one.
"""
import json
import os
import struct
import zlib

import numcodecs
import numpy as np
import pytest

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
CRC32C = {"name": "crc32c"}


def v3(dtype, shape, chunk, codecs=None, **more):
    return {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}}, "chunk_key_encoding": {"name": "default"},
        "codecs": [LITTLE] if codecs is None else codecs, **more,
    }


def v2(dtype, shape, chunks, **more):
    return {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "order": "C", "fill_value": 0, "compressor": None,
            "filters": None, **more}


def sharding(inner, codecs=None, index=None, **more):
    return [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner, "codecs": codecs or [LITTLE], "index_codecs": [LITTLE, CRC32C] if index is None else index, **more}}]


@pytest.fixture
def reads(run, tmp_path):
    """reads({key: bytes, text or document}) makes a store; then reads.raw("a") is its bytes, reads.error("a") (exit code, line)."""

    class Store:
        path = None

        def __call__(self, files):
            self.path = str(tmp_path / f"store{len(os.listdir(tmp_path))}.zarr")
            for key, content in files.items():
                path = os.path.join(self.path, key)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if not isinstance(content, bytes):
                    content = (content if isinstance(content, str) else json.dumps(content)).encode()
                with open(path, "wb") as f:
                    f.write(content)
            return self

        def cat(self, name="a", view="raw", *more):
            return run("cat", os.path.join(self.path, f"{name}.{view}"), *more, binary=True)

        def raw(self, name="a", *more):
            done = self.cat(name, "raw", *more)
            assert done.returncode == 0, done.stderr.decode()
            return done.stdout

        def array(self, dtype, name="a"):
            return np.frombuffer(self.raw(name), dtype).tolist()

        def error(self, name="a"):
            done = self.cat(name)
            assert done.returncode != 0, f"it reads {done.stdout[:64].hex()}"
            return done.returncode, done.stderr.decode()

    return Store()


def a2(document, chunks=None, **more):
    """An array `a` of v2 in a group."""
    return {".zgroup": {"zarr_format": 2}, "a/.zarray": document, **{f"a/{k}": v for k, v in (chunks or {}).items()}, **more}


def a3(document, chunks=None):
    return {"zarr.json": {"zarr_format": 3, "node_type": "group"}, "a/zarr.json": document, **{f"a/{k}": v for k, v in (chunks or {}).items()}}


# ---------------------------------------------------------------- metadata


@pytest.mark.parametrize("codecs", [
    ["bytes"], [{"name": "bytes"}], [{"name": "bytes", "configuration": {}}], [LITTLE],
    [{"name": "bytes", "configuration": {"endian": "big"}}], [{"name": "endian", "configuration": {"endian": "little"}}],
])
def test_O_01_bytes_in_all_its_spellings(reads, codecs):
    assert reads(a3(v3("uint8", [4], [4], codecs), {"c/0": b"\1\2\3\4"})).array("u1") == [1, 2, 3, 4]


def test_O_01_several_bytes_need_an_order_and_a_chain_needs_bytes(reads):
    assert "endian is missing" in reads(a3(v3("uint16", [2], [2], ["bytes"]), {"c/0": b"\1\0\2\0"})).error()[1]
    assert "no codec of the chain makes bytes" in reads(a3(v3("uint8", [4], [4], []))).error()[1]


@pytest.mark.parametrize("members,member", [
    ({"x_note": {"must_understand": False, "a": 1}}, None),
    ({"storage_transformers": []}, None),
    ({"storage_transformers": None}, None),
    ({"x_note": {"a": 1}}, "x_note"),
    ({"x_note": 5}, "x_note"),
    ({"storage_transformers": [{"name": "x", "configuration": {}}]}, "storage_transformers"),
    ({"codecs": [LITTLE, {"name": "acme", "must_understand": False}]}, "acme"),
])
def test_O_02_unknown_members(reads, members, member):
    store = reads(a3({**v3("uint8", [2], [2]), **members}, {"c/0": b"\7\x08"}))
    if member is None:
        assert store.array("u1") == [7, 8]
    else:
        assert member in store.error()[1]


@pytest.mark.parametrize("compressor", [
    {"id": "zstd", "level": 0, "checksum": False}, {"id": "zstd", "level": 3}, {"id": "blosc", "cname": "lz4", "clevel": 5},
    {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0, "numThreads": 8}, {"id": "zlib", "level": 1, "x": None},
])
def test_O_03_members_of_a_codec_that_only_matter_for_encoding(reads, compressor):
    known = {"zstd": ["level"], "zlib": ["level"], "blosc": ["cname", "clevel"]}[compressor["id"]]
    codec = numcodecs.get_codec({"id": compressor["id"], **{k: compressor[k] for k in known}})
    values = np.arange(6, dtype="<u4")
    assert reads(a2(v2("<u4", [6], [6], compressor=compressor), {"0": bytes(codec.encode(values))})).array("<u4") == values.tolist()


def test_O_03_a_compressor_without_an_id(reads):
    assert "compressor: not an object with an id" in reads(a2(v2("<u4", [6], [6], compressor={"level": 1}))).error()[1]


# ---------------------------------------------------------------- data types


@pytest.mark.parametrize("files", [
    a2(v2(">i2", [2], [2]), {"0": b"\0\1\1\0"}),
    a2(v2("<i2", [2], [2]), {"0": b"\1\0\0\1"}),
    a3(v3("int16", [2], [2], [{"name": "bytes", "configuration": {"endian": "big"}}]), {"c/0": b"\0\1\1\0"}),
])
def test_O_04_byte_orders(reads, files, tmp_path):
    store = reads(files)
    assert store.array("<i2") == [1, 256]
    path = tmp_path / "a.npy"
    path.write_bytes(store.cat("a", "npy").stdout)
    assert np.load(path).tolist() == [1, 256] and np.load(path).dtype == np.dtype("<i2")


@pytest.mark.parametrize("dtype", [">i2", "<i2"])
def test_O_04_the_fill_value_is_swapped_along(reads, dtype):
    assert reads(a2(v2(dtype, [2], [2], fill_value=1))).array("<i2") == [1, 1]


@pytest.mark.parametrize("dtype,size", [
    ([["a", "<u8"], ["b", "<f8", [2]]], 24), ([["r", "|u1"], ["g", "|u1"], ["b", "|u1"]], 3), ([["a", "<u4"], ["b", "|u1"], ["", "|V3"]], 8),
])
def test_O_05_records(reads, tmp_path, dtype, size):
    stored = bytes(range(2 * size))
    store = reads(a2(v2(dtype, [2], [2], fill_value=None), {"0": stored}))
    path = tmp_path / "a.npy"
    path.write_bytes(store.cat("a", "npy").stdout)
    loaded = np.load(path)
    assert len(store.raw()) == 2 * size and loaded.dtype.itemsize == size
    assert [n for n in loaded.dtype.names] == [f[0] for f in dtype if f[0]]
    for name, kind, *shape in dtype:
        if name:
            offset = loaded.dtype.fields[name][1]
            field = np.dtype((kind, tuple(shape[0]))) if shape else np.dtype(kind)
            assert loaded[name][1].tobytes() == stored[size + offset : size + offset + field.itemsize]


# ---------------------------------------------------------------- fill values


def test_O_06_null_fill_and_an_absent_chunk(reads, run):
    store = reads(a2(v2("<f4", [4], [2], fill_value=None), {"0": np.array([1, 2], "<f4").tobytes()}))
    assert store.raw() == store.raw() == np.array([1, 2, 0, 0], "<f4").tobytes()
    assert "undefined" in run("info", os.path.join(store.path, "a")).stdout
    store = reads(a3({**v3("float32", [4], [2]), "fill_value": None}))
    assert store.raw() == bytes(16) and "undefined" in run("info", os.path.join(store.path, "a")).stdout


@pytest.mark.parametrize("fill,bits", [
    ('"NaN"', "0000c07f"), ('"Infinity"', "0000807f"), ('"-Infinity"', "000080ff"), ("NaN", "0000c07f"), ("-Infinity", "000080ff"),
])
def test_O_07_nan_and_infinities(reads, fill, bits):
    document = json.dumps(v2("<f4", [1], [1], fill_value="@")).replace('"@"', fill)
    assert reads(a2(document, **{"a/.zattrs": '{"missing": NaN}', ".zattrs": '{"x": Infinity}'})).raw().hex() == bits


def test_O_07_parts_of_a_complex_number_and_an_integer_that_is_none(reads):
    assert reads(a2(v2("<c8", [1], [1], fill_value=["NaN", 1.0]))).raw().hex() == "0000c07f0000803f"
    assert "fill_value" in reads(a2(v2("<i4", [1], [1], fill_value="NaN"))).error()[1]


@pytest.mark.parametrize("dtype,fill,bits", [
    ("int64", -9223372036854775807, "0100000000000080"), ("int64", 9007199254740993, "0100000000002000"),
    ("uint64", 18446744073709551615, "ffffffffffffffff"),
])
def test_O_08_integers_of_64_bits(reads, dtype, fill, bits):
    assert reads(a3(v3(dtype, [1], [1], fill_value=fill))).raw().hex() == bits


def test_O_08_a_shape_of_54_bits(reads, mount):
    store = reads(a3(v3("int8", [9007199254740993], [1048576], ["bytes"])))
    with mount(store.path) as mounted:
        assert os.stat(mounted / "a.raw").st_size == 9007199254740993


@pytest.mark.parametrize("dtype,fill,bits", [
    ("|S4", "WA==", "58000000"), ("|S4", 0, "00000000"), ([["a", "<u8"], ["b", "|S7"]], 0, "00" * 15), ("<u2", "0", "0000"),
    ("|u1", 0.0, "00"), ("|b1", 0, "00"), ("|u1", 0.5, None), ("<u4", -1, None),
])
def test_O_09_fill_values_spelled_oddly(reads, dtype, fill, bits):
    store = reads(a2(v2(dtype, [1], [1], fill_value=fill)))
    if bits:
        assert store.raw().hex() == bits
    else:
        assert "fill_value" in store.error()[1]


# ---------------------------------------------------------------- codecs

ZSTD_UNSIZED = bytes.fromhex("28b52ffd0400610000" "48656c6c6f207a6172726673" "32bc70a9")


def zstd_store(chunk, size=12):
    return a2(v2("|u1", [size], [size], compressor={"id": "zstd", "level": 1}), {"0": chunk})


def test_O_10_zstd_without_a_size_and_in_several_frames(reads):
    assert reads(zstd_store(ZSTD_UNSIZED)).raw() == b"Hello zarrfs"
    frames = [bytes(numcodecs.Zstd(1).encode(part)) for part in (b"Hello ", b"zarrfs")]
    assert reads(zstd_store(b"".join(frames))).raw() == b"Hello zarrfs"


@pytest.mark.parametrize("chunk", [
    ZSTD_UNSIZED[:-1] + bytes([ZSTD_UNSIZED[-1] ^ 1]), bytes(numcodecs.Zstd(1).encode(b"Hello zarrf")),
    bytes(numcodecs.Zstd(1).encode(b"Hello zarrfs!")), bytes.fromhex("28b52ffd" "c0" "00" + "0000000000010000" "010000"),
], ids=["checksum", "11 bytes", "13 bytes", "a frame of 2^40"])
def test_O_10_zstd_frames_that_lie(reads, chunk):
    code, line = reads(zstd_store(chunk)).error()
    assert code == 5 and "a/0: zstd: " in line


@pytest.mark.parametrize("metadata", [
    {"shuffle": -1}, {"cname": "zlib"}, {"typesize": 4, "shuffle": 1}, {},
])
def test_O_11_blosc_decodes_by_its_header(reads, metadata):
    values = np.arange(40, dtype="<u2")
    chunk = bytes(numcodecs.Blosc("lz4", 5, shuffle=2).encode(values))
    compressor = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 2, "blocksize": 0, **metadata}
    assert reads(a2(v2("<u2", [40], [40], compressor=compressor), {"0": chunk})).array("<u2") == values.tolist()


def test_O_11_a_shuffle_that_is_none_is_refused_by_name(reads):
    compressor = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 7, "blocksize": 0}
    assert "compressor: shuffle: neither noshuffle" in reads(a2(v2("<u2", [40], [40], compressor=compressor))).error()[1]


def test_O_11_blosc_of_v3_without_a_typesize(reads):
    values = np.arange(40, dtype="<u2")
    blosc = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "noshuffle"}}
    chunk = bytes(numcodecs.Blosc("zstd", 1, shuffle=1).encode(values))
    assert reads(a3(v3("uint16", [40], [40], [LITTLE, blosc]), {"c/0": chunk})).array("<u2") == values.tolist()


LZ4 = bytes.fromhex("10000000" "f001" "0000010002000300040005000600" "0700")


def test_O_12_lz4_has_a_header_of_four_bytes(reads):
    assert reads(a2(v2("<u2", [8], [8], compressor={"id": "lz4"}), {"0": LZ4})).array("<u2") == list(range(8))


@pytest.mark.parametrize("header", ["ffffff7f", "11000000", "04224d18"])
def test_O_12_lz4_of_another_size_or_kind(reads, header):
    code, line = reads(a2(v2("<u2", [8], [8], compressor={"id": "lz4"}), {"0": bytes.fromhex(header) + LZ4[4:]})).error()
    assert code == 5 and "lz4" in line


@pytest.mark.parametrize("shape,chunks", [([3, 4], [3, 4]), ([3, 4], [2, 3]), ([2, 3, 4], [2, 3, 4]), ([2, 3, 4], [2, 2, 3])])
def test_O_13_order_F(reads, shape, chunks):
    values = np.arange(np.prod(shape), dtype="<i4").reshape(shape)
    padded = np.zeros([-(-n // c) * c for n, c in zip(shape, chunks)], "<i4")
    padded[tuple(slice(n) for n in shape)] = values
    keys = {}
    for index in np.ndindex(*[-(-n // c) for n, c in zip(shape, chunks)]):
        box = tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunks))
        keys[".".join(map(str, index))] = padded[box].tobytes("F")
    store = reads(a2(v2("<i4", shape, chunks, order="F"), keys))
    assert store.array("<i4") == values.ravel().tolist()
    assert b"'fortran_order': False" in store.cat("a", "npy").stdout


def test_O_14_byte_shuffle_and_the_names_of_numcodecs(reads):
    stored, plain = bytes([1, 3, 5, 7, 2, 4, 6, 8]), list(range(1, 9))
    shuffle = {"id": "shuffle", "elementsize": 2}
    assert reads(a2(v2("|u1", [8], [8], filters=[shuffle]), {"0": stored})).array("u1") == plain
    chain = [{"name": "bytes"}, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}},
             {"name": "numcodecs.zlib", "configuration": {"level": 4}}]
    assert reads(a3(v3("uint8", [8], [8], chain), {"c/0": zlib.compress(stored)})).array("u1") == plain
    code, line = reads(a2(v2("|u1", [10], [10], filters=[{"id": "shuffle", "elementsize": 4}]), {"0": bytes(10)})).error()
    assert code == 5 and "10 bytes are no elements of 4" in line


def test_O_14_filters_are_undone_last_to_first(reads):
    values = np.array([5, 7, 4, 300], "<i4")
    delta, shuffle = numcodecs.Delta("<i4"), numcodecs.Shuffle(4)
    chunk = zlib.compress(bytes(shuffle.encode(delta.encode(values))))
    document = v2("<i4", [4], [4], filters=[delta.get_config(), shuffle.get_config()], compressor={"id": "zlib", "level": 1})
    assert reads(a2(document, {"0": chunk})).array("<i4") == values.tolist()


def test_O_15_what_cannot_be_decoded_stays_visible_and_is_no_data(reads, run, mount):
    group = {
        ".zgroup": {"zarr_format": 2},
        "fine/.zarray": v2("|u1", [1], [1]), "fine/0": b"\7",
        "compressor/.zarray": v2("|u1", [1], [1], compressor={"id": "jpegxl"}), "compressor/0": b"\7",
        "filter/.zarray": v2("|u1", [1], [1], filters=[{"id": "foo"}], fill_value=None),
        "object/.zarray": v2("|O", [1], [1], filters=[{"id": "vlen-utf8"}], fill_value=None),
        "string/zarr.json": v3("string", [1], [1], [{"name": "vlen-utf8"}], fill_value=""),
    }
    store = reads(group)
    listed = run("ls", store.path)
    assert listed.returncode == 0 and all(name in listed.stdout for name in ("fine", "compressor", "filter", "object", "string"))
    for name, reason in {"compressor": "jpegxl", "filter": "foo", "object": "|O", "string": "string"}.items():
        code, line = store.error(name)
        assert code == 4 and reason in line
    assert store.raw("fine") == b"\7"
    with mount(store.path) as mounted:
        assert {"fine.raw", "compressor.raw", "filter.raw", "object.raw", "string.raw"} <= set(os.listdir(mounted.path))
        for name in ("compressor", "filter", "object", "string"):
            with pytest.raises(OSError):
                open(mounted / f"{name}.raw", "rb")


# ---------------------------------------------------------------- shards

DATA = np.array([1, 2, 3, 4], "<u2").tobytes()


def index(*entries, order="<"):
    return struct.pack(f"{order}{2 * len(entries)}Q", *[n for entry in entries for n in entry])


ABSENT = (2**64 - 1, 2**64 - 1)


def shard_store(shard, **more):
    index_codecs = more.pop("index", None)
    document = v3("uint16", [4], [4], sharding([2], index=index_codecs, **more), fill_value=9)
    return a3(document, {} if shard is None else {"c/0": shard})


@pytest.mark.parametrize("shard,codecs", [
    (DATA + index((0, 4), (4, 4)), [LITTLE]),
    (DATA + index((0, 4), (4, 4)) + bytes.fromhex("f6ff6f8f"), [LITTLE, CRC32C]),
    (DATA + index((0, 4), (4, 4)) + bytes.fromhex("f6ff6f8fc74b6748"), [LITTLE, CRC32C, CRC32C]),
    (DATA + index((0, 4), (4, 4), order=">"), [{"name": "bytes", "configuration": {"endian": "big"}}]),
])
def test_O_16_the_size_of_an_index_follows_from_its_codecs(reads, shard, codecs):
    assert reads(shard_store(shard, index=codecs)).array("<u2") == [1, 2, 3, 4]


def test_O_16_an_index_of_variable_size_is_refused(reads):
    code, line = reads(shard_store(DATA, index=[LITTLE, {"name": "gzip", "configuration": {"level": 1}}])).error()
    assert code == 4 and "index_codecs" in line


@pytest.mark.parametrize("shard,wanted", [
    (index((36, 4), (40, 4)) + bytes.fromhex("df3706b7") + DATA, [1, 2, 3, 4]),
    (index(ABSENT, (36, 4)) + bytes.fromhex("4102a204") + DATA[4:], [9, 9, 3, 4]),
    (None, [9, 9, 9, 9]),
])
def test_O_17_an_index_at_the_start(reads, shard, wanted):
    assert reads(shard_store(shard, index_location="start")).array("<u2") == wanted


def test_O_18_the_index_covers_the_whole_shard_at_the_edge(reads):
    shards = {"c/0": DATA + index((0, 4), (4, 4)) + bytes.fromhex("f6ff6f8f"),
              "c/1": np.array([5, 6], "<u2").tobytes() + index((0, 4), ABSENT) + bytes.fromhex("8a0729c5")}
    assert reads(a3(v3("uint16", [6], [4], sharding([2])), shards)).array("<u2") == [1, 2, 3, 4, 5, 6]
    assert set(reads(a3(v3("uint16", [17, 17], [8, 8], sharding([8, 8]), fill_value=3))).array("<u2")) == {3}


@pytest.mark.parametrize("shard", [
    b"", b"\0\0", bytes(31), DATA + index((5, 2**63), (4, 4)), DATA + index((2**64 - 8, 16), (4, 4)), DATA + index((2**64 - 1, 4), (4, 4)),
    DATA + index((4, 0), (4, 4)), DATA + index((40, 1), (4, 4)),
])
def test_O_19_a_hostile_index_is_an_error_of_its_chunk(reads, shard):
    store = reads(shard_store(shard, index=[LITTLE]))
    if len(shard) == 40 and shard[8:16] == b"\xff" * 8 and shard[16:24] == struct.pack("<Q", 4):
        # an offset that says absent beside a length that does not: absent, as for zarr-python
        assert store.array("<u2") == [9, 9, 3, 4]
        return
    code, line = store.error()
    assert code in (5, 6) and "a/c/0" in line


def test_O_19_inner_chunks_may_overlap(reads):
    assert reads(shard_store(DATA + index((0, 4), (0, 4)), index=[LITTLE])).array("<u2") == [1, 2, 1, 2]


def test_O_19_a_count_that_is_absurd_allocates_nothing(reads):
    code, line = reads(a3(v3("uint8", [2**40], [2**40], sharding([1], codecs=["bytes"])))).error()
    assert code == 4 and "codecs[0]" in line


def test_O_20_transpose_before_sharding(reads, run):
    values = np.arange(24, dtype="<i4").reshape(4, 6)
    transposed = values.T
    inner = [transposed[r : r + 3, c : c + 2].tobytes() for r in (0, 3) for c in (0, 2)]
    assert np.frombuffer(inner[0], "<i4").tolist() == [0, 6, 1, 7, 2, 8]
    shard = b"".join(inner) + index(*[(24 * i, 24) for i in range(4)])
    chain = [{"name": "transpose", "configuration": {"order": [1, 0]}}, *sharding([3, 2], index=[LITTLE])]
    assert reads(a3(v3("int32", [4, 6], [4, 6], chain), {"c/0/0": shard})).array("<i4") == list(range(24))


# ---------------------------------------------------------------- edge chunks


@pytest.mark.parametrize("pad", [b"\7\0", b"\xff\xff"])
def test_O_21_padding_is_never_visible(reads, pad):
    chunks = {"0": b"\1\0\2\0", "1": b"\3\0\4\0", "2": b"\5\0" + pad}
    assert reads(a2(v2("<i2", [5], [2]), chunks)).array("<i2") == [1, 2, 3, 4, 5]


def test_O_21_a_clipped_edge_chunk_is_an_error(reads):
    code, line = reads(a2(v2("<i2", [5], [2]), {"0": b"\1\0\2\0", "1": b"\3\0\4\0", "2": b"\5\0"})).error()
    assert code == 5 and "a/2: has 2 bytes in place of 4" in line


@pytest.mark.parametrize("shape,chunks", [([2150], [100]), ([3], [10]), ([4, 4], [3, 3])])
def test_O_21_grids_that_do_not_divide(reads, shape, chunks):
    values = np.arange(np.prod(shape), dtype="<i2").reshape(shape)
    padded = np.full([-(-n // c) * c for n, c in zip(shape, chunks)], -1, "<i2")
    padded[tuple(slice(n) for n in shape)] = values
    keys = {".".join(map(str, at)): padded[tuple(slice(i * c, i * c + c) for i, c in zip(at, chunks))].tobytes()
            for at in np.ndindex(*[-(-n // c) for n, c in zip(shape, chunks)])}
    assert reads(a2(v2("<i2", shape, chunks), keys)).array("<i2") == values.ravel().tolist()


DAMAGES = {"empty": lambda whole: b"", "8 bytes": lambda whole: whole[:8], "half": lambda whole: whole[: len(whole) // 2], "short": lambda whole: whole[:-1]}
COMPRESSORS = [None, {"id": "gzip", "level": 1}, {"id": "zstd", "level": 1}, {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}]


def check_damaged(reads, compressor, damage):
    codec = numcodecs.get_codec(compressor) if compressor else None
    values = np.arange(64, dtype="<u4") ** 3 % 1000
    whole = bytes(codec.encode(values)) if codec else values.tobytes()
    store = reads(a2(v2("<u4", [128], [64], compressor=compressor), {"0": damage(whole), "1": whole}))
    code, line = store.error()
    assert code == 5 and "a/0: " in line
    assert store.raw("a", "--offset", "256") == values.tobytes()


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_O_22_empty_and_cut_chunks(reads, compressor, damage):
    check_damaged(reads, compressor, DAMAGES[damage])


def test_O_22_a_plain_chunk_that_is_a_byte_too_long(reads):
    check_damaged(reads, None, lambda whole: whole + b"\0")


@pytest.mark.parametrize("files", [
    lambda chunk: a2(v2("<i4", [], [], fill_value=3), {"0": chunk} if chunk else {}),
    lambda chunk: a3(v3("int32", [], [], fill_value=3), {"c": chunk} if chunk else {}),
    lambda chunk: a3(v3("int32", [], [], fill_value=3, chunk_key_encoding={"name": "v2"}), {"0": chunk} if chunk else {}),
])
def test_O_23_arrays_of_no_dimension(reads, files, tmp_path):
    for chunk, wanted in ((b"\x2a\0\0\0", 42), (None, 3)):
        store = reads(files(chunk))
        assert store.array("<i4") == [wanted]
        path = tmp_path / "a.npy"
        path.write_bytes(store.cat("a", "npy").stdout)
        assert np.load(path).shape == () and np.load(path) == wanted


# ---------------------------------------------------------------- layout of stores


def quarters(join, prefix=""):
    return {prefix + join(r, c): bytes([2 * r + c]) * 4 for r in (0, 1) for c in (0, 1)}


QUARTERS = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]], "u1").tobytes()


@pytest.mark.parametrize("files", [
    a2(v2("|u1", [4, 4], [2, 2]), quarters("{}.{}".format)),
    a2(v2("|u1", [4, 4], [2, 2], dimension_separator="/"), quarters("{}/{}".format)),
    a3(v3("uint8", [4, 4], [2, 2], ["bytes"]), quarters("{}/{}".format, "c/")),
    a3(v3("uint8", [4, 4], [2, 2], ["bytes"], chunk_key_encoding={"name": "default", "configuration": {"separator": "."}}), quarters("{}.{}".format, "c.")),
])
def test_O_24_separators_and_their_defaults(reads, files):
    assert reads(files).raw() == QUARTERS


def test_O_24_keys_that_no_separator_reaches_are_worth_a_word(reads, run, mount):
    store = reads(a2(v2("|u1", [4, 4], [2, 2]), quarters("{}/{}".format)))
    with mount(store.path) as mounted:
        with open(mounted / "a.raw", "rb") as f:
            assert f.read() == bytes(16)
        assert 'no dimension_separator, so "." holds and chunks are absent, but there is a/' in mounted.words()
    assert "dimension_separator is not given" in run("info", os.path.join(store.path, "a")).stdout


def test_O_26_stray_files(reads, run):
    files = a3(v3("uint8", [4, 4], [2, 2], ["bytes"]), quarters("{}/{}".format, "c/"))
    files.update({"._zarr.json": os.urandom(4096), "a/._zarr.json": os.urandom(4096), ".DS_Store": b"\0\0\0\1Bud1", "a/c/0/0.partial": b"x", "a/c/0/1.tmp": b"x"})
    store = reads(files)
    os.mkdir(os.path.join(store.path, "empty"))
    os.symlink("loop", os.path.join(store.path, "loop"))
    assert store.raw() == QUARTERS
    listed = run("ls", "-R", store.path)
    assert listed.returncode == 0 and not any(name in listed.stdout for name in ("._zarr", "DS_Store", "loop", "partial"))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_O_27_consolidated_metadata_that_is_out_of_date(reads, zarr_format):
    old = {"kept": 4, "grown": 4, "deleted": 4}
    now = {"kept": 4, "grown": 8, "added": 4}
    if zarr_format == 2:
        block = {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}, **{f"{n}/.zarray": v2("|u1", [s], [s]) for n, s in old.items()}}}
        files = {".zgroup": {"zarr_format": 2}, ".zmetadata": block, **{f"{n}/.zarray": v2("|u1", [s], [s]) for n, s in now.items()}}
    else:
        block = {"kind": "inline", "must_understand": False, "metadata": {n: v3("uint8", [s], [s], ["bytes"]) for n, s in old.items()}}
        files = {"zarr.json": {"zarr_format": 3, "node_type": "group", "consolidated_metadata": block}, **{f"{n}/zarr.json": v3("uint8", [s], [s], ["bytes"]) for n, s in now.items()}}
    store = reads(files)
    assert {name: len(store.raw(name)) for name in now} == now
    assert store.cat("deleted").returncode == 1


# ---------------------------------------------------------------- through a mount


def test_O_33_a_mount_in_the_background_reads_as_one_in_the_foreground(reads, run, tmp_path):
    values = np.arange(10000, dtype="<u4")
    codec = numcodecs.Zstd(1)
    store = reads(a2(v2("<u4", [10000], [100], compressor=codec.get_config()), {str(i): bytes(codec.encode(values[100 * i : 100 * i + 100])) for i in range(100)}))
    mountpoint = tmp_path / "background"
    mountpoint.mkdir()
    assert run("mount", store.path, mountpoint).returncode == 0
    try:
        assert np.fromfile(mountpoint / "a.raw", "<u4").tolist() == values.tolist()
    finally:
        assert run("umount", mountpoint).returncode == 0


def test_O_34_any_number_of_threads_packs_the_same_files(run, tmp_path):
    np.save(tmp_path / "in.npy", np.arange(60**3, dtype="<i4").reshape(60, 60, 60) % 1000)
    packed = []
    for threads in (1, 2, 8):
        out = tmp_path / f"out{threads}.zarr"
        done = run("pack", tmp_path / "in.npy", out, "--chunk", "15,15,15", "--shard", "30,30,30", "--threads", threads, "--name", "a")
        assert done.returncode == 0, done.stderr
        packed.append({os.path.relpath(os.path.join(d, f), out): open(os.path.join(d, f), "rb").read() for d, _, files in os.walk(out) for f in files})
    assert packed[0] == packed[1] == packed[2] and len(packed[0]) == 2 + 8


def test_O_37_every_way_of_mapping_to_read_works_and_to_write_is_refused(reads, mount):
    store = reads(a2(v2("<i2", [5000], [1000]), {str(i): np.full(1000, i, "<i2").tobytes() for i in range(5)}))
    with mount(store.path) as mounted:
        for mode in ("r", "c"):
            assert np.memmap(mounted / "a.raw", "<i2", mode=mode)[4321] == 4
            assert np.load(mounted / "a.npy", mmap_mode=mode)[4321] == 4
        with pytest.raises(OSError):
            np.memmap(mounted / "a.raw", "<i2", mode="r+")


TOUCH = """
import mmap, os, sys
with open(sys.argv[1], "rb") as f:
    pages = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
for chunk in map(int, sys.argv[2:]):
    for at in range(chunk * 65536, (chunk + 1) * 65536, 4096):
        assert pages[at] == chunk, (chunk, at)
"""


def test_O_38_a_bad_chunk_under_a_mapping_kills_who_touches_it_alone(reads, mount):
    import signal
    import subprocess
    import sys

    store = reads(a2(v2("|u1", [16 * 65536], [65536]), {str(i): bytes([i]) * 65536 for i in range(16)}))
    bad = os.path.join(store.path, "a", "6")
    os.truncate(bad, 65535)
    good = [str(i) for i in range(16) if i != 6]
    with mount(store.path) as mounted:
        touch = [sys.executable, "-c", TOUCH, mounted / "a.raw"]
        assert subprocess.run([*touch, *good]).returncode == 0
        assert subprocess.run([*touch, "6"], stderr=subprocess.DEVNULL).returncode == -signal.SIGBUS
        with open(mounted / "a.raw", "rb", buffering=0) as f:
            f.seek(5 * 65536)
            assert f.read(65536 + 10) == bytes([5]) * 65536
            with pytest.raises(OSError):
                f.read(10)
        assert mounted.words().count("a/6: has 65535 bytes") == 1
        with open(bad, "wb") as f:
            f.write(bytes([6]) * 65536)
        import time

        time.sleep(1.1)
        assert subprocess.run([*touch, *good, "6"]).returncode == 0


@pytest.mark.parametrize("shape,dtype", [
    ([], "<f8"), ([3], "|u1"), ([2, 3], "<f4"), ([2**31 + 1], "|u1"), ([2**16 + 1, 2**16], "|u1"), ([5 << 40], "|u1"), ([3, 5 << 38], "<i2"),
    ([2, 2, 2, 2, 2, 2], "<c16"), ([7], "|V3"),
])
def test_O_40_sizes_are_exact_and_data_is_aligned(reads, mount, shape, dtype):
    store = reads(a2(v2(dtype, shape, [min(n, 4096) for n in shape], fill_value=None)))
    with mount(store.path) as mounted:
        size = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
        with open(mounted / "a.npy", "rb") as f:
            assert f.read(8) == b"\x93NUMPY\1\0"
            header = 10 + struct.unpack("<H", f.read(2))[0]
        assert header % 64 == 0 and os.stat(mounted / "a.npy").st_size == header + size
        loaded = np.load(mounted / "a.npy", mmap_mode="r")
        assert list(loaded.shape) == shape and loaded[tuple(-1 for _ in shape)].tobytes() == bytes(np.dtype(dtype).itemsize)
        del loaded  # a mapping keeps the mount busy


def test_O_40_a_header_that_does_not_fit_is_of_version_2(reads, mount):
    fields = [[f"a_field_with_quite_a_long_name_{'x' * 180}_{i:03}", "<f8"] for i in range(300)]
    store = reads(a2(v2(fields, [3], [3], fill_value=None)))
    with mount(store.path) as mounted:
        with open(mounted / "a.npy", "rb") as f:
            assert f.read(8) == b"\x93NUMPY\2\0"
        assert np.load(mounted / "a.npy", max_header_size=10**6).dtype.names == tuple(name for name, _ in fields)


def banded(rows, columns, chunk):
    """An array of u4 whose chunks are zstd, and its values."""
    codec = numcodecs.Zstd(1)
    values = np.arange(rows * columns, dtype="<u4").reshape(rows, columns)
    keys = {f"{r // chunk}.{c // chunk}": bytes(codec.encode(np.ascontiguousarray(values[r : r + chunk, c : c + chunk])))
            for r in range(0, rows, chunk) for c in range(0, columns, chunk)}
    return a2(v2("<u4", [rows, columns], [chunk, chunk], compressor=codec.get_config()), keys), values


@pytest.mark.parametrize("command", ["dd bs=1M", "dd bs=4k", "cat"])
def test_O_41_each_chunk_is_decoded_once_whatever_the_requests(reads, mount, tmp_path, command):
    import subprocess

    files, values = banded(1024, 1024, 256)
    with mount(reads(files).path) as mounted:
        with open(mounted / "a.raw", "rb") as source, open(tmp_path / "copy", "wb") as copy:
            subprocess.run(command.split(), stdin=source, stdout=copy, stderr=subprocess.DEVNULL, check=True)
        assert (tmp_path / "copy").read_bytes() == values.tobytes()
        assert mounted.stats()["chunks_decoded"] == 16


def test_O_42_a_row_of_chunks_that_the_cache_cannot_keep(reads, mount):
    files, values = banded(2048, 2048, 256)  # a row of chunks has 2 MiB
    store = reads(files)
    for cache, most in (("16M", 64), ("1M", 64 * 2048 * 8192 // 131072)):
        with mount(store.path, "--cache-size", cache) as mounted:
            with open(mounted / "a.raw", "rb") as f:
                assert f.read() == values.tobytes()
            assert mounted.stats()["chunks_decoded"] <= most
            assert ("raise --cache-size" in mounted.words()) == (cache == "1M")


def test_O_45_sparse_copies_hold_the_data(reads, mount, tmp_path):
    import subprocess

    store = reads(a2(v2("<u4", [100000], [1000]), {str(i): np.arange(1000, dtype="<u4").tobytes() for i in range(40, 60)}))
    with mount(store.path) as mounted:
        with open(mounted / "a.raw", "rb") as f:
            wanted = f.read()
        assert any(wanted) and os.stat(mounted / "a.raw").st_blocks == -(-len(wanted) // 512)
        subprocess.run(["tar", "-C", mounted.path, "-Scf", tmp_path / "a.tar", "a.raw"], check=True)
        (tmp_path / "tar").mkdir()
        subprocess.run(["tar", "-C", tmp_path / "tar", "-xf", tmp_path / "a.tar"], check=True)
        subprocess.run(["cp", "--sparse=always", mounted / "a.raw", tmp_path / "copy"], check=True)
        assert (tmp_path / "tar/a.raw").read_bytes() == (tmp_path / "copy").read_bytes() == wanted
        assert subprocess.run(["du", "-B1", mounted / "a.raw"], capture_output=True, text=True).stdout.split()[0] != "0"


# ---------------------------------------------------------------- the table


def test_the_table_has_every_case_and_names_tests_that_exist():
    import re

    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "README.md")) as f:
        rows = [line.split("|") for line in f if line.startswith("| O-")]
    cases = set()
    for row in rows:
        first, *last = [int(n) for n in re.findall(r"O-(\d+)", row[1])]
        cases |= set(range(first, (last or [first])[0] + 1))
        named = re.findall(r"`([^`]*test_[^`]*)`", row[3])
        assert named, row
        for name in named:
            file, _, function = name.rpartition("::")
            path = os.path.join(os.path.dirname(here), file) if file else os.path.join(here, "test_cases.py")
            with open(path) as f:
                assert f"def {function}(" in f.read(), name
    assert cases == set(range(1, 49))
    mine = set()
    for file in ("test_cases.py", "test_cases_mount.py"):
        with open(os.path.join(here, file)) as f:
            mine |= set(re.findall(r"def (test_O_\w+)\(", f.read()))
    with open(os.path.join(here, "README.md")) as f:
        text = f.read()
    assert not [name for name in mine if f"{name}`" not in text]
