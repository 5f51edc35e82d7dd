#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The remote cache over Redis: what is there, what is spoiled there, and a server that fails in every way.

redis_test.py TILEC REMOTE_TOOL CACHE_TOOL SOURCE
"""

import os

import place
import servers
from place import Asked, check, silent, tap, warns

place.need_redis()
SERVER = place.served(servers.start_redis, "redis")
REDIS = servers.Redis(SERVER.port)
URL = f"redis://127.0.0.1:{SERVER.port}/0?{place.PATIENT}"
KEY = {name: Asked("none", f"key {name}").answers[0] for name in ("a", "b", "c", "d")}


def entry(name, kind="config"):
    return f"tilec:{kind}:{KEY[name]}"


def fresh(*lines):
    REDIS("FLUSHALL")
    return Asked(URL, *lines)


def proxied(fault, limit=place.PATIENT, **more):
    proxy = servers.Proxy(SERVER.port, fault)
    for name, value in more.items():
        setattr(proxy, name, value)
    return proxy, f"redis://127.0.0.1:{proxy.port}/0?{limit}"


# ------------------------------------------------------------------------------------------------ entries


def test_entries():
    silent("what isn't there is a miss, without a warning", fresh("get a config", "get a binary"), "a miss", "a miss")
    silent(
        "what was put there is there for another process",
        fresh("put a 3000 config", "put b 5000000 binary", "put c 0 binary"),
    )
    silent(
        "byte by byte",
        Asked(URL, "get a config", "get b binary", "get c binary", "get b config"),
        "a 3000",
        "b 5000000",
        "c 0",
        "b miss",
    )
    check(
        sorted(REDIS("KEYS", "*"))
        == sorted(key.encode() for key in (entry("a"), entry("b", "binary"), entry("c", "binary"))),
        "under the usual prefix",
    )


def test_prefix():
    fresh("put a 10 config")
    odd = URL.replace("/0?", "/5?prefix=%20%00*%ff%0d%0a%25&")
    silent("a prefix of odd bytes, in another database", Asked(odd, "put a 20 config", "get a config"), "a 20")
    other = servers.Redis(SERVER.port)
    other("SELECT", 5)
    check(other("KEYS", "*") == [b" \0*\xff\r\n%config:" + KEY["a"].encode()], "is there byte by byte")
    silent("and no other's entries are", Asked(URL, "get a config"), "a 10")


def test_spoiled():
    def flip(data, at):
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    fresh("put a 300 config", "put b 300 config")
    good, other = REDIS("GET", entry("a")), REDIS("GET", entry("b"))
    for name, data in (
        ("with a flipped byte", flip(good, 100)),
        ("with another hash", flip(good, 300 + 90)),
        ("cut short", good[:-1]),
        ("too long", good + b" "),
        ("empty", b""),
        ("without payload", good[300:]),
        ("of another key", other),
        ("another payload", other[:300] + good[300:]),
    ):
        REDIS("SET", entry("a"), data)
        warns(
            f"an entry {name} is a miss and a warning",
            Asked(URL, "get a config", "get a config", "get b config"),
            ["a miss", "a miss", "b 300"],
            "damaged or foreign",
        )
        silent("and is replaced", Asked(URL, "put a 300 config", "get a config"), "a 300")
    REDIS("DEL", entry("a"))
    REDIS("RPUSH", entry("a"), "x", "y")
    warns("a list in its place too", Asked(URL, "get a config", "get b config"), ["a miss", "b 300"], "WRONGTYPE")
    silent("and is replaced", Asked(URL, "put a 300 config", "get a config"), "a 300")
    REDIS("SETRANGE", entry("a"), 1 << 20, "x")
    warns(
        "one that is a little too large too",
        Asked(URL, "get a config", "get b config"),
        ["a miss", "b 300"],
        "more than 1048576 bytes",
    )
    REDIS("SETRANGE", entry("a"), 5 << 20, "x")
    warns("and one that is much too large", Asked(URL, "get a config"), ["a miss"], "more than 1048576 bytes")
    silent("what is too large isn't sent", fresh("put a 1048577 config", "get a config"), "a miss")


def test_lists():
    fresh("put a 10 config cuda:k", "put b 10 config cuda:k", "put c 10 config cpu:k", "put a 10 config cuda:k")
    wanted = "listed " + " ".join(KEY[name][:8] for name in ("a", "b"))
    silent("a list has its entries, the newest first", Asked(URL, "list cuda:k", "list cuda:other"), wanted, "listed")
    REDIS("DEL", entry("b"))
    REDIS("ZADD", "tilec:list:cuda:k", 9, "nonsense", 9, "../" + KEY["d"][3:])
    silent("without those that are gone, and such as are no keys", Asked(URL, "list cuda:k"), f"listed {KEY['a'][:8]}")
    REDIS("SET", entry("b"), "spoiled")
    warns("nor those that are damaged", Asked(URL, "list cuda:k"), [f"listed {KEY['a'][:8]}"], "damaged or foreign")
    REDIS("ZADD", "tilec:list:cuda:k", *(word for i in range(400) for word in (100 + i, f"{i:064x}")))
    Asked(URL, "put c 10 config cuda:k")
    check(REDIS("ZCARD", "tilec:list:cuda:k") == 256, "a list keeps 256")
    REDIS("SET", "tilec:list:cuda:k", "a text")
    warns(
        "a text in its place is a warning",
        Asked(URL, "list cuda:k", "get a config"),
        ["listed", "a 10"],
        "ZREVRANGE: WRONGTYPE",
    )
    warns("for who adds to it too", Asked(URL, "put a 10 config cuda:k"), [], "ZADD: WRONGTYPE")


# ------------------------------------------------------------------------------------------------ who may what


def test_access():
    fresh("put a 10 config")
    silent(
        "who may only read stores nothing",
        Asked(URL + "&readonly", "put b 10 config", "get a config", "get b config"),
        "a 10",
        "b miss",
    )
    silent("readonly=0 stores", Asked(URL + "&readonly=0", "put b 10 config", "get b config"), "b 10")
    REDIS("CONFIG", "SET", "maxmemory", 1)
    warns(
        "a server that is full is a warning, and read",
        Asked(URL, "put c 10 config", "put d 10 config", "get a config"),
        ["a 10"],
        "nothing is stored",
        "OOM",
    )
    REDIS("CONFIG", "SET", "maxmemory", 0)
    REDIS("ACL", "SETUSER", "us:er", "on", ">p@ss:#1", "~*", "+@all")
    named = URL.replace("//", "//us%3aer:p@ss:%231@")
    silent("a user and a password", Asked(named, "get a config"), "a 10")
    asked = Asked(named.replace("p@ss", "secret"), "get a config", "get b config")
    warns(
        "a wrong one is a warning",
        asked,
        ["a miss", "b miss"],
        "AUTH: WRONGPASS",
        "TILEC_REMOTE_CACHE_TOKEN",
        "left alone for 60 s",
    )
    check("secret" not in asked.warnings[0] and "us%3aer" not in asked.warnings[0], "that doesn't have it")
    REDIS("CONFIG", "SET", "requirepass", "tok en")
    warns("none where one is wanted is a warning", Asked(URL, "get a config"), ["a miss"], "NOAUTH")
    silent("a password alone", Asked(URL.replace("//", "//:tok%20en@"), "get a config"), "a 10")
    silent("the token's variable", Asked(URL, "get a config", TILEC_REMOTE_CACHE_TOKEN="tok en"), "a 10")
    REDIS("CONFIG", "SET", "requirepass", "")
    warns("a database that there isn't", Asked(URL.replace("/0?", "/99?"), "get a config"), ["a miss"], "SELECT: ERR")


# ------------------------------------------------------------------------------------------------ a server that fails

MANY = [f"get {name} config" for name in "abcd"] * 5
MISSES = [f"{name} miss" for name in "abcd"] * 5


def test_faults():
    fresh("put a 1000 config")
    short = {"limit": "timeout_ms=200&connect_ms=60000"}
    for name, fault, more, piece in (
        ("never answers", servers.silence, short, "no answer in time"),
        ("never ends", servers.drip, {"head": b"$1000000\r\n", **short}, "no answer in time"),
        ("cuts its answer", servers.cut, {}, "the connection was cut"),
        ("talks nonsense", b"HTTP/1.1 400 Bad Request\r\n\r\n", {}, "doesn't answer as Redis does"),
        ("answers with a number", b":1\r\n", {}, "makes no sense"),
        ("answers with a list", b"*1\r\n$1\r\nx\r\n", {}, "makes no sense"),
        ("answers with a list of lists", b"*1\r\n*1\r\n*1\r\n$1\r\nx\r\n", {}, ""),
        ("answers with an endless list", b"*2147483647\r\n", {}, ""),
        ("hides an endless list", b"*2\r\n*9223372036854775807\r\n", {}, ""),
        ("announces far too much", b"$9000000000000000000\r\n", {}, ""),
        ("announces less than nothing", b"$-5\r\n", {}, ""),
        ("is loading", b"-LOADING Redis is loading the dataset in memory\r\n", {}, "LOADING"),
        ("is elsewhere", b"-MOVED 1 127.0.0.1:1\r\n", {}, "MOVED"),
        ("colours its complaint", b"-ERR \x1b[31mred\r\n", {}, "ERR ?[31mred"),
    ):
        proxy, url = proxied(fault, **more)
        asked = Asked(url, *MANY)
        warns(f"a server that {name}: misses and one warning", asked, MISSES, piece)
        check(proxy.connections == 1, f"and {proxy.connections} connection", asked)
        proxy.close()
    asked = Asked(f"redis://127.0.0.1:{servers.free_port()}", *MANY, "session", *MANY)
    warns("none at all: the same, also for the next job of the process", asked, MISSES * 2, "Connection refused")
    asked = Asked("redis://no-such-host.invalid", *MANY)
    warns("a name that there isn't", asked, MISSES, "no-such-host.invalid")
    place.check_hanging_names("redis://some-host.invalid")


def test_limits():
    """What a process loses to a server that never answers is timeout_ms in all, with a pause or without."""
    fresh("put a 1000 config")
    proxy, url = proxied(servers.silence, "timeout_ms=100&connect_ms=60000&pause_s=0")
    asked = Asked(url, *MANY)
    warns("with no pause the time is used up once", asked, MISSES, "this process doesn't ask it again")
    check(proxy.connections == 1, "and it isn't asked again", asked)
    proxy, url = proxied(b"nonsense\r\n", place.PATIENT + "&pause_s=0")
    asked = Asked(url, *MANY)
    warns("what fails at once may be asked again and again", asked, MISSES, "it is asked again")
    check(proxy.connections == len(MANY), "where there is no pause", asked)


def test_connections():
    fresh("put a 1000 config")
    proxy, url = proxied(None, place.PATIENT)
    silent(
        "one connection serves them all",
        Asked(url, *["get a config"] * 10, "put b 10 config", "get b config"),
        *["a 1000"] * 10,
        "b 10",
    )
    check(proxy.connections == 1, "and no more")
    proxy, url = proxied(servers.hang_up, place.PATIENT)
    silent(
        "a server that hangs up after each answer is called again", Asked(url, *["get a config"] * 5), *["a 1000"] * 5
    )
    check(proxy.connections == 5, "each time")
    proxy, url = proxied(None, place.PATIENT)
    silent(
        "a forked process has a connection of its own",
        Asked(url, "get a config", "fork a config"),
        "a 1000",
        "the child has it",
        "a 1000",
    )
    check(proxy.connections == 2, "beside its parent's")
    proxy, url = proxied(None, place.PATIENT)

    asked = Asked(url.replace("127.0.0.1", "localhost"), "get a config", "fork a config")
    silent("also where its name was looked up before", asked, "a 1000", "the child has it", "a 1000")

    def chatter(proxy, client, server):
        proxy.pass_back(client, server)
        client.sendall(b"$5\r\nhello\r\n")
        return True

    proxy, url = proxied(chatter)
    asked = Asked(url, *["get a config"] * 5)
    check(asked.answers[0] == "a 1000" and "a wrong" not in asked.answers, "what isn't asked for is no answer", asked)
    proxy, url = proxied(None, place.PATIENT)
    silent("threads share it", Asked(url, "threads 8 a config"), "8 threads have it")
    check(proxy.connections == 1, "one after the other")
    REDIS("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def test_killed():
    """The server dies in the middle of things."""
    doomed = place.served(servers.start_redis, "doomed")

    def kill(proxy, client, server):
        if proxy.requests < 3:
            return proxy.pass_back(client, server) or True
        return doomed.stop()

    proxy = servers.Proxy(doomed.port, kill)
    asked = Asked(f"redis://127.0.0.1:{proxy.port}?{place.PATIENT}", "put a 10 config", "get a config", *MANY)
    warns(
        "a server that dies: what came before, then misses and one warning",
        asked,
        ["a 10", *MISSES],
        "the connection was cut",
    )


def test_no_library():
    """Files of its names that are no libraries hide those of the system."""
    hidden = place.FOLDER / "hidden"
    hidden.mkdir()
    for version in ("1.3.0", "1.2.0", "1.1.0", "1.0.0", "1", "0.14"):
        (hidden / f"libhiredis.so.{version}").write_text("")
    (hidden / "libhiredis.so").write_text("")
    libraries = os.pathsep.join([str(hidden), *filter(None, [place.ENV.get("LD_LIBRARY_PATH")])])
    warns(
        "without hiredis there are misses, and one warning says how to get it",
        Asked(URL, *MANY, "session", "get a config", LD_LIBRARY_PATH=libraries),
        [*MISSES, "a miss"],
        "hiredis isn't here",
        "sudo apt-get install libhiredis-dev",
    )


for test in (
    test_entries,
    test_prefix,
    test_spoiled,
    test_lists,
    test_access,
    test_faults,
    test_limits,
    test_connections,
    test_killed,
    test_no_library,
):
    test()
tap.end()
