#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/embed as a project of its own: it is set up and built beside the source tree, and its program is asked which
config shapes get; on a device it launches them too, among them shapes for every config.

    example.py TILEC SOURCE-ROOT [cuda]
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

tilec, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
on_device = sys.argv[3:] == ["cuda"]
ARCH = "sm_90a"
HEURISTIC = root / "examples/jagged_sum.jagged_sum.aot_cuda_sm90.json"


def call(folder, *command, text=""):
    environment = {**os.environ, "TILEC_CACHE_DIR": str(folder / "cache")}
    environment.pop("TILEC_HEURISTIC_DIR", None)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, input=text, cwd=folder, env=environment)
    return done.stdout, done.stdout + done.stderr, done.returncode


def copy_of_examples(folder):
    """Of what the project is made from. Without a device it is the choice that matters, not what is chosen: with one
    config in all places there is little to compile."""
    copy = folder / "examples"
    shutil.copytree(root / "examples/embed", copy / "embed")
    shutil.copy(root / "examples/jagged_sum.tile", copy)
    if HEURISTIC.exists():
        made = json.loads(HEURISTIC.read_text())
        if not on_device:
            made["configs"] = len(made["configs"]) * made["configs"][:1]
        (copy / HEURISTIC.name).write_text(json.dumps(made))
    return copy


def build(folder):
    """The program, by meson; or by hand, with the same commands, where a device's machine has none."""
    examples = copy_of_examples(folder)
    project = examples / "embed"
    if shutil.which("meson"):
        steps = [["meson", "setup", folder / "build", project, f"-Dtilec={tilec}", f"-Darch={ARCH}"], ["ninja", "-C", folder / "build"]]
    else:
        source = folder / "build/jagged_sum.c"
        flags = ["-Wall", "-Wextra", "-Werror", "-O2", f"-I{source.parent}"]
        steps = [[tilec, "bundle", examples / "jagged_sum.tile", "--kernel", "jagged_sum", "--arch", ARCH, "-o", source.parent],
                 ["cc", "-std=c99", *flags, "-c", source, "-o", folder / "jagged_sum.o"],
                 ["cc", *flags, project / "bundled.c", folder / "jagged_sum.o", "-o", source.parent / "bundled", "-ldl", "-lpthread"]]
    for step in steps:
        _, said, code = call(folder, *step)
        if code:
            return None, said.splitlines()[-30:]
    return folder / "build/bundled", []


def shapes(seed, count):
    """(rows, columns, shortest, longest) of at most some million numbers, small ones and large ones alike."""
    drawn = random.Random(seed)
    made = [(0, 4, 0, 0), (5, 0, 1, 3), (7, 3, 0, 0), (1, 1, 100000, 100000), (1 << 20, 1, 1, 1), (3, 1024, 1, 1000)]
    while len(made) < count:
        rows, columns, longest = (1 << drawn.randrange(most) for most in (21, 11, 17))
        shape = rows + drawn.randrange(rows), columns + drawn.randrange(columns), longest // (1 << drawn.randrange(4)), longest
        if shape[0] * shape[1] * (shape[2] + shape[3]) / 2 < 4e6:
            made.append(shape)
    return made


def choice(tree, words):
    """What the heuristic file says: the same question, asked by other code."""
    values = {"B": int(words["rows"]), "M": int(words["columns"]), "nnz": int(words["total"])}
    longest = int(words["longest"]) or float("inf")
    while "if" in tree:
        mean = values["nnz"] / values["B"] if values["B"] else 0
        asked = {"longest": longest, "bytes(T)": 4, "bytes(I)": 8, "nnz / B": mean, "nnz * M": values["nnz"] * values["M"],
                 "B * M": values["B"] * values["M"], "longest / (nnz / B)": longest / mean if mean else 0 if longest < float("inf") else longest}
        value = {**values, **asked}[tree["if"]]
        tree = tree["then"] if value < tree["below"] else tree["else"]
    return tree["config"]


def test_choice(tap, program, folder):
    tree = json.loads(HEURISTIC.read_text())["choose"] if HEURISTIC.exists() else {"config": 0}
    lines = [" ".join(map(str, shape)) for shape in shapes(1, 300)]
    said, _, code = call(folder, program, "--choose", text="\n".join(lines))
    wrong, seen = [], set()
    for line in said.splitlines():
        shape, _, config = line.partition(": config ")
        words = shape.split()
        seen.add(int(config))
        if choice(tree, dict(zip(words[::2], words[1::2]))) != int(config):
            wrong.append(line)
    tap.check(code == 0 and said.count("\n") == len(lines) and not wrong, f"it chooses as the heuristic file says, {len(seen)} configs in turn", wrong)


def told(shape):
    """What the program says of a shape, but for what it draws: the rows' total is about this."""
    rows, columns, shortest, longest = shape
    return {"rows": rows, "columns": columns, "total": rows * (shortest + longest) // 2, "longest": longest}


def shapes_for_all(tree, seed, draws=40000, each=3):
    """For every config that some drawn shape gets, a few of those. Rows are as long as each other within a
    factor, so what a file has for skewed ones isn't reached."""
    found = {}
    for shape in shapes(seed, draws):
        if shape[0] and shape[1] and shape[3]:
            found.setdefault(choice(tree, told(shape)), []).append(shape)
    size = lambda shape: shape[0] * shape[1] * shape[3]
    return {config: sorted(of, key=size)[len(of) // 2 :][:each] for config, of in found.items()}


def test_launch(tap, program, folder):
    tree = json.loads(HEURISTIC.read_text())["choose"] if HEURISTIC.exists() else {"config": 0}
    wanted = shapes_for_all(tree, 3)
    lines = [" ".join(map(str, shape)) for shape in [*shapes(2, 100), *(shape for of in wanted.values() for shape in of)]]
    _, said, code = call(folder, program, text="\n".join(lines))
    wrong = [line for line in said.splitlines() if not line.endswith(": right")]
    configs = {line.split(": config ")[1].split(":")[0] for line in said.splitlines() if ": config " in line}
    print(f"# {len(lines)} shapes, configs {', '.join(sorted(configs, key=int))}")
    tap.check(code == 0 and said.count(": right") == len(lines) and not wrong, "every launch gives the sums of the host", wrong[:20])
    missed = sorted({str(config) for config in wanted} - configs, key=int)
    tap.check(not missed, "the shapes reach every config that rows of about one length get", [f"not reached: {missed}"])


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="tilec-test-") as name:
        folder = pathlib.Path(name)
        probe = call(folder, tilec, "compile", root / "examples/jagged_sum.tile", "--kernel", "jagged_sum", "-o", folder / "probe.cubin")
        if probe[2] == 3 and not on_device:
            print("1..0 # SKIP NVRTC isn't here")
            return
        program, complaints = build(folder)
        tap.check(program, "the project is set up and built", complaints)
        if program:
            test_choice(tap, program, folder)
            if on_device:
                test_launch(tap, program, folder)
            else:
                _, said, code = call(folder, program, text="3 4 1 5\n")
                tap.check(code == 3 and "no CUDA driver" in said, "without a device it says so", [said])
        tap.end()


main()
