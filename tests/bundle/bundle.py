#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bundles as people use them: the files that `tilec bundle` writes, compiled as C99 with all warnings and linked into a
program (user.c) that launches them on a driver that only notes what it is asked for.

    bundle.py TILEC SOURCE-ROOT LIBCUDA CC…
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

tilec, root, libcuda = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
compiler = sys.argv[4:]  # perhaps with a cache of objects in front
here = root / "tests/bundle"
tap = Tap()
folder = tempfile.TemporaryDirectory(prefix="tilec-test-")
path = pathlib.Path(folder.name)
environment = dict(os.environ, TILEC_CACHE_DIR=str(path / "cache"))
environment.pop("TILEC_HEURISTIC_DIR", None)
strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1"]


def call(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=path, env={**environment, **more})


def start(program):
    """One that was linked with bundles, on the driver that lies in the folder."""
    return call(path / program, LD_LIBRARY_PATH=str(path))


def bundle(file, *arguments):
    return call(tilec, "bundle", root / "examples" / f"{file}.tile", *arguments)


def sums_heuristic():
    """Two configs: by rows, and in chunks with a workspace."""
    program = json.loads(call(tilec, "doctor", root / "examples/jagged_sum.tile", "--kernel", "jagged_sum", "--json").stdout)[0]["program"]
    rows = json.loads(call(tilec, "config", "default", root / "examples/jagged_sum.tile", "--kernel", "jagged_sum").stdout)
    vectors = {**rows["axes"], "tm": {"block": 64, "vector": 4, "lanes": 16, "warps": 1, "unroll": 1},
               "tk": {"block": 32, "vector": 1, "lanes": 2, "warps": 4, "unroll": 1}}
    rows["axes"] = vectors
    text = {"format": 1, "kernel": "jagged_sum", "target": "sm_90", "programs": {"T=f32 I=i64": program},
            "configs": [rows, {**rows, "strategy": "chunks", "chunk": 64}],
            "choose": {"if": "nnz / B", "below": 100, "then": {"config": 0}, "else": {"config": 1}}}
    (path / "sums.json").write_text(json.dumps(text))


if call(tilec, "compile", root / "examples/jagged_sum.tile", "--kernel", "jagged_sum", "-o", path / "probe.cubin").returncode == 3:
    print("1..0 # SKIP NVRTC isn't here")
    sys.exit(0)
os.symlink(libcuda, path / "libcuda.so.1")

# ---------------------------------------------------------------------------------------------- making them

sums_heuristic()
made = [bundle("jagged_sum", "--kernel", "jagged_sum", "--arch", "sm_80,sm_90a", "--dim", "M=64", "--heuristics", "sums.json", "--name", "sums", "-o", "made"),
        bundle("jagged_mean", "--arch", "sm_90", "--dim", "M=8", "--name", "means", "-o", "made"),
        bundle("jagged_layer_norm", "--arch", "sm_80", "--arch", "sm_90", "--type", "T=f16", "--name", "norms", "-o", "made")]
for done in made:
    tap.check(done.returncode == 0 and not done.stderr, f"made: {done.stdout.split()[-1:]}", [done.stderr])
again = bundle("jagged_sum", "--kernel", "jagged_sum", "--arch", "sm_80,sm_90a", "--dim", "M=64", "--heuristics", "sums.json", "--name", "sums", "-o", "again")
tap.check(all((path / "made" / f"sums{end}").read_bytes() == (path / "again" / f"sums{end}").read_bytes() for end in (".c", ".h")),
          "the same bundle has the same bytes", [again.stderr])
source = (path / "made/sums.c").read_text()
tap.check("#include <cuda" not in source and "sm_80, sm_90a, PTX of sm_90; 2 configs, chosen by shape" in source, "it says what is in it")

# ---------------------------------------------------------------------------------------------- what can't be had

(path / "grid.json").write_text('{"format": 1, "grid": ["tk", "tm", "tb"]}')
done = bundle("jagged_sum", "--kernel", "jagged_sum", "--arch", "sm_90", "--config", "grid.json", "--name", "other", "-o", "other")
told = "has its default in place of config 0"
tap.check(done.returncode == 0 and told in done.stderr and told in (path / "other/other.h").read_text(),
          "a config that can't be had is the architecture's default, and is listed", [done.stderr])
for words, arguments in (("no name in C", ["--name", "7up"]), ("is no architecture", ["--arch", "x86"]),
                         ("sm_999", ["--arch", "sm_999"]), ("can't read the heuristic", ["--heuristics", "none.json"]),
                         ("exclude each other", ["--config", "grid.json", "--heuristics", "sums.json"])):
    done = bundle("jagged_sum", "--kernel", "jagged_sum", *arguments, "-o", "wrong")
    tap.check(done.returncode in (1, 2, 3) and words in done.stderr and not (path / "wrong").exists(), f"{' '.join(arguments)}: {words}", [done.stderr])
done = bundle("jagged_mean", "--heuristics", "sums.json", "-o", "wrong")
tap.check(done.returncode == 1 and "the file is for kernel jagged_sum" in done.stderr, "another kernel's heuristic", [done.stderr])

# ---------------------------------------------------------------------------------------------- using them

parts = [path / "made" / f"{name}.c" for name in ("sums", "means", "norms")]
done = call(*compiler, *strict, *parts, here / "user.c", f"-I{here}", "-Imade", "-o", "user", "-ldl", "-lpthread", "-D_POSIX_C_SOURCE=200809L")
tap.check(done.returncode == 0, "all compile as C99 without a warning, into one program", done.stderr.splitlines()[:20])
(path / "header.cc").write_text('#include "sums.h"\n#include "norms.h"\nint main() { sums_args a = {}; return sums_choose(&a); }\n')
done = call("c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Imade", "-fsyntax-only", "header.cc")
tap.check(done.returncode == 0, "the headers are C++, too", done.stderr.splitlines()[:20])
done = start("user") if (path / "user").exists() else None
for line in done.stdout.splitlines() if done else ["not ok the program"]:
    if line.startswith("#"):
        print(line)
    else:
        tap.check(line.startswith("ok "), line.split(" ", 2 if line.startswith("not") else 1)[-1])
tap.check(done and done.returncode == 0, "the program ends well", [done.stderr if done else ""])
os.remove(path / "libcuda.so.1")
(path / "libcuda.so.1").write_text("no library")
(path / "alone.c").write_text('#include "sums.h"\nint main(void)\n{\n    sums_args a = {.M = 64, .offsets = (const int64_t *)&a};\n'
                             '    return sums_launch(&a, 0) == sums_NO_DRIVER ? 0 : 1; }\n')
done = call(*compiler, *strict, "alone.c", parts[0], "-Imade", "-o", "alone", "-ldl", "-lpthread")
tap.check(done.returncode == 0 and start("alone").returncode == 0, "without a driver a launch says so", [done.stderr])
tap.end()
