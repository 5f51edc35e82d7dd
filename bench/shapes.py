#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the shapes that the heuristic files of the examples are made from, by a rule, not by hand:

    bench/shapes.py 36 12 1 > bench/shapes.json                # LEARNT HELD-OUT SEED
    bench/shapes.py 36 12 1 8 2027 > bench/shapes_sum.json     # HELD-OUT SEED once more: those before are learnt from too

Shapes are of the region B from 1 to 2^20, mean lengths from 1 to 10^5, M from 1 to 1024, on logarithmic scales, with
2^12 to 2^25 elements of x (128 MB of f32, more than a cache holds). Of four shapes three have an M of 2^k, one in eight
has 3 * 2^k, and one in eight any number. Every second one has skewed rows, the others even ones.

What is learnt from is spread evenly: the corners of the region, then points of an additive recurrence. Held-out shapes
are drawn at random, from the seed: another seed gives others.
"""

import json
import random
import sys

LEAST, MOST = 1 << 12, 1 << 25
MEAN = 100000


def recurrence(index, dimensions=6):
    """Point `index` of the recurrence with the root of x^(d+1) = x + 1: no two lie close together (Roberts 2018)."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    return [(0.5 + (index + 1) * root ** -(d + 1)) % 1 for d in range(dimensions)]


def columns(kind, where):
    if kind < 6 / 8:
        return 1 << int(11 * where)
    if kind < 7 / 8:
        return 3 << int(9 * where)
    return round(1024**where)


def shape(point):
    """B, mean length, M and how rows are skewed, of six numbers from 0 to 1; None: outside."""
    rows, mean, width = round((1 << 20) ** point[0]), round(MEAN ** point[1]), columns(point[2], point[3])
    if not LEAST <= rows * mean * width <= MOST:
        return None
    total = rows * mean
    if point[4] < 0.5:
        least, longest = ((mean + 1) // 2, mean + mean // 2) if point[5] < 0.3 else (1, 2 * mean - 1)
        lengths = f"uniform({least}, {longest})"
    else:  # the longest row has a share of all, from all that the rule gives it down to a few mean lengths
        longest = max(1, min(total, round(4 * mean * (rows / 4) ** point[5] if rows > 4 else total)))
        lengths = f"zipf({total}, {longest})"
    return rows, mean, width, lengths


def corners():
    """Where B, mean length or M are as large as they get, and the others small, or as large as goes with that."""
    yield 1, MEAN, 1, f"const({MEAN})"
    yield 1, MEAN, 256, f"const({MEAN})"
    yield 1, MOST >> 10, 1024, f"const({MOST >> 10})"
    yield MOST // MEAN, MEAN, 1, f"const({MEAN})"
    yield 1 << 20, 1, 32, "const(1)"
    yield 1 << 20, 32, 1, "const(32)"
    yield MOST >> 10, 1, 1024, "const(1)"


def described(found, held_out):
    rows, mean, width, lengths = found
    made = {
        "name": f"B={rows} M={width} {lengths}",
        "args": [f"offsets=offsets({lengths})"],
        "dims": [f"B={rows}", f"M={width}"],
    }
    return {**made, "held_out": True} if held_out else made


def drawn(count, point, known=()):
    """`count` shapes of the region, some of which are given."""
    made, index = list(known)[:count], 0
    while len(made) < count:
        found = shape(point(index))
        index += 1
        if found and found not in made:
            made.append(found)
    return made


def main():
    numbers = [int(word) for word in sys.argv[1:]]
    if len(numbers) < 3 or len(numbers) % 2 == 0:
        sys.exit("usage: bench/shapes.py LEARNT (HELD-OUT SEED)…")
    known, held_out = [], drawn(numbers[0], recurrence, corners())
    for count, seed in zip(numbers[1::2], numbers[2::2]):
        source = random.Random(seed)
        known += held_out
        held_out = drawn(len(known) + count, lambda _: [source.random() for _ in range(6)], known)[len(known) :]
    shapes = [described(found, False) for found in known] + [described(found, True) for found in held_out]
    print("[\n" + ",\n".join("  " + json.dumps(one) for one in shapes) + "\n]")


main()
