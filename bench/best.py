#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The best known configs of the examples at the sizes where memory is the limit, and how close searches come to them.

    best.py TILEC [--device cuda] [--only WORD]… [--seconds N] [--configs N] [--efforts quick,full] [--work FOLDER] [--best FOLDER]
                  [--throughput] [--again] [--told] [--jobs N]

For each kernel and each kind of rows it times random configs (--configs, 2000) and the product of the knobs that matter
most, for at most --seconds (60; 0: not at all) of search; then it searches with each of --efforts. First come those that
are likely by reckoning: they take at most four times what the least is reckoned at. Then one in eight of the others, which
shows what the reckoning is worth, and at last the rest. Both kinds of rows have the same random configs, so their code is
compiled once. Everything that was timed is in journals under --work, so another run goes on where this one ended. What is
best goes to --best (bench/best/KERNEL.DATA.json, with how many configs that is the best of, in all runs together) unless
something faster is there from the same device.

--only: cases whose "KERNEL DATA" holds this. --throughput: how many configs a second are lowered, and compiled and timed.
--again: how long a second tune takes, whose answer is known, and CUDA's own start. --told: nothing is timed; what the
journals and rows under --work say. The searches are compared with random draws at equal numbers of compiles: the median of
the best of so many draws, where unlikely ones that weren't tried count as slower than any; and with the default config.
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

    def words(self, device=None):
        words = list(self.specialization)
        for value in self.arguments:
            words += ["--arg", value]
        for value in self.dims:
            words += ["--dim", value]
        return [*words, "--device", device or self.options.device, "--colour", "never"]

    def jobs(self):
        return ["--jobs", str(self.options.jobs)] if self.options.jobs else []

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


