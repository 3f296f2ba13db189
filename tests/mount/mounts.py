"""Mounts that are looked after, and the fixtures that give the program: for the tests in mount/ and interop/.

Environment: ZARRFS is the program (build/zarrfs). Every mount runs in the foreground under this process, so that its exit
code and its words are seen; tests of the background mount start it themselves.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUSPICIOUS = re.compile(r"Sanitizer|runtime error:|[Aa]ssert|[Ss]egmentation|double free|malloc\(|smashing|panic|\bbug\b|\bBUG\b")
MOUNT_SECONDS = 120  # then a mount is killed by its alarm clock, which wakes whoever waits in the kernel


def is_mounted(path):
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)).replace(" ", "\\040")
    with open("/proc/self/mounts") as f:
        return any(line.split(" ")[1] == path for line in f)


def wait_until(condition, seconds=10):
    """Whether the condition came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def pids_of(mountpoint):
    """Processes, other than this one, that name the mount point on their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if os.fsencode(mountpoint) in words and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def answers(path):
    """Whether a file system is mounted there and alive. What a crash left behind is mounted, dead, and still has its root's
    attributes in the kernel; statfs is always asked."""
    try:
        os.statvfs(path)
    except OSError:
        return False
    return is_mounted(path)


class Mount:
    """A mounted store. `path` is the mount point; `/` joins: mount / "temp.npy"."""

    def __init__(self, program, store, path, arguments=(), seconds=MOUNT_SECONDS):
        self.program, self.store, self.path = program, str(store), str(path)
        self.expect_death = False
        self.log_path = self.path + ".log"
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [program, "mount", "-f", *arguments, self.store, self.path],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: signal.alarm(seconds),
            )
        if not wait_until(lambda: answers(self.path) or self.process.poll() is not None) or self.process.poll() is not None:
            self.stop()
            pytest.fail(f"zarrfs mount {self.store}: exit {self.process.poll()}: {self.words()}")

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def words(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def stats(self):
        """The counters of .zarrfs/stats.json."""
        with open(self / ".zarrfs/stats.json") as f:
            return json.load(f)

    def kill(self):
        """As a crash would: the mount point is dead afterwards."""
        self.expect_death = True
        self.process.kill()
        self.process.wait()

    def unmount(self, lazy=False):
        return subprocess.run(
            ["fusermount3", "-u", *(["-z"] if lazy else []), self.path], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )

    def stop(self):
        """The end of every mount, also of one that hangs. Returns the exit code, None when it had to be killed."""
        if is_mounted(self.path):
            if self.unmount().returncode:
                self.unmount(lazy=True)
        try:
            return self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self.unmount(lazy=True)
            return None


class Mounts:
    """Makes mounts for one test, and ends those that are left."""

    def __init__(self, program, folder, seconds=MOUNT_SECONDS):
        self.program, self.folder, self.seconds, self.made = program, folder, seconds, []

    def folder_for(self, name=None):
        path = os.path.join(self.folder, name or f"m{len(self.made)}-{time.monotonic_ns()}")
        os.makedirs(path, exist_ok=True)
        return path

    @contextlib.contextmanager
    def __call__(self, store, *arguments, path=None):
        mount = Mount(self.program, store, path or self.folder_for(), arguments, self.seconds)
        self.made.append(mount)
        try:
            yield mount
        finally:
            code = mount.stop()
        assert not is_mounted(mount.path)
        if not mount.expect_death:
            assert code == 0, f"the file system ended with {code}: {mount.words()}"
        found = SUSPICIOUS.search(mount.words())
        assert not found, mount.words()


@pytest.fixture(scope="session")
def zarrfs():
    """The program's path."""
    program = os.path.abspath(os.environ.get("ZARRFS") or os.path.join(TOP, "build", "zarrfs"))
    assert os.access(program, os.X_OK), f"{program} is not built (tests/run builds it)"
    return program


@pytest.fixture(scope="session")
def run(zarrfs):
    """run("ls", STORE, ...): a finished process of the program; bytes with binary=True."""

    def run(*words, binary=False, timeout=60, **more):
        return subprocess.run(
            [zarrfs, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=not binary, timeout=timeout, **more
        )

    return run


@pytest.fixture
def mount(zarrfs, tmp_path):
    """mount(store, *arguments): a context manager."""
    mounts = Mounts(zarrfs, str(tmp_path))
    yield mounts
    for left in mounts.made:
        left.stop()
