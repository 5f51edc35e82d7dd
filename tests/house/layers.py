#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Includes point one way through the house, and from outside a folder only at its public headers."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tap import Tap

# What each folder may include of the others, through which headers.
PUBLIC = {
    "ir": {"ir/ir.h", "ir/arena.h", "ir/diagnostic.h", "ir/text.h", "ir/ops.def"},
    "frontend": {"frontend/frontend.h"},
    "lowering": {"lowering/lowering.h"},
    "codegen": {"codegen/codegen.h"},
    "runtime": {"runtime/tilec.h"},
    "cli": set(),
}
MAY_USE = {
    "ir": set(),
    "frontend": {"ir"},
    "lowering": {"ir"},
    "codegen": {"lowering", "ir"},
    "runtime": {"frontend", "codegen", "lowering", "ir"},
    "cli": {"runtime"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def wrong_includes(root, folder):
    """Each include of `folder` that goes the wrong way, past a public header, or isn't written from the root."""
    for file in sorted(p for p in (root / folder).rglob("*") if p.suffix in {".c", ".h", ".re", ".y", ".def"}):
        for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
            target = name.split("/")[0]
            if target == folder or "/" not in name and name.split(".")[0] in {"parser", "lexer"}:
                continue  # its own, or what Bison makes
            if target not in PUBLIC:
                yield f"{file.relative_to(root)}: \"{name}\" is not written from the root"
            elif target not in MAY_USE[folder]:
                yield f"{file.relative_to(root)}: {folder} must not use {target} (\"{name}\")"
            elif name not in PUBLIC[target]:
                yield f"{file.relative_to(root)}: \"{name}\" is private to {target}"


def main(root):
    tap = Tap()
    for folder in PUBLIC:
        tap.empty(wrong_includes(root, folder), f"includes of {folder}")
    tap.end()


main(pathlib.Path(sys.argv[1]))
