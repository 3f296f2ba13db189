"""Reads drawn cases with a library, which need not be the one that wrote them: read_drawn.py READER STORE < cases.json prints
{case: [verdict, why]} as JSON. READER is zarr2 (in its own environment), zarr3, zarrs or tensorstore.

Verdicts: same; cannot (it does not open the array: a codec or a data type that it lacks); fails (it opens, and cannot read); differs.
"""
import ctypes
import json
import os
import sys
import warnings

import numpy as np
from draw import TYPES, elements, fill_of, loses_its_fill, numpy_dtype
from write_types import little

READERS = {"zarr2": "v2", "zarr3": "v2 v3", "zarrs": "v2 v3", "tensorstore": "v2 v3"}


# What the Python package of zarrs says when the array is read: it takes neither other byte orders nor order F.
LACKS_OF_ZARRS = ["Non-native byte order not supported", "input array must be a C contiguous array"]


def open_zarr(store, case):
    import zarr

    return zarr.open(os.path.join(store, case["path"]), mode="r")


def open_tensorstore(store, case):
    import tensorstore

    kvstore = {"driver": "file", "path": os.path.join(store, case["path"]) + "/"}
    return tensorstore.open({"driver": "zarr3" if case["batch"].endswith("v3") else "zarr", "kvstore": kvstore}, open=True, read=True).result()


def bytes_of(case, array):
    if array.dtype.itemsize == 0:  # TensorStore shows bytes and characters as a dimension of their own, of a type that numpy cannot copy
        return ctypes.string_at(array.ctypes.data, int(np.prod(array.shape)))
    if array.dtype.kind in "SU":
        array = array.astype(numpy_dtype(case["type"]))  # zarr-python shortens a scalar
    if TYPES[case["type"]].shown:
        array = array.astype("i1") if case["type"] in ("int2", "int4") else array
        return np.ascontiguousarray(array).tobytes()
    return np.ascontiguousarray(little(array)).tobytes()


def judge(reader, store, case):
    opener = open_tensorstore if reader == "tensorstore" else open_zarr
    try:
        opened = opener(store, case)
    except Exception as why:  # noqa: BLE001: whatever a library says when it lacks something
        return ["cannot", f"{type(why).__name__}: {why}"[:300]]
    try:
        array = opened.read(order="C").result() if reader == "tensorstore" else np.asarray(opened[...])
    except Exception as why:  # noqa: BLE001
        lacking = type(why).__name__ == "UnsupportedDataTypeError" or str(why) in LACKS_OF_ZARRS
        return ["cannot" if lacking else "fails", f"{type(why).__name__}: {why}"[:300]]
    right = elements(case, store)[1]
    got = bytes_of(case, array)
    if got == right:
        return ["same", ""]
    first = next((i for i, (a, b) in enumerate(zip(got, right)) if a != b), min(len(got), len(right)))
    return ["differs", f"byte {first} of {len(right)}"]


def read(reader, store, cases):
    warnings.simplefilter("ignore")
    if reader in ("zarr3", "zarrs"):
        import zarr

        pipeline = "zarrs.ZarrsCodecPipeline" if reader == "zarrs" else "zarr.core.codec_pipeline.BatchedCodecPipeline"
        with zarr.config.set({"codec_pipeline.path": pipeline, "codec_pipeline.strict": True}):
            return {case["id"]: judge(reader, store, case) for case in cases}
    return {case["id"]: judge(reader, store, case) for case in cases}


# What is known of readers that do not give what the writer was given: (name, readers, which cases). README.md says who is right.
KNOWN = [
    ("zarrs, big-endian complex", "zarrs", lambda case: case["type"] in ("<c8", "<c16") and case.get("endian") == "big"),
    # the fill value goes through the filter and back: NaN through int16 is 0
    ("zarrs, fill values of filters that lose bits", "zarrs", lambda case: case["lossy"] and fill_of(case) is not None),
    # what is missing is memory as it comes
    ("zarr-python 2, null as the fill value", "zarr2", lambda case: case["fill"] is None),
    ("zarr-python 2, fill values", "zarr2", loses_its_fill),
    ("zarr-python 2, fletcher32 as the compressor", "zarr2", lambda case: case["chain"] and case["chain"][-1]["name"] == "fletcher32"),
]


def known(reader, case):
    """The name of the disagreement that explains a reader's answer, or None."""
    return next((name for name, readers, explains in KNOWN if reader in readers.split() and explains(case)), None)


def readers_of(batch):
    """Who may read what a batch wrote."""
    writer, version = batch.split("-")
    return [reader for reader, versions in READERS.items() if reader != writer and version in versions.split()]


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1], sys.argv[2], json.load(sys.stdin))))
