"""The life of a mount: many readers, unmount while reading, kill -9, dead mount points, background, signals, exit codes."""
import errno
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from mounts import is_mounted, pids_of, wait_until

READER = """
import hashlib, os, random, sys
path, seed = sys.argv[1], int(sys.argv[2])
draw = random.Random(seed)
fd = os.open(path, os.O_RDONLY)
size = os.fstat(fd).st_size
for _ in range(100):
    at, length = draw.randrange(size), draw.choice([4, 4096, 100000])
    assert len(os.pread(fd, length, at)) == min(length, size - at)
digest = hashlib.sha256()
at = 0
while at < size:
    part = os.pread(fd, draw.choice([65536, 131072, 999983]), at)
    digest.update(part)
    at += len(part)
print(digest.hexdigest())
"""


def test_eight_processes_read_at_once(mount, stores):
    import hashlib

    want = hashlib.sha256(stores.arrays["long"]["field"].tobytes()).hexdigest()
    with mount(stores.path("long"), "--cache-size", "64M") as mounted:
        readers = [
            subprocess.Popen([sys.executable, "-c", READER, mounted / "field.raw", str(seed)], stdout=subprocess.PIPE, text=True)
            for seed in range(8)
        ]
        assert [r.communicate(timeout=60)[0].strip() for r in readers] == [want] * 8
        assert [r.returncode for r in readers] == [0] * 8


def test_threads_read_one_chunk_and_it_is_decoded_once(mount, stores):
    want = stores.arrays["weather"]["temp"][0, :1].tobytes()
    with mount(stores.path("weather")) as mounted:
        fd = os.open(mounted / "temp.raw", os.O_RDONLY | os.O_DIRECT)
        barrier, got = threading.Barrier(16), []

        def one():
            barrier.wait()
            got.append(os.pread(fd, 4, 0))

        threads = [threading.Thread(target=one) for _ in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        os.close(fd)
        assert got == [want] * 16
        assert mounted.stats()["chunks_decoded"] == 1


class Reading:
    """A process that reads a file again and again, by O_DIRECT so that every read is a request; it compares what it gets."""

    CODE = """
import os, sys
path, copy = sys.argv[1:3]
want = open(copy, "rb").read()
fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
print("ready", flush=True)
while True:
    for at in range(0, len(want), 1 << 17):
        try:
            got = os.pread(fd, 1 << 17, at)
        except OSError as why:
            print(why.errno, flush=True)
            sys.exit(0)
        if got != want[at : at + (1 << 17)]:
            print("wrong bytes", flush=True)
            sys.exit(0)
"""

    def __init__(self, path, want, folder):
        copy = folder / "want"
        copy.write_bytes(want)
        self.process = subprocess.Popen([sys.executable, "-c", self.CODE, path, copy], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def result(self):
        return int(self.process.communicate(timeout=30)[0])


GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ENODEV, errno.EINTR}


def test_unmount_while_reading(mount, stores, run, tmp_path):
    """A busy mount is not unmounted but lazily; the reader gets right bytes until the end, then an errno."""
    with mount(stores.path("long")) as mounted:
        reading = Reading(mounted / "field.raw", stores.arrays["long"]["field"].tobytes(), tmp_path)
        assert run("umount", mounted.path).returncode != 0
        assert is_mounted(mounted.path)
        assert mounted.unmount(lazy=True).returncode == 0
        assert not is_mounted(mounted.path)
        time.sleep(0.2)
        assert reading.process.poll() is None, "open files go on after a lazy unmount"
        reading.process.kill()
        reading.process.communicate()
        assert mounted.process.wait(timeout=10) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_unmounts(mount, stores, number):
    with mount(stores.path("weather")) as mounted:
        np.load(mounted / "temp.npy")
        mounted.process.send_signal(number)
        assert mounted.process.wait(timeout=10) == 0
        assert not is_mounted(mounted.path)
        assert os.listdir(mounted.path) == []


def test_sigterm_while_reading(mount, stores, tmp_path):
    """The mount goes at once; open files are served for up to 2 s, then the process ends with 0."""
    with mount(stores.path("long")) as mounted:
        reading = Reading(mounted / "field.raw", stores.arrays["long"]["field"].tobytes(), tmp_path)
        began = time.monotonic()
        mounted.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: not is_mounted(mounted.path), 2)
        assert mounted.process.wait(timeout=10) == 0
        assert time.monotonic() - began < 6
        assert reading.result() in GONE


