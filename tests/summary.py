#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what `meson test` ran, every test of a TAP program for itself, shows what failed, and ends with "N passed, N failed".

    summary.py BUILD-FOLDER

Meson takes a TAP program that prints a plan and then too few tests for a skipped one, and a run without any test for
a success. Here both are failures, and so is a crash, a timeout, or a TAP program without a plan.
"""

import json
import pathlib
import re
import sys

GOOD = {"OK", "EXPECTEDFAIL"}
TAP_LINE = re.compile(r"^(not )?ok\b[^#]*(?:#\s*(skip|todo))?", re.IGNORECASE)
SHOWN = 40  # lines of one program's complaints
TAP_PLAN = re.compile(r"^1\.\.(\d+)(\s*#\s*skip)?", re.IGNORECASE)


def tap_counts(output):
    """Passed, failed and skipped tests of one TAP program's output, and what is wrong with it as a whole."""
    passed = failed = skipped = 0
    plan = None
    for line in output.splitlines():
        planned = TAP_PLAN.match(line)
        test = TAP_LINE.match(line)
        if planned:
            plan = int(planned.group(1))
        elif test and (test.group(2) or "").lower() == "skip":
            skipped += 1
        elif test and test.group(1) and not test.group(2):
            failed += 1
        elif test:
            passed += 1
    total = passed + failed + skipped
    if plan is None:
        return passed, failed + 1, skipped, "no plan (1..N)"
    if total != plan:
        return passed, failed + 1, skipped, f"planned {plan} tests and ran {total}"
    return passed, failed, skipped + (plan == 0), ""


def count(entry, is_tap):
    """Passed, failed, skipped and a complaint for one line of Meson's log."""
    result = entry["result"]
    if not is_tap:
        if result == "SKIP":
            return 0, 0, 1, ""
        return (1, 0, 0, "") if result in GOOD else (0, 1, 0, result)
    passed, failed, skipped, complaint = tap_counts(entry.get("stdout", ""))
    if result not in GOOD and result != "SKIP" and not failed:
        return passed, 1, skipped, result
    return passed, failed, skipped, complaint


def failures(output):
    """The tests of a TAP program that failed, with the comments around them: some programs explain before, some behind."""
    shown, comments, failed = [], [], False
    for line in output.splitlines():
        test = TAP_LINE.match(line)
        if test:
            failed = bool(test.group(1)) and not test.group(2)
            shown += [*comments, line] if failed else []
            comments = []
        elif line.startswith("#"):
            (shown if failed else comments).append(line)
    left = len(shown) - SHOWN
    return [f"    {line}" for line in shown[:SHOWN]] + ([f"    … {left} more lines, in the log"] if left > 0 else [])


def tap_commands(build):
    """The command lines of the tests that speak TAP: names may be the same in two suites."""
    tests = json.loads((build / "meson-info" / "intro-tests.json").read_text(encoding="utf-8"))
    return {tuple(test["cmd"]) for test in tests if test["protocol"] == "tap"}


def main(build):
    log = build / "meson-logs" / "testlog.json"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    taps = tap_commands(build)
    totals = [0, 0, 0]
    for line in lines:
        entry = json.loads(line)
        *counts, complaint = count(entry, tuple(entry["command"]) in taps)
        totals = [a + b for a, b in zip(totals, counts)]
        if counts[1]:
            print(f"FAILED {entry['name']}: {counts[1]} of {sum(counts)}" + (f" ({complaint})" if complaint else ""))
            print("".join(f"{line}\n" for line in failures(entry.get("stdout", ""))), end="")
        if counts[2]:
            print(f"skipped in {entry['name']}: {counts[2]}")
    passed, failed, skipped = totals
    if not passed and not failed:
        print("no test ran")
        failed = 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
