#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the suite `gpu` from a build folder, which may have been built on another machine and copied here:
nothing is asked of this one but Python, a driver and NVRTC; torch and cupy are tested where they are installed. Ends with
"N passed, N failed".

    gpu.py BUILD-FOLDER
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

from summary import count, failures

NOT_INSTALLED = re.compile(r"1\.\.0 # SKIP (\w+ isn't installed)\s*$")
HERE = pathlib.Path(__file__).resolve().parent


def moved(text, places):
    """A word of a command, with the folders that it had where it was built made into those of here."""
    for before, now in places:
        if text == before or text.startswith(before + "/"):
            return now + text[len(before):]
    return text


def suite(build):
    """Names, commands and limits of the tests."""
    about = json.loads((build / "meson-info" / "meson-info.json").read_text())["directories"]
    places = [(about["build"], str(build)), (about["source"], str(HERE.parent))]
    for test in json.loads((build / "meson-info" / "intro-tests.json").read_text()):
        if any(name.endswith(":gpu") for name in test["suite"]):
            yield test["name"], [moved(word, places) for word in test["cmd"]], test["timeout"], test["protocol"]


def run(command, timeout, build):
    """What a test printed and how it ended, as Meson's log has it."""
    # What the machine lacks of shared libraries lies beside the build.
    libraries = ":".join(filter(None, [str(build / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=build,
                             env={**os.environ, "LD_LIBRARY_PATH": libraries}, start_new_session=True)
    try:
        output, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return {"stdout": child.communicate()[0], "result": "TIMEOUT"}
    return {"stdout": output, "result": "OK" if child.returncode == 0 else "FAIL"}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    passed = failed = 0
    for name, command, timeout, protocol in suite(build):
        entry = run(command, timeout, build)
        good, bad, skipped, complaint = count(entry, protocol == "tap")
        lacking = NOT_INSTALLED.match(entry["stdout"]) if protocol == "tap" else None
        if lacking:
            print(f"gpu / {name}: left out, {lacking.group(1)}", flush=True)
            continue
        bad += skipped  # without a device nothing here is skipped
        passed, failed = passed + good, failed + bad
        print(f"gpu / {name}: {good} passed, {bad} failed{', ' if complaint else ''}{complaint}")
        if bad and protocol == "tap":
            print("\n".join(f"    {line}" for line in failures(entry["stdout"])))
        else:
            notes = entry["stdout"].splitlines() if protocol != "tap" else [line for line in entry["stdout"].splitlines() if line.startswith("# ")]
            print("\n".join(f"    {line}" for line in notes))
        sys.stdout.flush()
    if passed + failed == 0:
        print("there is no test of the suite gpu")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
