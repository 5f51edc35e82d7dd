#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts shakespeare.txt into sentences and words and writes them as packed jagged arrays (.npy), and looks at results.

    prepare.py FOLDER               writes offsets.npy, letters.npy, rarity.npy; prints the lengths' histogram
    prepare.py FOLDER --sums FILE   checks that FILE (f32 [B, 26]) holds each sentence's count of every letter
    prepare.py FOLDER --weights FILE   checks that the weights of each sentence (f32 [nnz, 2]) add up to 1; shows one

Only Python's standard library; the same bytes on every run.
"""

import array
import ast
import math
import pathlib
import re
import struct
import sys
from collections import Counter

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
HERE = pathlib.Path(__file__).resolve().parent


def sentences():
    """The text as a list of sentences, each a list of words in lower case."""
    text = (HERE / "shakespeare.txt").read_text(encoding="ascii").lower()
    cut = (re.findall(r"[a-z]+(?:'[a-z]+)*", part) for part in re.split(r"[.!?]+(?:\s|$)", text))
    return [words for words in cut if words]


def little_endian(values):
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def write_npy(path, descr, shape, values):
    """Version 1.0 of the format: a magic, the head's length, the head padded to 64 bytes, the elements."""
    head = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + little_endian(values))


def read_npy(path):
    """A little-endian f32 array: its shape and its elements."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    if data[:7] != b"\x93NUMPY\x01" or head["descr"] != "<f4" or head["fortran_order"]:
        sys.exit(f"{path}: not a plain f32 array")
    values = array.array("f", data[10 + size:])
    if sys.byteorder == "big":
        values.byteswap()
    if len(values) != math.prod(head["shape"]):
        sys.exit(f"{path}: the file is cut short")
    return head["shape"], values


def histogram(lengths):
    """Prints how many sentences have 1, 2-3, 4-7, ... words."""
    classes = Counter(length.bit_length() - 1 for length in lengths)
    widest = max(classes.values())
    print(f"{len(lengths)} sentences, {sum(lengths)} words; words in a sentence:")
    for power in range(max(classes) + 1):
        count = classes[power]
        label = f"{1 << power}-{(2 << power) - 1}" if power else "1"
        print(f"  {label:>8} {count:6} {'#' * math.ceil(50 * count / widest)}")


def prepare(folder):
    rows = sentences()
    words = [word for row in rows for word in row]
    offsets = array.array("q", [0])
    for row in rows:
        offsets.append(offsets[-1] + len(row))
    counts = Counter(words)
    bits = {word: math.log2(len(words) / count) for word, count in counts.items()}
    letters = {word: [word.count(letter) for letter in ALPHABET] for word in counts}
    folder.mkdir(parents=True, exist_ok=True)
    write_npy(folder / "offsets.npy", "<i8", [len(offsets)], offsets)
    write_npy(folder / "letters.npy", "<f4", [len(words), 26], array.array("f", (n for w in words for n in letters[w])))
    write_npy(folder / "rarity.npy", "<f4", [len(words), 2],
              array.array("f", (n for w in words for n in (bits[w], sum(letters[w])))))
    histogram([len(row) for row in rows])


def check_sums(path):
    """Letters are counted once more, over each sentence's text as a whole. Sums of small integers are exact."""
    rows = sentences()
    shape, values = read_npy(path)
    if tuple(shape) != (len(rows), 26):
        sys.exit(f"{path}: has shape {shape}, not ({len(rows)}, 26)")
    for b, row in enumerate(rows):
        text = "".join(row)
        for m, letter in enumerate(ALPHABET):
            if values[b * 26 + m] != text.count(letter):
                sys.exit(f"{path}: sentence {b} has {text.count(letter)} times '{letter}', not {values[b * 26 + m]}")
    print(f"  all {len(values)} sums are the counts of letters found in the text itself")


def check_weights(path):
    rows = sentences()
    shape, values = read_npy(path)
    if tuple(shape) != (sum(map(len, rows)), 2):
        sys.exit(f"{path}: has shape {shape}")
    begin, worst, first_of_longest = 0, 0.0, 0
    longest = max(range(len(rows)), key=lambda b: len(rows[b]) if len(rows[b]) < 20 else 0)
    for b, row in enumerate(rows):
        if b == longest:
            first_of_longest = begin
        for m in range(2):
            total = math.fsum(values[2 * k + m] for k in range(begin, begin + len(row)))
            worst = max(worst, abs(total - 1))
            if not abs(total - 1) < 1e-4:
                sys.exit(f"{path}: the weights of sentence {b} add up to {total}, not 1")
        begin += len(row)
    print(f"  the weights of each sentence add up to 1 (largest difference {worst:.1e})")
    marked = [(values[2 * (first_of_longest + k)], word) for k, word in enumerate(rows[longest])]
    print("  rare words weigh most: " + ", ".join(f"{word} {weight:.2f}" for weight, word in sorted(marked)[:-6:-1])
          + f'   of "{" ".join(rows[longest])}"')


def main(arguments):
    if len(arguments) == 1:
        prepare(pathlib.Path(arguments[0]))
    elif len(arguments) == 3 and arguments[1] == "--sums":
        check_sums(arguments[2])
    elif len(arguments) == 3 and arguments[1] == "--weights":
        check_weights(arguments[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
