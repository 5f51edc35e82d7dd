#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strategies are recognized from what a program computes: variants of the examples get those of the examples.

    variants.py TILEC

Renamed, reordered and rewritten kernels (variants/variants.tile) have the same strategies as the example that they are
a variant of, take as many launches under each, and read their rows as often. And nothing in the compiler knows the
examples' names.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "house"))
from tap import Tap

VARIANTS = {"column_totals": "jagged_sum", "soft2": "jagged_softmax", "softmin": "jagged_softmax",
            "standardized": "jagged_layer_norm"}
STRATEGIES = [{}, {"strategy": "chunks", "chunk": 64}, {"strategy": "chunks", "chunk": 64, "lag": 16},
              {"strategy": "flat", "chunk": 64}]


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def strategies(tilec, file, kernel):
    """Which strategies apply, without names and lines."""
    done = run(tilec, "emit", file, "--kernel", kernel, "--explain-strategy")
    lines = done.stdout.splitlines()[1:] if done.returncode == 0 else [done.stderr]
    return [re.sub(r" \(line \d+\)", "", line) for line in lines]


def shape(tilec, file, kernel, strategy):
    """Launches, loops and loads of floats of the emitted text; or the code that the config is refused with."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        config.write_text(json.dumps({"format": 1, **strategy}))
        done = run(tilec, "emit", file, "--kernel", kernel, "--dim", "M=64", "--dim", "width=64", "--config", config)
    if done.returncode:
        return re.findall(r"\[([a-z.-]+)\]", done.stderr)
    return [len(re.findall(pattern, done.stdout)) for pattern in (r"__global__", r"tile_load(?:_once)?_f32x4\(v", r"\bwhile\b")]


def known_names(root):
    """Places in the compiler where an example is named."""
    names = [path.stem for path in (root / "examples").glob("*.tile")]
    for folder in ("ir", "lowering", "codegen"):
        for file in sorted((root / folder).rglob("*.[ch]")):
            text = file.read_text(encoding="utf-8")
            yield from (f"{file.relative_to(root)}: {name}" for name in names if name in text)


def main(tilec):
    tap = Tap()
    file = HERE / "variants" / "variants.tile"
    for variant, example in VARIANTS.items():
        original = ROOT / "examples" / f"{example}.tile"
        mine, other = strategies(tilec, file, variant), strategies(tilec, original, example)
        tap.empty([] if mine == other else [f"{variant}: {mine}", f"{example}: {other}"],
                  f"{variant} has the strategies of {example}")
        wrong = []
        for strategy in STRATEGIES:
            mine, other = shape(tilec, file, variant, strategy), shape(tilec, original, example, strategy)
            if mine != other:
                wrong.append(f"{strategy}: launches, loads, waits {mine}, not {other}")
        tap.empty(wrong, f"{variant} is split as {example} is")
    applying = [line.split()[0] for line in strategies(tilec, file, "lengths") if line.endswith(" applies")]
    tap.check(applying == ["rows"], "a load that nothing uses lets no strategy apply")
    tap.empty(known_names(ROOT), "the compiler knows no example by its name")
    tap.end()


main(sys.argv[1])
