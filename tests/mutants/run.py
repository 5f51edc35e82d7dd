#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults, one at a time, in a copy of the source, and fails where the suite that should notice stays green.

    run.py [--sample N] [--seed S] [--quick] [--only NAME]

faults.txt has the faults, each a paragraph:

    NAME: what is broken
    in FILE, seen by SUITE          (or SUITE / TEST, where one test of the suite is enough)
    -the text to find, which stands in the file exactly once (several lines: several "-")
    +what stands there instead

A fault whose text isn't found, or that doesn't compile, is an error of the list. Suites must be green before.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEAD = re.compile(r"in (\S+), seen by (\w+(?: / .+)?)$")


class Fault:
    def __init__(self, paragraph):
        lines = paragraph.splitlines()
        self.name, self.what = lines[0].split(": ", 1)
        match = HEAD.match(lines[1])
        if not match:
            sys.exit(f"{self.name}: no line \"in FILE, seen by SUITE\"")
        self.file, self.suite = match.groups()
        self.find = "\n".join(line[1:] for line in lines[2:] if line.startswith("-"))
        self.replace = "\n".join(line[1:] for line in lines[2:] if line.startswith("+"))


def read_faults():
    text = (HERE / "faults.txt").read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return [Fault(paragraph) for paragraph in re.split(r"\n\s*\n", text.strip())]


def run(*command, folder):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def copy_source(folder):
    """The tree as it is, without what is built or kept by git."""
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=lambda at, names: [n for n in names if n in {".git", "__pycache__"}
                                                            or (n == "build" and pathlib.Path(at) == ROOT)])
    done = run("meson", "setup", str(folder / "build"), str(source), folder=folder)
    if done.returncode:
        sys.exit(done.stdout)
    return source


def run_suite(folder, suite):
    """Builds what the suite needs and runs it: "green", "red", "skipped" or why it couldn't be built, and what was said.

    Judged as `./dev test` does: Meson's own status is not asked, since it takes silence for success.
    """
    log = folder / "build" / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    suite, _, test = suite.partition(" / ")
    built = run("meson", "test", "-C", str(folder / "build"), "--suite", suite, *([test] if test else []), folder=folder)
    if not log.exists():
        return "doesn't compile", built.stdout
    done = run(sys.executable, str(ROOT / "tests" / "summary.py"), str(folder / "build"), folder=folder)
    if "no test ran" in done.stdout and "skipped in" in done.stdout:
        return "skipped", done.stdout
    return ("red" if done.returncode else "green"), done.stdout


def misplaced(fault):
    """What is wrong with where the fault is to be planted, or None. The list is looked at whole, whatever is planted."""
    file = ROOT / fault.file
    count = file.read_text(encoding="utf-8").count(fault.find) if file.exists() else 0
    return None if count == 1 else f"NOT CAUGHT: {fault.name}: the text to find stands {count} times in {fault.file}"


def plant(folder, source, fault):
    """What became of the fault: "caught", or the reason why it isn't."""
    file = source / fault.file
    before = file.read_text(encoding="utf-8")
    try:
        file.write_text(before.replace(fault.find, fault.replace), encoding="utf-8")
        colour, said = run_suite(folder, fault.suite)
        if colour == "red":
            return "caught"
        return f"suite {fault.suite} stays green" if colour == "green" else f"{colour}:\n{said}"
    finally:
        file.write_text(before, encoding="utf-8")


def choose(faults, options):
    if options.only:
        faults = [fault for fault in faults if fault.name in options.only]
    if options.quick:
        faults = [fault for fault in faults if not fault.suite.startswith("numeric")]
    if options.sample and options.sample < len(faults):
        faults = random.Random(options.seed).sample(faults, options.sample)
    if not faults:
        sys.exit("no such fault")
    return faults


def main():
    parser = argparse.ArgumentParser(description="Plants faults and fails where the tests stay green.")
    parser.add_argument("--sample", type=int, help="only so many of them")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--quick", action="store_true", help="only those that a fast suite sees")
    parser.add_argument("--only", action="append", help="only this one (may be repeated)")
    options = parser.parse_args()
    everything = read_faults()
    stale = list(filter(None, map(misplaced, everything)))
    if stale:
        sys.exit("\n".join(stale))
    faults = choose(everything, options)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    missed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="tilec-mutants-") as name:
        folder = pathlib.Path(name)
        source = copy_source(folder)
        before = {suite: run_suite(folder, suite)[0] for suite in sorted({fault.suite for fault in faults})}
        for fault in faults:
            if before[fault.suite] == "skipped":
                print(f"skipped: {fault.name}: what suite {fault.suite} needs isn't here", flush=True)
                skipped += 1
                continue
            outcome = plant(folder, source, fault) if before[fault.suite] == "green" else \
                f"suite {fault.suite} is {before[fault.suite]} without it"
            missed += outcome != "caught"
            print(f"{'ok' if outcome == 'caught' else 'NOT CAUGHT'}: {fault.name}: {fault.what}"
                  + ("" if outcome == "caught" else f": {outcome}"), flush=True)
    print(f"{len(faults) - missed - skipped} of {len(faults)} faults were caught" + (f", {skipped} skipped" if skipped else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
