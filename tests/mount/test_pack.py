"""zarrfs pack: what it writes, read by numpy through cat and a mount, by zarr-python and by TensorStore; and that a run that does not
succeed leaves nothing, whatever stops it (the design's section 9; reliability.md, section 7)."""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

SHARDED = ["--chunk", "8,16", "--shard", "32,32"]
CODECS = ["none", "zstd", "zstd:19", "gzip:1", "blosc", "blosc:lz4hc:9", "blosc:zstd", "blosc-zlib", "blosc:blosclz"]
TEMPORARY = re.compile(r"\.out\.zarr\.zarrfs-\d+-[0-9a-f]{16}")


def document(store, name="in"):
    with open(os.path.join(store, name, "zarr.json")) as f:
        return json.load(f)


def by_zarr(store, name="in"):
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zarr.open_group(store, mode="r")[name][...]


def by_tensorstore(store, name="in"):
    import tensorstore

    path = os.path.join(store, name)
    return tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}, open=True).result().read().result()


def bits(values):
    return np.ascontiguousarray(values).tobytes()


def noise(shape, dtype, seed=1):
    """Every bit pattern, NaN payloads and subnormals among them; bool has two."""
    draw = np.random.default_rng(seed)
    if np.dtype(dtype) == bool:
        return draw.integers(0, 2, shape).astype(bool)
    n = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return draw.integers(0, 256, n, dtype=np.uint8).view(dtype).reshape(shape)


@pytest.fixture
def pack(run, tmp_path):
    """pack(values, *options): the store; the input is in.npy beside it."""

    def pack(values, *options):
        np.save(tmp_path / "in.npy", values)
        done = run("pack", tmp_path / "in.npy", tmp_path / "out.zarr", *options)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.zarr"]
        return str(tmp_path / "out.zarr")

    return pack


def check_cat(run, store, values, name="in"):
    """Our own reader: what np.save writes of the little-endian array in C order."""
    done = run("cat", f"{store}/{name}.npy", binary=True)
    assert done.returncode == 0, done.stderr
    head, want = done.stdout[:128], np.asarray(values)
    assert head.startswith(b"\x93NUMPY") and done.stdout.endswith(bits(want.astype(want.dtype.newbyteorder("<"))))
    raw = run("cat", f"{store}/{name}.raw", binary=True).stdout
    assert raw == bits(want.astype(want.dtype.newbyteorder("<")))


# ---------------------------------------------------------------- what is written


@pytest.mark.parametrize("codec", CODECS)
def test_codecs(pack, run, codec):
    values = np.cumsum(np.ones((70, 90), "<f4"), 1)
    store = pack(values, *SHARDED, "--codec", codec)
    check_cat(run, store, values)
    assert bits(by_zarr(store)) == bits(by_tensorstore(store)) == bits(values)


def test_plain_lz4(pack, run):
    """Under zarr-python's name, which TensorStore does not know."""
    values = np.arange(6300, dtype="<u2").reshape(70, 90)
    store = pack(values, *SHARDED, "--codec", "lz4")
    check_cat(run, store, values)
    assert bits(by_zarr(store)) == bits(values)


