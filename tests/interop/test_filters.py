"""Filters and checksums of numcodecs against numcodecs itself: what it decodes from encoded elements, a mount shows, bit for bit.

Each case is one array of v2 and one of v3 (`numcodecs.*`), written by hand from the codec's own configuration, so that encoded
elements can be any: extremes, what no encoder makes, both byte orders. ZARRFS_TEST_SEED changes the elements.
"""
import itertools
import json
import os
import warnings

import numcodecs
import numpy as np
import pytest
from conftest import Mounts  # noqa: F401

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
TIMES = ["M8[s]", "M8[25ns]", "m8[D]", "m8[10us]"]
ALL = ["b1", *INTEGERS, *FLOATS]
N = 700  # more than two blocks of the decoder, and not a whole number of them
SEED = int(os.environ.get("ZARRFS_TEST_SEED", "4"))


def name(dtype):
    return np.dtype(dtype).str


def both_orders(*dtypes):
    return [(d, order) for d in dtypes for order in ("<", ">") if np.dtype(d).itemsize > 1 or order == "<"]


def elements(rng, dtype, wild=True):
    """Numbers of all sizes; wild: also the extremes, infinities, NaN and minus zero."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, N).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, N, dtype=dtype.newbyteorder("="), endpoint=True)
        values[:4] = [info.min, info.max, 0, 1]
        return values.astype(dtype)
    if dtype.kind in "mM":
        ticks = rng.integers(-(2**63), 2**63 - 1, N) >> rng.integers(0, 62, N)
        ticks[[5, 300]] = -(2**63)
        return ticks.view(dtype.newbyteorder("=")).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(N) + 1j * rng.standard_normal(N)).astype(dtype)
    values = (rng.standard_normal(N) * 10.0 ** rng.integers(-4, 4, N)).astype(dtype)
    values[0] = -0.0
    if wild:
        edges = [np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny, -0.9, 127.5, 128, -128.9, -129, 255.9, 256]
        edges += [sign * 2.0**power + more for power in (15, 16, 31, 32, 53, 63, 64) for sign in (1, -1) for more in (-1, 0, 0.5, 1)]
        with np.errstate(over="ignore"):
            values[-len(edges):] = np.array(edges).astype(dtype)
    return values


def fits_loops_of_numpy(values, plain):
    """Of float -> uint32 beyond both 32-bit types numpy has two answers: that of its vector loop, and that of the elements left over."""
    if np.dtype(plain).kind == "u" and np.dtype(plain).itemsize == 4 and values.dtype.kind == "f":
        wide = values.astype("f8")
        values[~((wide > -(2.0**31)) & (wide < 2.0**32))] = 7
    return values


def typed_cases():
    """(codec, the type of its encoded elements, of the decoded ones, whether encoded elements may be wild)"""
    for dtype, order in both_orders(*INTEGERS, *FLOATS, "c8", "c16"):
        plain = name(order + dtype)
        yield numcodecs.Delta(dtype=plain), plain, plain, False
        yield numcodecs.Quantize(digits=2, dtype=plain, astype=plain) if dtype in FLOATS else None, plain, plain, True
    for dtype, astype in [("i4", "i2"), ("u8", "u1"), ("i2", "i8"), ("f8", "f4"), ("f4", "f2"), ("f8", "i4"), ("u2", "i1"), ("f2", "f8"),
                          ("f4", "f8"), ("i4", "f8"), ("f4", "i4"), ("u8", "i8"), ("i8", "u8"), ("i2", "u1"), ("f2", "i2"), ("c8", "c16"), ("c16", "f4")]:
        for order in "<>":
            yield numcodecs.Delta(dtype=order + dtype, astype="<" + astype), name("<" + astype), name(order + dtype), False
    for scale, offset in [(10, 100), (0.1, -3), (3, 0.25), (1e-3, 1e6)]:
        for dtype, astype in [("f8", "u1"), ("f4", "i2"), ("f4", "f4"), ("f8", "f8"), ("f2", "f2"), ("f2", "u2"), ("f4", "f2"),
                              ("f8", "u8"), ("f8", "f4"), ("f4", "i8"), ("f4", "u4")]:
            for order in "<>":
                codec = numcodecs.FixedScaleOffset(offset=offset, scale=scale, dtype=order + dtype, astype=order + astype)
                yield codec, name(order + astype), name(order + dtype), False
    yield numcodecs.FixedScaleOffset(offset=5, scale=2, dtype="<i4", astype="<i2"), "<i2", "<i4", False
    yield numcodecs.FixedScaleOffset(offset=5, scale=2, dtype="|u1", astype="|u1"), "|u1", "|u1", False
    for plain in ALL:
        for stored in ALL:
            for order in "<>":
                yield numcodecs.AsType(name(order + stored), name(order + plain)), name(order + stored), name(order + plain), True
    for time in TIMES:
        for other in [time, "i4", "i8", "u8", "f8"]:
            for order in "<>":
                yield numcodecs.AsType(name(order + time), name("<" + other)), name(order + time), name("<" + other), True
                yield numcodecs.AsType(name("<" + other), name(order + time)), name("<" + other), name(order + time), False
        if time[0] == "m":
            yield numcodecs.Delta(dtype="<" + time), "<" + time, "<" + time, True
    # halfway between two halves and a little more: rounding to a single on the way would lose that
    odd = 1 + 2.0**-11 + 2.0**-30
    for dtype, astype in [("f2", "f2"), ("f4", "f2"), ("f2", "f4"), ("f8", "f8")]:
        yield numcodecs.FixedScaleOffset(offset=odd, scale=odd, dtype="<" + dtype, astype="<" + astype), "<" + astype, "<" + dtype, True
    for bits, dtype in [(3, "f2"), (10, "f4"), (20, "f8")]:
        yield numcodecs.BitRound(bits), "<" + dtype, "<" + dtype, True


def bytes_cases():
    """(codec, payload, the type of the decoded elements)"""
    rng = np.random.default_rng(SEED)
    for n in (1, 2, 3, 7, 8, 9, 64, N, 719, 720, 721, 100001):  # fletcher32 folds every 360 words
        bits = rng.integers(0, 2, n).astype(bool)
        yield numcodecs.PackBits(), bits, "|b1"
        payload = rng.integers(0, 256, n).astype("u1")
        for codec in (
            numcodecs.CRC32(), numcodecs.CRC32(location="end"), numcodecs.Adler32(), numcodecs.Adler32(location="end"),
            numcodecs.CRC32C(), numcodecs.CRC32C(location="start"), numcodecs.Fletcher32(),
            numcodecs.JenkinsLookup3(), numcodecs.JenkinsLookup3(initval=1234), numcodecs.Base64(), numcodecs.Zlib(1),
        ):
            yield codec, payload, "|u1"
        for size in (1, 2, 3, 4, 8, 16):
            wide = rng.integers(0, 256, n * size).astype("u1")
            yield numcodecs.Shuffle(size), wide, "|u1"


def cases():
    """(codec, encoded bytes, decoded elements as they are in the array's type)"""
    rng = np.random.default_rng(SEED)
    for codec, stored, plain, wild in typed_cases():
        if codec is None:
            continue
        encoded = fits_loops_of_numpy(elements(rng, stored, wild), plain)
        if codec.codec_id == "fixedscaleoffset" and np.dtype(plain).kind in "iu":
            encoded = np.abs(encoded // 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            decoded = np.asarray(codec.decode(encoded.copy())).view(plain)
        yield codec, encoded.tobytes(), decoded
    for codec, payload, plain in bytes_cases():
        encoded = bytes(codec.encode(payload))
        yield codec, encoded, np.frombuffer(bytes(codec.decode(encoded)), dtype=plain)


def write_v2(folder, codec, encoded, decoded):
    os.makedirs(folder)
    document = {
        "zarr_format": 2, "shape": [len(decoded)], "chunks": [len(decoded)], "dtype": decoded.dtype.str, "order": "C",
        "fill_value": None, "compressor": None, "filters": [codec.get_config()],
    }
    with open(os.path.join(folder, ".zarray"), "w") as f:
        json.dump(document, f)
    with open(os.path.join(folder, "0"), "wb") as f:
        f.write(encoded)


def is_array_codec(codec):
    return codec.codec_id in ("delta", "fixedscaleoffset", "quantize", "astype", "bitround", "packbits")


def data_type(dtype):
    if dtype.kind not in "mM":
        return dtype.name
    unit, scale = np.datetime_data(dtype)
    return {"name": "numpy." + {"m": "timedelta64", "M": "datetime64"}[dtype.kind], "configuration": {"unit": unit, "scale_factor": scale}}


def write_v3(folder, codec, encoded, decoded):
    """Bytes codecs behind `bytes`, array codecs in front of it; elements are little-endian there."""
    os.makedirs(os.path.join(folder, "c"))
    configuration = {k: v for k, v in codec.get_config().items() if k != "id"}
    chain = [{"name": "numcodecs." + codec.codec_id, "configuration": configuration}, {"name": "bytes", "configuration": {"endian": "little"}}]
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [len(decoded)], "data_type": data_type(decoded.dtype),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [len(decoded)]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": {"b": False, "c": [0, 0]}.get(decoded.dtype.kind, 0),
        "codecs": chain if is_array_codec(codec) else chain[::-1],
    }
    with open(os.path.join(folder, "zarr.json"), "w") as f:
        json.dump(document, f)
    with open(os.path.join(folder, "c", "0"), "wb") as f:
        f.write(encoded)


def test_a_filter_of_v3_takes_the_type_of_the_array_where_it_names_none(zarrfs, tmp_path):
    class Untyped:
        codec_id = "delta"

        def get_config(self):
            return {"id": "delta"}

    elements = np.array([1000, 1, -2, 40000], dtype="<i4")
    write_v3(str(tmp_path / "untyped.zarr" / "a"), Untyped(), elements.tobytes(), np.cumsum(elements, dtype="<i4"))
    with Mounts(zarrfs, str(tmp_path / "mounts"))(str(tmp_path / "untyped.zarr")) as mounted:
        assert np.fromfile(mounted / "a.raw", dtype="<i4").tolist() == [1000, 1001, 999, 40999]


def filtered_arrays():
    """(elements, filter) of every integer and float, its types in either order."""
    from zarr.codecs import numcodecs as wrapped

    rng = np.random.default_rng(SEED)
    for dtype in [*INTEGERS, *FLOATS]:
        values = elements(rng, dtype, wild=False)
        for a, b in itertools.product("<>", repeat=2):
            yield values, wrapped.AsType(encode_dtype=name(a + dtype), decode_dtype=name(b + dtype))
            if dtype in INTEGERS:
                yield values, wrapped.Delta(dtype=name(b + dtype), astype=name(a + dtype))


@pytest.mark.parametrize("shards", [None, (210,)])
def test_filters_of_either_order_give_back_what_zarr_python_3_was_given(zarrfs, tmp_path, shards):
    """zarr-python itself reads most arrays of the other order wrongly, so the comparison is with what went in."""
    import zarr

    store = str(tmp_path / "orders.zarr")
    arrays = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from zarr.codecs import numcodecs as wrapped

        zarr.open_group(store, mode="w")
        for i, (values, codec) in enumerate(filtered_arrays()):
            array = zarr.create_array(store, name=f"a{i}", shape=values.shape, chunks=(70,), shards=shards, dtype=values.dtype,
                                      filters=[codec], compressors=[wrapped.Shuffle()])
            array[...] = values
            arrays.append((values, codec))
    with Mounts(zarrfs, str(tmp_path / "mounts"), seconds=120)(store) as mounted:
        for i, (values, codec) in enumerate(arrays):
            shown = np.fromfile(mounted / f"a{i}.raw", dtype=values.dtype)
            assert shown.tobytes() == values.tobytes(), f"a{i} {codec.to_dict()}, seed {SEED}"
    assert len(arrays) > 60


def uses_big_endian(codec, decoded):
    return decoded.dtype.byteorder == ">" or ">" in json.dumps(codec.get_config())


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_every_filter_and_checksum_decodes_as_numcodecs_does(zarrfs, tmp_path, zarr_format):
    table = list(cases())
    store = tmp_path / "filters.zarr"
    write = write_v2 if zarr_format == 2 else write_v3
    for i, (codec, encoded, decoded) in enumerate(table):
        if zarr_format == 2 or not uses_big_endian(codec, decoded):
            write(str(store / f"a{i}"), codec, encoded, decoded)
    wrong = []
    compared = 0
    with Mounts(zarrfs, str(tmp_path / "mounts"), seconds=120)(str(store)) as mounted:
        for i, (codec, _, decoded) in enumerate(table):
            if not os.path.isdir(store / f"a{i}"):
                continue
            compared += 1
            wanted = decoded.astype(decoded.dtype.newbyteorder("<"))
            try:
                shown = np.fromfile(mounted / f"a{i}.raw", dtype=wanted.dtype)
            except OSError as e:
                wrong.append(f"a{i} {codec.get_config()}: {e}")
                continue
            if shown.tobytes() != wanted.tobytes():
                at = np.flatnonzero(shown.view(f"V{wanted.dtype.itemsize}") != wanted.view(f"V{wanted.dtype.itemsize}"))
                wrong.append(f"a{i} {codec.get_config()}: element {at[0]}: {shown[at[0]]!r}, numcodecs has {wanted[at[0]]!r}")
    assert not wrong, f"seed {SEED}, {len(wrong)} of {compared}:\n" + "\n".join(wrong[:20])
    assert compared > 200
