"""The driver of tests/bench/run; README.md tells what each row means. Exit 0: all counts are right; 1: one is not, or a reader
gave wrong values; 2: usage. Speed never decides."""
import argparse
import contextlib
import os
import sys
import tempfile

import data
import measures
import report
import systems

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def size_of(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1]] if text[-1] in units else int(text)


def arguments():
    parser = argparse.ArgumentParser(prog="tests/bench/run", description="Speed and cost of a mounted store, beside other readers.")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--small", dest="size", action="store_const", const="small", help="arrays of 100 MB; under 3 minutes")
    size.add_argument("--full", dest="size", action="store_const", const="full", help="arrays of 1 GB")
    parser.add_argument("--data", metavar="DIR", help="where the data is written; kept, and used again by the next run")
    parser.add_argument("--output", metavar="FILE", help="the rows as JSON lines")
    parser.add_argument("--pairs", metavar="N", type=int, default=5, help="rounds after the first (default: 5)")
    parser.add_argument("--cache-size", metavar="SIZE", type=size_of, default=256 << 20, help="of zarrfs (default: 256M)")
    return parser.parse_args()


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def run(options, program, nullfs, folder):
    rows = report.Report(program, options.size, options.output)
    zarrfs = systems.Zarrfs(program, options.cache_size)
    say(f"data in {folder}")
    data.make(folder, program, options.size)
    stores = {name: os.path.join(folder, name + ".zarr") for name in (*data.SETS, "i8", "tree")}
    for name in data.SETS:
        say(f"whole reads of {name}")
        measures.whole_reads(rows, zarrfs, nullfs, stores[name], options.pairs)
    say("random reads")
    measures.latency(rows, zarrfs, stores["blosc-lz4"], options.pairs)
    say("listing")
    measures.listing(rows, zarrfs, stores["tree"])
    say("counts")
    values = data.counts_values()
    measures.count_preads(rows, zarrfs, stores["i8"], values)
    measures.count_memmap(rows, zarrfs, stores["i8"], values)
    measures.memory(rows, zarrfs)
    print("\n".join(rows.tables()))
    return 1 if rows.failed() else 0


def main():
    options = arguments()
    program = os.path.abspath(os.environ.get("ZARRFS") or os.path.join(TOP, "build", "zarrfs"))
    if not os.access(program, os.X_OK):
        sys.exit(f"tests/bench/run: {program} is not built (meson setup build && ninja -C build)")
    nullfs = os.path.join(os.path.dirname(program), "tests", "bench", "nullfs")
    if not os.access(nullfs, os.X_OK):
        say(f"nullfs NOT RUN: no {nullfs}")
        nullfs = None
    with contextlib.ExitStack() as stack:
        folder = options.data or stack.enter_context(tempfile.TemporaryDirectory(prefix="zarrfs-bench."))
        os.makedirs(folder, exist_ok=True)
        return run(options, program, nullfs, os.path.abspath(folder))


if __name__ == "__main__":
    sys.exit(main())
