"""Every store of tests/data, written by other implementations, through a mount: the sha256 of the manifest."""
import errno
import hashlib
import json
import os

import numpy as np
import pytest

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
with open(os.path.join(DATA, "manifest.json")) as _f:
    MANIFEST = json.load(_f)


def test_the_manifest_names_every_store():
    stores = {os.path.join("stores", name) for name in os.listdir(os.path.join(DATA, "stores"))}
    assert {e["store"] for e in MANIFEST} == stores
    assert len(stores) >= 60


@pytest.mark.parametrize("entry", MANIFEST, ids=[e["id"] for e in MANIFEST])
def test_store(mount, entry):
    with mount(os.path.join(DATA, entry["store"])) as mounted:
        stem = mounted / (entry["array"] or os.path.basename(entry["store"]).removesuffix(".zarr"))
        assert os.path.basename(stem) + ".npy" in os.listdir(os.path.dirname(stem))
        if entry["expect"] == "refuse":
            with pytest.raises(OSError) as raised:
                os.open(stem + ".raw", os.O_RDONLY)
            assert raised.value.errno == errno.ENOTSUP
            return
        assert os.stat(stem + ".raw").st_size == entry["nbytes"]
        if entry["expect"] == "eio":
            with open(stem + ".raw", "rb") as f, pytest.raises(OSError) as raised:
                f.read()
            assert raised.value.errno == errno.EIO
            return
        with open(stem + ".raw", "rb") as f:
            raw = f.read()
        assert hashlib.sha256(raw).hexdigest() == entry["sha256"]
        dtype = np.dtype(entry["dtype"])
        for sample in entry["samples"]:
            flat = int(np.ravel_multi_index(sample["index"], entry["shape"])) if entry["shape"] else 0
            assert raw[flat * dtype.itemsize : (flat + 1) * dtype.itemsize].hex() == sample["hex"]
        loaded = np.load(stem + ".npy")
        assert list(loaded.shape) == entry["shape"]
        assert loaded.dtype.newbyteorder("<") == dtype
        assert np.ascontiguousarray(loaded).astype(dtype).tobytes() == raw