def test_a_second_signal_ends_at_once(mount, stores, tmp_path):
    with mount(stores.path("long")) as mounted:
        reading = Reading(mounted / "field.raw", stores.arrays["long"]["field"].tobytes(), tmp_path)
        mounted.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: not is_mounted(mounted.path), 2)
        began = time.monotonic()
        mounted.process.send_signal(signal.SIGTERM)
        mounted.process.wait(timeout=10)
        assert time.monotonic() - began < 1
        assert reading.result() in GONE
        mounted.expect_death = True


def test_kill_and_remount(mount, stores, tmp_path):
    """After kill -9 the mount point is dead; mounting there again cleans it first."""
    want = stores.arrays["weather"]["temp"]
    with mount(stores.path("weather")) as mounted:
        held = open(mounted / "temp.raw", "rb")
        mounted.kill()
        with pytest.raises(OSError) as raised:
            os.stat(mounted / "mask.npy")
        assert raised.value.errno == errno.ENOTCONN
        with mount(stores.path("weather"), path=mounted.path) as again:
            assert np.array_equal(np.load(again / "temp.npy"), want)
            assert again.process.poll() is None
        held.close()
    assert not is_mounted(mounted.path)


def test_umount_of_a_dead_mount_point(mount, stores, run):
    with mount(stores.path("weather")) as mounted:
        mounted.kill()
        assert run("umount", mounted.path).returncode == 0
        assert not is_mounted(mounted.path)


class Background:
    """`zarrfs mount` without -f, and the end of what it leaves behind."""

    def __init__(self, run, store, path, *arguments):
        self.path = str(path)
        os.makedirs(self.path, exist_ok=True)
        self.done = run("mount", *arguments, store, self.path, timeout=20)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if is_mounted(self.path):
            subprocess.run(["fusermount3", "-u", "-z", self.path], stdin=subprocess.DEVNULL)
        if not wait_until(lambda: not pids_of(self.path), 10):
            for pid in pids_of(self.path):
                os.kill(pid, signal.SIGKILL)
            pytest.fail("the background process did not end")


def test_background_mount_returns_when_it_answers(run, stores, tmp_path):
    """The parent waits for the mount, and lets go of its terminal: run() would not return if a pipe stayed open."""
    with Background(run, stores.path("weather"), tmp_path / "m") as background:
        assert background.done.returncode == 0, background.done.stderr
        assert background.done.stdout == ""
        assert is_mounted(background.path)
        assert np.array_equal(np.load(tmp_path / "m/temp.npy"), stores.arrays["weather"]["temp"])
        (pid,) = pids_of(background.path)
        assert os.getsid(pid) != os.getsid(0)
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert run("umount", background.path).returncode == 0
        assert not is_mounted(background.path)
        assert wait_until(lambda: not pids_of(background.path))


def test_background_sigterm(run, stores, tmp_path):
    with Background(run, stores.path("weather"), tmp_path / "m") as background:
        (pid,) = pids_of(background.path)
        os.kill(pid, signal.SIGTERM)
        assert wait_until(lambda: not is_mounted(background.path), 5)
        assert wait_until(lambda: not pids_of(background.path), 5)


def test_background_with_relative_paths(run, stores, tmp_path):
    """Both paths are meant from where the command was given, though the background process works in /."""
    (tmp_path / "m").mkdir()
    store = os.path.relpath(stores.path("weather"), tmp_path)
    done = run("mount", store, "m", cwd=tmp_path)
    try:
        assert done.returncode == 0, done.stderr
        assert np.array_equal(np.load(tmp_path / "m/temp.npy"), stores.arrays["weather"]["temp"])
    finally:
        subprocess.run(["fusermount3", "-u", tmp_path / "m"], stdin=subprocess.DEVNULL)


def test_background_errors_reach_the_caller(run, tmp_path):
    (tmp_path / "empty").mkdir()
    with Background(run, tmp_path / "empty", tmp_path / "m") as background:
        assert background.done.returncode == 3
        assert background.done.stderr.strip()
        assert not is_mounted(background.path)