@pytest.mark.parametrize("dtype", ["|b1", "|i1", "|u1", "<i2", ">u2", "<i4", ">i8", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_bit_of_every_type(pack, run, dtype, order):
    values = np.asarray(noise((37, 50), dtype), order=order)
    store = pack(values, *SHARDED)
    check_cat(run, store, values)
    want = bits(values.view(f"V{values.itemsize}") if values.dtype.isnative else values.byteswap())
    assert bits(by_zarr(store)) == bits(by_tensorstore(store)) == want


@pytest.mark.parametrize("dtype", ["<U5", ">U3", "|S7", "<M8[us]", ">m8[10s]"])
def test_types_of_zarr_python_alone(pack, run, dtype):
    values = np.arange(40).astype("<i8").reshape(5, 8).astype(dtype)
    store = pack(values, "--chunk", "2,3")
    check_cat(run, store, values)
    back = by_zarr(store)
    assert back.dtype == values.dtype.newbyteorder("<") and (back == values).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "shape, options",
    [
        ((), []),
        ((), ["--shard", "none", "--codec", "none"]),
        ((0,), []),
        ((4, 0, 3), ["--chunk", "2,2,2"]),
        ((1,), []),
        ((1000003,), ["--chunk", "1000", "--shard", "64000"]),
        ((3, 5), ["--chunk", "2,3", "--shard", "8,12"]),
        ((70, 90), ["--chunk", "100,100"]),
        ((70, 90), ["--chunk", "7,11", "--shard", "none"]),
        ((300, 1, 500), ["--chunk", "40,1,77", "--checksum"]),
        ((20, 30, 40, 50), ["--chunk", "5,7,11,13", "--shard", "10,14,44,52"]),
        ((2,) * 16, ["--chunk", ",".join(["1"] * 8 + ["2"] * 8)]),
    ],
)
def test_shapes(pack, run, shape, options, order):
    values = np.asarray(noise(shape, "<i4"), order=order)
    store = pack(values, *options)
    assert document(store)["shape"] == list(shape)
    check_cat(run, store, values)
    assert bits(by_zarr(store)) == bits(by_tensorstore(store)) == bits(values)


def test_through_the_mount(pack, mount, tmp_path):
    pack(noise((100, 130), "<f8"), *SHARDED, "--codec", "blosc")
    with mount(tmp_path / "out.zarr") as mounted:
        assert os.listdir(mounted.path) and subprocess.run(["cmp", mounted / "in.npy", tmp_path / "in.npy"]).returncode == 0


def test_the_document(pack):
    """A shard's chain, its index, and nothing that a reader must understand beyond the specification."""
    store = pack(noise((70, 90), "<u2"), *SHARDED, "--codec", "blosc:lz4:7", "--checksum")
    array = document(store)
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    blosc = {"typesize": 2, "cname": "lz4", "clevel": 7, "shuffle": "shuffle", "blocksize": 0}
    assert array["chunk_grid"] == {"name": "regular", "configuration": {"chunk_shape": [32, 32]}}
    assert array["codecs"] == [
        {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [8, 16],
                "codecs": [little, {"name": "blosc", "configuration": blosc}, {"name": "crc32c"}],
                "index_codecs": [little, {"name": "crc32c"}],
                "index_location": "end",
            },
        }
    ]
    assert array["fill_value"] == 0 and array["data_type"] == "uint16"
    assert document(store, "")["node_type"] == "group"
    shards = sorted(os.path.relpath(os.path.join(w, f), store) for w, _, fs in os.walk(store) for f in fs)
    assert shards == sorted(["zarr.json", "in/zarr.json"] + [f"in/c/{i}/{j}" for i in range(3) for j in range(3)])


def test_inner_chunks_outside_the_array_are_absent(pack):
    store = pack(noise((20, 20), "|u1"), "--chunk", "8,8", "--shard", "32,32", "--codec", "none")
    with open(os.path.join(store, "in/c/0/0"), "rb") as f:
        shard = f.read()
    assert len(shard) == 9 * 64 + 16 * 16 + 4
    index = np.frombuffer(shard[-260:-4], "<u8").reshape(4, 4, 2)
    absent = index[..., 0] == 2**64 - 1
    assert (absent == ((np.arange(4) >= 3)[:, None] | (np.arange(4) >= 3)[None, :])).all()
    # the padding of the last one that is inside is the fill value
    last = np.frombuffer(shard[8 * 64 : 9 * 64], "u1").reshape(8, 8)
    assert not last[4:].any() and not last[:, 4:].any() and last[:4, :4].any()


