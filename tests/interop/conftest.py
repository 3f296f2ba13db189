"""The stores of the table, written once a session by each implementation; the mounts are those of tests/mount."""
import json
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mount")]
ZARR2 = os.environ.get("ZARRFS_ZARR2") or os.path.join(os.path.dirname(os.path.dirname(HERE)), ".venv", "zarr2", "bin", "python")

from mounts import Mounts, mount, run, zarrfs  # noqa: E402, F401


def write_with_zarr2(cases, store, *more):
    """In the environment of zarr-python 2.18."""
    subprocess.run(
        [ZARR2, "-B", os.path.join(HERE, "write_zarr2.py"), store, *more], input=json.dumps(cases), text=True, check=True, timeout=120
    )
    return {2: store}


@pytest.fixture(scope="session")
def zarr2():
    """The Python of zarr-python 2.18."""
    return ZARR2


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """(writer, zarr_format) -> store."""
    import write_tensorstore
    import write_zarr3
    from cases import table

    folder = tmp_path_factory.mktemp("stores")
    stores = {}
    for writer, write in {"zarr3": write_zarr3.write_all, "tensorstore": write_tensorstore.write_all, "zarr2": write_with_zarr2}.items():
        made = write([c for c in table() if c["writer"] == writer], str(folder / writer))
        stores.update({(writer, zarr_format): store for zarr_format, store in made.items()})
    return stores


@pytest.fixture(scope="session")
def mounted(zarrfs, written, tmp_path_factory):  # noqa: F811
    """(writer, zarr_format) -> mount: one for the whole session."""
    import contextlib

    mounts = Mounts(zarrfs, str(tmp_path_factory.mktemp("mounts")), seconds=600)
    with contextlib.ExitStack() as stack:
        yield {key: stack.enter_context(mounts(store)) for key, store in written.items()}
