"""Writes cases with zarr-python 2.18, in its own environment: write_zarr2.py STORE < cases.json. STORE is a group, unless
there is one case and --root."""
import json
import sys

import zarr
from cases import compressor_v2, fill_value, values, written


def write(c, store, path):
    made = zarr.create(
        shape=tuple(c["shape"]),
        chunks=tuple(c["chunks"]) or True,
        dtype=c["dtype"],
        compressor=compressor_v2(c["codec"]),
        fill_value=None if c["fill"] is None and c["dtype"][1] in "SUV" else fill_value(c)[()],
        order=c["order"],
        store=store,
        path=path,
        dimension_separator=c.get("keys", "."),
    )
    made[written(c)] = values(c)[written(c)]


def main():
    assert zarr.__version__.startswith("2.18"), zarr.__version__
    store, cases = sys.argv[1], json.load(sys.stdin)
    if "--root" in sys.argv:
        write(cases[0], zarr.DirectoryStore(store), None)
        return
    store = zarr.DirectoryStore(store)
    zarr.group(store=store)
    for c in cases:
        write(c, store, c["id"])


if __name__ == "__main__":
    main()
