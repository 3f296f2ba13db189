"""Arrays of every data type that a writer has, and what np.save makes of them: write_types.py WRITER FOLDER, where WRITER is
zarr2 (zarr-python 2.18, in its own environment), zarr3 or tensorstore. FOLDER gets WRITER-v2.zarr and WRITER-v3.zarr, groups of
arrays, and want/STORE/ARRAY.npy: the same array, little-endian. Half of each array is not written, so that its fill shows."""
import json
import os
import sys

import numpy as np

PLAIN = [
    "|b1", "|i1", "<i2", ">i4", "<i8", "|u1", ">u2", "<u4", ">u8", "<f2", ">f4", "<f8", "<c8", ">c16", "|S1", "|S5", "<U1", ">U7", "|V3",
    "|V16", "<M8[ns]", ">M8[s]", "<M8[10us]", "<m8[D]", ">m8[h]", "<M8[Y]", "<m8[25s]",
]
RECORDS = {
    "flat": [("a", "<i4"), ("b", "<f8"), ("c", "|u1")],
    "big": [("a", ">i4"), ("b", ">f8"), ("c", "|u1")],
    "mixed": [("a", ">i2"), ("b", "<c8"), ("c", ">M8[us]"), ("d", "<u8"), ("e", ">U2"), ("f", "|S3"), ("g", "|V2")],
    "even": [("x", ">f4"), ("y", ">i4")],
    "sub": [("m", "<i2", (2, 3)), ("t", ">f4", (2,)), ("k", "|b1")],
    "nested": [("id", "<u4"), ("pos", [("x", "<f4"), ("y", ">f4")]), ("ok", "|b1")],
    "deep": [("p", [("q", [("r", ">u2"), ("s", "|i1")], (3, 2)), ("t", "<f2")]), ("u", "<c8")],
    "names": [("it's", "<i2"), ('say "x"', "|u1"), ("back\\slash\n", ">i4"), ("caf\u00e9", "<f4")],
    "unicode": [("\u0416\u4e2d", ">i2"), ("\U0001f9ca", "|u1")],
    "many": [(f"a_field_with_a_rather_long_name_{i:04}", "<u2" if i % 2 else ">u2") for i in range(1500)],
}
PADDED = {
    "aligned": np.dtype([("a", "u1"), ("b", "<f8"), ("c", ">i2")], align=True),
    "padded": np.dtype({"names": ["a", "b"], "formats": ["<u4", ">i2"], "offsets": [0, 7], "itemsize": 12}),
}
FOREIGN = {  # name: numpy's descr
    "bfloat16": "<V2", "float8_e3m4": "|V1", "float8_e4m3fn": "|V1", "float8_e4m3fnuz": "|V1", "float8_e4m3b11fnuz": "|V1",
    "float8_e5m2": "|V1", "float8_e5m2fnuz": "|V1", "float8_e8m0fnu": "|V1", "float4_e2m1fn": "|V1", "int4": "|i1", "int2": "|i1",
}
SHAPE, CHUNKS, WRITTEN = (11, 6), (4, 5), slice(0, 6)


def copy_fields(to, array):
    """Values, field by field, so that padding stays as it is."""
    if array.dtype.names is None:
        to[...] = array
    for name in array.dtype.names or ():
        copy_fields(to[name], array[name])


def little(array):
    """The same values in the type that is all little-endian."""
    out = np.zeros(array.shape, array.dtype.newbyteorder("<"))
    copy_fields(out, array)
    return out


def draw(array, random):
    """Any bytes that are a value, in every field, and zero padding."""
    for name in array.dtype.names or ():
        draw(array[name], random)
    if array.dtype.names:
        return
    kind, count = array.dtype.kind, array.size
    if kind == "b":
        drawn = random.integers(0, 2, count).astype("?")
    elif kind == "S":
        drawn = np.array([b"abcdefg"[: int(n)] for n in random.integers(0, 8, count)], array.dtype)
    elif kind == "U":
        drawn = np.array(["a\u00e9\U0001f600zz"[: int(n)] for n in random.integers(0, 6, count)], array.dtype)
    else:
        drawn = random.integers(0, 256, count * array.dtype.itemsize, "u1").view(array.dtype)
    array[...] = drawn.reshape(array.shape)


