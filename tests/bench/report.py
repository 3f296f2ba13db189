"""Rows: JSON lines, and tables in Markdown."""
import datetime
import importlib.metadata
import json
import os
import statistics
import subprocess


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def first_line(path, start, otherwise="unknown"):
    try:
        with open(path) as f:
            return next((line.split(":", 1)[1].strip() for line in f if line.startswith(start)), otherwise)
    except OSError:
        return otherwise


def thp():
    """The mode of transparent huge pages, that in brackets."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled") as f:
            return f.read().split("[")[1].split("]")[0]
    except OSError:
        return "none"


def machine(program):
    version = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    return {
        "cpu": first_line("/proc/cpuinfo", "model name"),
        "cpus": len(os.sched_getaffinity(0)),
        "memory": first_line("/proc/meminfo", "MemTotal"),
        "kernel": os.uname().release,
        "thp": thp(),
        "load": os.getloadavg()[0],
        "date": datetime.date.today().isoformat(),
        "zarrfs": (version.splitlines() or ["unknown"])[0],
        **{name: importlib.metadata.version(name) for name in ("numpy", "tensorstore", "zarr")},
    }


class Report:
    def __init__(self, program, size, output):
        self.machine, self.size, self.rows = machine(program), size, []
        self.output = open(output, "w") if output else None

    def add(self, row):
        row = {"size": self.size, **row}
        self.rows.append(row)
        if self.output:
            print(json.dumps({**row, "machine": self.machine}), file=self.output, flush=True)

    def times(self, what, state, data_set, times, size=0, against="zarrfs", **more):
        """A row a system. times: system -> seconds, one a round; size: bytes that one reading gives."""
        for system, seconds in times.items():
            row = {"what": what, "state": state, "set": data_set, "system": system, "seconds": spread(seconds), **more.get(system, {})}
            if size:
                row["GB/s"] = size / 1e9 / row["seconds"]["median"]
            if system != against:
                row["zarrfs_ratio"] = spread([ours / theirs for ours, theirs in zip(times[against], seconds, strict=True)])
            self.add(row)

    def count(self, what, state, data_set, counted, lowest, highest, unit=""):
        """A row of something counted, which must be within bounds."""
        self.add(
            {"what": what, "state": state, "set": data_set, "system": "zarrfs", "count": counted, "unit": unit, "lowest": lowest, "highest": highest}
            | {"ok": lowest <= counted <= highest}
        )

    def failed(self):
        return [row for row in self.rows if not row.get("ok", True)]

    def tables(self):
        m = self.machine
        yield f"{self.size}, {m['date']}: {m['cpus']} x {m['cpu']}, {m['memory']}, Linux {m['kernel']}, load {m['load']:.1f} at the start;"
        yield f"{m['zarrfs']}, TensorStore {m['tensorstore']}, zarr-python {m['zarr']}, numpy {m['numpy']}."
        yield ""
        yield "| what | cache | set | system | median | min to max | GB/s | zarrfs / it |"
        yield "|---|---|---|---|---:|---:|---:|---:|"
        for row in self.rows:
            if "seconds" in row:
                yield time_line(row)
        yield ""
        yield "| counted | cache | set | got | allowed | |"
        yield "|---|---|---|---:|---:|---|"
        for row in self.rows:
            if "count" in row:
                yield count_line(row)


def shown(seconds):
    return f"{seconds * 1e6:.0f} us" if seconds < 0.01 else f"{seconds:.3f} s"


def time_line(row):
    s, ratio = row["seconds"], row.get("zarrfs_ratio")
    over = f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})" if ratio else ""
    speed = f"{row['GB/s']:.2f}" if "GB/s" in row else ""
    late = f"; 99 %: {shown(row['p99'])}" if "p99" in row else ""
    cells = [row["what"], row["state"], row["set"], row["system"], shown(s["median"]), f"{shown(s['min'])} to {shown(s['max'])}{late}"]
    return "| " + " | ".join([*cells, speed, over]) + " |"


def count_line(row):
    low, high = row["lowest"], row["highest"]
    got = f"{row['count']:,} {row['unit']}".strip()
    allowed = f"{low:,}" if low == high else f"{low:,} to {high:,}" if low else f"at most {high:,}"
    return f"| {row['what']} | {row['state']} | {row['set']} | {got} | {allowed} | {'ok' if row['ok'] else 'WRONG'} |"
