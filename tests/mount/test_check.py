"""zarrfs check: which damage it finds and names, what it says, and how it ends."""
import json
import os
import pty
import shutil
import signal
import subprocess
import time
import zipfile

import numpy as np
import pytest

CHUNKS = 8  # inner chunks of a shard of weather/temp
INDEX = CHUNKS * 16 + 4
STORES = ["weather", "plain", "holes", "alone", "long"]


@pytest.fixture
def copy(stores, tmp_path):
    store = tmp_path / "weather.zarr"
    shutil.copytree(stores.path("weather"), store)
    return store


@pytest.fixture
def check(run):
    """check(store, ...): exit code, what is wrong, the summary."""

    def check(store, *options, **more):
        done = run("check", "--json", *options, store, **more)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines, done.stderr
        assert lines[-1]["schema"] == "zarrfs.check/1" and lines[-1]["exit"] == done.returncode
        return done.returncode, lines[:-1], lines[-1]

    return check


def flip(path, at):
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        data[at] ^= 0x10
        f.seek(0)
        f.write(data)


def entries(path):
    with open(path, "rb") as f:
        data = f.read()
    return np.frombuffer(data[-INDEX:-4], "<u8").reshape(CHUNKS, 2)


@pytest.mark.parametrize("name", STORES)
def test_a_good_store(check, run, stores, name):
    code, wrong, summary = check(stores.path(name))
    assert (code, wrong) == (0, [])
    assert summary["complete"] and summary["arrays"] == len(stores.arrays[name])
    files = [os.path.join(where, f) for where, _, names in os.walk(stores.path(name)) for f in names if f != "zarr.json"]
    assert summary["values"] == len(files)
    assert summary["stored_bytes"] == sum(map(os.path.getsize, files))
    text = run("check", stores.path(name))
    assert text.returncode == 0 and text.stdout.count("\n") == 1 and "no damage" in text.stdout and text.stderr == ""
    assert run("check", "-q", stores.path(name)).stdout == ""


def test_a_part_of_a_store(check, stores):
    assert check(stores.path("weather") + "/deep")[2]["arrays"] == 1
    assert check(stores.path("weather") + "/temp")[2]["chunks"] == 32
    assert check(stores.path("weather"), "--threads", "1", "--cache-size", "1K")[2]["arrays"] == 5


def test_an_inner_chunk_is_named_by_its_bytes_and_elements(check, run, copy):
    """Inner chunk (0, 2) of shard 3: rows 30..35, columns 1024..1536."""
    path = copy / "temp/c/3/0"
    offset, size = map(int, entries(path)[2])
    with open(path, "r+b") as f:
        f.seek(offset)
        f.write(b"\xff" * size)
    code, wrong, summary = check(copy)
    assert code == 6 and summary["corrupt"] == 1 and summary["complete"]
    (one,) = wrong
    assert one.pop("error").startswith("zstd")
    assert one == {
        "kind": "corrupt", "array": "temp", "key": "temp/c/3/0", "piece": "inner chunk", "coords": [6, 2], "offset": offset, "size": size,
        "elements": [[30, 35], [1024, 1536]],
    }
    done = run("check", copy)
    assert done.returncode == 6 and done.stderr == ""
    assert f"corrupt: temp: temp/c/3/0: inner chunk (6, 2), {size} bytes at {offset}, elements [30:35, 1024:1536]: zstd" in done.stdout


@pytest.mark.parametrize("at", [-1, -5, -INDEX])
def test_a_shard_index(check, copy, at):
    flip(copy / "temp/c/2/0", at)
    code, (one,), summary = check(copy)
    assert code == 6 and summary["chunks"] > 0
    assert one["key"] == "temp/c/2/0" and one["piece"] is None and one["elements"] == [[20, 30], [0, 2048]]
    assert "index" in one["error"] and "crc32c" in one["error"]


@pytest.mark.parametrize("keep", [0, 1, INDEX - 1])
def test_a_truncated_shard(check, copy, keep):
    os.truncate(copy / "temp/c/1/0", keep)
    code, (one,), _ = check(copy)
    assert code == 6 and one["elements"] == [[10, 20], [0, 2048]]


def test_all_damage_is_listed_or_the_first_of_it(check, run, copy):
    for number in range(4):
        os.truncate(copy / f"mask/c/{number}/0", 7)
    code, wrong, summary = check(copy)
    assert code == 6 and summary["corrupt"] == 4 and [w["key"] for w in wrong] == [f"mask/c/{n}/0" for n in range(4)]
    code, wrong, summary = check(copy, "--max-errors", 2)
    assert code == 6 and len(wrong) == 2 and not summary["complete"]
    assert run("check", "-q", copy).stdout.count("\n") == 4


