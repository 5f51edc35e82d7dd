# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs the host, on torch tensors whose shapes change from call to call; and how long the
first call of a process takes when the cache is warm.

    launch.py calls             medians of bursts that take turns, in microseconds a call
    launch.py first             one fresh process after another
"""

import pathlib
import statistics
import subprocess
import sys
import time

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
SHAPES, BURST, BURSTS, COLUMNS = 61, 200, 60, 32


def calls():
    import tilec
    import torch

    kernel = tilec.load(EXAMPLES / "jagged_sum.tile").jagged_sum
    data = []
    for i in range(SHAPES):
        lengths = torch.tensor([(row * 7 + i) % 40 for row in range(2 + i)])
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).cuda()
        data.append(
            (
                torch.randn(int(lengths.sum()), COLUMNS, device="cuda"),
                offsets,
                torch.empty(2 + i, COLUMNS, device="cuda"),
            )
        )
    other = torch.cuda.Stream()
    ways = {
        "out=": lambda x, offsets, out: kernel(x, offsets, out=out),
        "allocating": lambda x, offsets, out: kernel(x, offsets),
        "out=, stream=": lambda x, offsets, out: kernel(x, offsets, out=out, stream=other),
        "torch.sum, allocating": lambda x, offsets, out: torch.sum(x, 0),
        "torch.segment_reduce": lambda x, offsets, out: torch.segment_reduce(
            x, "sum", offsets=offsets, axis=0, unsafe=True
        ),
    }
    times = {name: [] for name in ways}
    for burst in range(BURSTS + 3):
        for name, call in ways.items():
            begin = time.perf_counter()
            for i in range(BURST):
                call(*data[i % SHAPES])
            times[name].append((time.perf_counter() - begin) / BURST * 1e6)
            torch.cuda.synchronize()
    for name, seen in times.items():
        seen = sorted(seen[3:])
        print(
            f"{name:24} {statistics.median(seen):7.3f} us a call (p10 {seen[len(seen) // 10]:.3f}, p90 {seen[len(seen) * 9 // 10]:.3f})",
            flush=True,
        )


ONE = """
import time, torch
x = torch.randn(100, 32, device="cuda"); offsets = torch.tensor([0, 40, 100], device="cuda"); torch.cuda.synchronize()
a = time.perf_counter()
import tilec
b = time.perf_counter()
kernel = tilec.load({path!r}).{name}
c = time.perf_counter()
y = kernel(x, offsets); torch.cuda.synchronize()
d = time.perf_counter()
print("import %.1f ms, load %.1f ms, first call %.1f ms: %.1f ms" % ((b - a) * 1e3, (c - b) * 1e3, (d - c) * 1e3, (d - a) * 1e3))
"""


def first():
    for name in ("jagged_sum", "jagged_softmax"):
        for turn in range(5):
            text = ONE.format(path=str(EXAMPLES / f"{name}.tile"), name=name)
            done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
            print(f"{name}, {'cold' if turn == 0 else 'warm'}: {done.stdout.strip()}", flush=True)


{"calls": calls, "first": first}[sys.argv[1]]()
