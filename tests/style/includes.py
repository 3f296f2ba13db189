"""Who may include whom (core/README.md): the #include lines against a table, and a self-test of the table's reader."""
import fnmatch
import os
import re

import tree

# A folder of core/ and the folders to its right, beside itself.
_SIX = ["layout", "cache", "pool", "codec", "store", "meta", "base"]
MAY = {
    "base": [],
    "layout": ["base"],
    "cache": ["base"],
    "pool": ["base"],
    "store": ["base"],
    "meta": ["base"],
    "codec": ["meta", "base"],
    "array": _SIX,
    "hierarchy": ["array", *_SIX],
    "view": ["hierarchy", "array", *_SIX],
    "fs": ["view", "hierarchy", "array", *_SIX],
}
MAY["fuse"] = list(MAY)
MAY["tools"] = [*MAY]  # fuse/ is in by now

# The headers of a library and the only files that may see them; tests/ may see all.
LIBRARIES = [
    ("cJSON.h", ["core/base/json.c"]),
    ("zstd*.h", ["core/base/zstd_context.[ch]", "core/codec/zstd.c", "core/codec/blosc.c"]),
    ("libdeflate.h", ["core/base/deflate_context.h", "core/codec/*"]),
    ("lz4*.h", ["core/codec/*"]),
    ("blosc*.h", ["core/codec/*"]),
    ("bzlib.h", ["core/codec/bz2.c"]),
    ("lzma.h", ["core/codec/lzma*.[ch]", "core/codec/xz.c"]),
    ("fuse.h", ["fuse/*"]),
    ("fuse_*.h", ["fuse/*"]),
]

_LINE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def folder_of(path):
    """The folder of the table that a file is in: core/base/buf.h -> base, fuse/ops.c -> fuse."""
    parts = path.split("/")
    return parts[1] if parts[0] == "core" else parts[0]


def violations(path, text, exists):
    """What is wrong with the #include lines of a file; exists(path) tells whether a header is in the tree."""
    found = []
    here = folder_of(path)
    for kind, name in _LINE.findall(text):
        if kind == "<":
            for pattern, allowed in LIBRARIES:
                if fnmatch.fnmatch(os.path.basename(name), pattern) and not any(fnmatch.fnmatch(path, a) for a in allowed):
                    found.append(f"{path}: <{name}> is for {', '.join(allowed)} only")
            continue
        header = name if name.split("/")[0] in ("fuse", "tools") else "core/" + name
        if "/" not in name or not exists(header):
            found.append(f'{path}: "{name}" is no header of the tree (spell it from core/, or fuse/mount.h)')
            continue
        there = folder_of(header)
        if there != here and there not in MAY[here]:
            found.append(f'{path}: "{name}": {here} may not include {there}')
        elif there != here and name.endswith("_impl.h"):
            found.append(f'{path}: "{name}" is for its own folder')
    return found


def check_directions():
    paths = tree.files("core", "fuse", "tools", ends=(".c", ".h"))
    found = []
    for p in paths:
        if folder_of(p) not in MAY:
            found.append(f"{p}: the folder is not in the table of tests/style/includes.py")
        else:
            found += violations(p, tree.read(p), lambda h: os.path.exists(os.path.join(tree.TOP, h)))
    return found


def check_self_test():
    """The reader finds each kind of violation, and none where there is none."""
    bad = [
        ("core/base/buf.c", '#include "store/store.h"'),
        ("core/cache/cache.c", '#include "pool/pool.h"'),
        ("core/codec/zstd.c", '#include "store/store.h"'),
        ("core/array/read.c", '#include "view/view.h"'),
        ("core/view/raw.c", '#include "fs/fs.h"'),
        ("core/view/raw.c", '  #  include "fs/fs.h"'),
        ("core/fs/fs.c", '#include "fuse/mount.h"'),
        ("core/fs/fs.c", '#include "tools/options.h"'),
        ("fuse/ops.c", '#include "tools/options.h"'),
        ("tools/cmd_cat.c", '#include "store/store_impl.h"'),
        ("core/array/chunk.c", '#include "codec/codec_impl.h"'),
        ("core/base/buf.c", '#include "buf.h"'),
        ("core/base/buf.c", '#include "../store/store.h"'),
        ("core/meta/v3.c", "#include <cjson/cJSON.h>"),
        ("core/meta/v3.c", "#include <cJSON.h>"),
        ("core/codec/lz4.c", "#include <zstd.h>"),
        ("core/fs/fs.c", "#include <fuse_lowlevel.h>"),
        ("tools/cmd_mount.c", "#include <fuse3/fuse.h>"),
        ("core/base/buf.c", "#include <lz4.h>"),
        ("core/meta/v2.c", "#include <libdeflate.h>"),
        ("tools/cmd_pack.c", "#include <blosc.h>"),
    ]
    good = [
        ("core/base/buf.c", '#include "base/buf.h"\n#include <stdlib.h>'),
        ("core/base/json.c", "#include <cjson/cJSON.h>"),
        ("core/base/zstd_context.c", "#include <zstd.h>"),
        ("core/codec/blosc.c", "#include <zstd.h>\n#include <lz4.h>\n#include <blosc.h>"),
        ("core/codec/zstd.c", '#include "codec/codec_impl.h"\n#include "meta/meta.h"'),
        ("core/fs/fs.c", '#include "view/view.h"\n#include "pool/request.h"'),
        ("fuse/ops.c", '#include "fs/fs.h"\n#include <fuse_lowlevel.h>'),
        ("tools/cmd_mount.c", '#include "fuse/mount.h"\n#include "tools/options.h"\n#include "store/store.h"'),
    ]
    # The made-up headers exist, whatever is in the tree today.
    found = [f"not found: {p}: {t}" for p, t in bad if not violations(p, t, lambda h: ".." not in h)]
    found += [f"wrongly found: {v}" for p, t in good for v in violations(p, t, lambda h: True)]
    return found


CHECKS = [
    ("include directions", check_directions),
    ("include directions, self-test", check_self_test),
]
