#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every ```tile block of the documentation is a whole program that `tilec check` accepts; every ```tile error block
is one that it refuses. Examples are checked too, and links lead somewhere.

    blocks.py TILEC SOURCE-ROOT
"""

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

BLOCK = re.compile(r"^```tile( error)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|^    .*?$", re.MULTILINE | re.DOTALL)


def check(program, path):
    done = subprocess.run([program, "check", str(path)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def blocks(tap, program, page, folder):
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        file = pathlib.Path(folder) / f"{page.stem}_{line}.tile"
        file.write_text(match.group(2), encoding="utf-8")
        status, said = check(program, file)
        wrong = match.group(1) is not None
        good = status == 1 and "error[" in said if wrong else status == 0 and "warning" not in said
        tap.check(good, f"{page.name}:{line} {'is refused' if wrong else 'is accepted'}", said.splitlines())


def main(program, root):
    tap = Tap()
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            blocks(tap, program, page, folder)
    for file in sorted((root / "examples").glob("*.tile")):
        status, said = check(program, file)
        tap.check(status == 0 and "warning" not in said, f"{file.name} is accepted", said.splitlines())
    for page in pages:
        prose = CODE.sub("", page.read_text(encoding="utf-8"))
        tap.empty((link for link in LINK.findall(prose) if not (page.parent / link).exists()), f"links of {page.name}")
    tap.end()


main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
