#!/usr/bin/env python3
"""Draws arrays, has every writer write them, mounts each store once, and compares what is shown, bit for bit.

  generate.py --seed 7 --count 2000            one run; prints its seed, and for each wrong array the command that repeats it
  generate.py --case zarr3-v3:7:123            one array: prints it, and keeps its store
  generate.py --others --seed 7 --count 500    each array read by the libraries that did not write it: who differs
  generate.py --ledger --until 100000          runs of 2,000 with the next seeds, each a line in ledger.jsonl, until so many are right

The program is $ZARRFS (build/zarrfs), zarr-python 2.18 runs in $ZARRFS_ZARR2 (.venv/zarr2/bin/python).
"""
import argparse
import collections
import contextlib
import io
import json
import os
import random as plain_random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mount")]

import read_drawn  # noqa: E402
from draw import BATCHES, CODECS, TYPES, draw, elements, share  # noqa: E402
from mounts import Mounts  # noqa: E402

LEDGER = os.path.join(HERE, "ledger.jsonl")
RUN = 2000
IN_ITS_OWN_ENVIRONMENT = {"zarr2": os.environ.get("ZARRFS_ZARR2") or os.path.join(TOP, ".venv", "zarr2", "bin", "python")}


def program():
    return os.path.abspath(os.environ.get("ZARRFS") or os.path.join(TOP, "build", "zarrfs"))


def built_in(path):
    """Names of the codecs and data types that the program has: what may be drawn."""
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    return {name for line in ("codecs", "data types") for name in re.search(f"^{line}: (.*)$", told, re.M)[1].split(", ")}


def not_built(built):
    """Rows of the tables that wait for a part of zarrfs."""
    rows = {row.needs or row.name for row in CODECS} | {row.needs for row in TYPES.values()}
    return sorted(rows - built)


def write(cases, store):
    """By the writer of the batch; in a process of its own where it has an environment of its own."""
    writer = cases[0]["batch"].split("-")[0]
    if writer not in IN_ITS_OWN_ENVIRONMENT:
        import write_drawn

        write_drawn.write(cases, store)
        return
    script = os.path.join(HERE, "write_drawn.py")
    words = [IN_ITS_OWN_ENVIRONMENT[writer], "-B", "-W", "ignore", script, store]
    subprocess.run(words, input=json.dumps(cases), text=True, check=True, timeout=600)


# ---------------------------------------------------------------- what is right


