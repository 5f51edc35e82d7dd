#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes in shares, on the CPU target with a worker that computes nothing and says how long it took: each shard has a
journal, a merge puts them together or says what keeps it from that. And compiling for later, without a device.

    shards_test.py TILEC FAKE-WORKER SOURCE-ROOT [FAKE-LIBCUDA FOLDER-OF-FAKE-NVRTC WORKER]
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

tilec, fake, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
LAUNCHER = ("RANK", "WORLD_SIZE", "OMPI_", "SLURM_", "TILEC_", "CC")
SOURCE = [str(root / "examples/jagged_sum.tile"), "--kernel", "jagged_sum_1d"]
EXAMPLE = [*SOURCE, "--dim", "B=10", "--arg", "x=randn", "--arg", "offsets=offsets(const(2))"]  # few bytes: the worker is slow


class Place:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tilec-test-")
        self.path = pathlib.Path(self.folder.name)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHER)}
        self.environment = {**kept, "TILEC_CACHE_DIR": str(self.path / "cache"), "TILEC_WORKER": str(fake)}
        if "CC" in os.environ:
            self.environment["CC"] = os.environ["CC"]
        made = subprocess.run([str(tilec), "config", "random", *SOURCE, "-n", "12", "-o", "list.json"],
                              capture_output=True, text=True, cwd=self.path, env=self.environment)
        assert made.returncode == 0, made.stderr
        self.listed = json.loads((self.path / "list.json").read_text())

    def command(self, *arguments):
        return [str(tilec), "tune", *EXAMPLE, *arguments]

    def tune(self, *arguments, **environment):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, cwd=self.path, env={**self.environment, **environment})

    def rows(self):
        return json.loads((self.path / "rows.json").read_text())

    def journal(self, index, count=3):
        return self.path / f"tune/{index}-of-{count}.journal"

    def shards(self, *arguments, count=3):
        return [self.tune(*arguments, "--shard", f"{i}/{count}") for i in range(1, count + 1)]


LIST = ["--configs", "list.json", "--results", "rows.json"]


def refused(tap, done, complaint, name):
    tap.check(done.returncode == 2 and complaint in done.stderr, name, [str(done.returncode), done.stderr])


def test_list(tap):
    place = Place()
    statuses = []
    for i in (1, 2, 3):
        done = place.tune(*LIST, "--shard", f"{i}/3")
        statuses.append([row["status"] for row in place.rows()])
        tap.check(done.returncode == 0 and set(statuses[-1]) == {"ok", "skipped: shard"}, f"shard {i} of a list", [done.stderr, str(statuses[-1])])
    tap.check(all(sorted(of) == ["ok", "skipped: shard", "skipped: shard"] for of in zip(*statuses)), "each config is in one shard", [str(statuses)])
    merged = place.tune(*LIST, "--merge", "tune", "-o", "best.json")
    rows = place.rows()
    tap.check(merged.returncode == 0 and [row["config"] for row in rows] == place.listed and {row["status"] for row in rows} == {"ok"},
              "merged, the results are in the order of the list", [merged.stderr, merged.stdout])
    best = min(rows, key=lambda row: row["median_ms"])
    tap.check(json.loads((place.path / "best.json").read_text()) == best["config"], "and the best of all is the best")
    tap.check("12 results of 3 shards" in merged.stdout, "it says of how many", [merged.stdout])
    again = place.tune(*LIST, "--merge", "tune", TILEC_WORKER="/nonexistent")
    tap.check(again.returncode == 0 and again.stdout.splitlines()[:3] == merged.stdout.splitlines()[:3], "a merge runs nothing", [again.stderr])
    refused(tap, place.tune("--merge", "tune"), "journals of another tune", "the journals of a list are no search's")
    (place.path / "list.json").write_text(json.dumps(place.listed[:-1]))
    refused(tap, place.tune(*LIST, "--merge", "tune"), "journals of another tune", "nor another list's")


