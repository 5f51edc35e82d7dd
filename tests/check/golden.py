#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the checker says about programs with files beside them.

cases/NAME.tile with NAME.err: the diagnostics, empty for a program that is right and needs no warning. cases/NAME.tile
with NAME.ir: the IR; a first line `// check: OPTIONS` gives check_tool's options. Files named lib_… are only imported.
`golden.py TOOL SOURCE_ROOT --update` writes the expected files anew; a run that crashed is never written.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "tests" / "house"))
from tap import Tap

TOOL = pathlib.Path(sys.argv[1]).resolve()
UPDATE = "--update" in sys.argv
CASES = ROOT / "tests" / "check" / "cases"


def options(program):
    first = program.read_text(encoding="utf-8").splitlines()[0]
    return first.removeprefix("// check: ").split() if first.startswith("// check: ") else []


def compare(tap, program, golden):
    arguments = ["--ir", *options(program)] if golden.suffix == ".ir" else []
    run = subprocess.run([TOOL, *arguments, program.name], cwd=program.parent, capture_output=True, timeout=60)
    healthy = run.returncode in (0, 1) and not run.stderr
    if UPDATE and healthy:
        golden.write_bytes(run.stdout)
    expected = golden.read_bytes() if golden.exists() else b"(no such file)"
    # An .err without an error in it (warnings, or nothing at all) is of a program that is right.
    status = 1 if b": error[" in expected else 0
    good = healthy and run.returncode == status and run.stdout == expected
    shown = [] if good else [f"exit {run.returncode}"]
    if not good:
        shown += run.stdout.decode(errors="replace").splitlines()[:60]
        shown += ["--- expected:"] + expected.decode(errors="replace").splitlines()[:60]
        shown += run.stderr.decode(errors="replace").splitlines()[:20]
    tap.check(good, f"{program.name} gives {golden.name}", shown)


def main():
    tap = Tap()
    for program in sorted(CASES.glob("*.tile")):
        if program.stem.startswith("lib_"):
            continue
        tree = program.with_suffix(".ir")
        compare(tap, program, tree if tree.exists() else program.with_suffix(".err"))
    tap.end()


main()
