#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Emitted texts, byte for byte: a case is NAME.json in cases/, what tilec emits for it is its neighbour NAME.cu or NAME.c.

    golden.py TILEC [--update] [NAME…]

A case: {"source": a path from the root, "kernel": …, "options": [words of `tilec emit`], "config": {…}}. --update takes
the texts from the program, but only if every run ended well; otherwise nothing is written. Besides: the same bytes under
another locale, from another folder and again; a comment for every statement; how long a plain kernel may become.
"""

import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "house"))
from tap import Tap

PLAIN = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
LONGEST_SUM = 80


class Case:
    def __init__(self, path):
        known = {"source", "kernel", "options", "config"}
        data = json.loads(path.read_text())
        if set(data) - known or not {"source", "kernel"} <= set(data):
            raise SystemExit(f"{path}: a case has {', '.join(sorted(known))}")
        self.name = path.stem
        self.source, self.kernel = data["source"], data["kernel"]
        self.options, self.config = data.get("options", []), data.get("config")
        self.golden = path.with_suffix(".c" if "cpu" in self.options else ".cu")

    def run(self, tilec, folder, env=PLAIN, cwd=ROOT):
        """Emits from `cwd`; the source is named relatively where that is the root."""
        source = self.source if cwd == ROOT else str(ROOT / self.source)
        words = [tilec, "emit", source, "--kernel", self.kernel, *self.options]
        if self.config is not None:
            config = folder / f"{self.name}.json"
            config.write_text(json.dumps({"format": 1, **self.config}))
            words += ["--config", str(config)]
        return subprocess.run(words, capture_output=True, cwd=cwd, env=env, timeout=60)


def cases(names):
    found = [Case(path) for path in sorted((HERE / "cases").glob("*.json"))]
    return [case for case in found if not names or case.name in names]


def good(done):
    return done.returncode == 0 and not done.stderr and done.stdout.endswith(b"\n")


def why(done):
    return [f"ended with {done.returncode}", *done.stderr.decode(errors="replace").splitlines()[:10]]


# ------------------------------------------------------------------------------------------------ comments

STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def blank(match):
    """Spaces of the same shape, so that lines and columns stay."""
    return re.sub(r"[^\n]", " " if match[0][0] == "/" else "s", match[0])


def statement_lines(source, kernel):
    """Number and text of each line on which a statement of the kernel's body begins."""
    text = STRING_OR_COMMENT.sub(blank, source)
    at = text.index("{", re.search(rf"\bkernel\s+{kernel}\b", text).end())
    depth, expected, lines = 0, True, set()
    for token in re.finditer(r"[{};()]|[^\s{};()]+", text[at:]):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            break
        if token[0] in "{};":
            expected = True
        elif expected:
            if token[0] != "else":
                lines.add(text.count("\n", 0, at + token.start()) + 1)
            expected = False
    return [(number, source.split("\n")[number - 1]) for number in sorted(lines)]


def missing_comments(case, text):
    """Statements without their comment. Where a tensor is left out, what depends on it isn't there."""
    comments = dict(re.findall(r"^\s*// (\d+): (.*)$", text, re.MULTILINE))
    for number, line in statement_lines((ROOT / case.source).read_text(), case.kernel):
        if "--without" in case.options and "has(" in line:
            continue
        if comments.get(str(number), "").split() != line.split():
            yield f"line {number} is {line.strip()!r}, the comment {comments.get(str(number))!r}"


# ------------------------------------------------------------------------------------------------ other surroundings

def other_locales(folder):
    """An environment with a locale that writes 1.5 as 1,5: an installed one, or one made for the occasion."""
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split() if have("locale") else []
    for name in ("de_DE.utf8", "de_DE.UTF-8", "fr_FR.utf8"):
        if name in listed:
            return {**PLAIN, "LC_ALL": name, "LANG": name}
    if have("localedef"):
        made = folder / "de_DE.UTF-8"
        subprocess.run(["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8", str(made)], capture_output=True)
        if made.exists():
            return {**PLAIN, "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LOCPATH": str(folder)}
    return None


def have(name):
    return any((pathlib.Path(place) / name).exists() for place in os.environ["PATH"].split(":"))