def test_default_shapes(pack):
    """Chunks of up to 1 MiB, longer along the last axis; shards of up to 256 MiB that are whole rows of chunks."""
    store = pack(np.zeros((900, 40, 2100), "<f4"))
    array = document(store)
    shard = array["chunk_grid"]["configuration"]["chunk_shape"]
    chunk = array["codecs"][0]["configuration"]["chunk_shape"]
    assert (1 << 18) < np.prod(chunk) * 4 <= 1 << 20 and chunk[2] > chunk[0]
    assert np.prod(shard) * 4 <= 1 << 28 and all(s % c == 0 for s, c in zip(shard, chunk)) and shard[2] >= 2100 and shard[1] >= 40


def test_a_chunk_that_divides_the_shard(pack):
    store = pack(np.zeros((500, 1500), "<f4"), "--shard", "450,1500")
    chunk = document(store)["codecs"][0]["configuration"]["chunk_shape"]
    assert 450 % chunk[0] == 0 and 1500 % chunk[1] == 0 and np.prod(chunk) * 4 <= 1 << 20


def test_names(run, tmp_path):
    np.save(tmp_path / "in put.npy", np.arange(9))
    assert run("pack", tmp_path / "in put.npy", str(tmp_path / "a.zarr") + "/").returncode == 0
    assert by_zarr(str(tmp_path / "a.zarr"), "in put").tolist() == list(range(9))
    done = run("pack", "in put.npy", "b", "--name", "längs.x", cwd=tmp_path)
    assert done.returncode == 0 and "b/längs.x" in done.stdout
    assert by_zarr(str(tmp_path / "b"), "längs.x").tolist() == list(range(9))
    for name in ("", ".", "..", "a/b", "zarr.json", "__a", "._a", "x" * 251):
        done = run("pack", tmp_path / "in put.npy", tmp_path / "c", "--name", name)
        assert done.returncode == 2 and "--name" in done.stderr, name
    assert not os.path.exists(tmp_path / "c")


def test_mode_is_that_of_any_new_directory(zarrfs, tmp_path):
    np.save(tmp_path / "in.npy", np.arange(9))
    subprocess.run([zarrfs, "pack", "in.npy", "out.zarr"], cwd=tmp_path, umask=0o027, check=True, stdin=subprocess.DEVNULL)
    assert os.stat(tmp_path / "out.zarr").st_mode & 0o777 == 0o750
    assert os.stat(tmp_path / "out.zarr/in/zarr.json").st_mode & 0o777 == 0o640


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "options, word",
    [
        (["--chunk", "5"], "--chunk"),
        (["--chunk", "5,5,5"], "--chunk"),
        (["--chunk", "0,5"], "--chunk"),
        (["--chunk", "-1,5"], "--chunk"),
        (["--chunk", "5,"], "--chunk"),
        (["--chunk", "5x5"], "--chunk"),
        (["--chunk", "99999999999999999999,1"], "--chunk"),
        (["--chunk", "4294967296,4294967296"], "--chunk"),
        (["--chunk", "4,4", "--shard", "8,9"], "axis 1"),
        (["--shard", "8"], "--shard"),
        (["--codec", "jpeg"], "--codec"),
        (["--codec", "zstd:99"], "--codec"),
        (["--codec", "zstd:"], "--codec"),
        (["--codec", "gzip:5x"], "--codec"),
        (["--codec", "blosc:nosuch"], "--codec"),
        (["--codec", "bloscx"], "--codec"),
        (["--threads", "0"], "--threads"),
    ],
)
def test_options_that_cannot_be(run, tmp_path, options, word):
    np.save(tmp_path / "in.npy", np.zeros((10, 10)))
    done = run("pack", tmp_path / "in.npy", tmp_path / "out.zarr", *options)
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""
    assert os.listdir(tmp_path) == ["in.npy"]


def write_head(path, text, body=b""):
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + body)


HEAD = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n"


