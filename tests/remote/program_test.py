#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The remote cache as users of the program see it: two folders and one Redis, what travels, who is
asked when, and addresses.

program_test.py TILEC REMOTE_TOOL CACHE_TOOL SOURCE [LIBCUDA FOLDER-OF-NVRTC]
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import place
import servers
from place import CACHE_TOOL, ENV, FOLDER, PROGRAMS, ROOT, TILEC, check, tap

place.need_redis()
SERVER = place.served(servers.start_redis, "redis")
REDIS = servers.Redis(SERVER.port)
URL = f"redis://127.0.0.1:{SERVER.port}/0?{place.PATIENT}"
SUM = str(pathlib.Path(ROOT) / "examples" / "jagged_sum.tile")
ROWS, SKEWED = "offsets=offsets(uniform(1, 63))", "offsets=offsets(zipf(6400, 3000))"


class Ran:
    def __init__(self, folder, *words, url=URL, **env):
        env = {**ENV, "TILEC_CACHE_DIR": str(FOLDER / folder), **({"TILEC_REMOTE_CACHE": url} if url else {}), **env}
        done = subprocess.run([TILEC, *words], capture_output=True, text=True, cwd=FOLDER, env=env, timeout=120)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.json = json.loads(done.stdout) if "--json" in words and done.returncode == 0 else {}
        self.warnings = self.err.count("warning[")

    def lines(self):
        return [f"ended with {self.code}", *self.out.splitlines()[:6], *self.err.splitlines()[:6]]


def kernel(command, *more, rows=ROWS):
    return [
        command,
        SUM,
        "--kernel",
        "jagged_sum",
        "--arg",
        "x=randn",
        "--arg",
        rows,
        "--dim",
        "B=100",
        "--dim",
        "M=64",
        *more,
        "--json",
    ]


def store(folder, seed, milliseconds=0.5, rows=ROWS, url=URL):
    """A best config, found by a search of 60 s and 100 configs."""
    words = [CACHE_TOOL, "store", str(seed), str(milliseconds), SUM, "jagged_sum", "x=randn", rows, "B=100", "M=64"]
    env = {**ENV, "TILEC_CACHE_DIR": str(FOLDER / folder), "TILEC_REMOTE_CACHE": url}
    done = subprocess.run(words, capture_output=True, text=True, cwd=FOLDER, env=env, check=False)
    check(done.returncode == 0, "a best config is stored")
    return done.stdout.strip()


def fresh():
    REDIS("FLUSHALL")
    REDIS("CONFIG", "RESETSTAT")


def keys(kind):
    return [key.decode() for key in REDIS("KEYS", f"tilec:{kind}:*")]


def entries(folder, kind="configs"):
    return [path.name for path in (FOLDER / folder).glob(f"{kind}/*")]


# ------------------------------------------------------------------------------------------------ sharing


def test_two_folders():
    fresh()
    first = Ran("one", *kernel("tune", "--count", "2"))
    check(
        first.code == 0 and not first.json["cached"] and first.json["compiled"] > 0 and not first.warnings,
        "the first tunes",
        first,
    )
    second = Ran("two", *kernel("tune", "--count", "2"))
    check(
        second.code == 0 and second.json["cached"] and second.json["compiled"] == 0 and second.json["rows"] == 0,
        "the second tunes nothing",
        second,
    )
    check(entries("two") == entries("one") == [first.json["key"]], "and has the entry")
    check(
        keys("config") == [f"tilec:config:{first.json['key']}"] and keys("list") == ["tilec:list:cpu:jagged_sum"],
        "as the server has it",
    )
    proxy = servers.Proxy(SERVER.port)
    third = Ran("two", *kernel("run", "--check"), url=f"redis://127.0.0.1:{proxy.port}")
    check(
        third.code == 0 and third.json["config"]["from"] == "cache" and proxy.connections == 0,
        "what is on the disk isn't asked for",
        third,
    )
    check(third.json["compiled"] == 1 and keys("binary") == [], "and what is built for the CPU doesn't travel", third)