def test_search(tap):
    place = Place()
    said = place.shards("--count", "4", "--folder", "here")
    tap.check(all(done.returncode == 0 for done in said), "shards search", [done.stderr for done in said])
    merged = place.tune("--merge", "here", "--json", "--results", "rows.json")
    about, rows = json.loads(merged.stdout), place.rows()
    texts = [json.dumps(row["config"], sort_keys=True) for row in rows]
    tap.check(about["shards"] == 3 and len(rows) == 12 and len(set(texts)) == 12, "no config is tried by two", [merged.stdout[:300], merged.stderr])
    known = place.tune("--count", "12", "--json")
    tap.check(json.loads(known.stdout)["cached"] and json.loads(known.stdout)["config"] == about["config"],
              "what came of the merge is in the cache, as a search for as many", [known.stdout[:300], known.stderr])
    more = place.shards("--count", "6", "--folder", "here")
    wider = json.loads(place.tune("--merge", "here", "--json").stdout)
    tap.check(wider["rows"] == 18 and all("4 rows were taken over" not in done.stderr for done in more), "shards go on from their journals")
    other = place.tune("--count", "12", "--json", TILEC_FORCE_AUTOTUNE="1")
    tap.check(json.loads(other.stdout)["rows"] == 12, "a search without shards is as it was")


