"""The test programs in C that mount a store of their own: tests/mount/test_*.c, built beside the program."""
import glob
import os
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = sorted(os.path.basename(p).removesuffix(".c") for p in glob.glob(os.path.join(HERE, "test_*.c")))


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(zarrfs, program):
    path = os.path.join(os.path.dirname(zarrfs), "tests", program)
    done = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
