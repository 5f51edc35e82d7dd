#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tilec tune` as its users see it: on the CPU with real compiles and times, and with a worker that fails as it is told.

    program_test.py TILEC WORKER FAKE-WORKER SOURCE-ROOT [FAKE-LIBCUDA FOLDER-OF-FAKE-NVRTC]

No test depends on how fast anything is: limits are generous, and what hangs hangs for good.
"""

import json
import os
import pathlib
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

tilec, worker, fake, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
example = [str(root / "examples/jagged_sum.tile"), "--kernel", "jagged_sum", "--dim", "B=20", "--dim", "M=8", "--dim", "nnz=total(offsets)",
           "--arg", "x=randn", "--arg", "offsets=offsets(uniform(0,20))"]
in_place = """kernel up(inout x: f32[n]) {
    for t in tile(n) {
        x[t] = x[t] + 1;
    }
}
"""


class Place:
    """A folder with a cache of its own, for one test."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tilec-test-")
        self.path = pathlib.Path(self.folder.name)
        (self.path / "tmp").mkdir()
        self.environment = dict(os.environ, TILEC_CACHE_DIR=str(self.path / "cache"), TMPDIR=str(self.path / "tmp"), TILEC_WORKER=str(worker))
        for name in ("TILEC_SKIP_CACHE", "TILEC_FORCE_AUTOTUNE", "TILEC_ASSERT_CACHE_HIT", "TILEC_AUTOTUNE_EFFORT",
                     "TILEC_AUTOTUNE_BUDGET_SECONDS", "CC"):
            self.environment.pop(name, None)

    def tune(self, *arguments, base=example, **environment):
        command = [str(tilec), "tune", *base, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env={**self.environment, **environment}, cwd=self.path)

    def start(self, *arguments, base=example, **environment):
        return subprocess.Popen([str(tilec), "tune", *base, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**self.environment, **environment}, cwd=self.path)

    def rows(self):
        return json.loads((self.path / "rows.json").read_text())

    def clean(self):
        """Nothing is left of the tune's own folders."""
        return not list((self.path / "tmp").iterdir())


