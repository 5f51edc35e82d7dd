#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program after a pass: a case is NAME.tile, its neighbours NAME.PASS.ir say what each pass named in it must give.

    lowering.py TILEC [--update] [NAME…]

A case says how in comments, a key a line:

    // pass: lower_masks opt_late     the passes to look behind; "checked" is the program before all of them
    // options: --dim M=64            words of `tilec emit`
    // config: {"peel": false}        what differs from the default
    // refused: lowering.grid         instead of passes: the code; the message is in NAME.err

--update takes the expected files from the program, but only if every run ended as it should. Besides: every pass and
every operation occurs in some expected file, and a program gives right results with each optional pass left out.
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
REFUSED = 4  # how `tilec emit` ends then


class Case:
    """One expected file: a program with what to run and where its text is."""

    def __init__(self, path, keys, target):
        self.name = f"{path.stem}.{target}" if target else path.stem
        self.source, self.options = path, keys.get("options", "").split()
        self.config, self.refused = keys.get("config"), keys.get("refused")
        self.words = ["--ir", target] if target else []
        self.expected = HERE / (f"{path.stem}.{target}.ir" if target else f"{path.stem}.err")

    def run(self, tilec, folder):
        words = [tilec, "emit", self.source.name, *self.options, *self.words]
        if self.config is not None:
            config = folder / f"{self.source.stem}.json"
            config.write_text(json.dumps({"format": 1, **json.loads(self.config)}))
            words += ["--config", str(config)]
        return subprocess.run(words, capture_output=True, text=True, cwd=HERE, env=PLAIN, timeout=60)

    def good(self, done):
        if self.refused:
            return done.returncode == REFUSED and not done.stdout and f"[{self.refused}]" in done.stderr
        return done.returncode == 0 and not done.stderr and done.stdout.endswith("\n")

    def text(self, done):
        return done.stderr if self.refused else done.stdout


def keys_of(path):
    return dict(re.findall(r"^// (pass|options|config|refused): (.*)$", path.read_text(), re.MULTILINE))


def cases(names):
    for path in sorted(HERE.glob("*.tile")):
        keys = keys_of(path)
        if ("pass" in keys) == ("refused" in keys):
            raise SystemExit(f"{path.name}: says neither pass nor refused, or both")
        if not names or path.stem in names:
            yield from [Case(path, keys, target) for target in keys.get("pass", "").split()] or [Case(path, keys, None)]


def why(done):
    return [f"ended with {done.returncode}", *done.stderr.splitlines()[:10]]


# ------------------------------------------------------------------------------------------------ what must occur

def listed(tilec, what):
    done = subprocess.run([tilec, "emit", what], capture_output=True, text=True, env=PLAIN, check=True)
    return [line.split()[0] for line in done.stdout.splitlines()]


def test_coverage(tap, tilec):
    passes, ops = listed(tilec, "--list-passes"), listed(tilec, "--list-ops")[1:]
    seen = {path.name.split(".")[1] for path in HERE.glob("*.ir")}
    tap.empty((f"no expected file is named after {name}" for name in sorted(set(passes) - seen)), "every pass is looked behind")
    tap.empty((f"there is no pass {name}" for name in sorted(seen - set(passes) - {"checked"})), "every pass looked behind exists")
    lines = "\n".join(path.read_text() for path in HERE.glob("*.ir"))
    code = re.sub(r"//.*", "", lines)
    found = set(re.findall(r"^\s*(?:%[^=\n]* = )?([a-z0-9]+)\b", code, re.MULTILINE))
    tap.empty((f"{name} occurs in no expected file" for name in ops if name not in found), "every operation occurs")
    tap.check(len(passes) > 5 and len(ops) > 50, "passes and operations were listed")


# ------------------------------------------------------------------------------------------------ passes left out

ARGUMENTS = ["--dim", "B=40", "--dim", "M=20", "--arg", "x=randn", "--arg", "offsets=offsets(uniform(0, 50))", "--check"]
SKIPPED = {"jagged_sum": ["--kernel", "jagged_sum"], "jagged_softmax": []}


