#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Running, timing and tuning on a GPU as users see them: every example is right, a search has its results in order, a
known answer costs nothing, and skewed rows get another config than even ones. Fails without a device.

    gpu_program_test.py TILEC WORKER SOURCE-ROOT [DEVICE]

Nothing depends on how fast anything is; times are printed as comments.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

tilec, worker, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
device = sys.argv[4] if len(sys.argv) > 4 else "cuda"
folder = tempfile.TemporaryDirectory(prefix="tilec-gpu-")
environment = dict(os.environ, TILEC_CACHE_DIR=folder.name + "/cache", TILEC_WORKER=str(worker))
for name in ("SKIP_CACHE", "FORCE_AUTOTUNE", "ASSERT_CACHE_HIT", "AUTOTUNE_EFFORT", "AUTOTUNE_BUDGET_SECONDS"):
    environment.pop("TILEC_" + name, None)

EVEN, SKEWED = "offsets(uniform(1, 200))", "offsets(zipf(60000, 50000))"
MATRIX = ["x=randn", "B=500", "M=96", "nnz=total(offsets)"]
HEADS = ["q=randn", "k=randn", "v=randn", "scale=0.25", "B=40", "H=2", "D=32", "E=32", "N=total(offsets)"]
EXAMPLES = {  # arguments and dimensions beside the offsets
    ("jagged_sum", "jagged_sum"): MATRIX,
    ("jagged_sum", "jagged_sum_1d"): ["x=randn", "B=500", "nnz=total(offsets)"],
    ("jagged_mean", "jagged_mean"): [*MATRIX, "features=randint(0, 97)"],
    ("jagged_softmax", "jagged_softmax"): MATRIX,
    ("jagged_layer_norm", "jagged_layer_norm"): MATRIX,
    ("jagged_dense_add", "jagged_dense_add"): ["x=randn", "y=randn", "B=500", "N=256", "nnz=total(offsets)"],
    ("jagged_dense_bmm", "jagged_dense_bmm"): ["jagged=randn", "dense=randn", "bias=randn", "B=50", "D=64", "K=48", "L=total(offsets)"],
    ("jagged_hstu_attention", "jagged_hstu_attention"): [*HEADS, "alpha=0.5"],
    ("jagged_attention", "jagged_attention"): HEADS,
}
STATUSES = {"ok", "skipped: lowering", "skipped: limits", "skipped: compile-timeout", "skipped: budget"}


def call(command, *words):
    begin = time.perf_counter()
    done = subprocess.run([str(tilec), command, *words, "--device", device], capture_output=True, text=True, env=environment, cwd=folder.name)
    done.seconds = time.perf_counter() - begin
    return done


def note(text):
    print("# " + text, flush=True)


def words_for(file, kernel, values, rows):
    words = [str(root / "examples" / (file + ".tile")), "--kernel", kernel, "--arg", f"offsets={rows}"]
    for value in values:
        words += ["--dim" if value.split("=")[0].isupper() or value.startswith("nnz") else "--arg", value]
    return words


def test_examples(tap):
    names = {path.stem for path in (root / "examples").glob("jagged_*.tile")}
    tap.check(names == {file for file, _ in EXAMPLES}, "every example is here", [str(names)])
    for (file, kernel), values in EXAMPLES.items():
        for what, rows in (("even", EVEN), ("skewed", SKEWED)):
            if what == "skewed" and "B=500" not in values:
                rows = "offsets(zipf(5000, 1500))"
            done = call("run", *words_for(file, kernel, values, rows), "--check")
            tap.check(done.returncode == 0, f"{kernel} is right on {what} rows", done.stderr.splitlines())


def example(rows):
    return [str(root / "examples/jagged_sum.tile"), "--kernel", "jagged_sum", "--dim", "B=500", "--dim", "M=64", "--dim", "nnz=total(offsets)",
            "--arg", "x=randn", "--arg", f"offsets={rows}"]