def processes_with(text):
    """The processes whose environment holds a text: all that came of one test."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid() and text.encode() in (entry / "environ").read_bytes():
                if (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(entry.name))
        except OSError:
            pass
    return found


def configs(place, *entries):
    path = place.path / "list.json"
    path.write_text(json.dumps(list(entries)))
    return ["--configs", str(path), "--results", str(place.path / "rows.json")]


bare = {"format": 1}
plain = {"format": 1, "kernel": "jagged_sum"}
serial = {"format": 1, "axes": {"tk": {"block": 1, "lanes": 1, "warps": 1}}}
too_many_warps = {"format": 1, "axes": {"tk": {"block": 8192, "lanes": 1, "warps": 64}}}


def test_list(tap):
    place = Place()
    done = place.tune(*configs(place, plain, 17, serial, {"format": 1, "kernel": "other"}, plain, too_many_warps, None), "-o", "best.json")
    rows = place.rows()
    tap.check(done.returncode == 0, "a list ends with 0 if one config is ok", [done.stderr])
    tap.check([row["status"] for row in rows] == ["ok", "skipped: config", "ok", "skipped: config", "ok", "skipped: config", "skipped: config"],
              "results are in the order of the list, malformed entries in their places", [str(rows)])
    tap.check([row["row"] for row in rows] == list(range(7)), "rows are numbered")
    tap.check(all(row["reason"] for row in rows if row["status"] != "ok"), "failures have reasons")
    tap.check(all((row["status"] == "ok") == isinstance(row["median_ms"], float) for row in rows), "a time for what is ok, and for nothing else")
    tap.check(rows[0]["config"] == rows[4]["config"] and rows[1]["config"] == "17", "duplicates stay, and what was given is shown")
    best = json.loads((place.path / "best.json").read_text())
    fastest = min((row for row in rows if row["status"] == "ok"), key=lambda row: row["median_ms"])
    tap.check(best == fastest["config"], "-o has the config of the fastest row")
    tap.check(place.clean(), "no temporary files are left")
    bad = place.path / "bad.json"
    for text in ("", "{}", "[", "7", "[]"):
        bad.write_text(text)
        done = place.tune("--configs", str(bad))
        tap.check(done.returncode == 2, f"a list that is {text or 'empty'!r} is refused")


def test_search(tap):
    place = Place()
    done = place.tune("--count", "5", "--seed", "3", "--results", "rows.json", "--json")
    answer, rows = json.loads(done.stdout), place.rows()
    tap.check(done.returncode == 0 and len(rows) == 5 and answer["rows"] == 5, "a search of so many configs", [done.stderr])
    tap.check(len({json.dumps(row["config"]) for row in rows}) == 5, "all of them different")
    again = place.tune("--count", "5", "--seed", "3", "--json")
    second = json.loads(again.stdout)
    tap.check(second["cached"] and second["config"] == answer["config"], "a second tune takes the best from the cache")
    run = subprocess.run([str(tilec), "run", *example, "--seed", "3", "--check", "--json"], capture_output=True, text=True, env=place.environment)
    tap.check(run.returncode == 0, "run takes it too, and is right", [run.stderr])
    forced = place.tune("--count", "2", "--seed", "3", "--force-autotune", "--json")
    tap.check(not json.loads(forced.stdout)["cached"], "--force-autotune searches all the same")
    one = place.tune("--effort", "none", "--skip-cache", "--json")
    tap.check(json.loads(one.stdout)["rows"] == 1, "--effort none tries the default alone")
    table = place.tune("--effort", "none", "--skip-cache")
    tap.check("registers" in table.stdout and "1  ok" in table.stdout, "the table is on standard output", [table.stdout])


def work(done):
    """What a tune had to do for its answer: inputs that were made or read, configs that were compiled."""
    answer = json.loads(done.stdout)
    return answer["filled"], answer["compiled"]


def test_second(tap):
    """A known answer takes no data but the offsets, which the key is made of, and no worker."""
    place = Place()
    first = place.tune("--count", "2", "--json")
    tap.check(work(first) == (2, 2), "a tune makes both inputs, and compiles", [first.stdout, first.stderr])
    second = place.tune("--count", "2", "--json", TILEC_WORKER="/nonexistent", CC=os.environ.get("CC", ""))
    tap.check(second.returncode == 0 and work(second) == (1, 0), "a second one makes the offsets alone, and compiles nothing",
              [second.stdout, second.stderr])
    saved = subprocess.run([str(tilec), "run", *example, "--save-args", "args"], capture_output=True, text=True, env=place.environment, cwd=place.path)
    base = [*example[:3], "--arg", "x=@args/x.npy", "--arg", "offsets=@args/offsets.npy"]
    known = place.tune("--count", "2", "--json", base=base)
    tap.check(saved.returncode == 0 and work(known) == (1, 0), "of files it reads the offsets alone", [saved.stderr, known.stdout, known.stderr])
    tap.check(work(place.tune("--count", "1", "--json", "--force-autotune", base=base)) == (2, 1), "and all of them for a search")
    os.truncate(place.path / "args/x.npy", 200)
    short = place.tune("--json", base=base)
    tap.check(short.returncode != 0 and "x.npy" in short.stderr, "but for their sizes: a file that is cut short is told", [short.stdout, short.stderr])


def test_effort(tap):
    """Run and bench search where an effort is asked for, by option or variable, and take what was searched for as long."""
    place = Place()
    (place.path / "up.tile").write_text(in_place)
    (place.path / "plain.json").write_text(json.dumps({"format": 1, "kernel": "up"}))
    small = ["up.tile", "--arg", "x=zeros", "--dim", "n=100"]  # little enough for the time that the fake says it took

    def run(command, *words, **environment):
        done = subprocess.run([str(tilec), command, *small, "--json", *words], capture_output=True, text=True, cwd=place.path,
                              env={**place.environment, "TILEC_WORKER": str(fake), **environment})
        answer = json.loads(done.stdout) if done.returncode == 0 else {}
        return done.returncode, answer["config"]["from"] if "config" in answer else answer.get("config_from"), done.stderr

    def check(name, result, wanted):
        tap.check(result[:2] == (0, wanted), name, [str(result)])

    check("run searches for nothing by itself", run("run"), "default")
    check("nor does bench", run("bench", "--runs", "1"), "default")
    check("nor for an effort of none", run("run", "--effort", "none", TILEC_AUTOTUNE_EFFORT="full"), "default")
    check("an effort searches", run("run", "--effort", "quick", "--budget", "1.5"), "search")
    check("what it found is taken by who asks for nothing", run("run"), "cache")
    check("by who asks for as much", run("bench", "--runs", "1", "--effort", "quick", "--budget", "1.5"), "cache")
    code, _, error = run("run", "--effort", "full", "--assert-cache-hit")
    tap.check(code == 4 and "effort: a search of full, 60 s is wanted, the entry has one of quick, 1.5 s" in error,
              "but not by who asks for more", [str(code), error])
    check("who searches again", run("bench", "--runs", "1", TILEC_AUTOTUNE_EFFORT="full", TILEC_AUTOTUNE_BUDGET_SECONDS="2"), "search")
    check("an explicit config is the config", run("run", "--effort", "full", "--config", "plain.json"), "file")
    check("without a cache, too", run("run", "--effort", "quick", "--budget", "1", "--skip-cache"), "search")
    code, _, error = run("run", "--effort", "quick", "--budget", "1", "--skip-cache", TILEC_TEST_FAULTS="l" * 100000)
    tap.check(code == 4 and "search.none" in error, "where nothing is ok, 4", [str(code), error])
    listed = subprocess.run([str(tilec), "cache", "list"], capture_output=True, text=True, env=place.environment)
    tap.check(" full  up " in listed.stdout, "the list says how it was found", [listed.stdout])


def test_dispatch(tap):
    """The first run with each value of the key times the listed configs, checked, and keeps the fastest."""
    place = Place()
    small = small_kernel(place)[:3]
    (place.path / "more").mkdir()
    (place.path / "more/narrow.json").write_text(json.dumps({"format": 1, "axes": {"t": {"block": 64, "warps": 1}}}))
    listed = {"format": 1, "kernel": "up", "key": "next_pow2(n)", "configs": [bare, "more/narrow.json", {"format": 1, "peel": False}]}
    path = place.path / "dispatch.json"

    def run(n, *words, key=None, faults="", command="run", **environment):
        path.write_text(json.dumps({**listed, "key": key or listed["key"]}, indent=1))
        done = subprocess.run([str(tilec), command, *small, "--dim", f"n={n}", "--config", str(path), "--json", *words], text=True,
                              capture_output=True, cwd=place.path, env={**place.environment, "TILEC_WORKER": str(fake),
                                                                        "TILEC_TEST_FAULTS": faults, **environment})
        answer = json.loads(done.stdout) if done.returncode == 0 else {}
        if command == "bench":
            return done, answer.get("results", [{}])[0].get("config")
        return done, answer.get("config", {}).get("name")

    def check(name, got, wanted):
        done, chosen = got
        tap.check(done.returncode == 0 and chosen == wanted, name, [str(chosen), done.stderr])

    # The fake says that the first config is the fastest. Where it is wrong, the third is; the second can't be lowered.
    key = f"{path}, next_pow2(n) = 128"
    check("the first run of a key times the listed configs", run(100, faults="wl."), key)
    nobody = {"TILEC_WORKER": "/nonexistent"}
    check("the second one knows the answer", run(70, **nobody), key)
    done, chosen = run(100, "--runs", "1", command="bench", **nobody)
    tap.check(chosen and chosen["peel"] is False, "which is the fastest of those that are right", [str(chosen), done.stderr])
    missed, _ = run(200, **nobody)
    tap.check(missed.returncode == 3, "another value of the key has to be timed", [str(missed.returncode), missed.stderr])
    check("and is, by itself", run(200), f"{path}, next_pow2(n) = 256")
    _, chosen = run(200, "--runs", "1", command="bench", **nobody)
    tap.check(chosen and chosen["peel"] is True, "another config may be the fastest there", [str(chosen)])
    missed, _ = run(1000, "--assert-cache-hit")
    tap.check(missed.returncode == 4 and "shape: next_pow2(n) = 1024" in missed.stderr, "an asserted hit says which value has none", [missed.stderr])
    none, _ = run(1000, faults="wlc")
    tap.check(none.returncode == 4 and "search.none" in none.stderr, "4 where none of them is ok", [none.stderr])
    check("as in the language, n / 0 is 0", run(100, key="min(n, 512) / (n - 100) + cdiv(n, 3) % 7"),
          f"{path}, min(n, 512) / (n - 100) + cdiv(n, 3) % 7 = 6")
    for entry in (place.path / "cache/configs").iterdir():
        entry.write_bytes(entry.read_bytes()[:100])
    again, _ = run(100, **nobody)
    tap.check(again.returncode == 3 and "warning[cache.entry]" in again.stderr, "a damaged answer is a miss", [again.stderr])
    for text, complaint in (("next_pow2(m)", ":4:20: in 'next_pow2(m)': there is no dimension or scalar 'm' (there are: n)"),
                            ("longest(n)", ":4:10: in 'longest(n)': there is no function 'longest'"), ("n +", ":4:13: in 'n +'"),
                            ("min(n)", ":4:15: in 'min(n)': min takes two numbers")):
        done, _ = run(100, key=text)
        tap.check(done.returncode == 1 and complaint in done.stderr, f"the key {text} is refused with its place", [done.stderr])
    for change, complaint in (({"configs": []}, "1 to 1000 configs"), ({"configs": [17]}, "configs[0]: "), ({"extra": 1}, "extra: no such key"),
                              ({"kernel": "down"}, "another one than up"), ({"format": 2, "later": 1}, "format 1 only"), ({"key": ""}, "key: wants"),
                              ({"configs": ["none.json"]}, "none.json")):
        before = dict(listed)
        listed.update(change)
        done, _ = run(100, key=change.get("key"))
        if change.get("key") == "":
            path.write_text(json.dumps({**listed, "key": ""}))
            done = subprocess.run([str(tilec), "run", *small, "--dim", "n=9", "--config", str(path)], capture_output=True, text=True,
                                  env=place.environment)
        listed.clear()
        listed.update(before)
        tap.check(done.returncode in (1, 2) and complaint in done.stderr, f"a dispatch file with {change} is refused", [str(done.returncode), done.stderr])


def test_in_place(tap):
    place = Place()
    (place.path / "up.tile").write_text(in_place)
    entries = [{"format": 1}, {"format": 1, "axes": {"t": {"block": 64, "warps": 1}}},
               {"format": 1, "axes": {"t": {"block": 4, "lanes": 1, "vector": 1, "warps": 1}}}]
    base = [str(place.path / "up.tile"), "--arg", "x=zeros", "--dim", "n=1000"]
    done = place.tune(*configs(place, *entries), base=base)
    tap.check([row["status"] for row in place.rows()] == ["ok"] * 3, "what is updated in place starts anew for each config",
              [done.stdout, done.stderr])
    run = subprocess.run([str(tilec), "run", *base, "--out", "x=x.npy"], capture_output=True, text=True, env=place.environment, cwd=place.path)
    data = (place.path / "x.npy").read_bytes() if run.returncode == 0 else b""
    tap.check(data[-4000:] == struct.pack("<1000f", *[1] * 1000), "after which one call adds exactly one", [run.stderr])


def test_nothing_works(tap):
    place = Place()
    done = place.tune(*configs(place, plain, serial, plain), TILEC_WORKER=str(fake), TILEC_TEST_FAULTS="wlQ")
    tap.check(done.returncode == 4, "4 if nothing is ok", [done.stderr])
    tap.check([row["status"] for row in place.rows()] == ["failed: wrong-result", "skipped: lowering", "failed: crash"], "with all rows written")
    lines = ("1  failed: wrong-result", "1  skipped: lowering", "1  failed: crash")
    tap.check(all(line in done.stdout for line in lines), "and the histogram of reasons", [done.stdout])


def test_journal(tap):
    place = Place()
    arguments = configs(place, plain, serial, plain, serial)
    whole = place.tune(*arguments, "--journal", "journal")
    rows, text = place.rows(), (place.path / "journal").read_bytes()
    tap.check(whole.returncode == 0 and text.count(b'{"started"') == 4, "a row is noted before the work on it", [whole.stderr])
    again = place.tune(*arguments, "--journal", "journal", CC="/nonexistent")
    tap.check(place.rows() == rows, "a tune that is whole in the journal does nothing again", [again.stdout, again.stderr])
    (place.path / "journal").write_bytes(text[: len(text) // 2])
    place.tune(*arguments, "--journal", "journal")
    tap.check([row["status"] for row in place.rows()] == ["ok"] * 4, "half a journal is gone on from")
    other = place.tune(*configs(place, serial), "--journal", "journal")
    tap.check(other.returncode == 2 and "journal" in other.stderr, "the journal of another list is refused", [other.stderr])
    full = subprocess.run([str(tilec), "tune", *example, *arguments, "--journal", "full"], capture_output=True, text=True, env=place.environment,
                          cwd=place.path, restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    tap.check(full.returncode == 2 and "can't write the journal full: " in full.stderr, "one that can't be written is an error", [full.stderr])
    tap.check(not (place.path / "full").exists(), "and isn't left behind")


def small_kernel(place):
    """One that the fake worker is quick with, whose bytes fit the time that it says it took."""
    (place.path / "up.tile").write_text(in_place)
    return [str(place.path / "up.tile"), "--arg", "x=zeros", "--dim", "n=100"]


def test_judgement(tap):
    """Where over half of the configs are wrong, who says so."""
    place = Place()
    base = small_kernel(place)
    done = place.tune(*configs(place, bare, bare, bare), base=base, TILEC_WORKER=str(fake), TILEC_TEST_FAULTS="w.n")
    tap.check("the reference is the evaluator's, so it is they that are wrong" in done.stdout, "the evaluator itself", [done.stdout, done.stderr])
    done = place.tune(*configs(place, bare, bare, bare), base=base, TILEC_WORKER=str(fake), TILEC_TEST_FAULTS="w..")
    tap.check("wrong; the" not in done.stdout and "1  failed: wrong-result" in done.stdout, "but not for one of three", [done.stdout])
    # More points than the evaluator goes through: it knows a sample, and the default config the rest. The last element
    # isn't in the sample of seed 0; it is in that of seed 1.
    large = [*base[:3], "--dim", "n=6100000"]
    for seed, faults, reference, words in (("0", "ww", ".", "agrees with the reference on another 3100000 rows, so it is they that are wrong"),
                                           ("0", "..", "w", "says that the reference, the default config, is wrong"),
                                           ("1", "ww", ".", "the evaluator says so too in 2 of 2 cases")):
        done = place.tune(*configs(place, bare, bare), "--seed", seed, base=large, TILEC_WORKER=str(fake), TILEC_TEST_FAULTS=faults,
                          TILEC_TEST_REFERENCE=reference)
        tap.check(words in done.stdout, f"the evaluator's other rows: {words}", [done.stdout, done.stderr])


def test_from_cache(tap):
    """A search begins with what was best on similar shapes."""
    place = Place()
    base = small_kernel(place)
    # The first row, the default, can't be lowered: another one is the best.
    first = place.tune("--count", "4", "--results", "rows.json", "--json", base=base, TILEC_WORKER=str(fake), TILEC_TEST_FAULTS="l")
    best = json.loads(first.stdout or "{}").get("config")
    tap.check(first.returncode == 0 and best != place.rows()[0]["config"], "something other than the default is best", [first.stdout, first.stderr])
    other = [*base[:3], "--dim", "n=4000"]
    for words, known in ((["--from-cache", "2"], True), ([], False)):
        done = place.tune("--count", "1", "--results", "rows.json", *words, base=other, TILEC_WORKER=str(fake), TILEC_TEST_FAULTS="c")
        name = "with --from-cache the search begins with the best" if known else "without it it doesn't"
        tap.check((place.rows()[0]["config"] == best) == known, name, [done.stdout, done.stderr])


def test_memory(tap):
    place = Place()
    done = place.tune("--effort", "none", base=[*small_kernel(place)[:3], "--dim", "n=10000000000000"])
    tap.check(done.returncode != 0 and "at its peak" in done.stderr and "are free" in done.stderr,
              "a tune that would take more memory than is free is refused", [str(done.returncode), done.stderr])
    tap.check(place.clean(), "before anything is made")
    done = place.tune("--effort", "none", "--skip-cache", base=small_kernel(place))
    said = re.search(r"^\d+ compiling process(es)?, at most \d+ MiB of memory$", done.stderr, re.MULTILINE)
    tap.check(said, "others say how much they take", [done.stderr])


def test_terminal(tap):
    """On a terminal there is a bar; elsewhere there is none."""
    place = Place()
    words = [str(tilec), "tune", *small_kernel(place), "--effort", "none", "--skip-cache"]
    try:
        mine, its = pty.openpty()
    except OSError as error:
        tap.skip("on a terminal a bar ends full", f"there is no terminal to be had: {error}")
        return
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=its, env={**place.environment, "TILEC_WORKER": str(fake)})
    os.close(its)
    seen = b""
    while True:
        try:
            some = os.read(mine, 4096)
        except OSError:  # the other end is closed
            some = b""
        if not some:
            break
        seen += some
    os.close(mine)
    full = re.search(rb"\r\[#{24}\] done: 1/1 config, 1 ok, [0-9.]+/s, best 1 ms", seen)
    tap.check(child.wait() == 0 and full, "on a terminal a bar ends full", [repr(seen[-300:])])
    piped = subprocess.run(words, capture_output=True, env={**place.environment, "TILEC_WORKER": str(fake)})
    tap.check(b"\r" not in piped.stderr and b"[#" not in piped.stderr, "elsewhere there is no bar", [repr(piped.stderr)])


def test_own_worker(tap):
    place = Place()
    place.environment.pop("TILEC_WORKER")
    done = place.tune("--effort", "none", "--skip-cache")
    tap.check(done.returncode == 0, "the worker program is found beside the program", [done.stderr])


def hanging_compiler(place):
    script = place.path / "compiler"
    script.write_text(f"#!/bin/sh\ntouch {place.path}/compiling\nexec sleep 1000000\n")
    script.chmod(0o755)
    return str(script)


def wait_for(condition):
    while not condition():
        time.sleep(0.02)


def test_hanging_compiler(tap):
    place = Place()
    done = place.tune(*configs(place, plain, serial), "--compile-limit", "1", CC=hanging_compiler(place))
    tap.check(done.returncode == 4 and [row["status"] for row in place.rows()] == ["skipped: compile-timeout"] * 2,
              "a compiler that never returns costs its config its limit", [done.stdout, done.stderr])
    tap.check(not processes_with(place.environment["TILEC_CACHE_DIR"]) and place.clean(), "and no process is left")


def test_interrupt(tap):
    place = Place()
    tune = place.start(*configs(place, plain, serial, plain), "--jobs", "1", CC=hanging_compiler(place))
    wait_for((place.path / "compiling").exists)
    tune.send_signal(signal.SIGINT)
    out, error = tune.communicate()
    tap.check(tune.returncode == 130, "an interrupt ends with 130", [error])
    tap.check([row["status"] for row in place.rows()] == ["skipped: interrupted"] * 3, "with all rows written")
    tap.check(not processes_with(place.environment["TILEC_CACHE_DIR"]) and place.clean(), "and no process is left")


def test_interrupted_best(tap):
    """What was found before an interrupt is printed and saved."""
    place = Place()
    base = small_kernel(place)
    tune = place.start(*configs(place, bare, bare, bare), "--journal", "journal", "--jobs", "1", "-o", "best.json", base=base, TILEC_WORKER=str(fake),
                       TILEC_TEST_FAULTS=".hh", TILEC_TEST_FOLDER=str(place.path))
    journal = place.path / "journal"
    wait_for(lambda: tune.poll() is not None or list(place.path.glob("hung.*")) and '"row": 0, "status": "ok"' in journal.read_text())
    tune.send_signal(signal.SIGINT)
    out, error = tune.communicate()
    tap.check(tune.returncode == 130 and "1  ok" in out and "2  skipped: interrupted" in out, "an interrupt prints what there is", [out, error])
    best = place.path / "best.json"
    tap.check(best.exists() and json.loads(best.read_text()) == place.rows()[0]["config"], "and saves the best so far", [])


def test_budget(tap):
    """A budget ends compiles that hang."""
    place = Place()
    done = place.tune(*configs(place, plain, serial, plain), "--jobs", "1", "--budget", "1", CC=hanging_compiler(place))
    tap.check(done.returncode == 4 and [row["status"] for row in place.rows()] == ["skipped: budget"] * 3, "a budget ends what compiles",
              [done.stdout, done.stderr])
    tap.check("none of the 3 configs had its turn within the budget of 1 seconds" in done.stderr, "it is said that nothing had its turn",
              [done.stderr])
    tap.check(not processes_with(place.environment["TILEC_CACHE_DIR"]) and place.clean(), "and no process is left")
    done = place.tune("--budget", "0.01", "--results", "rows.json")
    tap.check(done.returncode == 0 and place.rows()[0]["status"] == "ok", "the shortest search has its first config", [done.stdout, done.stderr])


def test_killed_workers(tap):
    """A compiling worker is killed while its compiler hangs; then the driver itself is."""
    place = Place()
    compiler = hanging_compiler(place)
    tune = place.start(*configs(place, plain), "--jobs", "1", CC=compiler)
    wait_for((place.path / "compiling").exists)
    mark = place.environment["TILEC_CACHE_DIR"]
    killed = [process for process in processes_with(mark)
              if program_of(process) == worker and processes_of(process)]
    for process in killed:
        os.kill(process, signal.SIGKILL)
    out, error = tune.communicate()
    tap.check(len(killed) == 1 and [(row["status"], row["code"]) for row in place.rows()] == [("skipped: compile-crash", 9)],
              "a worker that is killed costs the config it had", [out, error, str(killed)])
    (place.path / "compiling").unlink()
    tune = place.start(*configs(place, plain), "--jobs", "1", CC=compiler)
    wait_for((place.path / "compiling").exists)
    tune.kill()
    tune.communicate()
    wait_for(lambda: not [process for process in processes_with(mark) if program_of(process) == worker])
    tap.check(True, "workers end with their driver")
    for process in processes_with(mark):
        os.kill(process, signal.SIGKILL)  # the compiler that hangs, which no one is left to end


def program_of(process):
    try:
        return pathlib.Path(os.readlink(f"/proc/{process}/exe"))
    except OSError:
        return None


def processes_of(parent):
    """The children of a process."""
    try:
        return pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return []


def test_cuda(tap):
    """On a driver that launches nothing: all of the way there, and results that nobody stored."""
    place = Place()
    driver, compiler = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[5:7])
    done = place.tune(*configs(place, plain, serial, 5), "--device", "cuda", TILEC_TEST_LIBCUDA=driver, TILEC_NVRTC_DIR=compiler)
    rows = place.rows()
    tap.check([row["status"] for row in rows] == ["failed: wrong-result"] * 2 + ["skipped: config"], "a GPU that does nothing is wrong",
              [done.stdout, done.stderr])
    tap.check(done.returncode == 4 and all(row["registers"] for row in rows[:2]) and place.clean(), "and what was compiled has its registers")


def test_usage(tap):
    place = Place()
    cases = [(["--device", "tpu"], 2, "no device 'tpu'"), (["--budget", "soon"], 2, "budget"), (["--count", "x"], 2, "count"),
             (["--effort", "huge"], 2, "effort"), (["--run-limit", "0"], 2, "run-limit"),
             (["--results", "/nonexistent/rows", "--effort", "none"], 1, "write")]
    for arguments, code, words in cases:
        done = place.tune(*arguments)
        tap.check(done.returncode == code and words in done.stderr, f"{' '.join(arguments)} ends with {code}", [str(done.returncode), done.stderr])
    done = place.tune(TILEC_WORKER="/nonexistent")
    tap.check(done.returncode == 3 and "/nonexistent" in done.stderr, "a worker program that isn't there is missing", [done.stderr])


class Quiet(Tap):
    """Complaints are for what fails."""

    def check(self, good, name, complaints=()):
        super().check(good, name, () if good else [line for text in complaints for line in str(text).splitlines()])


def main():
    tap = Quiet()
    tests = [test_list, test_search, test_second, test_effort, test_dispatch, test_in_place, test_nothing_works, test_judgement,
             test_from_cache, test_memory, test_terminal, test_own_worker, test_journal, test_hanging_compiler, test_interrupt,
             test_interrupted_best, test_budget, test_killed_workers, test_usage]
    for test in tests:
        test(tap)
    if len(sys.argv) > 6:
        test_cuda(tap)
    tap.end()


main()