def test_killed():
    """The server dies when it is asked for what isn't on the disk, and when the result is to be stored."""
    fresh()
    alone = Ran("alone", *kernel("tune", "--count", "1", "-o", "alone.json"), url=None)
    for last in (1, 2):
        doomed = servers.start_redis(PROGRAMS, FOLDER / f"doomed{last}")

        def kill(proxy, client, server):
            return (proxy.pass_back(client, server) or True) if proxy.requests < last else doomed.stop()

        proxy = servers.Proxy(doomed.port, kill)
        ran = Ran(
            f"killed{last}",
            *kernel("tune", "--count", "1", "-o", f"killed{last}.json"),
            url=f"redis://127.0.0.1:{proxy.port}?{place.PATIENT}",
        )
        check(
            ran.code == 0 and ran.warnings == 1 and "the connection was cut" in ran.err,
            f"Redis killed at question {last}: one warning",
            ran,
        )
        check(
            (FOLDER / f"killed{last}.json").read_text() == (FOLDER / "alone.json").read_text(), "the same result", ran
        )
        check(entries(f"killed{last}") == [alone.json["key"]], "and the disk has it", ran)
        doomed.stop()


def test_stronger():
    """What was searched for more thoroughly wins, on either side."""
    fresh()
    Ran("weak", *kernel("tune", "--count", "1"), url="none")
    key = store("strong", 5, 1e-6)
    ran = Ran("weak", *kernel("tune", "--count", "50"))
    check(
        ran.code == 0 and ran.json["cached"],
        "a weaker entry on the disk is no answer to a longer search, the server's is",
        ran,
    )
    kept = REDIS("GET", f"tilec:config:{key}")

    def late(proxy, client, server):
        """Has no entry yet when it is asked first."""
        if proxy.requests > 1:
            return proxy.pass_back(client, server) or True
        server.recv(1 << 20)
        return client.sendall(b"$-1\r\n") or True

    proxy = servers.Proxy(SERVER.port, late)
    ran = Ran("late", *kernel("tune", "--count", "1"), url=f"redis://127.0.0.1:{proxy.port}?{place.PATIENT}")
    check(
        ran.code == 0 and not ran.json["cached"] and REDIS("GET", f"tilec:config:{key}") == kept,
        "a weaker one doesn't replace it",
        ran,
    )
    check(entries("late") == [key], "and stays on the disk")
    ran = Ran("late", *kernel("tune", "--count", "1", "--force-autotune"))
    check(
        ran.code == 0 and not ran.json["cached"] and REDIS("GET", f"tilec:config:{key}") != kept,
        "with --force-autotune it does",
        ran,
    )


def test_from_cache():
    fresh()
    key = store("distant", 7, rows=SKEWED)
    config = json.loads(Ran("distant", "cache", "show", key).out)["config"]
    ran = Ran("near", *kernel("tune", "--count", "1", "--from-cache", "1", "--results", "rows.json"))
    tried = [row["config"] for row in json.loads((FOLDER / "rows.json").read_text())]
    check(ran.code == 0 and config in tried, "--from-cache begins with what the server knows of other shapes", ran)


def test_settings():
    fresh()
    store("stored", 5)
    proxy = servers.Proxy(SERVER.port)
    url = f"redis://127.0.0.1:{proxy.port}?{place.PATIENT}"

    def run(*words, **how):
        """With what is built on the disk, and no config."""
        shutil.rmtree(FOLDER / "settings" / "configs", ignore_errors=True)
        return Ran("settings", *kernel("run", *words), **how)

    def came_from(ran, where):
        return ran.code == 0 and ran.json["config"]["from"] == where and not ran.warnings

    for words in (("--skip-cache",), ("--remote-cache", "none")):
        ran = run(*words, url=url)
        check(came_from(ran, "default") and proxy.connections == 0, f"{' '.join(words)} asks nobody", ran)
    ran = run("--remote-cache", url, url="redis://127.0.0.1:1")
    check(came_from(ran, "cache") and proxy.connections == 1, "the option wins over the variable", ran)
    ran = run("--autotune-cache", "remote")
    check(came_from(ran, "cache"), "the kind `remote`", ran)
    ran = run("--autotune-cache", "remote", url=None)
    check(ran.code == 2 and "no remote cache is named" in ran.err and not ran.out, "wants one", ran)
    check(came_from(run("--force-autotune"), "default"), "--force-autotune reads none")
    check(came_from(run("--assert-cache-hit"), "cache"), "a hit there is a hit")
    linked = subprocess.run(["ldd", TILEC], capture_output=True, text=True, check=False).stdout
    check(
        "hiredis" not in linked and "curl" not in linked and "libc.so" in linked,
        "the program starts without either library",
    )