@pytest.mark.parametrize(
    "head, body, code, word",
    [
        (HEAD % ("<f8", "(3,)"), b"\0" * 23, 5, "header says"),
        (HEAD % ("<f8", "(3,)"), b"\0" * 25, 5, "header says"),
        (HEAD % ("<f8", "(4611686018427387904, 8)"), b"", 4, "shape"),
        (HEAD % ("|O", "(1,)"), b"\0" * 8, 4, "objects"),
        ("{'descr': [('a', '<f8', (1,))], 'fortran_order': False, 'shape': (1,), }\n", b"\0" * 8, 4, "sub-arrays"),
        (HEAD % ("<f16", "(1,)"), b"\0" * 16, 4, "long double"),
        ("not a dict", b"", 5, "header"),
    ],
)
def test_inputs_that_cannot_be(run, tmp_path, head, body, code, word):
    write_head(tmp_path / "in.npy", head, body)
    done = run("pack", tmp_path / "in.npy", tmp_path / "out.zarr")
    assert done.returncode == code and word in done.stderr and "in.npy" in done.stderr and done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["in.npy"]


def test_inputs_that_are_no_files(run, tmp_path):
    os.mkfifo(tmp_path / "fifo.npy")
    for name, code in (("none.npy", 1), ("fifo.npy", 5), (".", 5)):
        done = run("pack", tmp_path / name, tmp_path / "out.zarr", timeout=10)
        assert done.returncode == code and done.stderr.count("\n") == 1, (name, done.stderr)
    assert os.listdir(tmp_path) == ["fifo.npy"]


def test_what_is_there_stays(run, tmp_path):
    np.save(tmp_path / "in.npy", np.arange(10))
    (tmp_path / "file.zarr").write_text("mine")
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "link.zarr").symlink_to("nowhere")
    before = sorted(os.listdir(tmp_path))
    for name in ("file.zarr", "folder.zarr", "link.zarr", "in.npy"):
        done = run("pack", tmp_path / "in.npy", tmp_path / name)
        assert done.returncode == 1 and "exists" in done.stderr, done.stderr
    done = run("pack", tmp_path / "in.npy", tmp_path / "no/such/out.zarr")
    assert done.returncode == 1
    assert sorted(os.listdir(tmp_path)) == before and (tmp_path / "file.zarr").read_text() == "mine"


# ---------------------------------------------------------------- what stops it


@pytest.fixture(scope="session")
def shim(zarrfs):
    """shim.c as a library, built beside the program."""
    path = os.path.join(os.path.dirname(zarrfs), "tests", "shim.so")
    assert os.path.exists(path)
    return path


def sanitizer_runtime(program):
    """The address sanitizer wants to be loaded before everything else, also before what is preloaded."""
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return [line.split()[2] for line in libraries.splitlines() if "libasan" in line]


def run_shimmed(zarrfs, shim, folder, **variables):
    preloaded = ":".join([*sanitizer_runtime(zarrfs), str(shim)])
    environment = {**os.environ, "LD_PRELOAD": preloaded, **{k: str(v) for k, v in variables.items()}}
    words = [zarrfs, "pack", "in.npy", "out.zarr", *SHARDED]
    return subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def calls_of_a_good_run(zarrfs, shim, folder):
    np.save(folder / "in.npy", noise((40, 40), "<u2"))
    done = run_shimmed(zarrfs, shim, folder, SHIM_LOG=folder / "log")
    assert done.returncode == 0, done.stderr
    calls = [line.split("\t") for line in (folder / "log").read_text().splitlines()]
    assert {c[0] for c in calls} == {"fsync", "write", "mkdir", "chmod", "rename"}
    os.remove(folder / "log")
    return calls


