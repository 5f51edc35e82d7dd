#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The best known configs of the examples at the sizes where memory is the limit, and how close searches come to them.

    best.py TILEC [--device cuda] [--only WORD]… [--seconds N] [--configs N] [--efforts quick,full] [--work FOLDER] [--best FOLDER]
                  [--throughput] [--again]

For each kernel and each kind of rows it times random configs (--configs, 2000) and the product of the knobs that matter
most, in an order drawn once, for at most --seconds (60; 0: not at all) of search; then it searches with each of --efforts.
Everything that was timed is in journals under --work, so another run goes on where this one ended. What is best goes to
--best (bench/best/KERNEL.DATA.json, with how many configs that is the best of, in all runs together) unless something faster is there from the
same device. --only: cases whose "KERNEL DATA" holds this. --throughput: how many configs a second are lowered, and compiled
and timed. --again: how long a second tune takes, whose answer is known, and CUDA's own start. The searches are compared
with random draws at equal numbers of compiles: the median of the best of so many draws; and with the default config.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
MATRIX = ["x=randn", "B=1024", "M=256"]
ROWS = {"uniform": "uniform(1,2047)", "zipf": "zipf(1048576,131072)"}
CASES = [(kernel, f"{kernel}.tile", data, rows, values)
         for kernel, values in (("jagged_sum", MATRIX), ("jagged_mean", [*MATRIX, "features=randint(1,257)"]), ("jagged_softmax", MATRIX),
                                ("jagged_layer_norm", MATRIX))
         for data, rows in ROWS.items()] + [
    ("jagged_dense_add", "jagged_dense_add.tile", "uniform", "uniform(1,8192)", ["x=randn", "y=randn", "B=16384", "N=8192"]),
    ("jagged_dense_add", "jagged_dense_add.tile", "zipf", "zipf(16777216,8192)", ["x=randn", "y=randn", "B=16384", "N=8192"]),
    ("jagged_sum_1d", "jagged_sum.tile", "uniform", "uniform(1,511)", ["x=randn", "B=1048576"]),
    ("jagged_sum_1d", "jagged_sum.tile", "zipf", "zipf(268435456,1048576)", ["x=randn", "B=1048576"]),
]
UNTRIED = ("skipped: budget", "skipped: interrupted")
UNCOMPILED = (*UNTRIED, "skipped: config", "skipped: lowering", "skipped: limits")


class Case:
    def __init__(self, options, kernel, file, data, rows, values):
        self.options, self.kernel, self.data = options, kernel, data
        self.name = f"{kernel}.{data}"
        self.specialization = [str(EXAMPLES / file), "--kernel", kernel]
        self.inner = [value for value in values if value[0] in "MN"]
        self.arguments = [f"offsets=offsets({rows})", *(value for value in values if value[0].islower())]
        self.dims = [value for value in values if value[0].isupper()] + ["nnz=total(offsets)"]

    def words(self):
        words = list(self.specialization)
        for value in self.arguments:
            words += ["--arg", value]
        for value in self.dims:
            words += ["--dim", value]
        return [*words, "--device", self.options.device, "--colour", "never"]

    def best_path(self):
        return pathlib.Path(self.options.best) / f"{self.name}.json"

    def config(self, *words):
        """Configs as `tilec config` gives them."""
        dims = [word for value in self.inner for word in ("--dim", value)]
        return json.loads(tilec(self.options, "config", words[0], *self.specialization, *dims, *words[1:]).stdout)