def test_tune(tap):
    done = call("tune", *example(EVEN), "--count", "24", "--results", "rows.json", "--json")
    answer = json.loads(done.stdout or "{}")
    rows = json.loads(pathlib.Path(folder.name, "rows.json").read_text()) if done.returncode == 0 else []
    tap.check(done.returncode == 0 and len(rows) == 24, "a search has a row for each config", [done.stderr])
    tap.check(all(row["status"] in STATUSES for row in rows), "none is wrong, and none falls over",
              [f"{row['row']} {row['status']}: {row['reason']}" for row in rows if row["status"] not in STATUSES])
    tap.check(device == "cpu" or all(row["registers"] for row in rows if row["status"] == "ok"), "registers are known", [])
    again = call("tune", *example(EVEN), "--count", "24", "--json")
    known = json.loads(again.stdout or "{}")
    tap.check(known.get("cached") and (known["filled"], known["compiled"]) == (1, 0), "a second one makes the offsets and compiles nothing",
              [again.stdout, again.stderr])
    tap.check(known.get("config") == answer.get("config"), "and has the same answer", [])
    begin = time.perf_counter()
    subprocess.run([str(tilec), "doctor"], capture_output=True, env=environment, check=False)
    note(f"the search took {done.seconds:.2f} s, the second one {1000 * again.seconds:.0f} ms; "
         f"`tilec doctor`, which starts CUDA too, {1000 * (time.perf_counter() - begin):.0f} ms")


def origin(done):
    return json.loads(done.stdout)["config"]["from"] if done.returncode == 0 else done.stderr


def strategy(done):
    return json.loads(done.stdout)["results"][0]["config"]["strategy"] if done.returncode == 0 else done.stderr


def test_skew(tap):
    """Behind test_tune, which left a config for even rows."""
    tap.check(origin(call("run", *example(EVEN), "--json")) == "cache", "even rows take what was tuned on them")
    again = json.loads(call("run", *example(EVEN), "--json").stdout or "{}")
    tap.check(again.get("compiled") == 0, "and a second run compiles nothing", [str(again)])
    tap.check(origin(call("run", *example(SKEWED), "--json")) == "default", "skewed rows don't")
    plain = "rows"
    tap.check(strategy(call("bench", *example(EVEN), "--runs", "3", "--skip-cache", "--json")) == plain, "the default has whole rows for even ones")
    if device != "cpu":
        tap.check(strategy(call("bench", *example(SKEWED), "--runs", "3", "--json")) != plain, "and cuts skewed ones into pieces")
        missed = call("run", *example(SKEWED), "--assert-cache-hit")
        tap.check(missed.returncode == 4 and "shape:" in missed.stderr, "a miss says that the shape differs", [missed.stderr])


def test_bench(tap):
    done = call("bench", *example(EVEN), "--vs", "default", "--runs", "5", "--json", "--check", "--seed", "7")
    answer = json.loads(done.stdout or "{}")
    wanted = {"device", "driver", "toolkit", "clock_mhz", "memory_clock_mhz", "seed", "copy_gb_per_s", "read_gb_per_s", "write_gb_per_s",
              "floor_ms", "dims", "types", "check"}
    tap.check(wanted <= set(answer), "bench says on what it ran", [str(wanted - set(answer)), done.stderr])
    results = answer.get("results", [])
    tap.check(len(results) == 2 and all(0 < r["p10_ms"] <= r["median_ms"] <= r["p90_ms"] for r in results), "both configs have times", [str(results)])
    tap.check(answer.get("seed") == 7 and answer.get("check") is True, "and the outputs are right", [])
    note(f"{answer.get('device')}, driver {answer.get('driver')}, {answer.get('toolkit')}")


def test_limits(tap):
    """What the device hasn't room for is refused by number, before it is compiled."""
    crowded = {"tk": {"block": 4096, "lanes": 1, "warps": 32}, "tm": {"block": 64, "vector": 1, "lanes": 32, "warps": 2}}
    entries = [{"format": 1, "axes": crowded}, {"format": 1}]
    pathlib.Path(folder.name, "list.json").write_text(json.dumps(entries))
    done = call("tune", *example(EVEN), "--configs", "list.json", "--results", "rows.json")
    rows = json.loads(pathlib.Path(folder.name, "rows.json").read_text())
    tap.check(rows[1]["status"] == "ok", "the default is ok beside what is refused", [done.stdout, done.stderr])
    tap.check(rows[0]["status"] in ("skipped: limits", "skipped: config"), "too many threads are refused", [str(rows[0])])


def main():
    tap = Tap()
    for test in (test_examples, test_tune, test_skew, test_bench, test_limits):
        test(tap)
    tap.end()


main()
