#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/summary.py counts what it should, and takes no silence for a success."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import summary
from tap import Tap


def run(*entries):
    """The last line and the status for a log of (name, protocol, result, output)."""
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        (build / "meson-info").mkdir()
        (build / "meson-logs").mkdir()
        tests = [{"name": name, "cmd": [name, protocol], "protocol": protocol} for name, protocol, _, _ in entries]
        (build / "meson-info" / "intro-tests.json").write_text(json.dumps(tests))
        lines = [json.dumps({"name": f"tilec:s / {name}", "command": [name, protocol], "result": result, "stdout": output})
                 for name, protocol, result, output in entries]
        (build / "meson-logs" / "testlog.json").write_text("\n".join(lines))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = summary.main(build)
        return printed.getvalue().splitlines()[-1], status


CASES = [
    ("nothing ran", [], "0 passed, 1 failed", 1),
    ("one program", [("a", "exitcode", "OK", "")], "1 passed, 0 failed", 0),
    ("a crash", [("a", "exitcode", "FAIL", ""), ("b", "exitcode", "OK", "")], "1 passed, 1 failed", 1),
    ("a timeout", [("a", "tap", "TIMEOUT", "ok 1\n1..1\n")], "1 passed, 1 failed", 1),
    ("tests of a TAP program", [("a", "tap", "OK", "1..3\nok 1 - x\nok 2\nok 3 # SKIP no device\n")],
     "2 passed, 0 failed, 1 skipped", 0),
    ("a failed one", [("a", "tap", "FAIL", "ok 1\nnot ok 2\n1..2\n")], "1 passed, 1 failed", 1),
    ("fewer tests than planned", [("a", "tap", "SKIP", "1..3\nok 1\n")], "1 passed, 1 failed", 1),
    ("more tests than planned", [("a", "tap", "ERROR", "1..1\nok 1\nok 2\n")], "2 passed, 1 failed", 1),
    ("one name in two suites", [("a", "exitcode", "OK", ""), ("a", "tap", "OK", "ok 1\n1..1\n")], "2 passed, 0 failed", 0),
    ("no plan", [("a", "tap", "OK", "ok 1\n")], "1 passed, 1 failed", 1),
    ("a crash after the last test", [("a", "tap", "ERROR", "1..1\nok 1\n")], "1 passed, 1 failed", 1),
    ("all skipped and nothing else", [("a", "tap", "SKIP", "1..0 # SKIP no device\n")], "0 passed, 1 failed, 1 skipped", 1),
]


def main():
    tap = Tap()
    for name, entries, line, status in CASES:
        got = run(*entries)
        tap.check(got == (line, status), name, [f"got {got}"])
    tap.end()


main()