def tilec(options, *words, fail=True):
    done = subprocess.run([options.tilec, *words], capture_output=True, text=True, env={**os.environ, "TILEC_AUTOTUNE_EFFORT": ""})
    if fail and done.returncode:
        sys.exit(f"tilec {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done


# ------------------------------------------------------------------------------------------------ what is tried

def choices(space, path):
    return next((knob["choices"] for knob in space["knobs"] if knob["path"] == path), [])


def product(case):
    """The default config under every strategy and piece, with other shares of its row loop for warps and registers."""
    space, base = case.config("space"), case.config("default")
    pieces = choices(space, "chunk")
    strategies = [(strategy, piece) for strategy in choices(space, "strategy") for piece in (pieces if strategy != "rows" else [0])]
    axis = max(base["axes"], key=lambda name: base["axes"][name]["warps"])
    made = []
    for (strategy, piece), warps, registers, blocks in itertools.product(strategies, (4, 8, 16, 32), (2, 4, 8, 16), (0, 2)):
        config = json.loads(json.dumps(base))
        share = config["axes"][axis]
        share["warps"], share["block"] = warps, share["vector"] * share["lanes"] * warps * registers
        config["strategy"], config["min_blocks"] = strategy, blocks
        config.pop("chunk", None)
        if piece:
            config["chunk"] = piece
        made.append(config)
    return made


def candidates(case):
    """(kind, config) in an order that depends on the case alone: what is reached in time is a fair sample. A run that goes
    on where another ended has its list."""
    kept = pathlib.Path(case.options.work) / f"{case.name}.candidates"
    if not kept.exists():
        kept.write_text(json.dumps(draw_candidates(case)))
    return json.loads(kept.read_text())


def draw_candidates(case):
    seed = int(hashlib.sha256(case.name.encode()).hexdigest()[:12], 16)
    listed = [("random", config) for config in case.config("random", "--seed", str(seed), "--count", str(case.options.configs))]
    listed += [("product", config) for config in product(case)]
    random.Random(seed).shuffle(listed)
    path = case.best_path()
    return ([("best", json.loads(path.read_text())["config"])] if path.exists() else []) + listed


# ------------------------------------------------------------------------------------------------ trying

def try_all(case):
    """Rows of everything listed, as far as the journal and the time go; each with its kind."""
    if case.options.seconds <= 0:
        return [], 0, 0
    work = pathlib.Path(case.options.work)
    listed = candidates(case)
    paths = {what: work / f"{case.name}.{what}" for what in ("list", "journal", "rows")}
    paths["list"].write_text(json.dumps([config for _, config in listed]))
    done = tilec(case.options, "tune", *case.words(), "--configs", str(paths["list"]), "--journal", str(paths["journal"]), "--results", str(paths["rows"]),
                 "--budget", str(case.options.seconds), "--run-limit", "3", "--skip-cache", "--json", fail=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{case.name}: {done.stderr}")
    rows = json.loads(paths["rows"].read_text())
    answer = json.loads(done.stdout or "{}")
    return [dict(row, kind=kind) for row, (kind, _) in zip(rows, listed)], answer.get("compiled", 0), answer.get("seconds", 0)


def search(case, effort):
    """The rows of a search, and what it says of itself."""
    path = pathlib.Path(case.options.work) / f"{case.name}.{effort}.rows"
    done = tilec(case.options, "tune", *case.words(), "--effort", effort, "--force-autotune", "--json", "--results", str(path), fail=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{case.name}: {done.stderr}")
    return json.loads(path.read_text()), json.loads(done.stdout)


START_OF_CUDA = """
import ctypes, time
begin = time.perf_counter()
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
print(time.perf_counter() - begin)
"""


def again(case, effort):
    """What a second tune takes, and what CUDA's start is of that, in turns, in milliseconds: the medians."""
    tunes, starts = [], []
    for _ in range(7):
        begin = time.perf_counter()
        answer = json.loads(tilec(case.options, "tune", *case.words(), "--effort", effort, "--json").stdout)
        tunes.append(1e3 * (time.perf_counter() - begin))
        if not answer["cached"] or answer["compiled"]:
            return "a second tune isn't answered by the cache"
        began = subprocess.run([sys.executable, "-c", START_OF_CUDA], capture_output=True, text=True)
        starts.append(1e3 * float(began.stdout or "nan"))
    return f"a second tune takes {statistics.median(tunes):.0f} ms, of which CUDA's start is {statistics.median(starts):.0f}"


# ------------------------------------------------------------------------------------------------ what it came to

def best_of(rows):
    good = [row for row in rows if row["status"] == "ok"]
    return min(good, key=lambda row: row["median_ms"]) if good else None


def best_of_draws(times, count):
    """The median of the best of `count` draws without repetition, of which those that failed are infinite."""
    times, left, missed = sorted(times), len(times), 1.0
    for place, each in enumerate(times):
        if left - place <= 0 or count >= left - place:
            return each
        missed *= 1 - count / (left - place)
        if missed <= 0.5:
            return each
    return math.inf


def compiled_times(rows):
    return [row["median_ms"] if row["status"] == "ok" else math.inf for row in rows if row["status"] not in UNCOMPILED]


def about_device(options):
    if options.device == "cpu":
        return {"device": "cpu"}
    lines = tilec(options, "doctor", fail=False).stdout
    return {"device": next((line.split(None, 1)[1].removeprefix("ok").strip() for line in lines.splitlines() if "sm_" in line and "cuda:" in line),
                           "unknown")}


def keep_best(case, found, tried, about):
    path = case.best_path()
    known = json.loads(path.read_text()) if path.exists() else None
    if known and known["device"] == about["device"]:
        tried += known["configs_tried"]
        if known["milliseconds"] <= found["median_ms"]:
            return write_best(path, {**known, "configs_tried": tried})
    known = {"kernel": case.kernel, "data": case.data, "arguments": case.arguments, "dims": case.dims, **about,
             "milliseconds": found["median_ms"], "spread": found["spread_ms"], "configs_tried": tried, "kind": found.get("kind", "search"),
             "config": found["config"]}
    return write_best(path, known)


def write_best(path, known):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{" + ",\n ".join(f'"{name}": {json.dumps(value)}' for name, value in known.items()) + "}\n")
    return known


def report(case, about, ratios):
    rows, compiled, seconds = try_all(case)
    tried = [row for row in rows if row["status"] not in UNTRIED]
    searches = {effort: search(case, effort) for effort in filter(None, case.options.efforts.split(","))}
    everything = tried + [row for found, _ in searches.values() for row in found if row["status"] not in UNTRIED]
    found = best_of(everything)
    if not found:
        print(f"{case.name:26} nothing is ok of {len(tried)}", flush=True)
        return
    # Rows that a journal had were counted when they were tried.
    best = keep_best(case, found, min(compiled, len(tried)) + len(everything) - len(tried), about)
    line = f"{case.name:26} best {best['milliseconds']:.4f} ms of {best['configs_tried']} ({best['kind']})"
    if rows:
        line += f"; here {len(tried)} of {len(rows)} listed, {compiled / max(seconds, 1e-9):.1f} compiled and timed a second"
    draws = compiled_times([row for row in tried if row["kind"] == "random"])
    for effort, (result, answer) in searches.items():
        top, count = best_of(result), len(compiled_times(result))
        if not top:
            continue
        line += f"; {effort} {top['median_ms']:.4f} ({top['median_ms'] / best['milliseconds']:.3f}) of {len(result)}, row {top['row']}; " \
                f"{len(result) / answer['seconds']:.1f} a second, the device at work {answer['device_seconds']:.1f} of {answer['seconds']:.1f} s, " \
                f"from {answer['reference_seconds']:.1f} s on, {answer['prepare_seconds']:.1f} s before"
        if result[0]["status"] == "ok":
            line += f"; default {result[0]['median_ms']:.4f} ({result[0]['median_ms'] / top['median_ms']:.2f} times)"
        if draws:
            chance = best_of_draws(draws, count)
            ratios.append(chance / top["median_ms"])
            line += f", chance {chance:.4f} of {min(count, len(draws))}"
    if searches and case.options.again:
        line += "; " + again(case, next(iter(searches)))
    print(line, flush=True)


def throughput(options):
    """Lowering and emitting by themselves, a process for each config."""
    case = Case(options, *CASES[0])
    folder = pathlib.Path(options.work) / "configs"
    folder.mkdir(exist_ok=True)
    paths = []
    for number, config in enumerate(case.config("random", "--seed", "1", "--count", "600")):
        paths.append(folder / f"{number}.json")
        paths[-1].write_text(json.dumps(config))
    words = ["emit", *case.specialization, "--dim", "M=256", "--config"]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        ends = list(pool.map(lambda path: tilec(options, *words, str(path), fail=False).returncode, paths))
    seconds = time.monotonic() - begin
    print(f"lowered and emitted: {len(paths) / seconds:.0f} configs/s, a process each; {ends.count(0)} of {len(ends)} can be", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilec", type=os.path.abspath)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--configs", type=int, default=2000)
    parser.add_argument("--efforts", default="")
    parser.add_argument("--work", default="/tmp/tilec-best")
    parser.add_argument("--best", default=str(HERE / "best"))
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    pathlib.Path(options.work).mkdir(parents=True, exist_ok=True)
    about, ratios, failures = about_device(options), [], 0
    print(about["device"], flush=True)
    if options.throughput:
        throughput(options)
    for case in CASES:
        if options.only and not any(word in f"{case[0]} {case[2]}" for word in options.only):
            continue
        try:
            report(Case(options, *case), about, ratios)
        except SystemExit as failed:
            print(failed, flush=True)
            failures += 1
    if ratios:
        print(f"chance over search at equal numbers of compiles: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, geometric mean of {len(ratios)}")
    sys.exit(failures > 0)


main()
