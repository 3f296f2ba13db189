"""Fixtures of the tests through mounts: those of mounts.py, and the stores of stores.py."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from mounts import mount, run, zarrfs  # noqa: E402, F401
from stores import make_stores  # noqa: E402


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    made = make_stores(folder)
    for where, folders, files in os.walk(folder):
        for name in folders:
            os.chmod(os.path.join(where, name), 0o755)
        for name in files:
            os.chmod(os.path.join(where, name), 0o644)
    return made


def pytest_configure(config):
    sys.dont_write_bytecode = True
    # A core file of a killed daemon helps nobody here.
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
