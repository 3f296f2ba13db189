"""Symbolic links in a directory store: followed beneath the root, and nowhere else."""
import errno
import os
import shutil

import numpy as np
import pytest


def move_and_link(path, to):
    """As git-annex does: the file goes elsewhere and a relative link stays."""
    os.makedirs(os.path.dirname(to), exist_ok=True)
    os.rename(path, to)
    os.symlink(os.path.relpath(to, os.path.dirname(path)), path)


@pytest.fixture
def linked(stores, tmp_path):
    """A copy of the store, in a folder of its own."""
    path = tmp_path / "around" / "weather.zarr"
    shutil.copytree(stores.path("weather"), path)
    return path


def chunks_of(array):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(array / "c") for name in names)


def test_links_within_the_store_are_the_nodes_and_chunks_that_they_lead_to(mount, stores, linked):
    temp = stores.arrays["weather"]["temp"]
    os.symlink("temp", linked / "same")
    os.symlink("../deep", linked / "deep" / "again")
    for i, chunk in enumerate(chunks_of(linked / "temp")):
        move_and_link(chunk, str(linked / ".git" / "annex" / str(i)))
    move_and_link(str(linked / "temp" / "zarr.json"), str(linked / ".git" / "document"))
    with mount(linked) as mounted:
        assert {"temp.npy", "same.npy"} <= set(os.listdir(mounted.path))
        assert np.array_equal(np.load(mounted / "temp.npy"), temp)
        assert np.array_equal(np.load(mounted / "same.npy"), temp)
        assert os.path.isdir(mounted / "deep/again")
        assert np.array_equal(np.load(mounted / "deep/again/level.npy"), stores.arrays["weather"]["deep/level"])


def test_links_out_of_the_store_are_refused_and_harm_no_other(mount, stores, linked):
    outside = str(linked.parent / "outside")
    os.makedirs(outside)
    shutil.copytree(linked / "temp", outside + "/temp")
    os.symlink("../outside/temp", linked / "stranger")
    chunk = chunks_of(linked / "temp")[0]
    move_and_link(chunk, outside + "/chunk")
    with mount(linked) as mounted:
        assert not any(name.startswith("stranger") for name in os.listdir(mounted.path))
        with open(mounted / "temp.raw", "rb") as f, pytest.raises(OSError) as failed:
            f.read()
        assert failed.value.errno == errno.EIO
        assert "a symbolic link leads out of the store" in mounted.words()
        for name, values in stores.arrays["weather"].items():
            if name != "temp":
                assert np.load(mounted / f"{name}.npy").tobytes() == values.tobytes()


def test_a_link_to_nothing_is_no_missing_chunk(mount, linked):
    """git-annex keeps such links for content that was not fetched."""
    chunk = chunks_of(linked / "temp")[0]
    os.unlink(chunk)
    os.symlink("not/fetched", chunk)
    with mount(linked) as mounted:
        with open(mounted / "temp.raw", "rb") as f, pytest.raises(OSError) as failed:
            f.read()
        assert failed.value.errno == errno.EIO
        assert "a symbolic link leads to nothing" in mounted.words()
