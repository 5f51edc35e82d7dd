#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many processes on one empty cache folder, some of them killed at random: nothing wrong is loaded, nothing fails.

    shared.py TILEC CACHE_TOOL SOURCE [--all]

A round is eight processes over eight variants, and there are fifty; of the program itself fewer without --all. In most rounds the processes store and
read entries as fast as they can; in some they are the program itself, running one kernel under eight configs.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

TILEC, TOOL, ROOT = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:4])
ALL = "--all" in sys.argv
sys.path.insert(0, str(pathlib.Path(ROOT) / "tests" / "house"))
from tap import Tap

tap = Tap()
PROCESSES, VARIANTS = 8, 8
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="tilec-shared-"))
PLAIN = {"PATH": os.environ["PATH"], "HOME": str(FOLDER), "LC_ALL": "C", "OMP_NUM_THREADS": "1", "TMPDIR": str(FOLDER / "tmp")}
if "CC" in os.environ:
    PLAIN["CC"] = os.environ["CC"]
SUM = str(pathlib.Path(ROOT) / "examples" / "jagged_sum.tile")
RUN = ["run", SUM, "--kernel", "jagged_sum", "--arg", "x=randn", "--arg", "offsets=offsets(uniform(0, 30))", "--dim", "B=20", "--dim", "M=8"]


def start(words, env):
    return subprocess.Popen(words, env=env, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def kill_some(children, chance):
    """Kills about half of them, each with all it has started, at moments of their own."""
    doomed = chance.sample(range(len(children)), len(children) // 2)
    for index in doomed:
        time.sleep(chance.uniform(0, 0.05))
        if children[index].poll() is None:
            os.killpg(children[index].pid, 9)
    return set(doomed)


def survivors(children, doomed):
    """What those that weren't killed say, if they failed. One that was to be killed may have ended well before that."""
    complaints = []
    for index, child in enumerate(children):
        said = child.communicate(timeout=300)[0]
        if child.returncode and not (index in doomed and child.returncode == -9):
            complaints.append(f"process {index} ended with {child.returncode}: {said[-400:]}")
    return complaints


def whole(env):
    """Every entry that is there is whole, whoever was killed; returns complaints and the counts of entries."""
    done = subprocess.run([TOOL, "whole"], env=env, capture_output=True, text=True)
    counts = [int(number) for number in done.stdout.split()]
    return ([f"damaged entries: {done.stdout}"] if done.returncode else []), counts[:2]


def round_of_entries(cache, chance):
    env = {**PLAIN, "TILEC_CACHE_DIR": str(cache)}
    children = [start([TOOL, "work", str(chance.randrange(1 << 32)), "3"], env) for _ in range(PROCESSES)]
    complaints = survivors(children, kill_some(children, chance))
    complaints += whole(env)[0]
    last = start([TOOL, "work", "1", "8"], env)
    complaints += survivors([last], ())
    more, counts = whole(env)
    if not counts or min(counts) < VARIANTS:
        more.append(f"{counts} entries at the end")
    return complaints + more


def round_of_runs(cache, chance, configs):
    """The last process runs every variant that another may have been killed in; all agree with the reference."""
    env = {**PLAIN, "TILEC_CACHE_DIR": str(cache)}
    script = 'for config in "$@"; do "$TILEC" {0} --config "$config" --check >/dev/null || exit 1; done'.format(
        " ".join(f"'{word}'" for word in RUN))
    children = [start(["sh", "-c", script, "sh", *chance.sample(configs, VARIANTS)], {**env, "TILEC": TILEC}) for _ in range(PROCESSES)]
    time.sleep(chance.uniform(0, 1))
    complaints = survivors(children, kill_some(children, chance))
    complaints += whole(env)[0]
    for config in configs:
        done = subprocess.run([TILEC, *RUN, "--config", config, "--check", "--json"], env=env, cwd=FOLDER, capture_output=True, text=True)
        if done.returncode or json.loads(done.stdout)["compiled"]:
            complaints.append(f"{config} afterwards: ended with {done.returncode}: {done.stdout[:200]} {done.stderr[-200:]}")
    return complaints


def draw_configs():
    """Eight configs whose code differs, as files."""
    names = []
    for seed in range(VARIANTS):
        name = f"config{seed}.json"
        subprocess.run([TILEC, "config", "random", SUM, "--kernel", "jagged_sum", "--dim", "M=8", "--seed", str(seed), "-o", name],
                       check=True, env=PLAIN, cwd=FOLDER)
        names.append(name)
    return names


def main():
    (FOLDER / "tmp").mkdir()
    configs = draw_configs()
    rounds = [("entries", 50), ("runs", 50 if ALL else 2)]
    for kind, count in rounds:
        complaints = []
        for number in range(count):
            cache = FOLDER / f"{kind}{number}"
            chance = random.Random(f"{kind} {number}")
            found = round_of_entries(cache, chance) if kind == "entries" else round_of_runs(cache, chance, configs)
            complaints += [f"round {number}: {line}" for line in found]
            shutil.rmtree(cache)
        tap.check(not complaints, f"{count} rounds of {kind}, {PROCESSES} processes and {VARIANTS} variants each, half of them killed", complaints[:20])
    shutil.rmtree(FOLDER)
    tap.end()


main()