def test_killed(tap):
    """A shard hangs in its second config, is killed, and goes on."""
    place = Place()
    shares = {}
    for i in (1, 2, 3):
        place.tune(*LIST, "--shard", f"{i}/3", "--folder", "whole")
        shares[i] = [row["row"] for row in place.rows() if row["status"] == "ok"]
    which = max(shares, key=lambda i: len(shares[i]))
    mine = shares[which]
    for i in {1, 2, 3} - {which}:
        place.tune(*LIST, "--shard", f"{i}/3")
    faults = ["."] * 12
    faults[mine[1]] = "H"  # on the device, which ends with the tune
    child = subprocess.Popen(place.command(*LIST, "--shard", f"{which}/3", "--jobs", "1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place.path,
                             env={**place.environment, "TILEC_TEST_FAULTS": "".join(faults), "TILEC_TEST_FOLDER": str(place.path)})
    while not list(place.path.glob("hung.*")) and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    refused(tap, place.tune(*LIST, "--merge", "tune"), f"shard {which}/3 isn't at its end yet", "one that was killed isn't at its end")
    done = place.tune(*LIST, "--shard", f"{which}/3")
    merged = place.tune(*LIST, "--merge", "tune")
    tap.check(done.returncode == 0 and "1 rows were taken over" in done.stdout, "it goes on", [done.stdout, done.stderr])
    tap.check(merged.returncode == 0 and {row["status"] for row in place.rows()} == {"ok"}, "and then nothing is missing", [merged.stderr])


def test_wrong_shards(tap):
    place = Place()
    for words, complaint in ((["0/3"], "'i/n'"), (["4/3"], "'i/n'"), (["2"], "'i/n'"), (["auto"], "no launcher says"),
                             (["1/3", "--journal", "x"], "--folder, not --journal"), (["1/3", "--merge", "tune"], "goes with no --shard")):
        refused(tap, place.tune("--count", "1", "--shard", *words), complaint, f"--shard {' '.join(words)}")
    refused(tap, place.tune("--merge", "tune"), "can't look into tune", "a folder that isn't there")
    (place.path / "tune").mkdir()
    refused(tap, place.tune("--merge", "tune"), "has no journals of shards", "a folder without journals")
    place.tune(*LIST, "--shard", "1/3")
    place.tune(*LIST, "--shard", "3/3")
    refused(tap, place.tune(*LIST, "--merge", "tune"), "shard 2/3 is missing: there is no tune/2-of-3.journal", "a shard that is missing")
    place.tune(*LIST, "--shard", "2/3", "--seed", "7")
    refused(tap, place.tune(*LIST, "--merge", "tune"), "tune/2-of-3.journal is of another tune than tune/1-of-3.journal", "a shard of another tune")
    place.journal(2).unlink()
    place.tune(*LIST, "--shard", "2/3")
    whole = place.journal(2).read_text()
    head, _, rest = whole.partition("\n")
    place.journal(2).write_text(json.dumps({**json.loads(head), "device": "Another One"}) + "\n" + rest)
    refused(tap, place.tune(*LIST, "--merge", "tune"), "tune/2-of-3.journal is from Another One", "one of another device")
    place.journal(2).write_text("rubbish\n")
    refused(tap, place.tune(*LIST, "--merge", "tune"), "tune/2-of-3.journal is no journal of a shard", "no journal at all")
    place.journal(2).write_text(whole)
    place.tune(*LIST, "--shard", "1/2")
    refused(tap, place.tune(*LIST, "--merge", "tune"), "keep one tune in a folder", "two tunes in one folder")
    place.journal(1, 2).unlink()
    for i in (1, 2, 3):
        text = place.journal(i).read_text()
        place.journal(i).write_text(text.replace(json.loads(head)["device"], "Another One"))
    merged = place.tune(*LIST, "--merge", "tune")
    tap.check(merged.returncode == 0 and "on Another One" in merged.stdout and "isn't kept in the cache" in merged.stdout,
              "all of another device merge, and are kept from this one's cache", [merged.stdout, merged.stderr])


def test_auto(tap):
    place = Place()
    for number, variables in enumerate(({"RANK": "0", "WORLD_SIZE": "3"}, {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"},
                                        {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "0"}), 1):
        done = place.tune(*LIST, "--shard", "auto", **variables)
        tap.check(done.returncode == 0 and place.journal(number).exists(), f"--shard auto, {' '.join(variables)}", [done.stderr])
    tap.check(place.tune(*LIST, "--merge", "tune").returncode == 0, "what launchers started is merged")


def objects(place):
    return {path.name for path in (place.path / "cache/objects").glob("*")}


def test_compile_only(tap):
    place = Place()
    for words, complaint in ((["--arch", "sm_90"], "--arch says what --compile-only"),
                             (["--compile-only", "--arch", "x86"], "no GPU architecture"),
                             (["--compile-only", "--journal", "x"], "no results for a --journal"),
                             (["--compile-only", "--merge", "tune"], "goes with no")):
        refused(tap, place.tune("--count", "1", *words), complaint, " ".join(words))
    done = place.tune(*LIST, "--compile-only", TILEC_TEST_FAULTS=".lc")
    statuses = [row["status"] for row in place.rows()]
    tap.check(done.returncode == 0 and statuses == ["compiled", "skipped: lowering", "skipped: compile"] + 9 * ["compiled"],
              "what compiles is said, config by config", [str(statuses), done.stderr])
    shared = [place.tune(*LIST, "--compile-only", "--shard", f"{i}/2") for i in (1, 2)]
    tap.check(all(one.returncode == 0 for one in shared) and not (place.path / "tune").exists(), "in shares, too, without journals")
    done = place.tune(*LIST, "--compile-only", TILEC_TEST_FAULTS=12 * "l")
    tap.check(done.returncode == 4, "where nothing compiles, that is the outcome", [done.stderr])


def test_binaries(tap):
    """Without a device, for the fake one's architecture: a tune there finds every binary."""
    driver, compiler, worker = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[4:7])
    place = Place()
    (place.path / "list.json").write_text(json.dumps(place.listed[:3]))
    own = {"TILEC_NVRTC_DIR": compiler, "TILEC_WORKER": worker}
    done = place.tune(*LIST, "--compile-only", "--arch", "sm_90", **own)
    before = objects(place)
    made = [row["status"] for row in place.rows()].count("compiled")
    tap.check(made > 0 and len(before) >= made, "binaries are made without a device", [done.stdout, done.stderr])
    done = place.tune(*LIST, "--device", "cuda", TILEC_TEST_LIBCUDA=driver, **own)
    tap.check("NVRTC" in done.stdout or done.returncode == 4, "the fake device is tuned on", [done.stdout, done.stderr])
    tap.check(objects(place) == before, "and everything that it wants is there", [str(len(before)), str(len(objects(place) - before))])


def main():
    tap = Tap()
    for test in (test_list, test_search, test_killed, test_wrong_shards, test_auto, test_compile_only):
        test(tap)
    if len(sys.argv) > 6:
        test_binaries(tap)
    tap.end()


main()