def test_surroundings(tap, tilec, found, outputs, folder):
    german = other_locales(folder)
    if german is None:
        print("# there is no locale with a decimal comma, and no way to make one: only the names of locales are tried")
        german = {**PLAIN, "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"}
    elsewhere = folder / "another folder"
    elsewhere.mkdir()
    surroundings = {"again": {}, "under another locale": {"env": german},
                    "from another folder": {"cwd": elsewhere},
                    "with other variables": {"env": {**PLAIN, "TZ": "Asia/Tokyo", "HOME": "/nonexistent", "COLUMNS": "20"}}}
    for title, how in surroundings.items():
        tap.empty((f"{case.name} differs" for case in found
                   if case.run(tilec, folder, **how).stdout != outputs[case.name].stdout), f"the same bytes {title}")
    return german


def test_library(tap, program, folder, german):
    """The library in a process that has set the locale for itself; `program` compares its texts."""
    files = sorted(map(str, (ROOT / "examples").glob("*.tile")))
    done = subprocess.run([program, *files], capture_output=True, text=True, env=german, cwd=folder)
    comma = "this locale writes 1,5" in done.stdout or "LOCPATH" not in german
    if "this locale isn't here" in done.stdout:
        tap.skip("the library writes the same under another locale", "there is no locale with a decimal comma, and no way to make one")
        return
    tap.check(done.returncode == 0 and comma, "the library writes the same under another locale",
              [] if done.returncode == 0 and comma else done.stdout.splitlines())


# ------------------------------------------------------------------------------------------------ updating, comparing

def update(found, outputs):
    bad = [case for case in found if not good(outputs[case.name])]
    for case in bad:
        print(f"{case.name}:", *why(outputs[case.name]), sep="\n  ")
    if bad:
        sys.exit("nothing was written")
    for case in found:
        old = case.golden.read_bytes() if case.golden.exists() else None
        if old != outputs[case.name].stdout:
            case.golden.write_bytes(outputs[case.name].stdout)
            print(f"{'new' if old is None else 'changed'}: {case.golden.relative_to(ROOT)}")
    wanted = {case.golden for case in cases([])}
    for path in sorted((HERE / "cases").glob("*.c*")):
        if path not in wanted:
            print(f"no case makes {path.relative_to(ROOT)}: remove it")


def compare(tap, case, done):
    if not good(done):
        tap.check(False, case.name, why(done))
        return
    wanted = case.golden.read_text().splitlines() if case.golden.exists() else []
    change = difflib.unified_diff(wanted, done.stdout.decode().splitlines(), "expected", "emitted", lineterm="", n=1)
    same = case.golden.exists() and case.golden.read_bytes() == done.stdout
    tap.check(same, case.name, [] if same else list(change)[:40] or ["there is no golden text: --update writes it"])


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    tilec, names = str(pathlib.Path(words[0]).resolve()), [word for word in words[1:] if "/" not in word]
    programs = [word for word in words[1:] if "/" in word]
    found = cases(names)
    if not found:
        sys.exit("no such case")
    with tempfile.TemporaryDirectory(prefix="tilec-golden-") as name:
        folder = pathlib.Path(name)
        outputs = {case.name: case.run(tilec, folder) for case in found}
        if "--update" in sys.argv:
            return update(found, outputs)
        tap = Tap()
        for case in found:
            compare(tap, case, outputs[case.name])
        for case in found:
            tap.empty(missing_comments(case, outputs[case.name].stdout.decode()), f"{case.name}: a comment for every statement")
        german = test_surroundings(tap, tilec, found, outputs, folder)
        for program in programs:
            test_library(tap, str(pathlib.Path(program).resolve()), folder, german)
        for case in found:
            if case.kernel == "jagged_sum" and not case.options and case.config is None:
                lines = outputs[case.name].stdout.count(b"\n")
                tap.check(lines <= LONGEST_SUM, f"{case.name} has {lines} lines, at most {LONGEST_SUM}")
        texts = b"".join(outputs[case.name].stdout for case in found)
        tap.check(str(ROOT).encode() not in texts and name.encode() not in texts, "no text names a folder of this machine")
        tap.end()


if __name__ == "__main__":
    main()
