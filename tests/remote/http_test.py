#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The remote cache over HTTP: nginx's WebDAV, and a server that fails in every way.

http_test.py TILEC REMOTE_TOOL CACHE_TOOL SOURCE
"""

import os

import place
import servers
from place import Asked, check, silent, tap, warns

place.need_nginx()
SERVER = place.served(servers.start_nginx, "nginx")
DATA = place.FOLDER / "nginx" / "data"
KEY = {name: Asked("none", f"key {name}").answers[0] for name in ("a", "b")}
MANY = ["get a config", "get b config"] * 5
MISSES = ["a miss", "b miss"] * 5


def url(path="store", more=place.PATIENT, port=SERVER.port):
    return f"http://127.0.0.1:{port}/{path}?{more}"


def test_entries():
    silent("what isn't there is a miss, without a warning", Asked(url(), "get a config"), "a miss")
    silent("what was put there is there for another process", Asked(url(), "put a 3000 config", "put b 5000000 binary"))
    silent("byte by byte", Asked(url(), "get a config", "get b binary", "list cuda:k"), "a 3000", "b 5000000", "listed")
    check((DATA / "store/ac" / KEY["a"]).stat().st_size == 3192, "as a file under /ac/ and its key")
    silent("a slash at the end of the path is no matter", Asked(url("store/"), "get a config"), "a 3000")
    silent(
        "nor is the case of the scheme, nor a name for a number",
        Asked(url().replace("http://127.0.0.1", "HTTP://localhost"), "get a config"),
        "a 3000",
    )
    silent(
        "who may only read stores nothing",
        Asked(url("store", place.PATIENT + "&readonly"), "put c 10 config", "get c config"),
        "c miss",
    )


def test_spoiled():
    path = DATA / "store/ac" / KEY["a"]
    good, other = path.read_bytes(), (DATA / "store/ac" / KEY["b"]).read_bytes()
    for name, data in (
        ("with a flipped byte", good[:9] + bytes([good[9] ^ 1]) + good[10:]),
        ("cut short", good[:-1]),
        ("empty", b""),
        ("of another key", other[:9000]),
    ):
        path.write_bytes(data)
        warns(
            f"an entry {name} is a miss and a warning",
            Asked(url(), "get a config", "get b binary"),
            ["a miss", "b 5000000"],
            "damaged or foreign",
        )
    path.write_bytes(bytes((1 << 20) + 1))
    warns("one that is too large too", Asked(url(), "get a config"), ["a miss"], "more than 1048576 bytes")
    silent("and is replaced", Asked(url(), "put a 3000 config", "get a config"), "a 3000")


def test_access():
    (DATA / "fixed/ac").mkdir(parents=True)
    (DATA / "fixed/ac" / KEY["a"]).write_bytes((DATA / "store/ac" / KEY["a"]).read_bytes())
    warns(
        "a server that takes nothing is a warning, and read",
        Asked(url("fixed"), "put b 10 config", "put c 10 config", "get a config"),
        ["a 3000"],
        "nothing is stored",
        "405 to PUT",
        "dav_methods PUT",
        "?readonly",
    )
    asked = Asked(url("private"), *MANY)
    warns("one that wants a token is a warning", asked, MISSES, "401 to GET", "TILEC_REMOTE_CACHE_TOKEN")
    silent(
        "and takes it",
        Asked(url("private"), "put a 30 config", "get a config", TILEC_REMOTE_CACHE_TOKEN="secret"),
        "a 30",
    )
    asked = Asked(url("private"), *MANY, TILEC_REMOTE_CACHE_TOKEN="not that one")
    warns("another token is a warning", asked, MISSES, "401 to GET")
    check("not that one" not in asked.warnings[0], "that doesn't have it")
    asked = Asked(url("private").replace("//", "//me:se%40cret@"), *MANY)
    warns("a user and a password that aren't taken too", asked, MISSES, "401 to GET")
    check("cret" not in asked.warnings[0], "without them")
    warns("a redirect isn't followed", Asked(url("moved"), *MANY), MISSES, "302 to GET", "http://127.0.0.1:1/elsewhere")
    proxy = servers.Proxy(SERVER.port)
    env = {name: f"http://127.0.0.1:{proxy.port}" for name in ("http_proxy", "HTTP_PROXY", "all_proxy")}
    silent("nor are the variables of proxies", Asked(url(), "get a config", **env), "a 3000")
    check(proxy.connections == 0, "asked")
    log = (place.FOLDER / "nginx" / "access").read_text()
    check(
        "GET /private/ac/" in log and "/store//ac" not in log and "?" not in log.replace("?readonly", ""),
        "parameters aren't sent",
    )


def test_faults():
    short = "timeout_ms=200&connect_ms=60000"
    head = b"HTTP/1.1 200 OK\r\n"
    for name, fault, limit, more, piece in (
        ("never answers", servers.silence, short, {}, "no answer in time"),
        ("never ends", servers.drip, short, {"head": head + b"Content-Length: 1000000\r\n\r\n"}, "no answer in time"),
        ("cuts its answer", servers.cut, place.PATIENT, {}, "the connection was cut"),
        ("cuts a piece", head + b"Transfer-Encoding: chunked\r\n\r\n1000\r\nxxx", place.PATIENT, {}, ""),
        ("hangs up", b"", place.PATIENT, {}, "the connection was cut"),
        ("talks nonsense", b"+PONG\r\n", place.PATIENT, {}, ""),
        (
            "fails",
            b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 3\r\n\r\nno\n",
            place.PATIENT,
            {},
            "it answers 500 to GET",
        ),
        (
            "is overloaded",
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
            place.PATIENT,
            {},
            "it answers 503 to GET",
        ),
        ("answers with nothing", b"HTTP/1.1 204 No Content\r\n\r\n", place.PATIENT, {}, "it answers 204 to GET"),
        (
            "announces too much",
            head + b"Content-Length: 99999999999\r\n\r\n",
            place.PATIENT,
            {},
            "more than 1048576 bytes",
        ),
        ("sends too much unannounced", head + b"\r\n" + bytes(2 << 20), place.PATIENT, {}, "more than 1048576 bytes"),
    ):
        proxy = servers.Proxy(SERVER.port, fault)
        for key, value in more.items():
            setattr(proxy, key, value)
        asked = Asked(url("store", limit, proxy.port), *MANY)
        warns(f"a server that {name}: misses and one warning", asked, MISSES, piece)
        check(proxy.connections == 1, f"and {proxy.connections} connection", asked)
        proxy.close()
    warns(
        "none at all",
        Asked(url("store", place.PATIENT, servers.free_port()), *MANY, "session", *MANY),
        MISSES * 2,
        "connect",
        "left alone for 60 s",
    )
    warns("a name that there isn't", Asked("http://no-such-host.invalid", *MANY), MISSES, "no-such-host.invalid")
    place.check_hanging_names("http://some-host.invalid")
    warns("TLS where there is none", Asked(url().replace("http:", "https:"), *MANY), MISSES, "isn't used: ")


def test_connections():
    proxy = servers.Proxy(SERVER.port)
    silent(
        "one connection serves them all",
        Asked(url("store", place.PATIENT, proxy.port), *["get a config"] * 10),
        *["a 3000"] * 10,
    )
    check(proxy.connections == 1, "and no more")
    proxy = servers.Proxy(SERVER.port, servers.hang_up)
    silent(
        "a server that hangs up after each answer is called again",
        Asked(url("store", place.PATIENT, proxy.port), *["get a config"] * 3),
        *["a 3000"] * 3,
    )
    proxy = servers.Proxy(SERVER.port)
    asked = Asked(url("store", place.PATIENT, proxy.port), "get a config", "fork a config", "threads 8 a config")
    silent(
        "forked processes and threads have their answers",
        asked,
        "a 3000",
        "the child has it",
        "a 3000",
        "8 threads have it",
    )
    check(proxy.connections == 2, "a child over its own connection", asked)


def test_tls():
    certificate = place.FOLDER / "certificate.pem"
    check(Asked("none", f"certificate {certificate}").code == 0, "a certificate is made")
    secure = place.served(servers.start_nginx, "secure", certificate)
    address = url("store", place.PATIENT, secure.port).replace("http:", "https:")
    warns("a server that nobody vouches for isn't asked", Asked(address, *MANY), MISSES, "certificate", "SSL_CERT_FILE")
    trusted = {"SSL_CERT_FILE": str(certificate)}
    silent("one that is vouched for is", Asked(address, "put a 30 config", "get a config", **trusted), "a 30")
    other = Asked(address.replace("127.0.0.1", "localhost"), *MANY, **trusted)
    warns("but under no other name", other, MISSES, "certificate")
    warns("and not without TLS", Asked(url(port=secure.port), *MANY), MISSES, "it answers 400 to GET", "https://")


def test_no_library():
    """Files of its names that are no libraries hide those of the system."""
    hidden = place.FOLDER / "hidden"
    hidden.mkdir()
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        (hidden / name).write_text("")
    libraries = os.pathsep.join([str(hidden), *filter(None, [place.ENV.get("LD_LIBRARY_PATH")])])
    warns(
        "without libcurl there are misses, and one warning says how to get it",
        Asked(url(), *MANY, LD_LIBRARY_PATH=libraries),
        MISSES,
        "libcurl isn't here",
        "sudo apt-get install libcurl4",
    )


for test in (test_entries, test_spoiled, test_access, test_faults, test_connections, test_tls, test_no_library):
    test()
tap.end()
