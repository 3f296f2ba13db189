"""What the mount shows: names, sizes, modes, times, inode numbers, the .json view, extended attributes; and that it is read-only."""
import errno
import json
import os
import stat
import time

import numpy as np
import pytest

VIEWS = ("npy", "raw", "json")


def files_of(*arrays):
    return {f"{a}.{v}" for a in arrays for v in VIEWS}


@pytest.fixture
def weather(mount, stores):
    with mount(stores.path("weather")) as mounted:
        yield mounted


def test_readdir_lists_views_and_groups(weather):
    assert set(os.listdir(weather.path)) == files_of("temp", "mask", "scalar", "nothing") | {"deep"}
    assert set(os.listdir(weather / "deep")) == files_of("level") | {"empty"}
    assert os.listdir(weather / "deep/empty") == []
    assert os.path.isdir(weather / "deep")
    assert stat.S_ISREG(os.stat(weather / "temp.npy").st_mode)


def test_a_root_array_has_the_store_name(mount, stores):
    with mount(stores.path("alone")) as mounted:
        assert set(os.listdir(mounted.path)) == files_of("alone")


def test_no_such_name(weather):
    for name in ("none", "temp", "temp.zarr", "temp.npy.npy", "deep.npy", "zarr.json", "temp/zarr.json", "temp/c"):
        with pytest.raises((FileNotFoundError, NotADirectoryError)):
            os.stat(weather / name)


def test_sizes(weather, stores):
    for name, values in stores.arrays["weather"].items():
        assert os.stat(weather / f"{name}.raw").st_size == values.nbytes
        header = os.stat(weather / f"{name}.npy").st_size - values.nbytes
        assert header > 0 and header % 64 == 0
        with open(weather / f"{name}.json", "rb") as f:
            assert len(f.read()) == os.stat(weather / f"{name}.json").st_size


def test_listing_decodes_no_chunk(weather):
    for where, _, names in os.walk(weather.path):
        for name in names:
            os.stat(os.path.join(where, name))
    stats = weather.stats()
    assert stats["chunks_decoded"] == 0
    assert stats["indexes_read"] == 0


