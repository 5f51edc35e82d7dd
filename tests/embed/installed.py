#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed package alone: a program is built with what pkg-config says, against the shared and the static library."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "house"))
from tap import Tap

ROWS = "row 0: 1 10\nrow 1: 0 0\nrow 2: 9 90\n"


def run(*command, **options):
    """Output and errors of a command together, and whether it succeeded."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return done.stdout, done.returncode == 0


def pkg_config(prefix, *arguments):
    folders = ":".join(str(path.parent) for path in prefix.rglob("tilec.pc"))
    words = {**os.environ, "PKG_CONFIG_PATH": folders}
    return subprocess.run(["pkg-config", *arguments, "tilec"], env=words, check=True, text=True, stdout=subprocess.PIPE).stdout.split()


def build_and_run(tap, prefix, folder, name, source, flags, compiler="cc"):
    """Builds outside the source tree and runs there."""
    program = folder / name
    shutil.copy(source, folder)
    out, good = run(compiler, "-Wall", "-Wextra", "-Werror", source.name, *flags, "-o", str(program), cwd=folder)
    tap.check(good, f"{name} builds", out.splitlines())
    library = str(next(prefix.rglob("libtilec.so")).parent)
    out, _ = run(str(program), cwd=folder, env={**os.environ, "LD_LIBRARY_PATH": library, "TILEC_CACHE_DIR": str(folder / "cache")})
    tap.check(out == ROWS, f"{name} prints its rows", out.splitlines())


def visible(library, *options):
    """Names that a library defines for others."""
    lines = subprocess.run(["nm", *options, "--defined-only", str(library)], check=True, text=True, stdout=subprocess.PIPE).stdout
    return {words[2] for words in map(str.split, lines.splitlines()) if len(words) == 3 and words[1] not in "aA" and words[1].isupper()}


def main(build, root, sanitized):
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        out, good = run("meson", "install", "-C", str(build), "--no-rebuild", "--quiet", "--destdir", str(folder / "root"))
        tap.check(good, "meson installs", out.splitlines())
        prefix = folder / "root"
        header = (root / "runtime" / "tilec.h").read_text()
        declared = set(re.findall(r"^[a-z][a-z_0-9 *]*?\**(tilec_[a-z_]+)\(", header, re.MULTILINE))
        shared, static = next(prefix.rglob("libtilec.so")), next(prefix.rglob("libtilec.a"))
        tap.empty(declared ^ visible(shared, "-D"), "the shared library shows what the header declares")
        tap.empty(declared ^ visible(static), "and so does the static one")
        version = ".".join(re.findall(r"#define TILEC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
        tap.check(pkg_config(prefix, "--modversion") == [version], "pkg-config knows the version of the header")
        system = ["--define-variable=prefix=" + str(next(prefix.rglob("tilec.h")).parents[1])]
        source = root / "examples" / "embed" / "jagged.c"
        if not sanitized:
            flags = pkg_config(prefix, *system, "--cflags", "--libs")
            build_and_run(tap, prefix, folder, "shared", source, ["-std=c99", "-pedantic", *flags])
            flags = [str(static) if flag == "-ltilec" else flag for flag in pkg_config(prefix, *system, "--cflags", "--libs", "--static")]
            build_and_run(tap, prefix, folder, "static", source, flags)
        workers = [path for path in prefix.rglob("tilec-worker") if os.access(path, os.X_OK)]
        tap.check(len(workers) == 1, "the worker is installed")
    tap.end()


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] != "none")