def test_telling():
    dead = f"redis://us:secret@127.0.0.1:{servers.free_port()}/2"
    ran = Ran("telling", "cache", "path")
    check(
        ran.out == f"{FOLDER / 'telling'}\n" and f"redis://127.0.0.1:{SERVER.port}/0, it answers" in ran.err,
        "cache path tells of it",
        ran,
    )
    ran = Ran("telling", "cache", "list", url=dead)
    check(
        ran.code == 0 and "0 configs" in ran.out and "Connection refused" in ran.err and "secret" not in ran.err,
        "cache list tells why it doesn't answer",
        ran,
    )
    ran = Ran("telling", "cache", "list", "--json")
    check(ran.json.get("remote") == f"redis://127.0.0.1:{SERVER.port}/0", "cache list --json has it", ran)
    ran = Ran("telling", "cache", "path", "--json", url=dead)
    check(
        ran.json["remote"]["answers"] is False and "refused" in ran.json["remote"]["trouble"],
        "cache path --json too",
        ran,
    )
    for url, ok, piece in (
        (URL, True, "it answers"),
        (dead, False, "refused"),
        ("nonsense", False, "begin with a scheme"),
    ):
        findings = {
            finding["name"]: finding for finding in json.loads(Ran("telling", "doctor", "--json", url=url).out or "[]")
        }
        finding = findings.get("remote cache", {})
        check(
            finding.get("ok") is ok and piece in finding["detail"] and "secret" not in str(finding),
            f"the doctor says: {piece}",
        )
    check("remote cache" not in Ran("telling", "doctor", url=None).out, "and nothing where there is none")


def test_addresses():
    for address, piece in (
        ("127.0.0.1:6379", "doesn't begin with a scheme"),
        ("ftp://h", "'ftp://' is no scheme"),
        ("rediss://h", "Redis over TLS isn't spoken"),
        ("redis://", "there is no host"),
        ("redis://:secret@", "there is no host"),
        ("redis://h:0", "the port '0'"),
        ("redis://h:65536", "the port '65536'"),
        ("redis://h:1x", "the port '1x'"),
        ("http://h:", "the port ''"),
        ("redis://h/x", "the database 'x'"),
        ("redis://h/-1", "the database '-1'"),
        ("redis://me@h", "a user and no password"),
        ("redis://[::1", "has no ]"),
        ("redis://::1", "there is no host"),
        ("redis://h h", "byte 10, 0x20"),
        ("redis://h\n", "write %0A"),
        ("redis://h\u00e4", "0xc3"),
        ("redis://:a#b@h", "write %23"),
        ("redis://h?prefix=%4", "'%4' is no escape"),
        ("redis://h?colour=red", "there is no parameter 'colour'"),
        ("redis://h?timeout_ms=0", "timeout_ms '0' is not a number from 1"),
        ("redis://h?connect_ms=-1", "connect_ms '-1'"),
        ("redis://h?pause_s=1.5", "pause_s '1.5'"),
        ("redis://h?timeout_ms", "timeout_ms ''"),
        ("redis://h?readonly=maybe", "readonly 'maybe'"),
        ("http://h/x?prefix=y", "write it as a path"),
        ("redis://:%00@h", "%00"),
        ("redis://h?prefix=" + 300 * "x", "at most 256 bytes"),
        ("redis://h$", "'h$' is not the name"),
        ("redis://[::1]6379", "'6379' stands behind the host"),
    ):
        for how, words, env in (
            ("TILEC_REMOTE_CACHE", [], {"url": address}),
            ("--remote-cache", ["--remote-cache", address], {"url": None}),
        ):
            ran = Ran("addresses", "cache", "path", *words, **env)
            check(
                ran.code == 2 and f"{how}: " in ran.err and piece in ran.err and "secret" not in ran.err,
                f"{how} {address!r:.40}: {piece}",
                ran,
            )
    ran = Ran("addresses", "cache", "path", url="redis://h", TILEC_REMOTE_CACHE_TOKEN="secret\n")
    check(
        ran.code == 2 and "TILEC_REMOTE_CACHE_TOKEN: byte 7 is a control character" in ran.err,
        "a token with a line end",
        ran,
    )
    for address in ("none", ""):
        check(Ran("addresses", "cache", "path", url=address).code == 0, f"{address!r} is none")