def make(dtype, number):
    """The values of one array, and its fill: zero in every third."""
    random = np.random.default_rng(number)
    array, fill = np.zeros(SHAPE, dtype), np.zeros(1, dtype)
    draw(array, random)
    if number % 3:
        draw(fill, random)
    whole = np.zeros(SHAPE, dtype)
    copy_fields(whole, np.broadcast_to(fill, SHAPE))
    # chunks of a row that is not written are absent
    copy_fields(whole[: 2 * CHUNKS[0]], np.broadcast_to(fill, (2 * CHUNKS[0], SHAPE[1])))
    copy_fields(whole[WRITTEN], array[WRITTEN])
    return whole, fill[0]


def keep(folder, store, name, array, descr=None):
    """np.save of the array; of a type that numpy lacks, of its bytes under another descr."""
    os.makedirs(os.path.join(folder, "want", store), exist_ok=True)
    saved = little(array) if descr is None else np.frombuffer(array.tobytes(), np.dtype(descr)).reshape(array.shape)
    with open(os.path.join(folder, "want", store, name + ".npy"), "wb") as f:
        if descr and descr[1] == "V":
            header = {"descr": descr, "fortran_order": False, "shape": array.shape}
            np.lib.format.write_array_header_1_0(f, header)
            f.write(saved.tobytes())
        else:
            np.save(f, saved, allow_pickle=False)


def write_zarr2(folder):
    import zarr

    store = zarr.DirectoryStore(os.path.join(folder, "zarr2-v2.zarr"))
    zarr.group(store=store)
    types = {**{f"plain{i}": np.dtype(d) for i, d in enumerate(PLAIN)}, **{n: np.dtype(d) for n, d in RECORDS.items()}, **PADDED}
    for number, (name, dtype) in enumerate(types.items()):
        whole, fill = make(dtype, 0 if name in PADDED else number)
        made = zarr.create(
            shape=SHAPE, chunks=CHUNKS, dtype=dtype, fill_value=None if name in PADDED else fill, store=store, path=name, order="CF"[number % 2],
            compressor=[None, zarr.Blosc("lz4"), zarr.Zlib(1), zarr.LZ4()][number % 4],
        )
        made[WRITTEN] = whole[WRITTEN].view(made.dtype)  # it shows padding as fields
        keep(folder, "zarr2-v2", name, whole)


def write_zarr3(folder):
    import warnings

    import zarr
    from zarr.codecs import BytesCodec, TransposeCodec

    warnings.simplefilter("ignore")
    for zarr_format in (2, 3):
        store = os.path.join(folder, f"zarr3-v{zarr_format}.zarr")
        zarr.create_group(store, zarr_format=zarr_format)
        # It writes no sub-arrays, and big-endian fields into v3 documents that do not say so.
        records = {n: np.dtype(d) for n, d in RECORDS.items() if n not in ("sub", "deep")}
        if zarr_format == 3:
            records = {n: d.newbyteorder("<") for n, d in records.items()}
        types = {**{f"plain{i}": np.dtype(d) for i, d in enumerate(PLAIN)}, **records}
        for number, (name, dtype) in enumerate(types.items()):
            whole, fill = make(dtype, number)
            more = {"compressors": None}
            if zarr_format == 3:
                endian = None if dtype.names or dtype.kind in "SV" else ("little", "big")[number % 2]
                more = {"serializer": BytesCodec(endian=endian), "filters": [TransposeCodec(order=(1, 0))] if number % 4 == 3 else []}
                more["shards"] = (8, 10) if number % 3 == 1 and dtype.kind != "V" else None  # its shards want fills that hash
            made = zarr.create_array(
                store, name=name, shape=SHAPE, chunks=CHUNKS, dtype=dtype, fill_value=fill, zarr_format=zarr_format, **more
            )
            made[WRITTEN] = whole[WRITTEN]
            keep(folder, f"zarr3-v{zarr_format}", name, whole)


def write_group(store, name, document):
    os.makedirs(store, exist_ok=True)
    with open(os.path.join(store, name), "w") as f:
        json.dump(document, f)


def open_tensorstore(store, name, driver, metadata, **more):
    import tensorstore

    spec = {"driver": driver, "kvstore": {"driver": "file", "path": os.path.join(store, name) + "/"}, "metadata": metadata, **more}
    return tensorstore.open(spec, create=True, open=True).result()


