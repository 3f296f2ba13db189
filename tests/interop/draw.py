"""Arrays at random: the tables of what each writer has, and draw(batch, seed, number) -> case, a dict of plain JSON.

A case follows from (batch, seed, number) and these tables alone. To add a codec or a data type, add its row: `batches` says who
writes it, `needs` what zarrfs must have built in (its names in `zarrfs --version`); a case that needs what is not built in is drawn
again. Imported by every writer's process, so it needs nothing but numpy (and ml_dtypes where TensorStore is).
"""
import zlib
from typing import Any, Callable, NamedTuple

import numpy as np
from write_types import FOREIGN, RECORDS, copy_fields, little

# writer and format: how many of a hundred arrays of an ordinary run
BATCHES = {"zarr3-v3": 28, "zarr3-v2": 14, "zarr2-v2": 22, "tensorstore-v3": 16, "tensorstore-v2": 8, "zarrs-v3": 12}
NUMCODECS = "zarr3-v3 zarr3-v2 zarr2-v2"
PYTHON = "zarr3-v3 zarr3-v2 zarr2-v2"
V3 = "zarr3-v3 tensorstore-v3 zarrs-v3"
V2 = "zarr3-v2 zarr2-v2 tensorstore-v2"
EVERY = f"{V2} {V3}"
ATTRIBUTES = {"units": "K", "note": 'caf\u00e9 "q"', "n": [1, {"a": None}]}
BARE_NAN = {"missing": float("nan")}  # which JSON has not, and Python writes
MOST_CHUNKS, MOST_INNER, MOST_ELEMENTS = 40, 48, 2500


class Type(NamedTuple):
    name: str
    dtype: Any  # numpy's, or the name in ml_dtypes
    batches: str
    needs: str
    shown: str = ""  # the descr of its .npy, where numpy has no such type


class Codec(NamedTuple):
    name: str  # in v3; the numcodecs id where prefix
    kind: str  # values (array -> array), bytes (bytes -> bytes, before a compressor), compressor, last (after one)
    batches: str
    draw: Callable  # (random, dtype) -> configuration
    fits: Callable = lambda dtype: True
    numcodecs: bool = True  # an id of v2, "numcodecs.ID" in v3
    lossy: Callable = lambda dtype: False
    needs: str = ""  # the name if empty


def _types():
    for descr in ["|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"]:
        yield Type(descr, descr, EVERY, np.dtype(descr).name)
        if descr[0] == "<":
            yield Type(">" + descr[1:], ">" + descr[1:], V2, np.dtype(descr).name)
    for descr, needs in [
        ("|S1", "null_terminated_bytes"), ("|S5", "null_terminated_bytes"), ("<U3", "fixed_length_utf32"), ("|V6", "raw_bytes"),
        ("<M8[ns]", "numpy.datetime64"), ("<M8[10us]", "numpy.datetime64"), ("<m8[D]", "numpy.timedelta64"),
    ]:
        yield Type(descr, descr, PYTHON, needs)
    for descr, needs in [(">U7", "fixed_length_utf32"), (">M8[s]", "numpy.datetime64"), (">m8[h]", "numpy.timedelta64")]:
        yield Type(descr, descr, "zarr3-v2 zarr2-v2", needs)
    for name in ("flat", "big", "even", "nested", "sub", "deep"):  # most compressors of numcodecs take no record with a time in it
        batches = "zarr2-v2" if name in ("sub", "deep") else "zarr3-v2 zarr2-v2"
        yield Type(name, RECORDS[name], batches, "struct")
        if name in ("flat", "even", "nested"):
            yield Type(name + "-little", np.dtype(RECORDS[name]).newbyteorder("<"), "zarr3-v3", "struct")
    for name, descr in FOREIGN.items():
        yield Type(name, name, "tensorstore-v3 tensorstore-v2", name, descr)


TYPES = {row.name: row for row in _types()}
# Half of all arrays have one of these.
COMMON = [row.name for row in TYPES.values() if row.batches == EVERY or row.dtype in (">f4", ">i2")]


