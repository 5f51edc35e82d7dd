# SPDX-License-Identifier: Apache-2.0
"""What the tests of the remote cache share: their programs, a folder, servers, and how they ask."""

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TILEC, TOOL, CACHE_TOOL, ROOT = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:5])
sys.path.insert(0, str(pathlib.Path(ROOT) / "tests" / "house"))
from tap import Tap

import servers

tap = Tap()
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="tilec-remote-"))
PROGRAMS = servers.Programs(ROOT)
PATIENT = "timeout_ms=60000&connect_ms=60000"  # where an answer comes, however busy the machine
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = {"PATH": os.environ["PATH"], "HOME": str(FOLDER), "LC_ALL": "C", "OMP_NUM_THREADS": "2", **PROGRAMS.env()}
if "CC" in os.environ:
    ENV["CC"] = os.environ["CC"]


def need(good, what):
    if not good:
        print(f"1..0 # SKIP {what} isn't here; `./dev test remote` gets it")
        sys.exit(0)


def need_redis():
    need(PROGRAMS.redis, "redis-server")
    need(
        PROGRAMS.has_library(
            "libhiredis.so.1.3.0",
            "libhiredis.so.1.2.0",
            "libhiredis.so.1.1.0",
            "libhiredis.so.1.0.0",
            "libhiredis.so.0.14",
        ),
        "libhiredis",
    )


def need_nginx():
    need(PROGRAMS.nginx, "nginx")
    need(PROGRAMS.has_library("libcurl.so.4", "libcurl-gnutls.so.4"), "libcurl")


def served(start, name, *more):
    server = start(PROGRAMS, FOLDER / name, *more)
    atexit.register(server.stop)
    return server


def check_hanging_names(address):
    """A resolver that never answers: whoever asks it for a name waits no longer than for anything else."""
    if len(sys.argv) < 8:
        return
    hanging = {"LD_PRELOAD": str(pathlib.Path(sys.argv[7]).resolve())}
    asked = Asked(f"{address}?timeout_ms=100&connect_ms=60000", *["get a config"] * 5, **hanging)
    warns("a name that isn't resolved in time", asked, ["a miss"] * 5, "isn't resolved in time", "doesn't ask it again")


class Asked:
    """What the tool says to these lines: its answers, and its warnings."""

    def __init__(self, address, *lines, **env):
        done = subprocess.run(
            [TOOL],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            cwd=FOLDER,
            env={**ENV, "TILEC_REMOTE_CACHE": address, **env},
            timeout=120,
        )
        said = done.stdout.splitlines()
        self.code, self.err = done.returncode, done.stderr
        self.warnings = [line for line in said if line.startswith(("cache.", "usage."))]
        self.answers = [line for line in said if line not in self.warnings]

    def lines(self):
        return [f"ended with {self.code}", *self.answers[:8], *self.warnings, *self.err.splitlines()[:5]]

    def warned(self, *pieces):
        return self.code == 0 and len(self.warnings) == 1 and all(piece in self.warnings[0] for piece in pieces)


def check(good, name, asked=None):
    tap.check(bool(good), name, [] if asked is None else asked.lines())


def silent(name, asked, *answers):
    """The answers, without a warning."""
    check(asked.code == 0 and asked.answers == list(answers) and not asked.warnings, name, asked)


def warns(name, asked, answers, *pieces):
    """The answers, and one warning with these pieces in it."""
    check(asked.answers == list(answers) and asked.warned(*pieces), name, asked)
