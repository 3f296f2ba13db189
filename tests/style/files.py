"""One file at a time, and the lists of files: layout, length, marks, headers alone, meson.build complete."""
import concurrent.futures
import os
import re
import subprocess

import tree

CODE = ("core", "fuse", "tools")
MARKS = re.compile(r"\b(TODO|FIXME|XXX)\b")
LONGEST = 450  # lines of a file: one concept
FLAGS = (
    "-std=gnu11 -D_GNU_SOURCE -DFUSE_USE_VERSION=312 -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes "
    "-Wno-unused-parameter -fsyntax-only -I. -Icore"
).split()


def check_names():
    """A file's name says which one it is, without its folder."""
    seen = {}
    for path in tree.files(*CODE, "tests", ends=(".c", ".h")):
        seen.setdefault(os.path.basename(path), []).append(path)
    return [f"one name for {' and '.join(paths)}" for paths in seen.values() if len(paths) > 1]


def check_length():
    lines = {p: tree.read(p).count("\n") for p in tree.files(*CODE, ends=(".c", ".h"))}
    return [f"{p}: {n} lines, {LONGEST} at most" for p, n in lines.items() if n > LONGEST]


def check_marks():
    found = []
    for path in tree.files(*CODE, "tests", ends=(".c", ".h", ".py", ".scd", ".build", ".sh")):
        if path == "tests/style/files.py":
            continue
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            if MARKS.search(line):
                found.append(f"{path}:{number}: {line.strip()}")
    return found


def check_format():
    paths = tree.files(*CODE, "tests", ends=(".c", ".h"))
    if not paths:
        return ["no C file"]
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths], cwd=tree.TOP, capture_output=True, text=True)
    bad = sorted({line.split(":")[0] for line in done.stderr.splitlines() if ": error: " in line})
    if done.returncode and not bad:
        bad = done.stderr.splitlines()[:5]
    return [f"{b}: clang-format -i" for b in bad]


def compile_alone(path):
    """The first error of a file whose only line includes the header, or None."""
    spelled = path.removeprefix("core/")
    source = f'#include "{spelled}"\n#include "{spelled}"\nextern int this_unit_is_not_empty;\n'
    fuse = subprocess.run(["pkg-config", "--cflags", "fuse3"], capture_output=True, text=True).stdout.split()
    done = subprocess.run(["gcc", *FLAGS, *fuse, "-x", "c", "-"], input=source, cwd=tree.TOP, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return f"{path}: {(errors or ['does not compile'])[0]}"


def check_headers():
    """Each header compiles by itself, and twice."""
    paths = tree.files(*CODE, ends=".h")
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        return [e for e in two.map(compile_alone, paths) if e]


def listed(build_file, pattern):
    """The quoted names of a meson.build that stand on a line of their own."""
    return re.findall(rf"^ +'([^'\n]+{pattern})',$", tree.read(build_file), re.M)


def compare(build_file, in_list, in_folder):
    found = [f"{build_file}: add '{os.path.relpath(p, os.path.dirname(build_file) or '.')}'," for p in sorted(set(in_folder) - set(in_list))]
    found += [f"{build_file}: no such file {p}" for p in sorted(set(in_list) - set(in_folder))]
    found += [f"{build_file}: {p} is listed twice" for p in sorted(set(in_list)) if in_list.count(p) > 1]
    return found


def check_lists():
    """No source, test or manual page is forgotten by meson.build."""
    found = compare("meson.build", listed("meson.build", r"\.c"), tree.files(*CODE, ends=".c"))
    pages = [f"tools/man/{p}.scd" for p in listed("meson.build", r"\.\d")]
    found += compare("meson.build", pages, tree.files("tools/man", ends=".scd"))
    tests = [f"tests/{p}" for p in listed("tests/meson.build", r"\.c")]
    folders = tree.files("tests/unit", "tests/contract", "tests/fs", "tests/fuzz", "tests/lib", "tests/mount", ends=".c")
    found += compare("tests/meson.build", tests, [p for p in folders if p != "tests/fuzz/driver.c"])
    return found


CHECKS = [
    ("file names are unique", check_names),
    (f"no file over {LONGEST} lines", check_length),
    ("no unfinished marks", check_marks),
    ("clang-format", check_format),
    ("headers compile alone", check_headers),
    ("meson.build lists every file", check_lists),
]
