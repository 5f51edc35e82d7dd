#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvcc compiles golden CUDA files with every warning an error: a sample, one architecture for each file in turn.

    nvcc.py FOLDER [--all]

Skipped where nvcc isn't on PATH. Two runs go at a time.
"""

import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

ARCHITECTURES = ("sm_80", "sm_90", "sm_90a", "sm_100")
STRIDE = 5  # of the sample


def build(nvcc, path, architecture, folder):
    words = [nvcc, "-Werror", "all-warnings", "-cubin", f"-arch={architecture}", "-o", f"{folder}/{path.stem}.cubin", str(path)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300)


def main():
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("1..0 # SKIP nvcc is not on PATH")
        return
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.cu"))
    known = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True).stdout.split()
    turns = [name for name in ARCHITECTURES if name in known or name[:-1] in known]
    # Instructions of this architecture alone, or from it on.
    only = {path: "sm_90a" for path in files if re.search(r"wgmma\.|cluster|mbarrier", path.read_text())}
    jobs = [(path, only.get(path, turns[i % len(turns)])) for i, path in enumerate(files) if "--all" in sys.argv or i % STRIDE == 0]
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="tilec-nvcc-") as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (path, architecture), done in zip(jobs, pool.map(lambda job: build(nvcc, *job, folder), jobs)):
            tap.check(done.returncode == 0 and not done.stderr, f"{path.name} for {architecture}",
                      done.stderr.splitlines()[:12])
    tap.end()


if __name__ == "__main__":
    main()