def numpy_dtype(name):
    row = TYPES[name]
    if row.shown:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, row.dtype))
    return np.dtype(row.dtype)


# ---------------------------------------------------------------- codecs


def pick(random, *choices):
    return choices[int(random.integers(len(choices)))]


def kinds(letters):
    return lambda dtype: dtype.names is None and dtype.kind in letters


def _none(random, dtype):
    return {}


def _level(low, high):
    return lambda random, dtype: {"level": int(random.integers(low, high + 1))}


def _zstd(random, dtype):
    return {"level": int(random.integers(-3, 10)), "checksum": pick(random, True, False)}


def _blosc3(random, dtype):
    chosen = {"cname": pick(random, "lz4", "lz4hc", "blosclz", "zstd", "zlib"), "clevel": int(random.integers(0, 10))}
    chosen["shuffle"] = pick(random, "noshuffle", "shuffle", "bitshuffle")
    return {**chosen, "typesize": min(max(dtype.itemsize, 1), 255), "blocksize": pick(random, 0, 0, 0, 256, 4096)}


def _blosc2(random, dtype):
    chosen = {"cname": pick(random, "lz4", "lz4hc", "blosclz", "zstd", "zlib"), "clevel": int(random.integers(0, 10))}
    return {**chosen, "shuffle": pick(random, 0, 1, 2, -1), "blocksize": pick(random, 0, 0, 0, 256, 4096)}


def _blosc_tensorstore(random, dtype):
    return {**_blosc2(random, dtype), "shuffle": pick(random, 0, 1, 2)}


def _lzma(random, dtype):
    import lzma

    # (format, check, preset, filters); raw streams have no check
    delta = [{"id": lzma.FILTER_DELTA, "dist": max(1, min(dtype.itemsize, 256))}, {"id": lzma.FILTER_LZMA2, "preset": 1}]
    return pick(
        random,
        {"format": lzma.FORMAT_XZ, "check": -1, "preset": 1, "filters": None},
        {"format": lzma.FORMAT_XZ, "check": lzma.CHECK_CRC32, "preset": 0, "filters": None},
        {"format": lzma.FORMAT_ALONE, "check": -1, "preset": 2, "filters": None},
        {"format": lzma.FORMAT_RAW, "check": -1, "preset": None, "filters": delta},
    )


def _delta(random, dtype):
    return {"dtype": dtype.str, "astype": dtype.str}


def _fixed(random, dtype):
    astype = pick(random, "|u1", "<i2", "<i4", "<f4") if dtype.kind == "f" else pick(random, "<i4", "<i8")
    return {"offset": pick(random, 0, 5, -3.5), "scale": pick(random, 1, 2, 0.5, 10), "dtype": dtype.str, "astype": astype}


def _quantize(random, dtype):
    return {"digits": int(random.integers(0, 4)), "dtype": dtype.str, "astype": dtype.str}


def _bitround(random, dtype):
    return {"keepbits": int(random.integers(1, {2: 10, 4: 23, 8: 52}[dtype.itemsize]))}


def _astype(random, dtype):
    wider = "<f8" if dtype.kind == "f" else {"i": "<i8", "u": "<u8"}[dtype.kind]
    return {"encode_dtype": wider, "decode_dtype": dtype.str}


def _location(random, dtype):
    return {"location": pick(random, "start", "end")}


def _jenkins(random, dtype):
    return {"initval": int(random.integers(0, 1000)), "prefix": None}


def _shuffle(random, dtype):
    return {"elementsize": max(1, dtype.itemsize)}


