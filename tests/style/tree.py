"""The project's files, as the checks see them."""
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def files(*folders, ends):
    """Paths relative to the top, sorted, of the files in folders whose names end so."""
    found = []
    for folder in folders:
        for where, subfolders, names in os.walk(os.path.join(TOP, folder)):
            subfolders[:] = [s for s in subfolders if not s.startswith((".", "__", "build"))]
            found += [os.path.relpath(os.path.join(where, n), TOP) for n in names if n.endswith(ends)]
    return sorted(found)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()
