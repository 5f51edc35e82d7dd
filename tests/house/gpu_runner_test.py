#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu.py runs what a build folder has in the suite `gpu`, wherever the folder is, and takes no silence for a success."""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from tap import Tap

GOOD = "#!/bin/sh\necho ok 1\necho 1..1\n"
CASES = [  # name, tests as (suite, protocol, script), last line, exit code
    ("no tests", [], "0 passed, 1 failed", 1),
    ("tests of other suites aren't run", [("tune", "tap", GOOD)], "0 passed, 1 failed", 1),
    ("a program of a folder that moved", [("gpu", "tap", GOOD)], "1 passed, 0 failed", 0),
    ("libraries beside the build are found", [("gpu", "exitcode", '#!/bin/sh\ncase ":$LD_LIBRARY_PATH:" in *":$PWD/lib:"*) ;; *) exit 1 ;; esac\n')],
     "1 passed, 0 failed", 0),
    ("a failure", [("gpu", "tap", "#!/bin/sh\necho not ok 1\necho 1..1\n"), ("gpu", "tap", GOOD)], "1 passed, 1 failed", 1),
    ("a crash behind good tests", [("gpu", "tap", GOOD + "kill -SEGV $$\n")], "1 passed, 1 failed", 1),
    ("a library that isn't installed is left out", [("gpu", "tap", "#!/bin/sh\necho \"1..0 # SKIP cupy isn't installed\"\n"),
                                                     ("gpu", "tap", "#!/bin/sh\necho ok 1\necho 1..1\n")], "1 passed, 0 failed", 0),
    ("a missing device is not left out", [("gpu", "tap", "#!/bin/sh\necho \"1..0 # SKIP no device\"\n")], "0 passed, 1 failed", 1),
    ("what is skipped fails", [("gpu", "tap", "#!/bin/sh\necho 'ok 1 # SKIP no device'\necho 1..1\n")], "0 passed, 1 failed", 1),
    ("a hang", [("gpu", "tap", "#!/bin/sh\necho ok 1\necho 1..1\nexec sleep 1000\n")], "1 passed, 1 failed", 1),
]


def run(tests):
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder) / "build"
        (build / "meson-info").mkdir(parents=True)
        (build / "meson-info" / "meson-info.json").write_text(json.dumps({"directories": {"build": "/elsewhere/build", "source": "/elsewhere"}}))
        entries = []
        for number, (suite, protocol, script) in enumerate(tests):
            path = build / f"test{number}"
            path.write_text(script)
            path.chmod(0o755)
            entries.append({"name": path.name, "cmd": [f"/elsewhere/build/{path.name}"], "suite": [f"tilec:{suite}"], "timeout": 2, "protocol": protocol})
        (build / "meson-info" / "intro-tests.json").write_text(json.dumps(entries))
        done = subprocess.run([sys.executable, str(HERE.parent / "gpu.py"), str(build)], capture_output=True, text=True)
        return done.stdout.splitlines()[-1:], done.returncode, done.stderr


def main():
    tap = Tap()
    for name, tests, line, code in CASES:
        result = run(tests)
        tap.check(result[:2] == ([line], code), name, [str(result)])
    tap.end()


main()
