"""The program without a mount: cat, ls, info, pack, --help, --version. The same bytes as the mount."""
import json
import os
import re

import numpy as np
import pytest
from mounts import TOP

SUBCOMMANDS = ["mount", "umount", "ls", "info", "cat", "check", "pack"]


@pytest.mark.parametrize("store, array", [("plain", "shard_i2"), ("weather", "temp"), ("weather", "deep/level"), ("holes", "sharded"), ("alone", "alone")])
def test_cat_gives_the_bytes_of_the_mount(run, mount, stores, store, array):
    with mount(stores.path(store)) as mounted:
        for view in ("raw", "npy", "json"):
            done = run("cat", f"{stores.path(store)}/{array}.{view}", binary=True)
            assert done.returncode == 0, done.stderr
            with open(mounted / f"{array}.{view}", "rb") as f:
                assert done.stdout == f.read()
    assert run("cat", f"{stores.path(store)}/{array}.raw", binary=True).stdout == stores.arrays[store][array].tobytes()


@pytest.mark.parametrize("offset, length", [(0, 1), (3, 10), (81919, 2), (300000, 27680), (327679, 100), (327680, 5), (400000, 5)])
def test_cat_of_a_part(run, stores, offset, length):
    want = stores.arrays["weather"]["temp"].tobytes()
    done = run("cat", stores.path("weather") + "/temp.raw", "--offset", offset, "--length", length, binary=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == want[offset : offset + length]


def test_cat_of_a_name_that_is_not_there(run, stores):
    done = run("cat", stores.path("weather") + "/none.npy")
    assert done.returncode not in (0, 2) and done.stdout == "" and done.stderr


def test_ls(run, stores):
    assert {"temp", "mask", "deep"} <= {w.split(".")[0].rstrip("/") for w in run("ls", stores.path("weather")).stdout.split()}
    assert "level" in run("ls", stores.path("weather") + "/deep").stdout
    assert "level" in run("ls", "-R", stores.path("weather")).stdout
    long = run("ls", "-l", stores.path("weather"))
    assert long.returncode == 0 and "2048" in long.stdout


def test_info(run, stores):
    done = run("info", stores.path("weather") + "/temp")
    assert done.returncode == 0, done.stderr
    for word in ("40", "2048", "512", "zstd", "-1.5"):
        assert word in done.stdout
    shown = json.loads(run("info", "--json", stores.path("weather") + "/temp").stdout)
    assert shown["shape"] == [40, 2048] and shown["chunks"] == [5, 512] and shown["shards"] == [10, 2048]
    assert run("info", "--stored", stores.path("weather") + "/temp").returncode == 0


@pytest.mark.parametrize("dtype", ["|b1", "|u1", "<i2", "<u4", "<f8", "<c8"])
@pytest.mark.parametrize("options", [[], ["--chunk", "8,16", "--shard", "32,32", "--codec", "zstd"], ["--chunk", "10,10", "--codec", "lz4"]], ids=["plain", "sharded", "chunked"])
def test_pack_and_back(run, mount, tmp_path, dtype, options):
    """Through our own reader, and through zarr-python unless the codec is ours alone."""
    import zarr
    from stores import numbers

    values = numbers((51, 70), dtype)
    np.save(tmp_path / "in.npy", values)
    done = run("pack", tmp_path / "in.npy", tmp_path / "out.zarr", *options)
    assert done.returncode == 0, done.stderr
    with mount(tmp_path / "out.zarr") as mounted:
        (name,) = [n for n in os.listdir(mounted.path) if n.endswith(".npy")]
        with open(mounted / name, "rb") as f:
            assert f.read() == (tmp_path / "in.npy").read_bytes()
    if "lz4" not in options:
        opened = zarr.open(tmp_path / "out.zarr", mode="r")
        opened = opened if isinstance(opened, zarr.Array) else next(a for _, a in opened.arrays())
        assert opened[...].tobytes() == values.tobytes()


def test_pack_leaves_nothing_behind_when_it_fails(run, tmp_path):
    (tmp_path / "in.npy").write_bytes(b"\x93NUMPY\x01\x00not a header")
    before = set(os.listdir(tmp_path))
    done = run("pack", tmp_path / "in.npy", tmp_path / "out.zarr")
    assert done.returncode != 0 and done.stderr
    assert set(os.listdir(tmp_path)) == before


def test_pack_does_not_overwrite(run, tmp_path):
    np.save(tmp_path / "in.npy", np.arange(10))
    assert run("pack", tmp_path / "in.npy", tmp_path / "out.zarr").returncode == 0
    assert run("pack", tmp_path / "in.npy", tmp_path / "out.zarr").returncode != 0


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_help_of_a_subcommand(run, command):
    for flag in ("-h", "--help"):
        done = run(command, flag)
        assert done.returncode == 0 and command in done.stdout and done.stderr == ""


def test_help_names_the_subcommands(run):
    done = run("--help")
    assert done.returncode == 0
    for command in SUBCOMMANDS:
        assert command in done.stdout


def test_the_readme_names_what_is_built_in_and_nothing_else(run):
    told = run("--version").stdout
    with open(os.path.join(TOP, "README.md")) as f:
        readme = f.read()
    rows = (("codecs", "codecs", {"numcodecs.*"}, set()), ("data types", "names of types in v3", set(), set()),
            ("stores", "stores", set(), {"mem"}), ("stores not built in", "stores that are refused by name", set(), set()))
    for line, row, more, ours in rows:
        built_in = set(re.search(f"^{line}: (.*)$", told, re.M)[1].split(", ")) - ours
        named = set(re.findall("`([^`]+)`", re.search(rf"^\| {row} \|.*$", readme, re.M)[0]))
        assert named - more == built_in
    stores = set(re.search("^stores: (.*)$", told, re.M)[1].split(", "))
    in_words = {"file": "a local directory", "zip": "a zip file", "reference": "a kerchunk reference file"}
    row = re.search(r"^\| stores \|.*$", readme, re.M)[0]
    assert stores - {"mem"} == {store for store, words in in_words.items() if words in row}  # mem is the tests'


def test_version_names_the_libraries(run):
    done = run("--version")
    assert done.returncode == 0
    for word in ("0.1.0", "fuse", "zstd", "lz4"):
        assert word in done.stdout.lower()
