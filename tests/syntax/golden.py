#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the parser says about programs with files beside them.

NAME.tile with NAME.err: the diagnostics. NAME.tile with NAME.ast: the tree. A tree of tests/kernels/NAME.tile is
trees/NAME.ast. `golden.py TOOL SOURCE_ROOT --update` writes them anew; a run that crashed is never written.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tests" / "house"))
from tap import Tap

TOOL = pathlib.Path(sys.argv[1]).resolve()
UPDATE = "--update" in sys.argv
HERE = ROOT / "tests" / "syntax"


def pairs():
    """A program, the folder that its path is printed relative to, and the file that tells what must come out."""
    for program in sorted((HERE / "cases").glob("*.tile")):
        tree = program.with_suffix(".ast")
        if not program.stem.startswith("lib_"):
            yield program, program.parent, tree if tree.exists() else program.with_suffix(".err")
    kernels = ROOT / "tests" / "kernels"
    for program in sorted([*kernels.glob("*.tile"), *kernels.glob("counterexamples/*.tile")]):
        yield program, kernels, HERE / "trees" / (program.stem + ".ast")


def main():
    tap = Tap()
    for program, folder, golden in pairs():
        run = subprocess.run([TOOL, program.relative_to(folder)], cwd=folder, capture_output=True, timeout=60)
        healthy = run.returncode in (0, 1) and not run.stderr and bool(run.stdout)
        if UPDATE and healthy:
            golden.write_bytes(run.stdout)
        expected = golden.read_bytes() if golden.exists() else b"(no such file)"
        status = 0 if golden.suffix == ".ast" else 1
        good = healthy and run.returncode == status and run.stdout == expected
        shown = [] if good else [f"exit {run.returncode}"]
        if not good:
            shown += run.stdout.decode(errors="replace").splitlines()[:40]
            shown += ["--- expected:"] + expected.decode(errors="replace").splitlines()[:40]
            shown += run.stderr.decode(errors="replace").splitlines()[:20]
        tap.check(good, f"{program.relative_to(folder)} gives {golden.name}", shown)
    tap.end()


main()