CODECS = [
    Codec("zstd", "compressor", "zarr3-v3 zarrs-v3", _zstd, numcodecs=False),
    Codec("zstd", "compressor", "tensorstore-v3", _level(1, 9), numcodecs=False),
    Codec("gzip", "compressor", V3, _level(0, 9), numcodecs=False),
    Codec("blosc", "compressor", V3, _blosc3, numcodecs=False),
    Codec("crc32c", "last", V3, _none, numcodecs=False),
    Codec("blosc", "compressor", "zarr3-v2 zarr2-v2", _blosc2),
    Codec("blosc", "compressor", "tensorstore-v2", _blosc_tensorstore),
    Codec("zlib", "compressor", f"{NUMCODECS} tensorstore-v2", _level(0, 9)),
    Codec("gzip", "compressor", NUMCODECS, _level(0, 9)),
    Codec("zstd", "compressor", f"{NUMCODECS} tensorstore-v2", _level(1, 9)),
    Codec("lz4", "compressor", NUMCODECS, lambda random, dtype: {"acceleration": int(random.integers(1, 5))}),
    Codec("bz2", "compressor", f"{NUMCODECS} tensorstore-v2", _level(1, 9)),
    Codec("lzma", "compressor", NUMCODECS, _lzma),
    Codec("shuffle", "bytes", NUMCODECS, _shuffle),
    Codec("crc32", "last", NUMCODECS, _location),
    Codec("crc32c", "last", "zarr3-v3 zarr3-v2", _location),  # numcodecs 0.15 wants a package of its own for it
    Codec("adler32", "last", NUMCODECS, _location),
    Codec("fletcher32", "last", NUMCODECS, _none),
    Codec("jenkins_lookup3", "last", NUMCODECS, _jenkins),
    Codec("base64", "last", "zarr3-v2 zarr2-v2", _none),
    Codec("delta", "values", NUMCODECS, _delta, kinds("iuf"), lossy=kinds("f")),
    Codec("fixedscaleoffset", "values", NUMCODECS, _fixed, lambda d: d in (np.dtype("<f4"), np.dtype("<f8"), np.dtype("<i2")), lossy=kinds("fi")),
    Codec("quantize", "values", NUMCODECS, _quantize, kinds("f"), lossy=kinds("f")),
    Codec("bitround", "values", NUMCODECS, _bitround, lambda d: d.str in ("<f2", "<f4", "<f8"), lossy=kinds("f")),
    Codec("astype", "values", NUMCODECS, _astype, kinds("iuf"), lossy=kinds("f")),  # a cast makes NaN quiet
    Codec("packbits", "values", "zarr3-v2 zarr2-v2", _none, kinds("b")),
]


def _draw_chain(random, batch, dtype):
    """[(row, configuration)], in the order of encoding: at most one of each kind, so every pair of kinds occurs."""
    rows = [row for row in CODECS if batch in row.batches.split() and row.fits(dtype)]
    chance = {"values": 0.25, "bytes": 0.2, "compressor": 0.8, "last": 0.2}
    if batch == "tensorstore-v2":
        chance["last"] = 0
    chain = []
    for kind, odds in chance.items():
        some = [row for row in rows if row.kind == kind]
        if some and random.random() < odds:
            row = pick(random, *some)
            configuration = row.draw(random, dtype)
            chain.append((row, configuration))
            if kind == "values":  # what the next one is given
                dtype = np.dtype(configuration.get("encode_dtype") or configuration.get("astype") or ("u1" if row.name == "packbits" else dtype))
    return chain


# ---------------------------------------------------------------- shapes


def _draw_shape(random):
    ndim = pick(random, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5)
    shape = []
    left = np.exp(random.uniform(0, np.log(MOST_ELEMENTS)))
    for axis in range(ndim):
        side = int(np.exp(random.uniform(0, np.log(max(left, 1.01)))) if axis < ndim - 1 else left)
        shape.append(max(side, 1))
        left = max(left / shape[-1], 1)
    if ndim and random.random() < 0.06:
        shape[int(random.integers(ndim))] = 0
    random.shuffle(shape)
    return [int(side) for side in shape]