def test_log_file_of_a_background_mount(run, stores, tmp_path):
    log = tmp_path / "log"
    with Background(run, stores.path("weather"), tmp_path / "m", "--log-file", log) as background:
        assert background.done.returncode == 0, background.done.stderr
        assert log.exists()


def test_the_form_of_two_arguments(zarrfs, stores, tmp_path):
    """zarrfs STORE MOUNTPOINT -o ...: as mount -t fuse.zarrfs calls it."""
    (tmp_path / "m").mkdir()
    words = [zarrfs, stores.path("weather"), str(tmp_path / "m"), "-o", "ro"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    try:
        assert done.returncode == 0, done.stderr
        assert np.array_equal(np.load(tmp_path / "m/temp.npy"), stores.arrays["weather"]["temp"])
    finally:
        subprocess.run(["fusermount3", "-u", tmp_path / "m"], stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("make", ["empty", "plain files", "unrelated json"])
def test_what_is_not_a_store_is_exit_3(run, tmp_path, make):
    store, point = tmp_path / "store", tmp_path / "m"
    store.mkdir()
    point.mkdir()
    if make == "plain files":
        (store / "a.txt").write_text("x")
        (store / "sub").mkdir()
    elif make == "unrelated json":
        (store / "package.json").write_text("{}")
    for words in (["mount", store, point], ["mount", "-f", store, point], ["ls", store], ["info", store]):
        done = run(*words)
        assert done.returncode == 3, (words, done.stderr)
        assert done.stdout == "" and done.stderr.startswith("zarrfs")
    assert not is_mounted(str(point))


@pytest.mark.parametrize(
    "words", [["mount"], ["mount", "only-one"], ["mount", "--no-such-option", "a", "b"], ["mount", "--threads", "0", "a", "b"], ["cat"], ["frobnicate"], []]
)
def test_wrong_usage_is_exit_2(run, words):
    done = run(*words)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr


def test_a_store_inside_its_own_mount_point_is_refused(run, stores, tmp_path):
    import shutil

    point = tmp_path / "m"
    shutil.copytree(stores.path("weather"), point / "below/weather.zarr")
    for place in (point, point / "below", point / "below/weather.zarr"):
        for words in (["-f"], []):
            done = run("mount", *words, point / "below/weather.zarr", place)
            assert done.returncode != 0 and done.stderr
            assert not is_mounted(str(place))


def test_a_mount_point_that_is_missing(run, stores, tmp_path):
    done = run("mount", stores.path("weather"), tmp_path / "none")
    assert done.returncode not in (0, 3) and "none" in done.stderr


def test_umount_of_what_is_not_mounted(run, tmp_path):
    done = run("umount", tmp_path)
    assert done.returncode != 0 and done.stderr


def test_allow_other(mount, stores):
    """Only root may, unless fuse.conf says otherwise: then another user reads too."""
    if os.getuid() != 0:
        done = subprocess.run(["grep", "-qs", "^user_allow_other", "/etc/fuse.conf"])
        if done.returncode != 0:
            with pytest.raises(pytest.fail.Exception):
                with mount(stores.path("weather"), "--allow-other"):
                    raise AssertionError("the mount was granted")
        return
    with mount(stores.path("weather"), "--allow-other") as mounted:
        parents_are_open(mounted.path)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", mounted / "temp.raw"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
        assert done.stdout == stores.arrays["weather"]["temp"].tobytes(), done.stderr


def parents_are_open(path):
    """Lets others pass to a folder below the temporary one that pytest closed."""
    while True:
        path = os.path.dirname(path)
        if os.stat(path).st_mode & 0o001:
            return
        os.chmod(path, os.stat(path).st_mode | 0o011)


def test_memory_stays_within_the_budget(mount, stores):
    """RSS <= --cache-size + 112 MiB, after every byte was read in two orders."""
    with mount(stores.path("long"), "--cache-size", "16M") as mounted:
        np.load(mounted / "field.npy")
        np.load(mounted / "field.npy", mmap_mode="r")[:, ::700].sum()
        with open(f"/proc/{mounted.process.pid}/status") as f:
            peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
        assert peak <= (16 + 112) * 1024