def shapes(space, base, main, columns):
    """How a warp's lanes lie: (axis, vector, lanes) of each axis that is given other ones."""
    widest = max(choices(space, f"axes.{columns or main}.vector"), default=1)
    wide = [(vector, lanes) for vector, lanes in ((1, 32), (4, 8), (4, 16), (4, 32)) if vector <= widest]
    if columns:
        return [((columns, vector, lanes), (main, base["axes"][main]["vector"], 32 // lanes)) for vector, lanes in wide]
    return [((main, vector, lanes),) for vector, lanes in wide]


def reshape(config, shape, main, warps, registers):
    for axis, vector, lanes in shape:
        knobs = config["axes"][axis]
        knobs["vector"], knobs["lanes"] = vector, lanes
        if axis == main:
            knobs["warps"], knobs["block"] = warps, vector * lanes * warps * registers
        else:
            knobs["block"] = vector * lanes * knobs["warps"]


def product(case):
    """The default config under every strategy and piece, with other lanes and vectors, other shares of its row loop for warps
    and registers, rows to a block where it has no columns, and blocks to a cluster."""
    space, base = case.config("space"), case.config("default")
    pieces = choices(space, "chunk")
    strategies = [(strategy, piece) for strategy in choices(space, "strategy") for piece in (pieces if strategy != "rows" else [0])]
    main = max(base["axes"], key=lambda name: base["axes"][name]["warps"])
    columns = next((name for name, knobs in base["axes"].items() if name != main and knobs["lanes"] > 1), None)
    top = next((name for name in base["axes"] if name not in (main, columns)), None)
    clusters = [blocks for blocks in choices(space, "cluster") if blocks <= 8] or [1]
    made = []
    for (strategy, piece), shape, warps, registers, rows, cluster in itertools.product(
            strategies, shapes(space, base, main, columns), (4, 8, 16, 32), (4, 16), (1,) if columns else (1, 2, 4),
            clusters if case.data == "uniform" else (1,)):
        if strategy != "rows" and cluster > 1:
            continue
        config = json.loads(json.dumps(base))
        reshape(config, shape, main, warps, registers)
        if top:
            config["axes"][top]["block"] = rows
        config["axes"][main]["block"] *= cluster
        config["strategy"], config["cluster"], config["min_blocks"] = strategy, cluster, 1
        config.pop("chunk", None)
        if piece:
            config["chunk"] = piece
        made.append(config)
    return made


LIKELY, BLIND = 4, 8


def reckon(case, configs):
    """What each is reckoned to take, in milliseconds; None: it is no config of the kernel. Nothing is compiled for that."""
    work = pathlib.Path(case.options.work)
    paths = [work / f"{case.name}.{what}" for what in ("reckoned", "reckoned.rows")]
    paths[0].write_text(json.dumps(configs))
    tilec(case.options, "tune", *case.words("cuda"), "--compile-only", "--arch", "sm_90", "--budget", "1e-4", "--configs", str(paths[0]),
          "--results", str(paths[1]), "--json", fail=False)
    rows = json.loads(paths[1].read_text())
    for path in paths:
        path.unlink()
    return [row.get("reckoned_ms") for row in rows]


def candidates(case):
    """(kind, whether it is likely, config) in an order that depends on the case alone: what is reached in time is a fair
    sample of each. A run that goes on where another ended has its list."""
    kept = pathlib.Path(case.options.work) / f"{case.name}.candidates"
    if not kept.exists():
        kept.write_text(json.dumps(draw_candidates(case)))
    return json.loads(kept.read_text())


def draw_candidates(case):
    seed = int(hashlib.sha256(case.kernel.encode()).hexdigest()[:12], 16)
    listed = [("random", config) for config in case.config("random", "--seed", str(seed), "--count", str(case.options.configs))]
    listed += [("product", config) for config in product(case)]
    times = reckon(case, [config for _, config in listed])
    bar = LIKELY * min(time for time in times if time is not None)
    listed = [(kind, time is None or time <= bar, config) for (kind, config), time in zip(listed, times) if time is not None or kind == "random"]
    random.Random(seed).shuffle(listed)
    likely, others = [each for each in listed if each[1]], [each for each in listed if not each[1]]
    blind, rest = others[:len(others) // BLIND], others[len(others) // BLIND:]
    path = case.best_path()
    known = [("best", True, json.loads(path.read_text())["config"])] if path.exists() else []
    return known + likely + blind + rest


# ------------------------------------------------------------------------------------------------ trying

def try_all(case):
    """Rows of everything listed, as far as the journal and the time go; each with its kind, and whether it is likely."""
    work = pathlib.Path(case.options.work)
    paths = {what: work / f"{case.name}.{what}" for what in ("list", "journal", "rows")}
    if case.options.told:
        return told_rows(paths["journal"], candidates(case)) if paths["journal"].exists() else [], 0, 0
    if case.options.seconds <= 0:
        return [], 0, 0
    listed = candidates(case)
    paths["list"].write_text(json.dumps([config for _, _, config in listed]))
    done = tilec(case.options, "tune", *case.words(), "--configs", str(paths["list"]), "--journal", str(paths["journal"]), "--results", str(paths["rows"]),
                 "--budget", str(case.options.seconds), "--run-limit", "3", "--compile-limit", "6", "--cache-dir", str(work / "code"), *case.jobs(),
                 "--json", fail=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{case.name}: {done.stderr}")
    rows = json.loads(paths["rows"].read_text())
    answer = json.loads(done.stdout or "{}")
    return with_kinds(rows, listed), answer.get("compiled", 0), answer.get("seconds", 0)


def with_kinds(rows, listed):
    return [dict(row, kind=kind, likely=likely) for row, (kind, likely, _) in zip(rows, listed)]


def told_rows(journal, listed):
    """The rows as a journal has them: the last of each counts."""
    rows = [{"status": UNTRIED[0]} for _ in listed]
    for line in journal.read_text().splitlines():
        row = json.loads(line) if line.endswith("}") else {}
        if "row" in row:
            rows[row["row"]] = row
    return with_kinds(rows, listed)


def search(case, effort):
    """The rows of a search, and what it says of itself."""
    path = pathlib.Path(case.options.work) / f"{case.name}.{effort}.rows"
    answer = path.with_suffix(".answer")
    if case.options.told:
        return (json.loads(path.read_text()), json.loads(answer.read_text())) if answer.exists() else None
    done = tilec(case.options, "tune", *case.words(), "--effort", effort, "--force-autotune", "--json", "--results", str(path), *case.jobs(), fail=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{case.name}: {done.stderr}")
    answer.write_text(done.stdout)
    return json.loads(path.read_text()), json.loads(done.stdout)


def process_time(words):
    begin = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True)
    return 1e3 * (time.perf_counter() - begin) if done.returncode == 0 else math.nan


def again(case, effort):
    """What a second tune takes, and what of that is CUDA's: how much longer a process takes that starts it and ends than one
    that doesn't. In turns, in milliseconds: the medians."""
    plain = "import ctypes"
    words = [case.options.tilec, "tune", *case.words(), "--effort", effort, "--json"]
    answer = json.loads(tilec(case.options, *words[1:]).stdout)
    if not answer["cached"] or answer["compiled"]:
        return "a second tune isn't answered by the cache"
    tunes, withs, withouts = [], [], []
    for _ in range(7):
        tunes.append(process_time(words))
        withs.append(process_time([sys.executable, "-c", plain + "; assert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0"]))
        withouts.append(process_time([sys.executable, "-c", plain]))
    cuda = statistics.median(withs) - statistics.median(withouts)
    return f"a second tune takes {statistics.median(tunes):.0f} ms, of which CUDA's start and end are {cuda:.0f}"


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


def about_list(rows, best):
    """How much of the list has its turn behind it, and what the fastest of the unlikely ones comes to."""
    tried = [row for row in rows if row["status"] not in UNTRIED]
    parts = [f"{sum(row['kind'] == kind for row in tried)} of {sum(row['kind'] == kind for row in rows)} {kind}" for kind in ("random", "product")]
    unlikely = [row for row in tried if not row["likely"]]
    fastest = best_of(unlikely)
    ratio = fastest["median_ms"] / best if fastest else math.inf
    return f"{', '.join(parts)}; of {len(unlikely)} unlikely ones the fastest takes {ratio:.2f} times that"


def random_times(rows):
    """Times of random draws: of unlikely ones as many, relative to the likely ones that were tried, as there are in the list."""
    drawn = [row for row in rows if row["kind"] == "random"]
    likely, unlikely = ([row for row in drawn if row["likely"] == wanted] for wanted in (True, False))
    tried = [row for row in likely if row["status"] not in UNTRIED]
    if not tried:
        return []
    return compiled_times(tried) + [math.inf] * round(len(unlikely) * len(tried) / len(likely))


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
    if case.options.told and known:
        return known
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
    searches = {effort: found for effort, found in searches.items() if found}
    everything = tried + [row for found, _ in searches.values() for row in found if row["status"] not in UNTRIED]
    found = best_of(everything)
    if not found:
        print(f"{case.name:26} nothing is ok of {len(tried)}", flush=True)
        return
    # Rows that a journal had were counted when they were tried.
    best = keep_best(case, found, min(compiled, len(tried)) + len(everything) - len(tried), about)
    line = f"{case.name:26} best {best['milliseconds']:.4f} ms of {best['configs_tried']} ({best['kind']})"
    if rows:
        line += f"; {about_list(rows, best['milliseconds'])}, {compiled / max(seconds, 1e-9):.1f} compiled and timed a second"
    draws = random_times(rows)
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
    parser.add_argument("--told", action="store_true")
    parser.add_argument("--jobs", type=int, default=0)
    options = parser.parse_args()
    pathlib.Path(options.work).mkdir(parents=True, exist_ok=True)
    about, ratios, failures = {"device": "as it was"} if options.told else about_device(options), [], 0
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