def foreign_values(name, number):
    """Every value of the type, as often as they fit; int4 and int2 as the bytes that hold their values."""
    import ml_dtypes

    dtype = np.dtype(getattr(ml_dtypes, name))
    random = np.random.default_rng(number)
    if name in ("int4", "int2"):
        low = -(2 ** (int(name[3:]) - 1))
        whole = random.integers(low, -low, SHAPE).astype("i1")
        whole[6:] = -1 if number % 2 else 0
        return whole.astype(dtype), whole
    limit = 16 if name == "float4_e2m1fn" else 256
    whole = random.integers(0, limit, (*SHAPE, dtype.itemsize), "u1").view(dtype)[..., 0]
    return whole, whole


def write_tensorstore(folder):
    stores = [os.path.join(folder, f"tensorstore-v{v}.zarr") for v in (2, 3)]
    write_group(stores[0], ".zgroup", {"zarr_format": 2})
    write_group(stores[1], "zarr.json", {"zarr_format": 3, "node_type": "group"})
    for number, (name, descr) in enumerate(FOREIGN.items()):
        for version, store in zip((2, 3), stores):
            values, held = foreign_values(name, number)
            if name in ("int4", "int2"):
                fill = int(held[6, 0])
            else:
                # one value of the type, by its bits, where the format can spell them
                bits = values[7, 3].tobytes()[::-1].hex()
                fill = None if version == 2 else "0x" + bits
                held = held.copy()
                held[6:] = np.zeros(1, values.dtype.str.replace("f1", "V1")).view(values.dtype) if fill is None else values[7, 3]
            if version == 2:
                metadata = {"shape": SHAPE, "chunks": CHUNKS, "dtype": name, "fill_value": fill, "compressor": None}
                made = open_tensorstore(store, name, "zarr", metadata)
            else:
                endian = {"configuration": {"endian": ("little", "big")[number % 2]}} if values.dtype.itemsize > 1 else {}
                metadata = {
                    "shape": SHAPE, "data_type": name, "fill_value": fill, "codecs": [{"name": "bytes", **endian}],
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": CHUNKS}},
                }
                made = open_tensorstore(store, name, "zarr3", metadata)
            part = WRITTEN
            if name == "float8_e8m0fnu":
                # TensorStore 0.1.86 spells its fills wrong: 0x7f, which is 1.0, as 18446744073709551616.0. So there is none here.
                part, held = slice(None), values
            made[part].write(values[part]).result()
            keep(folder, f"tensorstore-v{version}", name, held, descr)
    for number, endian in enumerate(("little", "big")):
        write_struct(folder, stores[1], f"struct-{endian}", endian, number)
    write_struct_v2(folder, stores[0])


def write_struct(folder, store, name, endian, number):
    """TensorStore opens one field at a time; each write fills in the others."""
    dtype = np.dtype([("a", "<u2"), ("b", "<f4"), ("c", "|b1"), ("d", "<c16")])
    whole, _ = make(dtype, number)
    fill = np.array((513, -1.5, True, complex(2.5, -0.5)), dtype)
    whole[6:] = fill
    fields = [{"name": n, "data_type": np.dtype(dtype[n]).name} for n in dtype.names]
    for field in dtype.names:
        metadata = {
            "shape": SHAPE, "data_type": {"name": "struct", "configuration": {"fields": fields}},
            "fill_value": {"a": 513, "b": -1.5, "c": True, "d": [2.5, -0.5]},
            "codecs": [{"name": "bytes", "configuration": {"endian": endian}}],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": CHUNKS}},
        }
        open_tensorstore(store, name, "zarr3", metadata, field=field)[WRITTEN].write(whole[field][WRITTEN]).result()
    keep(folder, "tensorstore-v3", name, whole)


def write_struct_v2(folder, store):
    import base64

    dtype = np.dtype([("a", ">u2"), ("b", "<f4", (2, 2)), ("c", "|b1"), ("d", ">f8")])
    whole, fill = make(dtype, 1)
    for field in dtype.names:
        metadata = {
            "shape": SHAPE, "chunks": CHUNKS, "compressor": {"id": "zlib", "level": 1}, "order": "F",
            "dtype": [["a", ">u2"], ["b", "<f4", [2, 2]], ["c", "|b1"], ["d", ">f8"]],
            "fill_value": base64.b64encode(fill.tobytes()).decode(),
        }
        open_tensorstore(store, "struct", "zarr", metadata, field=field)[WRITTEN].write(whole[field][WRITTEN]).result()
    keep(folder, "tensorstore-v2", "struct", whole)


if __name__ == "__main__":
    {"zarr2": write_zarr2, "zarr3": write_zarr3, "tensorstore": write_tensorstore}[sys.argv[1]](sys.argv[2])
