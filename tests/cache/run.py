#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The caches as users of the program see them: which config wins, what is compiled, what is said where something differs.

    run.py TILEC CACHE_TOOL SOURCE
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TILEC, TOOL, ROOT = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:4])
sys.path.insert(0, str(pathlib.Path(ROOT) / "tests" / "house"))
from tap import Tap

tap = Tap()
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="tilec-cache-"))
CACHE = FOLDER / "cache"
KERNEL = """import "helper.tile";

kernel total<T: float, I: int>(x: T[nnz, M], offsets: I[B + 1]) -> out: T[B, M]
{
    for tb in tile(B) {
        let start = offsets[tb];
        let length = offsets[tb + 1] - start;
        for tm in tile(M) {
            var acc: accum(T)[tb, tm] = 0;
            for tk in jagged_tile(length) { acc += sum[tk](change(x[start + tk, tm])); }
            out[tb, tm] = acc;
        }
    }
}
"""
HELPER = "fn change(x) = x * 2;\n"
EVEN, SKEWED = "offsets=offsets(uniform(1, 63))", "offsets=offsets(zipf(6400, 3000))"


def write(name, text):
    path = FOLDER / name
    path.write_text(text)
    return path


def make_compiler():
    """The machine's C compiler behind a script that counts how often it is started."""
    real = shutil.which(os.environ.get("CC", "cc").split()[0])
    script = write("cc", f'#!/bin/sh\necho >> "{FOLDER}/started"\nexec "{real}" "$@"\n')
    script.chmod(0o700)
    return str(script)


ENV = {"PATH": os.environ["PATH"], "HOME": str(FOLDER), "TILEC_CACHE_DIR": str(CACHE), "LC_ALL": "C", "CC": make_compiler()}


def started():
    path = FOLDER / "started"
    return path.read_text().count("\n") if path.exists() else 0


class Ran:
    def __init__(self, words, env=()):
        done = subprocess.run([TILEC, *words], capture_output=True, text=True, cwd=FOLDER, env={**ENV, **dict(env)}, timeout=120)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.json = json.loads(done.stdout) if "--json" in words and done.returncode == 0 else {}
        self.origin = self.json.get("config", {}).get("from")

    def lines(self):
        return [f"ended with {self.code}", *self.out.splitlines()[:6], *self.err.splitlines()[:6]]


def run(*more, rows=EVEN, extents=("--dim", "B=100", "--dim", "M=64"), env=(), json=True):
    return Ran(["run", "total.tile", "--arg", "x=randn", "--arg", rows, *extents, *more, *(["--json"] if json else [])], env)


def check(good, name, ran=None):
    tap.check(bool(good), name, [] if good or ran is None else ran.lines())


def store(seed, milliseconds=0.5, rows=EVEN):
    words = [TOOL, "store", str(seed), str(milliseconds), "total.tile", "total", "x=randn", rows, "B=100", "M=64"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=FOLDER, env=ENV)
    check(done.returncode == 0, "a best config is stored")
    return done.stdout.strip()


def fresh():
    shutil.rmtree(CACHE, ignore_errors=True)
    write("total.tile", KERNEL)
    write("helper.tile", HELPER)


# ------------------------------------------------------------------------------------------------ binaries

def test_binaries():
    fresh()
    before = started()
    first, second, third = run(), run(), run("--check")
    check(first.code == 0 and first.json["compiled"] == 1 and first.json["cached"] == 0, "the first run compiles", first)
    check(started() > before, "and starts the C compiler")
    before = started()
    for name, ran in (("second", second), ("third", third), ("fourth", run())):
        check(ran.code == 0 and ran.json["compiled"] == 0 and ran.json["cached"] == 1 and not ran.err, f"the {name} compiles nothing", ran)
    check(started() == before, "and starts no C compiler")
    skipped = run("--skip-cache")
    check(skipped.code == 0 and skipped.json["compiled"] == 1, "--skip-cache reads no binaries", skipped)
    strict = run("--autotune-cache", "strict")
    check(strict.json.get("compiled") == 1, "a strict cache has binaries of its own", strict)
    strict = run(env={"TILEC_AUTOTUNE_CACHE": "strict"})
    check(strict.json.get("compiled") == 0, "which are found again", strict)


