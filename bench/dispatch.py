#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What choosing a config through a heuristic file costs: for a file with as many answers as one may have, all questions
in a row, and for the files beside the examples.

    dispatch.py TILEC BENCH-PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
SUM = EXAMPLES / "jagged_sum.tile"
ANSWERS = 15


def longest_walk(program, config):
    """A question behind each other question: most shapes are asked many."""
    features = ["nnz / B", "M", "nnz", "longest", "B"]
    tree = {"config": 0}
    for i in range(ANSWERS - 1):
        tree = {"if": features[i % 5], "below": (1 << i % 5) + 0.5, "then": {"config": i % 2}, "else": tree}
    return {"format": 1, "kernel": "jagged_sum", "target": "sm_90", "programs": {"T=f32 I=i64": program},
            "configs": [config, {**config, "peel": not config["peel"]}], "choose": tree}


def main(tilec, bench):
    def ask(*words):
        return json.loads(subprocess.run([tilec, *words, SUM, "--kernel", "jagged_sum"], check=True, text=True, stdout=subprocess.PIPE).stdout)

    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        made = longest_walk(ask("doctor", "--json")[0]["program"], ask("config", "default"))
        (pathlib.Path(folder) / "jagged_sum.jagged_sum.aot_cuda_sm90.json").write_text(json.dumps(made))
        failed |= subprocess.run([bench, SUM, "jagged_sum", folder, "sm_90"], check=False).returncode
    for file in sorted(EXAMPLES.glob("*.aot_cuda_sm*.json")):
        stem, kernel, target = file.name.removesuffix(".json").split(".")
        words = [EXAMPLES / f"{stem}.tile", kernel, EXAMPLES, target.replace("aot_cuda_sm", "sm_")]
        failed |= subprocess.run([bench, *words], check=False).returncode
    sys.exit(failed)


main(*sys.argv[1:3])