def test_all_is_durable_before_it_is_visible(zarrfs, shim, tmp_path):
    calls = calls_of_a_good_run(zarrfs, shim, tmp_path)
    top = os.path.realpath(tmp_path)
    (final,) = [i for i, c in enumerate(calls) if c[0] == "rename" and c[2] == "out.zarr"]
    temporary = calls[final][1]
    assert TEMPORARY.fullmatch(os.path.basename(temporary)) and os.path.dirname(temporary) == top
    assert [c for c in calls[final + 1 :]] == [["fsync", top, ""]]
    synced = {}  # path -> call
    files = set()
    for i, (operation, path, new) in enumerate(calls[:final]):
        if operation == "fsync":
            synced[path] = i
        elif operation == "write":
            files.add(path)
            assert path not in synced, "written after it was synced"
        elif operation == "rename":
            assert path in synced, "named before it was synced"
    assert len(files) == len([c for c in calls if c[0] == "rename"]) - 1 == 6
    for i, (operation, path, new) in enumerate(calls[:final]):
        if operation in ("mkdir", "rename") and path.startswith(temporary + "/"):
            assert synced[os.path.dirname(path)] > i, f"{path}: its name is not durable"
        if operation == "chmod":
            assert synced[path] > i
    names = [c[2] and os.path.dirname(c[1]).removeprefix(temporary) + "/" + c[2] for c in calls[:final] if c[0] == "rename"]
    assert names[-2:] == ["/in/zarr.json", "/zarr.json"]


def test_any_call_that_fails_fails_it_whole(zarrfs, shim, tmp_path):
    calls = calls_of_a_good_run(zarrfs, shim, tmp_path)
    subprocess.run(["rm", "-r", tmp_path / "out.zarr"], check=True)
    for at in range(1, len(calls) + 1):
        done = run_shimmed(zarrfs, shim, tmp_path, SHIM_FAIL_AT=at)
        assert done.returncode == 5 and done.stderr.count("\n") == 1 and "Input/output error" in done.stderr, (at, done.stderr)
        assert os.listdir(tmp_path) == ["in.npy"], at


def test_killed_anywhere(zarrfs, shim, run, tmp_path):
    """There is no store, or all of it; the litter has its name, is the owner's alone until all is written, and no store shows it."""
    calls = calls_of_a_good_run(zarrfs, shim, tmp_path)
    for at in range(1, len(calls) + 1):
        subprocess.run(["rm", "-rf", "--", *(n for n in os.listdir(tmp_path) if n != "in.npy")], cwd=tmp_path, check=True)
        done = run_shimmed(zarrfs, shim, tmp_path, SHIM_KILL_AT=at)
        assert done.returncode == -signal.SIGKILL
        left = sorted(set(os.listdir(tmp_path)) - {"in.npy"})
        if "out.zarr" in left:
            assert left == ["out.zarr"] and at == len(calls)
            assert bits(by_tensorstore(str(tmp_path / "out.zarr"))) == bits(np.load(tmp_path / "in.npy"))
            continue
        assert len(left) <= 1 and all(TEMPORARY.fullmatch(n) for n in left)
        if left and at < len(calls) - 3:
            assert os.stat(tmp_path / left[0]).st_mode & 0o777 == 0o700
        assert ".out" not in run("ls", "-R", tmp_path).stdout


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """Some 100 MB that no codec makes small."""
    path = tmp_path_factory.mktemp("large") / "in.npy"
    np.save(path, noise((5000, 5000), "<u4", seed=7))
    return str(path)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.2])
def test_signals_undo_it(zarrfs, large, tmp_path, which, seconds):
    words = [zarrfs, "pack", large, "out.zarr", "--codec", "zstd:19"]
    process = subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # not before its handler stands: the temporary directory comes later
    end = time.monotonic() + 10
    while not os.listdir(tmp_path) and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(seconds)
    process.send_signal(which)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in errors and out == "", (process.returncode, errors)
    assert os.listdir(tmp_path) == []


