#!/usr/bin/env python3
"""Writes stores/ and manifest.json: a subset of tests/interop/cases.py that has every feature of every writer at least once, and
a few stores of our own making. Run it with .venv/bin/python (after tests/run, which makes .venv and .venv/zarr2); the result is
committed, so that a fresh clone has stores by other implementations without installing them.

The manifest has the form of a conformance corpus: fields id, store, array, shape, dtype, nbytes, sha256 (of the array in C order,
little-endian), samples, expect (read, refuse, eio), and those that verify.py reads too.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(TESTS, "interop"), os.path.join(TESTS, "mount")]

import numpy as np  # noqa: E402
import write_tensorstore  # noqa: E402
import write_zarr3  # noqa: E402
from cases import little, table, values  # noqa: E402
from stores import numbers  # noqa: E402

ZARR2 = os.environ.get("ZARRFS_ZARR2") or os.path.join(os.path.dirname(TESTS), ".venv", "zarr2", "bin", "python")
VERSIONS = {"zarr3": "zarr-python 3.1.6", "zarr2": "zarr-python 2.18.7", "tensorstore": "tensorstore 0.1.86"}


def features(c):
    """What a case exercises, for its writer and format."""
    who = (c["writer"], c["zarr_format"])
    named = {k: c[k] for k in ("dtype", "codec", "order", "partial", "keys", "index", "transpose", "nested") if k in c}
    named["geometry"] = (len(c["shape"]), bool(c["shards"]), 0 in c["shape"])
    return {(who, k, str(v)) for k, v in named.items()}


def chosen():
    """Greedy: the case that brings most that is new, until nothing is; the first of equals, so the choice is stable."""
    left, have, result = table(), set(), []
    while True:
        best = max(left, key=lambda c: len(features(c) - have))
        if not features(best) - have:
            return sorted(result, key=lambda c: c["id"])
        have |= features(best)
        result.append(best)
        left.remove(best)


def samples(array):
    """Up to five elements, as little-endian hex."""
    if array.size == 0:
        return []
    found, size, whole = [], array.itemsize, little(array)
    for flat in sorted({0, array.size // 3, array.size // 2, array.size - 1}):
        index = [int(i) for i in np.unravel_index(flat, array.shape)] if array.shape else []
        found.append({"index": index, "hex": whole[flat * size : (flat + 1) * size].hex()})
    return found


def entry(name, store, path, array, zarr_format, writer, expect="read", note="", **more):
    good = expect == "read"
    return {
        "id": name,
        "store": f"stores/{store}",
        "kind": "dir",
        "array": path,
        "zarr_format": zarr_format,
        "writer": writer,
        "shape": list(array.shape),
        "dtype": array.dtype.newbyteorder("<").str,
        "nbytes": array.nbytes,
        "sha256": hashlib.sha256(little(array)).hexdigest() if good else None,
        "samples": samples(array) if good else [],
        "expect": expect,
        "stage": 1,
        "tags": [],
        "note": note,
        **more,
    }


def write_case(c, store):
    if c["writer"] == "zarr2":
        words = [ZARR2, "-B", os.path.join(TESTS, "interop", "write_zarr2.py"), store, "--root"]
        subprocess.run(words, input=json.dumps([c]), text=True, check=True)
    else:
        {"zarr3": write_zarr3, "tensorstore": write_tensorstore}[c["writer"]].write(c, store, "")


def write_trees(folder):
    """Hierarchies: nested groups with and without consolidated metadata, in both formats; and a tree that lost its .zgroup files."""
    import zarr

    found = []
    for zarr_format, consolidated in ((2, False), (2, True), (3, False), (3, True)):
        name = f"tree-v{zarr_format}{'-consolidated' if consolidated else ''}"
        root = zarr.create_group(f"{folder}/{name}.zarr", zarr_format=zarr_format, attributes={"title": "a tree"})
        for number, path in enumerate(["top", "a/one", "a/b/two", "a/b/c/three"]):
            array = numbers((11, 13), "<i4", number)
            made = root.create_array(path, shape=array.shape, dtype=array.dtype, chunks=(4, 5), attributes={"number": number})
            made[...] = array
            found.append(entry(f"{name}-{path.replace('/', '-')}", f"{name}.zarr", path, array, zarr_format, VERSIONS["zarr3"]))
        if consolidated:
            zarr.consolidate_metadata(f"{folder}/{name}.zarr")
    name = "tree-v2-bare"
    shutil.copytree(f"{folder}/tree-v2.zarr", f"{folder}/{name}.zarr")
    for where, _, files in os.walk(f"{folder}/{name}.zarr"):
        if ".zgroup" in files and where != f"{folder}/{name}.zarr":
            os.unlink(os.path.join(where, ".zgroup"))
    for e in [e for e in found if e["store"] == "stores/tree-v2.zarr"]:
        found.append({**e, "id": e["id"].replace("tree-v2", name), "store": f"stores/{name}.zarr", "note": "without inner .zgroup files"})
    return found


def write_damaged(folder):
    """An unknown codec, and a shard whose index has a flipped bit."""
    import zarr

    array = numbers((10, 10), "<i2")
    found = []
    for name in ("unknown-codec", "flipped-index"):
        made = zarr.create_array(f"{folder}/{name}.zarr", shape=array.shape, dtype=array.dtype, chunks=(5, 5), shards=(10, 10))
        made[...] = array
    path = f"{folder}/unknown-codec.zarr/zarr.json"
    with open(path) as f:
        document = f.read()
    with open(path, "w") as f:
        f.write(document.replace('"zstd"', '"acme.squeeze"'))
    found.append(entry("unknown-codec", "unknown-codec.zarr", "", array, 3, VERSIONS["zarr3"] + ", metadata edited", "refuse"))
    with open(f"{folder}/flipped-index.zarr/c/0/0", "r+b") as f:
        data = bytearray(f.read())
        data[-20] ^= 4
        f.seek(0)
        f.write(data)
    whole = [[[0, n] for n in array.shape]]
    found.append(
        entry("flipped-index", "flipped-index.zarr", "", array, 3, VERSIONS["zarr3"] + ", then damaged", "eio", bad_regions=whole)
    )
    return found


def main():
    folder = os.path.join(HERE, "stores")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    manifest = []
    for c in chosen():
        write_case(c, f"{folder}/{c['id']}.zarr")
        manifest.append(entry(c["id"], f"{c['id']}.zarr", "", values(c), c["zarr_format"], VERSIONS[c["writer"]]))
    manifest += write_trees(folder)
    manifest += write_damaged(folder)
    with open(os.path.join(HERE, "manifest.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(e) for e in manifest) + "\n]\n")
    print(f"{len(os.listdir(folder))} stores, {len(manifest)} entries")


if __name__ == "__main__":
    main()