# ------------------------------------------------------------------------------------------------ cubins


def sets():
    for line in REDIS("INFO", "commandstats").decode().split():
        if line.startswith("cmdstat_set:"):
            return int(line.split("calls=")[1].split(",")[0])
    return 0


def test_cubins():
    """On a driver and an NVRTC that compute nothing."""
    if len(sys.argv) < 7:
        return
    driver, compiler = (str(pathlib.Path(word).resolve()) for word in sys.argv[5:7])
    env = {"TILEC_TEST_LIBCUDA": driver, "TILEC_NVRTC_DIR": compiler}
    words = kernel("run", "--device", "cuda")
    fresh()
    first = Ran("compiles", *words, **env)
    made, before = sorted(keys("binary")), sets()
    check(first.code == 0 and first.json["compiled"] == len(made) == before == 1, "a cubin is put there", first)
    check(first.warnings == 0, "without a warning", first)
    second = Ran("takes", *words, **env)
    check(second.json["compiled"] == 0 and second.json["cached"] == 1, "and not compiled from another folder", second)
    check([f"tilec:binary:{name}" for name in entries("takes", "objects")] == made, "which has it now")
    REDIS("SETRANGE", made[0], 20, "spoiled")
    third = Ran("compiles again", *words, **env)
    check(third.json["compiled"] == 1 and third.warnings == 1, "a spoiled one is, with one warning", third)
    check("damaged or foreign" in third.err and sets() == 2 * before, "and replaced", third)


KEEPING = """kernel keeping(inout y: f32[n, M])
{
    for tn in tile(n) {
        for tm in tile(M) { y[tn, tm] = y[tn, tm]; }
    }
}
"""


def test_tuned_cubins():
    """What nothing is computed for is right on a driver that computes nothing: of three cubins the best one travels."""
    if len(sys.argv) < 7:
        return
    driver, compiler = (str(pathlib.Path(word).resolve()) for word in sys.argv[5:7])
    env = {"TILEC_TEST_LIBCUDA": driver, "TILEC_NVRTC_DIR": compiler}
    (FOLDER / "keeping.tile").write_text(KEEPING)
    words = ["keeping.tile", "--device", "cuda", "--arg", "y=randn", "--dim", "n=100", "--dim", "M=64", "--json"]
    fresh()
    first = Ran("tunes cubins", "tune", *words, "--count", "3", **env)
    check(
        first.code == 0 and first.warnings == 0 and len(entries("tunes cubins", "objects")) >= 3,
        "a tune compiles",
        first,
    )
    check(
        len(keys("config")) == 1 and len(keys("binary")) == 2,
        "gives its best config, its cubin, and by what it was made",
    )
    check(Ran("tunes cubins", "run", *words, **env).json["compiled"] == 0, "and finds them itself")
    second = Ran("runs cubins", "tune", *words, "--count", "3", **env)
    check(
        second.code == 0 and second.json["cached"] and second.json["compiled"] == 0,
        "another folder tunes nothing",
        second,
    )
    second = Ran("runs cubins", "run", *words, **env)
    check(second.json["config"]["from"] == "cache" and second.json["compiled"] == 0, "and compiles nothing", second)


