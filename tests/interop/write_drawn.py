"""Writes drawn cases into one store, each with its own library: write_drawn.py STORE < cases.json in the environment of
zarr-python 2.18; write(cases, store) in the process of the others.

Beside the store, STORE.want/PATH.bin is what the writer reads back, for the cases whose chain is lossy.
"""
import json
import os
import sys
import warnings

import numpy as np
from draw import TYPES, boxes_of, fill_of, numpy_dtype, values


def keep_what_it_reads(case, store, array):
    """For a lossy chain the right values are those that the writer itself decodes."""
    path = f"{store}.want/{case['path']}.bin"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())


def fill_value(case):
    fill = fill_of(case)
    if fill is None:
        return None
    return fill[()] if fill.dtype.names is None or not hasattr(fill[()], "item") else fill[()]


def numcodecs_of(case, kinds):
    import numcodecs

    return [numcodecs.get_codec({"id": c["name"], **c["configuration"]}) for c in case["chain"] if c["kind"] in kinds]


def chain_of_v2(case):
    """(filters, compressor): the compressor is the last of the chain, whatever it is."""
    chain = numcodecs_of(case, ("values", "bytes", "compressor", "last"))
    last = case["chain"] and case["chain"][-1]["kind"] != "values" and not case["chain"][-1]["kind"] == "bytes"
    return (chain[:-1] or None, chain[-1]) if last else (chain or None, None)


# ---------------------------------------------------------------- zarr-python 2.18


def write_zarr2(cases, store):
    import zarr

    place = zarr.DirectoryStore(store)
    zarr.group(store=place)
    for case in cases:
        filters, compressor = chain_of_v2(case)
        made = zarr.create(
            shape=tuple(case["shape"]), chunks=tuple(case["chunks"]) or True, dtype=numpy_dtype(case["type"]), compressor=compressor,
            filters=filters, fill_value=fill_value(case), order=case["order"], store=place, path=case["path"],
            dimension_separator=case["keys"], write_empty_chunks=case["keep"],
        )
        whole = values(case)
        for box in boxes_of(case):
            made[box] = whole[box].view(made.dtype) if whole.dtype.names else whole[box]
        if case["attributes"]:
            made.attrs.update(case["attributes"])
        if case["lossy"]:
            keep_what_it_reads(case, store, made[...])


# ---------------------------------------------------------------- zarr-python 3, also with the codecs of zarrs


def codecs_v3(case, *kinds):
    return [{"name": c["v3"], "configuration": c["configuration"]} for c in case["chain"] if c["kind"] in kinds]


def create_zarr3(case, store):
    import zarr
    from zarr.codecs import BytesCodec, ShardingCodec, TransposeCodec

    common = {
        "store": store, "name": case["path"], "shape": tuple(case["shape"]), "dtype": numpy_dtype(case["type"]), "fill_value": fill_value(case),
        "attributes": case["attributes"], "config": {"write_empty_chunks": case["keep"]}, "chunks": tuple(case["chunks"]),
    }
    if case["batch"].endswith("v2"):
        filters, compressor = chain_of_v2(case)
        return zarr.create_array(
            **common, zarr_format=2, compressors=compressor, filters=filters, order=case["order"],
            chunk_key_encoding={"name": "v2", "separator": case["keys"]},
        )
    kind, separator = case["keys"]
    serializer = BytesCodec(endian=case["endian"])
    transpose = [TransposeCodec(order=tuple(case["transpose"]))] if case["transpose"] else []
    filters = codecs_v3(case, "values")
    compressors = codecs_v3(case, "bytes", "compressor", "last")
    if "inner" in case:
        index = {"index_location": case["index"]["location"], "index_codecs": ["bytes-little", "crc32c"][: 1 + case["index"]["crc"]]}
        index["index_codecs"] = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}][: 1 + case["index"]["crc"]]
        inner = [*([] if case["outer"] else transpose), *parsed(filters), serializer, *parsed(compressors)]
        if case["nested"]:
            inside = case["nested"] if case["outer"] or not case["transpose"] else case["nested"]
            inner = [ShardingCodec(chunk_shape=tuple(inside), codecs=inner, **index)]
        serializer = ShardingCodec(chunk_shape=tuple(case["inner"]), codecs=inner, **index)
        transpose, filters, compressors = transpose if case["outer"] else [], [], []
    return zarr.create_array(
        **common, zarr_format=3, compressors=compressors or None, serializer=serializer, filters=[*transpose, *parsed(filters)] or None,
        chunk_key_encoding={"name": kind, "separator": separator},
    )


def parsed(codecs):
    """Codec objects of their documents."""
    from zarr.registry import get_codec_class

    return [get_codec_class(codec["name"]).from_dict(codec) for codec in codecs]


