#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a test in the virtual environment that `./dev test` makes, which has the wheel and numpy and nothing else of
tilec.

in_venv.py FOLDER-OF-THE-ENVIRONMENT TEST ARGUMENT…
"""

import os
import pathlib
import sys


def main(folder, test, *arguments):
    python = pathlib.Path(folder) / "bin" / "python"
    if not python.exists():
        print("1..0 # SKIP no virtual environment with the wheel: `./dev test` makes it, which takes the network once")
        return
    words = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TILEC_"))}
    words.update(TILEC_CACHE_DIR=os.environ["TILEC_CACHE_DIR"], PYTHONDONTWRITEBYTECODE="1")
    os.execve(python, [str(python), test, *arguments], words)


main(*sys.argv[1:])
