"""Arrays of every data type, from every writer that has it: each .npy in the mount is byte for byte what np.save writes, numpy
opens it without pickle, and .raw has the same elements. Types that are not served leave their neighbours alone."""
import errno
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import zarr
from write_types import little

STORES = ["zarr2-v2", "zarr3-v2", "zarr3-v3", "tensorstore-v2", "tensorstore-v3"]


@pytest.fixture(scope="module")
def typed(zarr2, tmp_path_factory):
    """The folder with the stores and what is expected of them."""
    folder = tmp_path_factory.mktemp("types")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "write_types.py")
    for writer, python in {"zarr2": zarr2, "zarr3": sys.executable, "tensorstore": sys.executable}.items():
        subprocess.run([python, "-B", "-W", "ignore", script, writer, str(folder)], check=True, timeout=120)
    return folder


@pytest.mark.parametrize("store", STORES)
def test_every_type_is_what_np_save_writes(mount, typed, store):
    wanted = sorted((typed / "want" / store).iterdir())
    assert len(wanted) > 10
    wrong = []
    with mount(str(typed / f"{store}.zarr")) as mounted:
        for want in wanted:
            bytes_of = want.read_bytes()
            shown = pathlib.Path(mounted / want.name)
            if shown.read_bytes() != bytes_of:
                wrong.append(f"{want.name}: other bytes")
                continue
            array = np.load(shown, allow_pickle=False, max_header_size=1 << 20)
            if array.shape != (11, 6) or shown.with_suffix(".raw").read_bytes() != bytes_of[-array.nbytes :]:
                wrong.append(f"{want.name}: other elements in .raw")
    assert not wrong


def test_a_type_that_is_not_served_is_listed_and_refused(mount, run, tmp_path):
    store = tmp_path / "mixed.zarr"
    group = zarr.create_group(store)
    group.create_array("text", shape=(5, 3), chunks=(2, 3), dtype="str")[:] = "x"
    group.create_array("plain", shape=(4,), chunks=(2,), dtype="<i4")[:] = [1, 2, 3, 4]
    with mount(str(store)) as mounted:
        assert sorted(os.listdir(mounted.path)) == ["plain.json", "plain.npy", "plain.raw", "text.json", "text.npy", "text.raw"]
        assert np.load(mounted / "plain.npy").tolist() == [1, 2, 3, 4]
        with pytest.raises(OSError) as caught:
            open(mounted / "text.npy", "rb")
        assert caught.value.errno == errno.ENOTSUP
        facts = json.loads(pathlib.Path(mounted / "text.json").read_text())
        assert facts["shape"] == [5, 3] and facts["chunks"] == [2, 3] and facts["dtype"] == "string"
        assert facts["codecs"] == ["vlen-utf8", "zstd"] and facts["nbytes"] is None and "no fixed size" in facts["error"]
        assert os.getxattr(mounted / "text.npy", "user.zarr.dtype") == b"string"
        assert b"no fixed size" in os.getxattr(mounted / "text.npy", "user.zarr.error")
    told = run("info", f"{store}/text")
    assert told.returncode == 4 and "5x3" in told.stdout and "data type     string\n" in told.stdout, told.stdout
    told = json.loads(run("info", "--json", f"{store}/text").stdout)
    assert told["shape"] == [5, 3] and told["bytes"] is None and told["kind"] == "array"
    assert any(line.split()[:5] == ["array", "-", "string", "5x3", "2x3"] for line in run("ls", "-l", str(store)).stdout.splitlines())
    nodes = {node["name"]: node for node in json.loads(run("ls", "--json", str(store)).stdout)["nodes"]}
    assert nodes["text"]["bytes"] is None and nodes["plain"]["bytes"] == 16


@pytest.mark.parametrize("descr", [[("a", ">i4"), ("b", "<f8"), ("é", [("x", ">u2"), ("s", "|S3")])], [("x", ">f4"), ("y", ">f4")]])
def test_a_structured_array_is_packed_and_read_back(run, tmp_path, descr):
    array = np.frombuffer(np.random.default_rng(1).bytes(np.dtype(descr).itemsize * 30), descr).reshape(5, 6)
    np.save(tmp_path / "in.npy", array)
    packed = run("pack", "in.npy", "out.zarr", cwd=tmp_path)
    assert packed.returncode == 0, packed.stderr
    shown = run("cat", "out.zarr/in.npy", cwd=tmp_path, binary=True).stdout
    np.save(tmp_path / "want.npy", little(array))
    assert shown == (tmp_path / "want.npy").read_bytes()
    document = json.loads((tmp_path / "out.zarr/in/zarr.json").read_text())
    assert document["data_type"]["name"] == "struct"


def test_sub_arrays_and_padding_are_not_packed(run, tmp_path):
    for name, descr in {"sub": [("a", "<i4", (2,))], "padded": np.dtype([("a", "u1"), ("b", "<f8")], align=True)}.items():
        np.save(tmp_path / f"{name}.npy", np.zeros(3, descr))
        packed = run("pack", f"{name}.npy", "out.zarr", cwd=tmp_path)
        assert packed.returncode == 4 and "sub-arrays or padding" in packed.stderr
        assert not (tmp_path / "out.zarr").exists()