def write_zarr3(cases, store, pipeline="zarr.core.codec_pipeline.BatchedCodecPipeline"):
    import zarr

    warnings.filterwarnings("ignore", module="zarr")
    warnings.filterwarnings("ignore", message=".*not have a Zarr V3 specification.*|.*Zarr version 3 specification.*")
    # strict: zarrs never falls back to the codecs of Python
    with zarr.config.set({"codec_pipeline.path": pipeline, "codec_pipeline.strict": True}):
        zarr.create_group(store, zarr_format=2 if cases[0]["batch"].endswith("v2") else 3)
        for case in cases:
            made = create_zarr3(case, store)
            whole = values(case)
            for box in boxes_of(case):
                if whole[box].size:
                    made[box] = whole[box]
            if case["lossy"]:
                keep_what_it_reads(case, store, np.asarray(made[...]))


def write_zarrs(cases, store):
    write_zarr3(cases, store, "zarrs.ZarrsCodecPipeline")


# ---------------------------------------------------------------- TensorStore


def spelled(fill, version):
    """A fill value as the documents spell it."""
    if fill is None:
        return None
    if fill.dtype.kind == "c":
        if version == 2:
            import base64

            return base64.b64encode(fill.tobytes()).decode()
        return [spelled(fill.real, 3), spelled(fill.imag, 3)]
    if fill.dtype.kind == "f":
        return "NaN" if np.isnan(fill) else float(fill) if np.isfinite(fill) else "Infinity" if fill > 0 else "-Infinity"
    return fill.item()


def metadata_v3(case):
    dtype = numpy_dtype(case["type"])
    serializer = {"name": "bytes", **({"configuration": {"endian": case["endian"]}} if case["endian"] else {})}
    transpose = [{"name": "transpose", "configuration": {"order": case["transpose"]}}] if case["transpose"] else []
    codecs = [*transpose, serializer, *codecs_v3(case, "compressor", "last")]
    if "inner" in case:
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}][: 1 + case["index"]["crc"]]

        def shard(shape, inside):
            config = {"chunk_shape": shape, "codecs": inside, "index_codecs": index, "index_location": case["index"]["location"]}
            return [{"name": "sharding_indexed", "configuration": config}]

        inner = codecs[1:] if case["outer"] else codecs
        inner = shard(case["nested"], inner) if case["nested"] else inner
        codecs = [*(transpose if case["outer"] else []), *shard(case["inner"], inner)]
    return {
        "shape": case["shape"], "data_type": dtype.name, "fill_value": spelled_foreign(case), "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": case["chunks"]}},
        "chunk_key_encoding": {"name": case["keys"][0], "configuration": {"separator": case["keys"][1]}},
        **({"attributes": {k: v for k, v in case["attributes"].items() if v == v}} if case["attributes"] else {}),
    }


def spelled_foreign(case):
    fill = fill_of(case)
    if TYPES[case["type"]].shown:
        return 0 if fill.dtype.name.startswith("int") else "0x" + fill.tobytes()[::-1].hex()
    return spelled(fill, 3)


def metadata_v2(case):
    dtype, fill = numpy_dtype(case["type"]), fill_of(case)
    foreign = TYPES[case["type"]].shown
    compressor = [{"id": c["name"], **c["configuration"]} for c in case["chain"]]
    return {
        "shape": case["shape"], "chunks": case["chunks"], "dtype": dtype.name if foreign else dtype.str, "filters": None,
        "compressor": compressor[0] if compressor else None, "order": case["order"], "dimension_separator": case["keys"],
        "fill_value": None if foreign and not dtype.name.startswith("int") else 0 if foreign else spelled(fill, 2),
    }


def write_tensorstore(cases, store):
    import tensorstore

    version = int(cases[0]["batch"][-1])
    os.makedirs(store, exist_ok=True)
    name, document = ("zarr.json", {"zarr_format": 3, "node_type": "group"}) if version == 3 else (".zgroup", {"zarr_format": 2})
    with open(os.path.join(store, name), "w") as file:
        json.dump(document, file)
    started = []
    for case in cases:
        spec = {
            "driver": "zarr3" if version == 3 else "zarr", "create": True, "store_data_equal_to_fill_value": case["keep"],
            "kvstore": {"driver": "file", "path": os.path.join(store, case["path"]) + "/"},
            "metadata": metadata_v3(case) if version == 3 else metadata_v2(case),
        }
        started.append((case, spec, tensorstore.open(spec)))
    for case, spec, opened in started:
        made, whole = opened.result(), values(case)
        for box in boxes_of(case):
            made[box].write(whole[box]).result()


WRITERS = {"zarr2": write_zarr2, "zarr3": write_zarr3, "zarrs": write_zarrs, "tensorstore": write_tensorstore}


def write(cases, store):
    """All cases are of one batch."""
    WRITERS[cases[0]["batch"].split("-")[0]](cases, store)


if __name__ == "__main__":
    write(json.load(sys.stdin), sys.argv[1])