def test_strays_are_no_damage(check, run, copy):
    for name in ("mask/c/9/9", "mask/0.0"):
        os.makedirs(os.path.dirname(copy / name), exist_ok=True)
        shutil.copy(copy / "mask/c/0/0", copy / name)
    code, wrong, summary = check(copy)
    assert code == 0 and summary["stray"] == 2
    assert {(w["kind"], w["array"], w["key"]) for w in wrong} == {("stray", "mask", "mask/c/9/9"), ("stray", "mask", "mask/0.0")}
    assert run("check", "-q", copy).stdout == ""


def edit(document, **members):
    with open(document) as f:
        data = json.load(f)
    data.update(members)
    with open(document, "w") as f:
        json.dump(data, f)


def test_a_refused_array_is_not_bad_and_the_rest_is_checked(check, run, copy):
    edit(copy / "mask/zarr.json", data_type="string")
    code, (one,), summary = check(copy)
    assert code == 4 and summary["refused"] == 1 and summary["arrays"] == 4
    assert one["kind"] == "refused" and one["array"] == "mask" and "string" in one["error"]
    assert "not checked: 1 refused" in run("check", copy).stdout
    os.truncate(copy / "temp/c/1/0", 7)
    assert check(copy)[0] == 6


def test_malformed_metadata(check, copy):
    (copy / "deep/level/zarr.json").write_text("{")
    code, (one,), summary = check(copy)
    assert code == 6 and summary["broken"] == 1
    assert one["kind"] == "broken" and one["array"] == "deep/level" and one["key"] is None


def test_a_value_that_the_store_does_not_give(check, copy):
    """A FIFO in a chunk's place: the store refuses it, whoever asks."""
    os.unlink(copy / "mask/c/1/1")
    os.mkfifo(copy / "mask/c/1/1")
    code, (one,), summary = check(copy)
    assert code == 5 and summary["unreadable"] == 1
    assert one["kind"] == "unreadable" and one["key"] == "mask/c/1/1" and one["elements"] == [[10, 20], [20, 40]]
    os.truncate(copy / "temp/c/1/0", 7)
    assert check(copy)[0] == 6


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("name", ["weather", "plain"])
def test_a_zip(check, stores, tmp_path, name, method):
    path = tmp_path / "store.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for where, _, names in os.walk(stores.path(name)):
            for file in names:
                archive.write(os.path.join(where, file), os.path.relpath(os.path.join(where, file), stores.path(name)))
        members = {i.filename: i for i in archive.infolist()}
    code, wrong, summary = check(path)
    assert (code, wrong) == (0, []) and summary["values"] == sum("zarr.json" not in m for m in members)
    key = {"weather": "deep/level/c/1/1/1", "plain": "tiles_f8/c/1/1"}[name]
    data = bytearray(path.read_bytes())
    data[members[key].header_offset + 30 + len(key) + members[key].compress_size // 2] ^= 0x20
    path.write_bytes(data)
    code, (one,), summary = check(path)
    assert code == 6 and one["kind"] == "corrupt" and one["key"] == key


@pytest.mark.parametrize("words, code", [(["{}/none"], 1), ([], 2), (["{}", "{}"], 2), (["--max-errors", "0", "{}"], 2), (["/usr"], 3), (["{}.none"], 3)])
def test_exit_codes_of_the_command_line(run, stores, words, code):
    done = run("check", *(w.format(stores.path("weather")) for w in words))
    assert done.returncode == code and done.stdout == "" and done.stderr.startswith("zarrfs: ")


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """2,000 chunks of 64 MiB of zeros in 6 KB each: minutes of decoding."""
    import zarr
    from zarr.codecs import ZstdCodec

    store = tmp_path_factory.mktemp("endless") / "endless.zarr"
    made = zarr.create_array(store, shape=(2000 << 26,), dtype="u1", chunks=(1 << 26,), compressors=ZstdCodec(), fill_value=1)
    made[: 1 << 26] = 0
    for number in range(1, 2000):
        shutil.copy(store / "c/0", store / f"c/{number}")
    return store


def test_sigint_ends_with_a_summary(zarrfs, endless):
    process = subprocess.Popen([zarrfs, "check", "--json", endless], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    (summary,) = map(json.loads, out.splitlines())
    assert process.returncode == 130 and summary["exit"] == 130 and err == ""
    assert not summary["complete"] and summary["arrays"] == 0 and 0 < summary["chunks"] < 2000


def test_the_bar_is_on_a_terminal_only(zarrfs, endless):
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen([zarrfs, "check", endless], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    seen = b""
    while b"check: [" not in seen:
        seen += os.read(ours, 4096)  # the test's time-out is its end
    process.send_signal(signal.SIGINT)
    try:
        while True:
            seen += os.read(ours, 4096)
    except OSError:  # EIO: nobody has the terminal any more
        pass
    assert process.wait(timeout=20) == 130
    assert b"%" in seen and b"\x1b[K" + b"checked in part: " in seen
    os.close(ours)