def test_an_input_that_changes_meanwhile(zarrfs, tmp_path):
    np.save(tmp_path / "in.npy", noise((2000, 2000), "<u4"))
    process = subprocess.Popen([zarrfs, "pack", "in.npy", "out.zarr"], cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    tick = 0
    while process.poll() is None:
        tick += 1
        os.utime(tmp_path / "in.npy", ns=(tick, tick))
    assert process.returncode == 5 and "changed" in process.stderr.read()
    assert os.listdir(tmp_path) == ["in.npy"]


def test_an_input_that_is_replaced_meanwhile(zarrfs, large, tmp_path):
    os.symlink(large, tmp_path / "in.npy")
    process = subprocess.Popen([zarrfs, "pack", "in.npy", "out.zarr"], cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 10
    while len(os.listdir(tmp_path)) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    os.symlink("/dev/null", tmp_path / "new")
    os.replace(tmp_path / "new", tmp_path / "in.npy")
    assert process.wait(60) == 5 and "changed" in process.stderr.read()
    assert os.listdir(tmp_path) == ["in.npy"]


def test_an_input_that_becomes_shorter(zarrfs, tmp_path):
    np.save(tmp_path / "in.npy", noise((4000, 4000), "<u4"))
    process = subprocess.Popen([zarrfs, "pack", "in.npy", "out.zarr"], cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 10
    while len(os.listdir(tmp_path)) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    os.truncate(tmp_path / "in.npy", 1000)
    assert process.wait(60) == 5 and process.stderr.read().count("\n") == 1
    assert os.listdir(tmp_path) == ["in.npy"]


def test_a_file_that_may_not_be_so_large(zarrfs, tmp_path):
    """The write fails as on a full disk, and the signal that comes with it (SIGXFSZ) kills nobody."""
    np.save(tmp_path / "in.npy", noise((1000, 1000), "<u4"))

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    words = [zarrfs, "pack", "in.npy", "out.zarr"]
    done = subprocess.run(words, cwd=tmp_path, preexec_fn=limit, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4 and "File too large" in done.stderr and done.stderr.count("\n") == 1, done
    assert os.listdir(tmp_path) == ["in.npy"]


def test_two_packs_to_one_name(zarrfs, tmp_path):
    for i in range(2):
        np.save(tmp_path / f"in{i}.npy", noise((1500, 1500), "<u4", seed=i))
    words = [[zarrfs, "pack", f"in{i}.npy", "out.zarr", "--name", "in"] for i in range(2)]
    both = [subprocess.Popen(w, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for w in words]
    errors = [p.communicate(timeout=60)[1] for p in both]
    assert sorted(p.returncode for p in both) == [0, 1]
    winner = 0 if both[0].returncode == 0 else 1
    assert "exists" in errors[1 - winner]
    assert sorted(os.listdir(tmp_path)) == ["in0.npy", "in1.npy", "out.zarr"]
    assert bits(by_tensorstore(str(tmp_path / "out.zarr"))) == bits(np.load(tmp_path / f"in{winner}.npy"))


def test_nobody_reads_its_output(zarrfs, tmp_path):
    """The store is there, whatever becomes of the line about it."""
    np.save(tmp_path / "in.npy", np.arange(9))
    with open("/dev/full", "w") as full:
        done = subprocess.run([zarrfs, "pack", "in.npy", "out.zarr"], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=full, timeout=60)
    assert done.returncode == 0 and by_zarr(str(tmp_path / "out.zarr")).tolist() == list(range(9))


def test_memory_does_not_grow_with_the_array(zarrfs, large, tmp_path):
    """One shard of 100 MB, in strips of 8 MiB."""
    words = [zarrfs, "pack", large, "out.zarr", "--chunk", "250,250", "--shard", "5000,5000", "--codec", "none", "--threads", "2"]
    # a process of its own starts it: what a child has in memory before it is another program counts too (getrusage(2))
    launcher = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=sys.stderr); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", launcher, *words], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 320 * 1024