def test_blocks_and_block_size(weather):
    for name in ("temp.npy", "temp.raw", "mask.raw", "scalar.npy", "nothing.raw"):
        found = os.stat(weather / name)
        assert found.st_blocks == -(-found.st_size // 512)
        assert found.st_blksize == 4096


def test_modes_and_links(weather):
    assert stat.S_IMODE(os.stat(weather / "temp.npy").st_mode) == 0o444
    assert stat.S_IMODE(os.stat(weather / "deep").st_mode) == 0o555
    assert stat.S_IMODE(os.stat(weather.path).st_mode) == 0o555
    assert os.stat(weather / "temp.npy").st_nlink == 1
    assert os.stat(weather / "temp.npy").st_uid == os.getuid()
    assert os.stat(weather / "temp.npy").st_gid == os.getgid()


def test_mtime_is_that_of_the_metadata_document(weather, stores):
    for view in VIEWS:
        want = os.stat(os.path.join(stores.path("weather"), "temp/zarr.json")).st_mtime_ns
        assert os.stat(weather / f"temp.{view}").st_mtime_ns == want
    want = os.stat(os.path.join(stores.path("weather"), "deep/zarr.json")).st_mtime_ns
    assert os.stat(weather / "deep").st_mtime_ns == want


def numbers_in(folder):
    found = {}
    for where, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(where, name)
            found[os.path.relpath(path, folder)] = os.stat(path).st_ino
    return found


def test_inode_numbers_are_stable_and_distinct(mount, stores):
    with mount(stores.path("weather")) as mounted:
        first = numbers_in(mounted.path)
    with mount(stores.path("weather")) as mounted:
        # asked in another order
        for name in sorted(first, reverse=True):
            assert os.stat(mounted / name).st_ino == first[name]
        assert numbers_in(mounted.path) == first
    assert len(set(first.values())) == len(first)
    assert not {0, 1} & set(first.values())


def test_readdir_and_stat_agree_on_inode_numbers(weather):
    for where, folders, _ in os.walk(weather.path):
        with os.scandir(where) as entries:
            for entry in entries:
                assert entry.inode() == os.stat(entry.path).st_ino
                assert entry.is_dir() == (entry.name in folders)


def test_json_view(weather, stores):
    with open(weather / "temp.json") as f:
        shown = json.load(f)
    assert shown["shape"] == [40, 2048]
    assert np.dtype(shown["dtype"]) == np.dtype("<f4")
    assert shown["chunks"] == [5, 512]
    assert shown["shards"] == [10, 2048]
    assert "sharding_indexed" in json.dumps(shown["codecs"])
    assert shown["fill_value"] == -1.5
    assert shown["dimension_names"] == ["y", "x"]
    assert shown["attributes"] == {"units": "K", "nested": {"a": [1, 2.5, None]}}


def test_json_view_of_an_array_without_shards(weather):
    with open(weather / "mask.json") as f:
        shown = json.load(f)
    assert shown["shape"] == [33, 57] and shown["chunks"] == [10, 20]
    assert not shown.get("shards")
    assert shown["attributes"] == {}


def test_xattrs(weather):
    names = os.listxattr(weather / "temp.npy")
    for name in ("shape", "dtype", "chunks", "shards", "codecs", "fill_value", "dimension_names"):
        assert f"user.zarr.{name}" in names
        assert os.getxattr(weather / "temp.npy", f"user.zarr.{name}")
    assert json.loads(os.getxattr(weather / "temp.raw", "user.zarr.shape")) == [40, 2048]
    assert json.loads(os.getxattr(weather / "temp.raw", "user.zarr.chunks")) == [5, 512]
    assert json.loads(os.getxattr(weather / "temp.raw", "user.zarr.shards")) == [10, 2048]
    assert json.loads(os.getxattr(weather / "temp.raw", "user.zarr.dimension_names")) == ["y", "x"]
    assert float(os.getxattr(weather / "temp.raw", "user.zarr.fill_value")) == -1.5
    assert "user.zarr.error" not in names


@pytest.mark.parametrize("name", ["security.capability", "security.selinux", "system.posix_acl_access", "user.other"])
def test_other_xattrs_answer_at_once(weather, name):
    began = time.monotonic()
    with pytest.raises(OSError) as raised:
        os.getxattr(weather / "temp.npy", name)
    assert raised.value.errno in (errno.ENODATA, errno.EOPNOTSUPP)
    assert time.monotonic() - began < 0.5


def test_stats_are_hidden_and_readable(weather):
    assert ".zarrfs" not in os.listdir(weather.path)
    with open(weather / "temp.raw", "rb") as f:
        f.read()
    stats = weather.stats()
    assert stats["chunks_decoded"] == 32
    assert stats["indexes_read"] == 4
    # A stats file is made at each open: never the page cache's copy.
    with open(weather / "mask.raw", "rb") as f:
        f.read()
    assert weather.stats()["read_bytes"] > stats["read_bytes"]


def test_statfs(weather):
    found = os.statvfs(weather.path)
    assert found.f_flag & os.ST_RDONLY
    assert found.f_flag & os.ST_NOSUID
    assert found.f_namemax >= 255


def test_mount_flags(weather):
    with open("/proc/self/mounts") as f:
        line = next(line for line in f if weather.path in line)
    assert {"ro", "nosuid", "nodev"} <= set(line.split()[3].split(","))
    assert line.split()[2].startswith("fuse")


WRITES = {
    "open for writing": lambda p: os.open(p, os.O_WRONLY),
    "open for both": lambda p: os.open(p, os.O_RDWR),
    "truncating open": lambda p: os.open(p, os.O_RDONLY | os.O_TRUNC),
    "create": lambda p: os.open(p + ".new", os.O_CREAT | os.O_WRONLY, 0o644),
    "truncate": lambda p: os.truncate(p, 3),
    "unlink": os.unlink,
    "rename": lambda p: os.rename(p, p + "2"),
    "link": lambda p: os.link(p, p + "2"),
    "symlink": lambda p: os.symlink("x", p + "2"),
    "mkdir": lambda p: os.mkdir(p + "2"),
    "rmdir": lambda p: os.rmdir(os.path.dirname(p) + "/deep"),
    "chmod": lambda p: os.chmod(p, 0o600),
    "utime": lambda p: os.utime(p, (1, 1)),
    "setxattr": lambda p: os.setxattr(p, "user.zarr.shape", b"[1]"),
}


@pytest.mark.parametrize("attempt", WRITES)
def test_write_attempts_are_refused(weather, attempt):
    with pytest.raises(OSError) as raised:
        WRITES[attempt](weather / "temp.raw")
    assert raised.value.errno == errno.EROFS
    assert not os.access(weather / "temp.raw", os.W_OK)


def test_views_option_chooses_what_is_listed(mount, stores):
    with mount(stores.path("weather"), "--views", "raw") as mounted:
        assert set(os.listdir(mounted.path)) == {"temp.raw", "mask.raw", "scalar.raw", "nothing.raw", "deep"}
        # found by name all the same
        assert os.stat(mounted / "temp.npy").st_size > 0


def test_uid_gid_and_umask_options(mount, stores):
    # A plain user could not pass a directory of somebody else's that is closed to others.
    uid, gid = (12, 34) if os.getuid() == 0 else (os.getuid(), os.getgid())
    with mount(stores.path("weather"), "--uid", str(uid), "--gid", str(gid), "--umask", "027") as mounted:
        found = os.stat(mounted / "temp.npy")
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (uid, gid, 0o440)
