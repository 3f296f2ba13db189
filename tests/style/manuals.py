"""The manual pages against the program: each subcommand has a page, each long option of --help is in it, and the reverse."""
import os
import re
import subprocess

import tree

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
PROGRAM = os.environ.get("ZARRFS") or os.path.join(tree.TOP, "build", "zarrfs")


def options_of_help(*words):
    done = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    if done.returncode:
        return None
    return set(OPTION.findall(done.stdout))


def options_of_page(text):
    """scdoc escapes and underlines: \\-\\-offset and *--offset* are --offset."""
    return set(OPTION.findall(text.replace("\\", "")))


def subcommands():
    names = [os.path.basename(p)[len("cmd_") : -len(".c")] for p in tree.files("tools", ends=".c") if "/cmd_" in p]
    return sorted(n.replace("_", "-") for n in names)


def check_pages():
    pages = {os.path.basename(p)[len("zarrfs-") : -len(".1.scd")] for p in tree.files("tools/man", ends=".1.scd") if "/zarrfs-" in p}
    commands = set(subcommands())
    found = [f"no page tools/man/zarrfs-{c}.1.scd" for c in sorted(commands - pages)]
    found += [f"tools/man/zarrfs-{p}.1.scd: no subcommand {p}" for p in sorted(pages - commands)]
    if not commands:
        found.append("no subcommand: tools/cmd_*.c")
    if not os.path.exists(os.path.join(tree.TOP, "tools/man/zarrfs.1.scd")):
        found.append("no page tools/man/zarrfs.1.scd")
    return found


def check_options():
    if not os.access(PROGRAM, os.X_OK):
        return [f"{PROGRAM} is not built"]
    found = []
    for command in subcommands():
        page = f"tools/man/zarrfs-{command}.1.scd"
        if not os.path.exists(os.path.join(tree.TOP, page)):
            continue  # check_pages says so
        helped = options_of_help(command)
        if helped is None:
            found.append(f"zarrfs {command} --help: an error")
            continue
        paged = options_of_page(tree.read(page))
        found += [f"{page}: {o} of --help is not in it" for o in sorted(helped - paged)]
        found += [f"zarrfs {command} --help: {o} of the page is not in it" for o in sorted(paged - helped)]
    return found


def check_subcommands():
    """zarrfs --help and the page zarrfs.1 name every subcommand."""
    if not os.access(PROGRAM, os.X_OK):
        return [f"{PROGRAM} is not built"]
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    page = os.path.join(tree.TOP, "tools/man/zarrfs.1.scd")
    text = tree.read("tools/man/zarrfs.1.scd") if os.path.exists(page) else ""
    found = [] if done.returncode == 0 else [f"zarrfs --help: exit {done.returncode}"]
    for command in subcommands():
        word = re.compile(rf"\b{command}\b")
        if not word.search(done.stdout):
            found.append(f"zarrfs --help does not name {command}")
        if not word.search(text):
            found.append(f"tools/man/zarrfs.1.scd does not name {command}")
    return found


CHECKS = [
    ("a manual page a subcommand", check_pages),
    ("manual pages against --help", check_options),
    ("every subcommand is named", check_subcommands),
]