def test_skip_writes_nothing():
    fresh()
    ran = run("--skip-cache")
    check(ran.code == 0 and not ran.err and not CACHE.exists(), "--skip-cache writes nothing, not even a folder", ran)
    ran = run(env={"TILEC_SKIP_CACHE": "1"})
    check(ran.code == 0 and not CACHE.exists(), "nor does TILEC_SKIP_CACHE", ran)
    ran = run("--cache-dir", str(FOLDER / "elsewhere"))
    check(ran.code == 0 and (FOLDER / "elsewhere" / "objects").is_dir() and not CACHE.exists(), "--cache-dir wins over TILEC_CACHE_DIR", ran)


def test_damaged():
    """Cut to nothing, cut to half, a byte changed: a miss and a warning, right results, and whole again afterwards."""
    fresh()
    key = store(3)
    run()

    def cut(share):
        return lambda data: data[:len(data) * share // 2]

    def flip(data):
        return data[:len(data) // 3] + bytes([data[len(data) // 3] ^ 4]) + data[len(data) // 3 + 1:]

    for name, damage in (("cut to nothing", cut(0)), ("cut to half", cut(1)), ("with a flipped byte", flip)):
        for path in [*CACHE.glob("configs/*"), *CACHE.glob("objects/*")]:
            path.write_bytes(damage(path.read_bytes()))
        ran = run("--check")
        check(ran.code == 0 and ran.origin == "default" and ran.json["compiled"] == 1, f"entries {name} are misses", ran)
        check(ran.err.count("warning[cache.entry]") == 1, "with one warning", ran)
        check(store(3) == key, "stored anew under the same key")
        run()
        ran = run("--check")
        check(ran.code == 0 and ran.origin == "cache" and ran.json["compiled"] == 0 and not ran.err, "they are replaced", ran)


def test_no_folder():
    for folder in ("/proc/nowhere", str(write("a file", "")) + "/cache"):
        ran = run("--check", env={"TILEC_CACHE_DIR": folder})
        check(ran.code == 0 and ran.err.count("warning[cache.") == 1, f"{folder} costs one warning", ran)


# ------------------------------------------------------------------------------------------------ which config wins

def test_order():
    fresh()
    check(run().origin == "default", "without anything the default")
    key = store(5)
    cached = run("--check")
    check(cached.origin == "cache" and cached.json["config"]["name"] == f"cached {key[:12]}", "then the best known config", cached)
    check(run(extents=("--dim", "B=110", "--dim", "M=64")).origin == "cache", "also for a few rows more")
    check(run(rows=SKEWED).origin == "default", "but not for skewed rows")
    check(run(extents=("--dim", "B=100", "--dim", "M=32")).origin == "default", "nor for another extent that is compiled in")
    check(run("--checked").origin == "default", "nor where the code is another")
    for words, env in ((["--force-autotune"], {}), ([], {"TILEC_FORCE_AUTOTUNE": "1"}), (["--skip-cache"], {}), ([], {"TILEC_SKIP_CACHE": "1"}),
                       (["--autotune-cache", "strict"], {})):
        check(run(*words, env=env).origin == "default", f"not with {' '.join(words) or env}")
    emitted = Ran(["config", "default", "total.tile", "--dim", "M=64", "-o", "explicit.json"])
    explicit = run("--config", "explicit.json")
    check(emitted.code == 0 and explicit.origin == "file" and explicit.json["config"]["name"] == "explicit.json", "an explicit one wins", explicit)
    check(run("--config", "explicit.json", "--assert-cache-hit").code == 0, "and asks no cache")
    kept = run("--skip-cache", "--keep", "kept")
    edited = run("--source", "kept/total.c", "--check")
    check(kept.code == 0 and edited.code == 0 and edited.origin == "default", "an edited text runs as the default config's", edited)
    reference = run("--device", "reference")
    check(reference.code == 0 and "config" not in reference.json, "the reference evaluator has none", reference)


def test_bench():
    fresh()
    key = store(5)
    words = ["bench", "total.tile", "--arg", "x=randn", "--arg", EVEN, "--dim", "B=100", "--dim", "M=64", "--runs", "3", "--json"]
    ran = Ran([*words, "--vs", "default"])
    labels = [result["label"] for result in ran.json.get("results", [])]
    check(labels == [f"cached {key[:12]}", "default"] and ran.json["config_from"] == "cache", "bench times the best known config", ran)
    again = Ran([*words, "--vs", "default"])
    check(again.json.get("compiled") == 0 and again.json.get("cached") == 2, "and compiles nothing the second time", again)
    check(Ran([*words, "--skip-cache"]).json["results"][0]["label"] == "default", "or without the cache the default")


def test_asserted():
    fresh()
    ran = run("--assert-cache-hit", json=False)
    check(ran.code == 4 and "has no entries" in ran.err and not ran.out, "an asserted hit in an empty cache ends with 4", ran)
    store(5)
    for words, env in ((["--assert-cache-hit"], {}), ([], {"TILEC_ASSERT_CACHE_HIT": "1"})):
        ran = run(*words, env=env)
        check(ran.code == 0 and ran.origin == "cache", "an asserted hit that is one", ran)
        ran = run(*words, env=env, rows=SKEWED, json=False)
        fields = re.findall(r"^  (\w+): (.*) is wanted, the entry has (.*)$", ran.err, re.MULTILINE)
        check(ran.code == 4 and fields == [("shape", "B=128 offsets.rows=128 offsets.mean=64 offsets.skew=16",
                                            "B=128 offsets.rows=128 offsets.mean=32 offsets.skew=2")], "a miss says what differs", ran)
    write("helper.tile", "// a comment\n\nfn change(y) = y *\n 2;\n")
    check(run("--assert-cache-hit").code == 0, "a comment, a name, a line more in an imported helper is no miss")
    write("helper.tile", "fn change(x) = x * 3;\n")
    ran = run("--assert-cache-hit", json=False)
    check(ran.code == 4 and re.findall(r"^  (\w+): ", ran.err, re.MULTILINE) == ["program"], "another body of an imported helper is one", ran)
    check(run("--check").code == 0, "without the assertion that is no error")
    ran = run("--assert-cache-hit", "--skip-cache")
    check(ran.code == 2 and "exclude each other" in ran.err, "asserting and skipping is refused", ran)


# ------------------------------------------------------------------------------------------------ tilec cache

def test_command():
    fresh()
    ran = Ran(["cache", "list"])
    check(ran.code == 0 and "0 configs and 0 binaries" in ran.out and not CACHE.exists(), "an empty cache is listed, and not made", ran)
    even, skewed = store(5, 0.5), store(6, 0.25, SKEWED)
    run()
    ran = Ran(["cache", "list"])
    check(ran.code == 0 and all(piece in ran.out for piece in (even[:12], skewed[:12], "offsets.skew=16", "0.25 ms", "2 configs and 1 binary")),
          "list", ran)
    listed = Ran(["cache", "list", "--json"]).json
    check({entry["hash"] for entry in listed["configs"]} == {even, skewed} and listed["binaries"]["count"] == 1, "list --json")
    check(listed["configs"][0]["entry"]["key"]["kernel"] == "total" and listed["path"] == str(CACHE), "with whole entries")
    ran = Ran(["cache", "show", even[:8]])
    shown = json.loads(ran.out) if ran.code == 0 else {}
    check(shown.get("milliseconds") == 0.5 and shown["key"]["types"] == "T=f32 I=i64" and shown["config"]["kernel"] == "total", "show", ran)
    write("shown.json", json.dumps(shown.get("config", {})))
    check(run("--config", "shown.json", "--check").code == 0, "what is shown can be used as a config")
    ran = Ran(["cache", "path"])
    check(ran.code == 0 and ran.out == f"{CACHE}\n", "path", ran)
    check(Ran(["cache", "path", "--json"]).json == {"path": str(CACHE)}, "path --json")
    for words, code, piece in ((["show"], 2, "wants a KEY"), (["show", "zz"], 2, "no entry has a key"), (["show", ""], 2, "no entry has a key"),
                               (["nonsense"], 2, "no such action"), (["list", "x"], 2, "one word too many")):
        ran = Ran(["cache", *words])
        check(ran.code == code and piece in ran.err, f"cache {' '.join(words)} is refused", ran)
    ran = Ran(["cache", "clear", even])
    check(ran.code == 0 and "1 entry removed" in ran.out and run().origin == "default" and run(rows=SKEWED).origin == "cache", "clear of one entry", ran)
    files = len([*CACHE.glob("*/*")])
    ran = Ran(["cache", "clear", "--json"])
    check(files >= 3 and ran.json == {"removed": files} and not [*CACHE.glob("*/*")], "clear of everything", ran)
    ran = Ran(["cache", "list"], {"TILEC_CACHE_DIR": "", "HOME": ""})
    check(ran.code == 0 and "0 configs" in ran.out, "a cache without a folder is empty", ran)


def main():
    for test in (test_binaries, test_skip_writes_nothing, test_damaged, test_no_folder, test_order, test_bench, test_asserted, test_command):
        test()
    shutil.rmtree(FOLDER)
    tap.end()


main()
