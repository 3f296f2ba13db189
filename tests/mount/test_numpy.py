"""Every array through numpy: np.load, np.memmap, np.fromfile, and the bytes of np.save."""
import io

import numpy as np
import pytest

ARRAYS = [
    *(("plain", f"{kind}_{dtype}") for kind in ("whole", "tiles", "shard") for dtype in ("i1", "i2", "u4", "i8", "f8")),
    ("plain", "big"),
    *(("weather", name) for name in ("temp", "mask", "deep/level", "scalar", "nothing")),
    *(("holes", name) for name in ("plain", "sharded", "never")),
    ("alone", "alone"),
]


def same(got, want):
    """Bit for bit, whatever the byte order in memory; NaN is NaN of the same bits."""
    assert got.shape == want.shape
    assert got.dtype.newbyteorder("<") == want.dtype.newbyteorder("<")
    assert np.array(got).astype(want.dtype).tobytes() == want.tobytes()


@pytest.fixture(scope="module")
def mounted(zarrfs, stores, tmp_path_factory):
    """One mount a store for the whole file: mounted[store]."""
    from mounts import Mounts

    mounts = Mounts(zarrfs, str(tmp_path_factory.mktemp("numpy")))
    import contextlib

    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(mounts(stores.path(name))) for name in stores.arrays}


@pytest.mark.parametrize("store, array", ARRAYS)
def test_load_gives_the_array(mounted, stores, store, array):
    same(np.load(mounted[store] / f"{array}.npy"), stores.arrays[store][array])


@pytest.mark.parametrize("store, array", ARRAYS)
def test_npy_is_what_np_save_writes(mounted, stores, store, array):
    """Byte for byte; elements that the store keeps in big-endian order may stay in it."""
    with open(mounted[store] / f"{array}.npy", "rb") as f:
        got = f.read()
    dtype = np.load(io.BytesIO(got)).dtype
    saved = io.BytesIO()
    np.save(saved, stores.arrays[store][array].astype(dtype))
    assert got == saved.getvalue()


@pytest.mark.parametrize("store, array", [a for a in ARRAYS if a[1] not in ("scalar", "nothing")])
def test_load_with_mmap_mode(mounted, stores, store, array):
    mapped = np.load(mounted[store] / f"{array}.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    want = stores.arrays[store][array]
    same(mapped[-1], want[-1])
    same(mapped[..., ::3], want[..., ::3])
    same(mapped, want)


@pytest.mark.parametrize("store, array", [a for a in ARRAYS if a[1] != "nothing"])
def test_memmap_of_raw(mounted, stores, store, array):
    want = stores.arrays[store][array]
    little = want.dtype.newbyteorder("<")
    same(np.memmap(mounted[store] / f"{array}.raw", dtype=little, mode="r", shape=want.shape), want)


@pytest.mark.parametrize("store, array", ARRAYS)
def test_fromfile_of_raw(mounted, stores, store, array):
    want = stores.arrays[store][array]
    same(np.fromfile(mounted[store] / f"{array}.raw", dtype=want.dtype.newbyteorder("<")).reshape(want.shape), want)


def test_memmap_keeps_a_second_mapping_and_a_first(mounted, stores):
    """Two mappings and a reader of one file share the page cache, and all are right."""
    want = stores.arrays["weather"]["temp"]
    one = np.load(mounted["weather"] / "temp.npy", mmap_mode="r")
    two = np.load(mounted["weather"] / "temp.npy", mmap_mode="r")
    same(one[20:], want[20:])
    same(np.load(mounted["weather"] / "temp.npy"), want)
    same(two, want)
    same(one, want)
