"""What other implementations wrote is read bit for bit, through one mount a store and through `zarrfs cat`."""
import numpy as np
import pytest
from cases import little, table, values

CASES = table()


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_through_the_mount(mounted, case):
    want = values(case)
    place = mounted[case["writer"], case["zarr_format"]]
    with open(place / f"{case['id']}.raw", "rb") as f:
        assert f.read() == little(want)
    got = np.load(place / f"{case['id']}.npy")
    assert got.shape == want.shape
    # Elements may be shown in either byte order; the same values all the same.
    assert got.dtype.newbyteorder("<") == want.dtype.newbyteorder("<")
    assert little(got) == little(want)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_through_cat(run, written, case):
    store = written[case["writer"], case["zarr_format"]]
    done = run("cat", f"{store}/{case['id']}.raw", binary=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == little(values(case))