def npy_header(descr, shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    return file.getvalue()


def compare(mounted, case, store):
    """What is wrong with the files of a case, or None."""
    descr, data = elements(case, store)
    want = {"raw": data, "npy": npy_header(descr, case["shape"]) + data}
    draw_windows = plain_random.Random(case["id"])
    for suffix, right in want.items():
        path = os.path.join(mounted, f"{case['path']}.{suffix}")
        if os.stat(path).st_size != len(right):
            return f".{suffix} has {os.stat(path).st_size} bytes, not {len(right)}"
        with open(path, "rb") as file:
            # windows first: they meet chunks that nobody has decoded yet
            for _ in range(3):
                at, size = draw_windows.randrange(len(right) + 1), draw_windows.randrange(1, 3000)
                if os.pread(file.fileno(), size, at) != right[at : at + size]:
                    return f".{suffix}: other bytes in [{at}, {at + size})"
        if suffix == "raw":
            mapped = data and draw_windows.random() < 0.5
            got = (np.memmap(path, "u1", "r") if mapped else np.fromfile(path, "u1")).tobytes()
        else:
            with open(path, "rb") as file:
                got = file.read()
            array = np.load(path, allow_pickle=False, mmap_mode=draw_windows.choice([None, "r"]) if data else None)
            if array.shape != tuple(case["shape"]) or array.tobytes() != data:
                return f"np.load gives {array.dtype} {array.shape}, with other elements or not"
        if got != right:
            first = next((i for i, (a, b) in enumerate(zip(got, right)) if a != b), min(len(got), len(right)))
            return f".{suffix}: first other byte is {first} of {len(right)}"
    return None


# ---------------------------------------------------------------- batches


def command_of(case):
    return f"ZARRFS={program()} {sys.executable} {os.path.join(HERE, 'generate.py')} --case {case['id']}"


def run_cases(cases, folder):
    """Writes cases of one batch, mounts, compares: [(case, what is wrong)]."""
    store = os.path.join(folder, cases[0]["batch"] + ".zarr")
    write(cases, store)
    wrong = []
    with Mounts(program(), folder, seconds=600)(store) as mounted:
        for case in cases:
            try:
                found = compare(mounted.path, case, store)
            except (OSError, ValueError) as why:
                found = f"{type(why).__name__}: {why}"
            if found:
                wrong.append((case, found))
    return wrong


def run_batch(batch, seed, numbers, folder):
    """[(case, what is wrong)]. When a writer fails on the batch, its arrays are written one by one, so that it is known which."""
    built = built_in(program())
    cases = [draw(batch, seed, number, built) for number in numbers]
    os.makedirs(folder, exist_ok=True)
    try:
        return run_cases(cases, os.path.join(folder, "all"))
    except Exception as why:  # noqa: BLE001: any writer, any error
        wrong = []
        for case in cases:
            place = os.path.join(folder, str(len(wrong)))
            try:
                wrong += run_cases([case], place)
            except Exception as one:  # noqa: BLE001
                wrong.append((case, f"the writer failed: {type(one).__name__}: {one}"))
            shutil.rmtree(place, ignore_errors=True)
        return wrong or [(cases[0], f"the batch failed, and none of its arrays alone: {why}")]


def report(wrong):
    return "\n".join(f"{case['id']}: {found}\n  {command_of(case)}" for case, found in wrong)


def run_seed(seed, count, only=None):
    """All batches of a seed: (arrays, [(case, what is wrong)])."""
    wrong, arrays = [], 0
    for batch in BATCHES if only is None else [only]:
        numbers = range(count if only else share(batch, count))
        with tempfile.TemporaryDirectory(prefix="zarrfs-drawn-") as folder:
            wrong += run_batch(batch, seed, numbers, folder)
        arrays += len(numbers)
    return arrays, wrong


# ---------------------------------------------------------------- other readers


def read_with_others(batch, seed, numbers):
    """{reader: {case: [verdict, why]}} of the arrays of a batch, each read by every library that did not write it; and the cases."""
    built = built_in(program())
    cases = [draw(batch, seed, number, built) for number in numbers]
    verdicts = {}
    with tempfile.TemporaryDirectory(prefix="zarrfs-drawn-") as folder:
        store = os.path.join(folder, batch + ".zarr")
        write(cases, store)
        for reader in read_drawn.readers_of(batch):
            python = IN_ITS_OWN_ENVIRONMENT.get(reader, sys.executable)
            words = [python, "-B", "-W", "ignore", os.path.join(HERE, "read_drawn.py"), reader, store]
            done = subprocess.run(words, input=json.dumps(cases), text=True, check=True, capture_output=True, timeout=600)
            verdicts[reader] = json.loads(done.stdout.splitlines()[-1])
    return verdicts, {case["id"]: case for case in cases}


def print_others(seed, count, only):
    for batch in BATCHES if only is None else [only]:
        verdicts, cases = read_with_others(batch, seed, range(share(batch, count)))
        for reader, judged in verdicts.items():
            sums = collections.Counter(verdict for verdict, _ in judged.values())
            print(f"{batch:15} read by {reader:12} {dict(sums)}")
            for case, (verdict, why) in judged.items():
                if verdict in ("differs", "fails"):
                    print(f"  {verdict} {case} {read_drawn.known(reader, cases[case]) or 'NOT KNOWN'}: {why}")


# ---------------------------------------------------------------- the ledger


def read_ledger():
    with contextlib.suppress(FileNotFoundError), open(LEDGER) as file:
        return [json.loads(line) for line in file if line.strip()]
    return []


def commit():
    told = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True)
    return told.stdout.strip()


def run_ledger(until, minutes):
    """A seed that was not finished is not in the ledger, and is run again."""
    end = time.monotonic() + 60 * minutes
    while True:
        lines = read_ledger()
        right = sum(line["arrays"] - line["mismatches"] for line in lines)
        if right >= until or time.monotonic() > end:
            print(f"{right} arrays right, {sum(line['mismatches'] for line in lines)} wrong, in {len(lines)} runs")
            return
        seed = 1 + max((line["seed"] for line in lines), default=0)
        started = time.monotonic()
        arrays, wrong = run_seed(seed, RUN)
        line = {"commit": commit(), "seed": seed, "arrays": arrays, "seconds": round(time.monotonic() - started), "mismatches": len(wrong)}
        if wrong:
            line["wrong"] = [f"{case['id']}: {found}"[:200] for case, found in wrong]
        with open(LEDGER, "a") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
        if wrong:
            sys.exit(report(wrong))


def run_one(name):
    batch, seed, number = name.split(":")
    case = draw(batch, int(seed), int(number), built_in(program()))
    print(json.dumps(case, indent=1))
    folder = tempfile.mkdtemp(prefix="zarrfs-drawn-")
    wrong = run_cases([case], folder)
    print(f"store: {folder}/{batch}.zarr")
    sys.exit(report(wrong) if wrong else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=RUN)
    parser.add_argument("--batch", choices=BATCHES)
    parser.add_argument("--case")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    parser.add_argument("--until", type=int, default=100000)
    parser.add_argument("--minutes", type=float, default=1e6)
    chosen = parser.parse_args()
    if chosen.case:
        run_one(chosen.case)
    if chosen.ledger:
        run_ledger(chosen.until, chosen.minutes)
        return
    if chosen.others:
        print_others(chosen.seed, chosen.count, chosen.batch)
        return
    print(f"seed {chosen.seed}; not built in, so not drawn: {', '.join(not_built(built_in(program()))) or 'nothing'}", flush=True)
    started = time.monotonic()
    arrays, wrong = run_seed(chosen.seed, chosen.count, chosen.batch)
    print(f"{arrays - len(wrong)} of {arrays} arrays right, {time.monotonic() - started:.0f} s")
    if wrong:
        sys.exit(report(wrong))


if __name__ == "__main__":
    main()
