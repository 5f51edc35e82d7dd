#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `tilec emit` takes from its start to its end, for every kernel of the examples in its default config.

    compile.py TILEC [--runs N] [--limit MILLISECONDS]

Prints the least, the median and the ninth decile; exits 1 if a median is over the limit (10 ms), or a run fails.
"""

import argparse
import os
import pathlib
import re
import statistics
import sys
import time

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def kernels():
    """File, name, and words for the extents of full axes, which are compiled in."""
    for file in sorted(EXAMPLES.glob("*.tile")):
        for text in re.split(r"^(?=kernel )", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            dims = sorted(set(re.findall(r"^ *axis \w+ = (\w+);", text, re.MULTILINE)))
            yield file, re.match(r"kernel (\w+)", text)[1], [word for dim in dims for word in ("--dim", f"{dim}=64")]


def run_once(command, devnull):
    """Seconds from starting the process to its end; its output goes nowhere."""
    begin = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, devnull, 1)])
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"ended with {os.waitstatus_to_exitcode(status)}: {' '.join(command)}")
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilec")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--limit", type=float, default=10.0)
    options = parser.parse_args()
    program = os.path.abspath(options.tilec)
    devnull = os.open(os.devnull, os.O_WRONLY)
    slow = []
    print(f"{'tilec emit, milliseconds':32} {'least':>8} {'median':>8} {'90%':>8}")
    for file, name, dims in kernels():
        command = [program, "emit", str(file), "--kernel", name, *dims]
        run_once(command, devnull)
        times = sorted(1000 * run_once(command, devnull) for _ in range(options.runs))
        median = statistics.median(times)
        print(f"{name:32} {times[0]:8.2f} {median:8.2f} {times[len(times) * 9 // 10]:8.2f}")
        if median > options.limit:
            slow.append(name)
    if slow:
        sys.exit(f"over {options.limit} ms: {', '.join(slow)}")


main()
