#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shape of hand-written source: licence heads, lengths of files, lines and functions."""

import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tap import Tap

FOLDERS = ["ir", "frontend", "lowering", "codegen", "runtime", "cli", "python", "tests", "examples", "bench"]
SOURCE = {".c", ".h", ".re", ".y", ".def", ".cc", ".cpp", ".py", ".pyi", ".tile", ".build"}
BUILT = {".o", ".so", ".a", ".cubin", ".ptx", ".pyc"}
LONGEST_FILE = 1000
LONGEST_LINE = 160       # the aim is 120; the op table and declarations may pass it
LONGEST_FUNCTION = 120
NINE_IN_TEN = 60
FUNCTION = re.compile(r"^(?!typedef|struct|enum|union|static const|const|extern)[A-Za-z_][^;={}#]*\([^;{}]*\)\s*\{$", re.MULTILINE)


def sources(root, suffixes=SOURCE):
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in suffixes and file.is_file() and not test_data(file.relative_to(root)):
                yield file, file.read_text(encoding="utf-8", errors="replace")


def test_data(path):
    """Files under tests/ that are input or expected output, not source: wrong on purpose, or compared byte for byte."""
    return path.parts[0] == "tests" and (path.suffix == ".tile" or "cases" in path.parts)


def tracked(root):
    """The files that git has; where there is no git, those at the top."""
    names = [f.name for f in root.iterdir()]
    if shutil.which("git"):
        done = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False)
        names = done.stdout.split("\n") if done.returncode == 0 else names
    return [root / name for name in names]


def functions(text):
    """Name and count of lines of every function of a C file: from a head at column 0 to the brace at column 0."""
    for match in FUNCTION.finditer(text):
        end = text.find("\n}", match.end())
        if end >= 0:
            head = match.group(0).split("(")[0].split()
            yield head[-1].lstrip("*"), text.count("\n", match.start(), end) + 2


def main(root):
    tap = Tap()
    files = list(sources(root))
    lengths = [(n, f"{file.relative_to(root)}: {name} has {n} lines")
               for file, text in sources(root, {".c"}) for name, n in functions(text)]
    tap.empty((f"{f.relative_to(root)}" for f, text in files if "SPDX-License-Identifier: Apache-2.0" not in text[:300]),
              "every file has the licence head")
    tap.empty((f"{f.relative_to(root)}: {text.count(chr(10))} lines" for f, text in files if text.count("\n") > LONGEST_FILE),
              f"no file has over {LONGEST_FILE} lines")
    tap.empty((f"{f.relative_to(root)}:{number}" for f, text in files if f.suffix != ".def"
               for number, line in enumerate(text.splitlines(), 1) if len(line) > LONGEST_LINE),
              f"no line has over {LONGEST_LINE} characters")
    tap.empty((words for n, words in lengths if n > LONGEST_FUNCTION), f"no function has over {LONGEST_FUNCTION} lines")
    long = sorted((entry for entry in lengths if entry[0] > NINE_IN_TEN), reverse=True)
    tap.empty((f"{f.relative_to(root)}" for f in tracked(root) if f.suffix in BUILT), "nothing that is built lies in the tree")
    tap.check(len(long) * 10 <= len(lengths), f"nine functions in ten have at most {NINE_IN_TEN} lines", (w for _, w in long))
    tap.end()


main(pathlib.Path(sys.argv[1]))
