#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference pages know what the program knows: every operation and pass is in docs/ir.md, every command in
docs/cli.md, every option in one of the pages.

    reference.py TILEC SOURCE-ROOT
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else ""


def first_words(text):
    """The first word of each line that begins with one."""
    return [word.group(0) for line in text.splitlines() if (word := re.match(r"[a-z][a-z0-9_]*", line))]


def missing(words, page):
    known = set(re.findall(r"`([a-z][a-z0-9_]*)`", page))
    return [f"{word} is not described" for word in words if word not in known]


def commands_and_options(program):
    """Every command that the help lists, as "check", and every option of one, as "--json"."""
    listed = re.findall(r"^  ([a-z]+)  +\S", output(program, "--help"), re.MULTILINE)
    for command in listed:
        yield command, [f"--{name}" for name in re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)", output(program, command, "--help"), re.MULTILINE)]


def ops_of_table(root):
    text = (root / "ir" / "ops.def").read_text(encoding="utf-8")
    return re.findall(r'^OP\(\w+,\s*"(\w+)"', text, re.MULTILINE)


def main(program, root):
    tap = Tap()
    page = (root / "docs" / "ir.md").read_text(encoding="utf-8")
    ops = ops_of_table(root)
    tap.check(len(ops) > 50, "the op table is read")
    tap.empty(missing(ops, page), "docs/ir.md has every operation")
    passes = first_words(output(program, "emit", "--list-passes"))
    tap.check(len(passes) > 3, "passes are listed")
    tap.empty(missing(passes, page), "docs/ir.md has every pass")
    page = (root / "docs" / "cli.md").read_text(encoding="utf-8")
    commands = list(commands_and_options(program))
    tap.check(len(commands) >= 7, "commands are listed")
    tap.empty((c for c, _ in commands if f"`{c}" not in page), "docs/cli.md has every command")
    pages = "".join(file.read_text(encoding="utf-8") for file in sorted((root / "docs").glob("*.md")))
    tap.empty(sorted({o for _, options in commands for o in options if o not in pages}), "the pages have every option")
    tap.end()


main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
