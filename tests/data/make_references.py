#!/usr/bin/env python3
"""Writes references/: small HDF5 and netCDF-3 files, kerchunk's references to them, and manifest.json with what the arrays are, as h5py
and scipy read them. Run it in an environment of its own: pip install kerchunk==0.2.10 h5py==3.16.0 scipy==1.17.1 numpy. The result
is committed, so that the tests need none of these.
"""
import hashlib
import json
import os
import shutil
import sys

import h5py
import numpy as np
import scipy.io
from kerchunk.combine import MultiZarrToZarr
from kerchunk.hdf import SingleHdf5ToZarr
from kerchunk.netCDF3 import NetCDF3ToZarr

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "references")


def numbers(dtype, shape, seed):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return random.normal(0, 100, shape).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype=np.dtype(dtype).newbyteorder("="), endpoint=True).astype(dtype)


def write_hdf5(path):
    with h5py.File(path, "w", libver="earliest") as f:
        f.attrs["title"] = "a file for kerchunk"
        for name, dtype, shape, options in (
            ("contiguous", "<f4", (13, 7), {}),
            ("big", ">f8", (11, 5), {"chunks": (4, 5)}),
            ("gzip", "<i4", (20, 17), {"chunks": (8, 6), "compression": "gzip"}),
            ("shuffled", "<u2", (31, 9), {"chunks": (16, 9), "compression": "gzip", "shuffle": True}),
            ("long", "<i8", (40,), {"chunks": (12,), "compression": "gzip", "shuffle": True}),
            ("scalar", "<f8", (), {}),
            ("group/deep", "|u1", (9, 9), {"chunks": (5, 5)}),
        ):
            f.create_dataset(name, data=numbers(dtype, shape, len(name)), dtype=dtype, **options)
        sparse = f.create_dataset("sparse", (12, 12), "<f4", chunks=(5, 5), fillvalue=-1.5)
        sparse[5:10, 0:5] = numbers("<f4", (5, 5), 3)


def write_netcdf3(path, start=0):
    with scipy.io.netcdf_file(path, "w", version=2) as f:
        f.createDimension("time", None)
        f.createDimension("lat", 3)
        f.createDimension("lon", 5)
        for name, dtype, dims in (
            ("time", "f8", ("time",)), ("temp", "f4", ("time", "lat", "lon")), ("mask", "i1", ("lat", "lon")), ("station", "i4", ("lon",)),
        ):
            shape = [{"time": 4, "lat": 3, "lon": 5}[d] for d in dims]
            values = np.arange(start, start + 4) if name == "time" else numbers(dtype, shape, start + len(name))
            f.createVariable(name, dtype, dims)[:] = values


def arrays_of_hdf5(path):
    found = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, node: found.update({name: node[()]}) if isinstance(node, h5py.Dataset) else None)
    return found


def arrays_of_netcdf3(path):
    with scipy.io.netcdf_file(path, mmap=False) as f:
        return {name: np.array(v[...]) for name, v in f.variables.items()}


def relative(refs):
    """Urls as names beside the reference file: kerchunk writes the path that it was given."""
    values = refs.get("refs", refs)
    for key, value in values.items():
        if isinstance(value, list):
            value[0] = os.path.basename(value[0])
    return refs


def templated(refs):
    """The same by templates, and with documents as objects."""
    urls = {v[0] for v in refs["refs"].values() if isinstance(v, list)}
    templates = {f"u{i}": url for i, url in enumerate(sorted(urls))}
    names = {url: "{{%s}}" % name for name, url in templates.items()}
    values = {k: [names[v[0]], *v[1:]] if isinstance(v, list) else v for k, v in refs["refs"].items()}
    values = {k: json.loads(v) if isinstance(v, str) and k.endswith((".zarray", ".zattrs", ".zgroup")) else v for k, v in values.items()}
    return {"version": 1, "templates": templates, "refs": values}


def entries(store, arrays):
    for name, array in sorted(arrays.items()):
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
        yield {"store": f"references/{store}", "array": name, "shape": list(array.shape), "dtype": little.dtype.str,
               "sha256": hashlib.sha256(little.tobytes()).hexdigest()}


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    os.chdir(FOLDER)
    write_hdf5("sample.h5")
    write_netcdf3("one.nc")
    write_netcdf3("two.nc", start=4)
    hdf5 = relative(SingleHdf5ToZarr("sample.h5", inline_threshold=0).translate())
    netcdf3 = [relative(NetCDF3ToZarr(name, inline_threshold=0).translate()) for name in ("one.nc", "two.nc")]
    both = relative(MultiZarrToZarr(netcdf3, concat_dims=["time"], identical_dims=["lat", "lon", "mask", "station"],
                                    coo_map={"time": "data:time"}, inline_threshold=0).translate())
    one, two = arrays_of_netcdf3("one.nc"), arrays_of_netcdf3("two.nc")
    joined = {n: np.concatenate([one[n], two[n]]) if n in ("time", "temp") else one[n] for n in one}
    stores = {
        "hdf5.json": (hdf5, arrays_of_hdf5("sample.h5")),
        "hdf5-inline.json": (relative(SingleHdf5ToZarr("sample.h5", inline_threshold=10000).translate()), arrays_of_hdf5("sample.h5")),
        "hdf5-version-0.json": (hdf5["refs"], arrays_of_hdf5("sample.h5")),
        "hdf5-templates.json": (templated(hdf5), arrays_of_hdf5("sample.h5")),
        "netcdf3.json": (netcdf3[0], one),
        "netcdf3-both.json": (both, joined),
    }
    manifest = []
    for name, (refs, arrays) in stores.items():
        with open(name, "w") as file:
            json.dump(refs, file)
        manifest += entries(name, arrays)
    with open("manifest.json", "w") as file:
        json.dump(manifest, file, indent=0)


if __name__ == "__main__":
    sys.exit(main())
