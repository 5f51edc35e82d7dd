#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README's first kernel is the example's, and its CUDA is what tilec emits for it.

    readme.py TILEC SOURCE-ROOT [--rewrite]
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

CUDA = re.compile(r"(?<=^```cuda\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
TILE = re.compile(r"(?<=^```tile\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def emitted(program, root):
    """The kernel itself, without the head and the helpers in front of it."""
    text = subprocess.run([program, "emit", str(root / "examples" / "jagged_sum.tile"), "--kernel", "jagged_sum"],
                          capture_output=True, text=True, timeout=60, check=True).stdout
    return text[text.index('extern "C"'):]


def words(text):
    """A program's words without comments and layout."""
    return re.sub(r"//.*", "", text).split()


def main(program, root, rewrite):
    page = root / "README.md"
    text = page.read_text(encoding="utf-8")
    cuda = emitted(program, root)
    if rewrite:
        page.write_text(CUDA.sub(lambda _: cuda, text, count=1), encoding="utf-8")
        return
    tap = Tap()
    shown = CUDA.search(text)
    tap.check(shown is not None and shown.group(0) == cuda, "the README's CUDA is emitted",
              ["readme.py build/cli/tilec . --rewrite brings it up to date"])
    example = (root / "examples" / "jagged_sum.tile").read_text(encoding="utf-8")
    kernel = TILE.search(text)
    tap.check(kernel is not None and " ".join(words(kernel.group(0))) in " ".join(words(example)),
              "the README's kernel is the example")
    tap.end()


main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), "--rewrite" in sys.argv)