def emit_without(tilec, name, kernel, skipped, folder):
    words = [tilec, "emit", str(ROOT / "examples" / f"{name}.tile"), "--target", "cpu", *kernel, "--dim", "M=20", "-o", f"{folder}/{name}.c"]
    return subprocess.run(words + [word for one in skipped for word in ("--skip-pass", one)], capture_output=True, text=True,
                          env=PLAIN)


def run_source(tilec, name, kernel, folder):
    words = [tilec, "run", str(ROOT / "examples" / f"{name}.tile"), *kernel, *ARGUMENTS, "--source", f"{folder}/{name}.c"]
    env = {**PLAIN, "TILEC_CACHE_DIR": f"{folder}/cache", **{k: os.environ[k] for k in ("CC", "TMPDIR") if k in os.environ}}
    return subprocess.run(words, capture_output=True, text=True, env=env)


def test_skipping(tap, tilec, folder):
    """C emitted with an optional pass left out, or all of them, is run against the evaluator."""
    optional = sorted({name for name in listed(tilec, "--list-passes") if name.startswith("opt_")})
    for name, kernel in SKIPPED.items():
        for skipped in [[one] for one in optional] + [optional]:
            done = emit_without(tilec, name, kernel, skipped, folder)
            if done.returncode == 0:
                done = run_source(tilec, name, kernel, folder)
            title = f"{name} without {skipped[0] if len(skipped) == 1 else 'any optional pass'}"
            if done.returncode == 3:
                print(f"ok {tap.count + 1} - {title} # SKIP no C compiler")
                tap.count += 1
            else:
                agrees = done.returncode == 0 and "agrees" in done.stdout
                tap.check(agrees, title, [] if agrees else why(done) + done.stdout.splitlines()[-3:])
    one = emit_without(tilec, "jagged_sum", ["--kernel", "jagged_sum"], ["lower_masks"], folder)
    tap.check(one.returncode != 0, "a pass that isn't optional can't be left out")


# ------------------------------------------------------------------------------------------------ updating, comparing

def update(found, outputs):
    bad = [case for case in found if not case.good(outputs[case.name])]
    for case in bad:
        print(f"{case.name}:", *why(outputs[case.name]), sep="\n  ")
    if bad:
        sys.exit("nothing was written")
    for case in found:
        text = case.text(outputs[case.name])
        if not case.expected.exists() or case.expected.read_text() != text:
            print(f"{'changed' if case.expected.exists() else 'new'}: {case.expected.relative_to(ROOT)}")
            case.expected.write_text(text)


def compare(tap, case, done):
    if not case.good(done):
        tap.check(False, case.name, why(done))
        return
    wanted = case.expected.read_text() if case.expected.exists() else ""
    change = difflib.unified_diff(wanted.splitlines(), case.text(done).splitlines(), "expected", "given", lineterm="", n=1)
    same = case.text(done) == wanted
    tap.check(same, case.name, [] if same else list(change)[:40])


def test_leftovers(tap):
    wanted = {case.expected for case in cases([])}
    tap.empty((f"{path.name} belongs to no case" for path in sorted([*HERE.glob("*.ir"), *HERE.glob("*.err")])
               if path not in wanted), "every expected file has its case")


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    tilec, names = str(pathlib.Path(words[0]).resolve()), words[1:]
    found = list(cases(names))
    if not found:
        sys.exit("no such case")
    with tempfile.TemporaryDirectory(prefix="tilec-lowering-") as name:
        folder = pathlib.Path(name)
        outputs = {case.name: case.run(tilec, folder) for case in found}
        if "--update" in sys.argv:
            return update(found, outputs)
        tap = Tap()
        for case in found:
            compare(tap, case, outputs[case.name])
        if not names:
            test_leftovers(tap)
            test_coverage(tap, tilec)
            test_skipping(tap, tilec, folder)
        tap.end()


if __name__ == "__main__":
    main()
