#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared library: shows tilec.h's functions and no others, and works from another language.

    shared_test.py LIBRARY SOURCE-ROOT
"""

import ctypes
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if " T " in line}


def emit(library, tap):
    lib = ctypes.CDLL(library)
    for name in ("tilec_report_new", "tilec_report_free", "tilec_program_free", "tilec_kernel_free"):
        getattr(lib, name).restype = ctypes.c_void_p
        getattr(lib, name).argtypes = [] if name.endswith("new") else [ctypes.c_void_p]
    source = b"kernel twice(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = 2 * x[t]; } }"
    report, program, kernel = ctypes.c_void_p(lib.tilec_report_new()), ctypes.c_void_p(), ctypes.c_void_p()
    lib.tilec_program_parse.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    good = lib.tilec_program_parse(b"twice.tile", source, len(source), report, ctypes.byref(program)) == 0
    good = good and lib.tilec_kernel_check(program, None, None, report, ctypes.byref(kernel)) == 0
    text = Text()
    good = good and lib.tilec_kernel_emit(kernel, None, None, report, ctypes.byref(text)) == 0
    tap.check(good and b"__global__" in text.data[:text.length], "emits through ctypes")
    lib.tilec_text_free(ctypes.byref(text))
    lib.tilec_kernel_free(kernel)
    lib.tilec_program_free(program)
    lib.tilec_report_free(report)


def main(library, root):
    tap = Tap()
    header = (root / "runtime" / "tilec.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"\b(tilec_\w+)\(", header))
    shown = exported(library)
    tap.empty(sorted(declared - shown), "every function of tilec.h is shown")
    tap.empty(sorted(shown - declared), "nothing else is")
    if "asan" not in subprocess.run(["ldd", library], capture_output=True, text=True).stdout:  # would have to be loaded first
        emit(library, tap)
    tap.end()


main(sys.argv[1], pathlib.Path(sys.argv[2]))