def test_compiled_for_later():
    """What a machine without a device has compiled, a tune elsewhere takes; what that compiles is its own."""
    if len(sys.argv) < 7:
        return
    driver, compiler = (str(pathlib.Path(word).resolve()) for word in sys.argv[5:7])
    (FOLDER / "keeping.tile").write_text(KEEPING)
    words = ["tune", "keeping.tile", "--device", "cuda", "--arg", "y=randn", "--dim", "n=100", "--dim", "M=64"]
    env = {"TILEC_NVRTC_DIR": compiler}
    fresh()
    first = Ran("for later", *words, "--count", "2", "--compile-only", "--arch", "sm_90", **env)
    check(first.code == 0 and len(keys("binary")) == 2 and not keys("config"), "--compile-only gives all cubins", first)
    second = Ran("later", *words, "--count", "3", "-j", "1", TILEC_TEST_LIBCUDA=driver, **env)
    hits = int(re.search(r"keyspace_hits:(\d+)", REDIS("INFO", "stats").decode()).group(1))
    check(second.code == 0 and second.warnings == 0 and hits >= 2, "a tune takes them", second)
    check(len(keys("binary")) <= 4 and len(keys("config")) == 1, "and gives of its own no more than the best", second)


def test_merged():
    """A merge compiles nothing, and has what it gives only where the folder has it."""
    if len(sys.argv) < 7:
        return
    driver, compiler = (str(pathlib.Path(word).resolve()) for word in sys.argv[5:7])
    env = {"TILEC_NVRTC_DIR": compiler, "TILEC_TEST_LIBCUDA": driver}
    (FOLDER / "keeping.tile").write_text(KEEPING)
    words = ["tune", "keeping.tile", "--device", "cuda", "--arg", "y=randn", "--dim", "n=100", "--dim", "M=64"]
    fresh()
    for shard in ("1/2", "2/2"):
        ran = Ran("sharded", *words, "--count", "2", "--folder", "shards", "--shard", shard, **env)
        check(ran.code in (0, 4) and not keys("binary"), f"shard {shard} gives nothing", ran)
    ran = Ran("sharded", *words, "--count", "2", "--merge", "shards", **env)
    check(ran.code == 0 and len(keys("config")) == 1 and len(keys("binary")) == 2, "the merge gives the best", ran)


def test_without_nvrtc():
    """A machine without a compiler takes what another has compiled."""
    if len(sys.argv) < 7:
        return
    driver, compiler = (str(pathlib.Path(word).resolve()) for word in sys.argv[5:7])

    def bind(folder, address=URL, nvrtc=compiler):
        env = {"TILEC_TEST_LIBCUDA": driver, "TILEC_NVRTC_DIR": nvrtc, "TILEC_CACHE_DIR": str(FOLDER / folder)}
        return place.Asked(address, "bind", **env)

    fresh()
    asked = bind("has NVRTC")
    check(re.fullmatch("bound, [1-9] compiled, 0 cached", asked.answers[-1]), "one machine compiles", asked)
    count = asked.answers[-1][7]
    asked = bind("has none", nvrtc="none")
    check(asked.answers[-1] == f"bound, 0 compiled, {count} cached", "another without NVRTC has all of it", asked)
    asked = bind("has none", "none", nvrtc="none")
    check(asked.answers[-1] == f"bound, 0 compiled, {count} cached", "and keeps it", asked)
    fresh()
    asked = bind("has nothing", nvrtc="none")
    check(asked.answers[-1] == "missing.nvrtc", "where nobody has it, it says so", asked)


for test in (
    test_two_folders,
    test_killed,
    test_stronger,
    test_from_cache,
    test_settings,
    test_telling,
    test_addresses,
    test_cubins,
    test_tuned_cubins,
    test_compiled_for_later,
    test_merged,
    test_without_nvrtc,
):
    test()
tap.end()