def _draw_tiles(random, sides, most):
    """Lengths of tiles over sides, at most so many tiles, now and then longer than the side."""
    tiles = [pick(random, max(side, 1), int(random.integers(1, side + 3)), int(random.integers(1, side + 3))) for side in sides]
    while np.prod([-(-side // tile) for side, tile in zip(sides, tiles)]) > most:
        longest = max(range(len(sides)), key=lambda axis: sides[axis] / tiles[axis])
        tiles[longest] = 2 * tiles[longest] + 1
    return tiles


def _draw_boxes(random, shape):
    """What is written: everything, a part along the first axis, boxes, or nothing. A box is [[start, stop], ...]."""
    whole = [[0, side] for side in shape]
    how = random.random()
    if how < 0.6 or not shape:
        return [whole] if how < 0.95 else []
    if how < 0.75:
        return [[[0, int(random.integers(0, shape[0] + 1))], *whole[1:]]]
    boxes = []
    for _ in range(pick(random, 0, 1, 1, 2, 3)):
        ends = [sorted(int(random.integers(0, side + 1)) for _ in "ab") for side in shape]
        boxes.append(ends)
    return boxes


# ---------------------------------------------------------------- values


def _draw_any(array, random):
    """Any bits that are a value of the type, field by field."""
    for name in array.dtype.names or ():
        _draw_any(array[name], random)
    if array.dtype.names:
        return
    dtype, count = array.dtype, array.size
    if dtype.kind == "b":
        drawn = random.integers(0, 2, count).astype("?")
    elif dtype.kind == "S":
        drawn = np.array([b"abc\xffefg"[: int(n)] for n in random.integers(0, 8, count)], dtype)
    elif dtype.kind == "U":
        drawn = np.array(["a\u00e9\U0001f600zz"[: int(n)] for n in random.integers(0, 6, count)], dtype)
    elif dtype.name in ("int4", "int2"):
        half = 2 ** (int(dtype.name[3:]) - 1)
        drawn = random.integers(-half, half, count).astype(dtype)
    else:
        high = 16 if dtype.name == "float4_e2m1fn" else 256
        # runs, so that compressors have something to do
        drawn = random.integers(0, high, count * dtype.itemsize, "u1")
        if random.random() < 0.5:
            drawn = np.repeat(drawn[: count // 4 * dtype.itemsize + dtype.itemsize], 4)[: count * dtype.itemsize]
        drawn = np.resize(drawn, count * dtype.itemsize).view(dtype)
    array[...] = drawn.reshape(array.shape)


def _draw_tame(array, fill, random):
    """Small numbers, and fill in places: no two that are equal differ in their bits."""
    drawn = random.integers(1, 100, array.shape)
    array[...] = (drawn % 2).astype("?") if array.dtype.kind == "b" else drawn.astype(array.dtype)
    if array.size and random.random() < 0.5:
        box = tuple(slice(*sorted(int(random.integers(0, side + 1)) for _ in "ab")) for side in array.shape)
        array[box] = fill


def _draw_fill(random, dtype, tame):
    """One element, as an array without dimensions."""
    fill = np.zeros((), dtype)
    if random.random() < 0.35:
        return fill
    kind = dtype.kind
    if dtype.names or kind in "SUV":
        _draw_any(fill, random)
    elif kind == "b":
        fill[...] = True
    elif kind in "iu":
        info = np.iinfo(dtype)
        fill[...] = pick(random, 1, 77) if tame else pick(random, info.min, info.max, info.max // 3, 1)
    elif kind == "f":
        fill[...] = pick(random, np.nan, 1.5, np.inf) if tame else pick(random, np.nan, -np.inf, -0.0, 0.1, np.finfo(dtype).tiny, -1.5)
    elif kind == "c":
        fill[...] = complex(pick(random, np.nan, 1.5), pick(random, 0.25, -2.5) if tame else pick(random, -np.inf, 0.1, -0.0))
    else:
        fill.view(dtype.str[0] + "i8")[...] = pick(random, -1, 17, 2**40, -(2**63))
    return fill


def fill_of(case):
    """The fill value; None where the document has null."""
    if case["fill"] is None:
        return None
    return np.frombuffer(bytes.fromhex(case["fill"]), numpy_dtype(case["type"])).reshape(())


def boxes_of(case):
    return [tuple(slice(*ends) for ends in box) if box else (...,) for box in case["boxes"]]


def values(case):
    """The whole array, as its writer is given it."""
    dtype = numpy_dtype(case["type"])
    random = np.random.default_rng(zlib.crc32(case["id"].encode()))
    fill = fill_of(case)
    fill = np.zeros((), dtype) if fill is None else fill
    whole, drawn = np.zeros(case["shape"], dtype), np.zeros(case["shape"], dtype)
    if case["tame"]:
        _draw_tame(drawn, fill, random)
    else:
        _draw_any(drawn, random)
    copy_fields(whole, np.broadcast_to(fill, whole.shape))
    for box in boxes_of(case):
        copy_fields(whole[box], drawn[box])
    return whole


def elements(case, store):
    """(descr of the .npy, bytes of the .raw): the array as it must be shown."""
    row, whole = TYPES[case["type"]], values(case)
    if row.shown:
        if case["type"] in ("int4", "int2"):
            whole = whole.astype("i1")
        return row.shown, np.ascontiguousarray(whole).tobytes()
    shown = little(whole)
    if case["lossy"]:
        with open(f"{store}.want/{case['path']}.bin", "rb") as file:
            return np.lib.format.dtype_to_descr(shown.dtype), file.read()
    return np.lib.format.dtype_to_descr(shown.dtype), np.ascontiguousarray(shown).tobytes()


# ---------------------------------------------------------------- what a writer does wrong by itself


def _has(case, *names):
    return any(codec["name"] in names for codec in case["chain"])


def _has_values(case):
    return any(codec["kind"] == "values" for codec in case["chain"])


def loses_its_fill(case):
    """-0.0, which zarr-python 2 takes for zero, and complex infinities: a + 1j * b makes NaN of them."""
    fill = fill_of(case)
    parts = [] if fill is None or fill.dtype.kind not in "fc" else [fill.real, fill.imag]
    return any((part == 0 and np.signbit(part)) or (np.isinf(part) and fill.dtype.kind == "c") for part in parts)


# Such cases are drawn again: the writer does not read back what it was given. Who is right is in README.md, "Where readers differ".
FLAWS = [
    ("zarr2-v2", loses_its_fill),
    ("tensorstore-v3", lambda case: case["type"] == "float8_e8m0fnu"),  # spells fill values that are none
    # numcodecs' delta flattens a transposed chunk in the order of its memory
    ("zarr3-v3", lambda case: case["transpose"] and _has(case, "delta")),
    # what `bytes` decodes is of the other byte order, and numcodecs' filters view it as their own
    ("zarr3-v3", lambda case: _has_values(case) and case["endian"] == "big" and (case["lossy"] or len(case["boxes"]) > 1)),
    # `bytes` loses its endian when the elements of the array are single bytes, though what it is given is not
    ("zarr3-v3", lambda case: _has(case, "astype") and numpy_dtype(case["type"]).itemsize == 1),
]


# ---------------------------------------------------------------- a case


def _draw_type(random, batch, built):
    rows = [name for name, row in TYPES.items() if batch in row.batches.split() and row.needs in built]
    common = [name for name in COMMON if name in rows]
    return pick(random, *common) if random.random() < 0.5 else pick(random, *rows)


def _draw_v3(random, batch, dtype, case):
    """Keys of v3: chunks or shards, filters outside and inside of the shards, the serializer's byte order, key encoding."""
    case["keys"] = [pick(random, "default", "default", "v2"), pick(random, "/", ".")]
    case["endian"] = None if dtype.names or dtype.kind in "SV" and not TYPES[case["type"]].shown else pick(random, "little", "big")
    if dtype.itemsize == 1 and case["chain"][:1] and case["chain"][0]["kind"] != "values" and random.random() < 0.5:
        case["endian"] = None  # of one byte each, also when they are encoded
    ndim = len(case["shape"])
    sharded = not dtype.names and dtype.kind != "V" and random.random() < 0.45
    if TYPES[case["type"]].shown:
        sharded = random.random() < 0.45
    case["transpose"] = [int(axis) for axis in random.permutation(ndim)] if ndim > 1 and random.random() < 0.3 else None
    case["chunks"] = _draw_tiles(random, case["shape"], MOST_CHUNKS)
    if sharded and ndim:
        # shards of the grid; inner chunks divide them
        shards = case["chunks"]
        inner = [pick(random, *[n for n in range(1, side + 1) if side % n == 0]) for side in shards]
        while np.prod([side // n for side, n in zip(shards, inner)]) > MOST_INNER:
            axis = max(range(ndim), key=lambda a: shards[a] / inner[a])
            inner[axis] = shards[axis]
        case["inner"] = inner
        case["index"] = {"location": pick(random, "start", "end", "end"), "crc": pick(random, True, True, False)}
        case["nested"] = None
        if random.random() < 0.15:
            case["nested"] = [pick(random, *[n for n in range(1, side + 1) if side % n == 0]) for side in inner]
        case["outer"] = case["transpose"] is not None and random.random() < 0.4  # the transpose is outside of the shards
        if case["outer"]:
            order = case["transpose"]
            case["inner"] = [inner[axis] for axis in order]
            case["nested"] = case["nested"] and [case["nested"][axis] for axis in order]
            # zarr-python wants inner chunks to divide the shard in the axes of the array as well
            case["outer"] = batch == "tensorstore-v3" or not any(side % n for side, n in zip(shards, case["inner"]))
            if not case["outer"]:
                case["inner"], case["nested"] = inner, None


def _draw_v2(random, batch, dtype, case):
    flat = len(case["shape"]) < 2 and batch == "tensorstore-v2"  # where both orders are one, TensorStore takes C
    case["order"] = "C" if flat else pick(random, "C", "C", "F")
    case["keys"] = pick(random, ".", "/")
    case["chunks"] = _draw_tiles(random, case["shape"], MOST_CHUNKS)
    whole = [[0, side] for side in case["shape"]]
    if case["boxes"] == [whole] and random.random() < 0.15:
        case["fill"] = None  # undefined where nothing is written, so everything is


def _draw_once(random, batch, built):
    kind = _draw_type(random, batch, built)
    dtype = numpy_dtype(kind)
    chain = _draw_chain(random, batch, dtype)
    lossy = any(row.lossy(dtype) for row, _ in chain)
    plain = dtype.names is None and dtype.kind in "biufc" and not TYPES[kind].shown
    case = {"type": kind, "shape": _draw_shape(random)}
    # Writers leave chunks out that equal the fill value; what is equal to them may differ in bits, so then values are tame.
    case["tame"] = bool(plain and (lossy or random.random() < 0.4))
    case["keep"] = not case["tame"] or bool(random.random() < 0.5)
    fill = _draw_fill(random, dtype, case["tame"]) if not TYPES[kind].shown else np.zeros((), dtype)
    case["fill"] = fill.tobytes().hex()
    case["boxes"] = _draw_boxes(random, case["shape"])
    case["lossy"] = lossy
    case["chain"] = [
        {"name": row.name, "kind": row.kind, "v3": ("numcodecs." if row.numcodecs else "") + row.name, "configuration": c} for row, c in chain
    ]
    case["attributes"] = pick(random, None, None, None, {**ATTRIBUTES, **(BARE_NAN if batch.startswith(("zarr2", "zarr3")) else {})})
    if batch.endswith("v3"):
        _draw_v3(random, batch, dtype, case)
    else:
        _draw_v2(random, batch, dtype, case)
    needed = {row.needs or row.name for row, _ in chain}
    return case, needed <= built and not any(batch == flawed and is_flawed(case) for flawed, is_flawed in FLAWS)


def draw(batch, seed, number, built):
    """The case (batch, seed, number). built: the names of codecs and data types that zarrfs has."""
    random = np.random.default_rng([list(BATCHES).index(batch), seed, number])
    ready = False
    while not ready:
        case, ready = _draw_once(random, batch, built)
    place = "" if number % 16 else "below/it/"
    return {"id": f"{batch}:{seed}:{number}", "batch": batch, "path": f"{place}a{number}", **case}


def share(batch, total):
    """How many of `total` arrays a batch draws."""
    return total * BATCHES[batch] // 100
