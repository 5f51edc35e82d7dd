#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Heuristic files as users of the program see them: which file is used, which is passed over and why, which config wins.

    program.py TILEC SOURCE-ROOT
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

tilec, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
source = (root / "examples/jagged_sum.tile").read_text()
data = ["--arg", "x=randn", "--arg", "offsets=offsets(uniform(0,20))", "--dim", "M=8", "--dim", "nnz=total(offsets)"]


def axes(block):
    """Every knob is said, as in files that are built: defaults differ by what is compiled in."""
    plain = {"block": 1, "vector": 1, "lanes": 1, "warps": 1, "unroll": 1}
    return {"tb": plain, "tm": {**plain, "block": block, "lanes": 32}, "tk": {**plain, "block": 8, "warps": 4}}


class Place:
    """A folder with a program, a cache of its own, and room for heuristics elsewhere."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tilec-test-")
        self.path = pathlib.Path(self.folder.name)
        self.program = self.path / "sums.tile"
        self.program.write_text(source)
        self.elsewhere = self.path / "elsewhere"
        self.elsewhere.mkdir()
        self.environment = dict(os.environ, TILEC_CACHE_DIR=str(self.path / "cache"))
        for name in [name for name in self.environment if name.startswith("TILEC_") and name != "TILEC_CACHE_DIR"]:
            self.environment.pop(name)

    def call(self, *arguments, **environment):
        return subprocess.run([str(tilec), *arguments], capture_output=True, text=True, cwd=self.path,
                              env={**self.environment, **environment})

    def doctor(self, *arguments, target=("--arch", "sm_90"), **environment):
        done = self.call("doctor", "sums.tile", "--kernel", "jagged_sum", "--json", *target, *arguments, **environment)
        return (json.loads(done.stdout)[0] if done.returncode == 0 else None), done.stderr

    def hash(self, *arguments):
        return self.doctor(*arguments)[0]["program"]

    def write(self, name, tree, folder=None, **changes):
        text = {"format": 1, "kernel": "jagged_sum", "target": "sm_90", "programs": {"T=f32 I=i64": self.hash()},
                "configs": [{"format": 1, "kernel": "jagged_sum", "axes": axes(32 << i)} for i in range(2)],
                "choose": tree}
        text.update(changes)
        path = (folder or self.path) / name
        path.write_text(json.dumps({key: value for key, value in text.items() if value is not None}))
        return path


own, older, newer = (f"sums.jagged_sum.aot_cuda_sm{sm}.json" for sm in (90, 80, 100))
tree = {"if": "nnz / B", "below": 100, "then": {"config": 0}, "else": {"if": "M", "below": 24, "then": {"config": 1}, "else": {"config": 0}}}
shape = ["--dim", "B=10", "--dim", "M=8"]
tap = Tap()

# ---------------------------------------------------------------------------------------------- what is chosen

place = Place()
found, complaints = place.doctor()
tap.check(found["file"] is None and found["configs"] == 0 and not complaints, "without a file there is none, and that is no fault", [complaints])

place.write(own, tree)
for dims, choice, rule in (("nnz=999", 0, "nnz / B < 100"), ("nnz=1000", 1, "nnz / B >= 100, M < 24")):
    found, complaints = place.doctor(*shape, "--dim", dims)
    tap.check(found["file"] == f"./{own}" and found.get("choice") == choice and found.get("rule") == rule and not complaints,
              f"{dims}: config {choice} by the rule {rule}", [str(found), complaints])
found, _ = place.doctor(*shape, "--dim", "nnz=1000", "--dim", "M=24")
tap.check(found is None, "a dimension given twice is an error, not one of them")
found, _ = place.doctor("--dim", "B=10", "--dim", "M=24", "--dim", "nnz=1000")
tap.check(found["choice"] == 0 and found["rule"] == "nnz / B >= 100, M >= 24", "the other side of the second question", [str(found)])

place.write(own, {"if": "longest", "below": 50, "then": {"config": 0}, "else": {"config": 1}})
unknown, known = (place.doctor(*shape, "--dim", "nnz=1", *more)[0] for more in ([], ["--max-length", "49"]))
tap.check(unknown["choice"] == 1 and known["choice"] == 0, "a longest row that isn't known is longer than any", [str(unknown), str(known)])
place.write(own, {"if": "bytes(T)", "below": 3, "then": {"config": 1}, "else": {"config": 0}},
            programs={"T=f32 I=i64": place.hash(), "T=f16 I=i64": place.hash("--type", "T=f16")})
wide, narrow = (place.doctor(*shape, "--dim", "nnz=1", "--type", f"T={t}")[0] for t in ("f32", "f16"))
tap.check(wide["choice"] == 0 and narrow["choice"] == 1, "the size of an element is a feature", [str(wide), str(narrow)])

# ---------------------------------------------------------------------------------------------- which program

place = Place()
place.write(own, tree)
place.program.write_text("// about something else\n" + source.replace("var acc", "var  acc"))
found, complaints = place.doctor()
tap.check(found["file"] and not complaints, "a comment and other layout change nothing", [str(found), complaints])
place.program.write_text(source.replace("acc += sum[tk](x[start + tk, tm])", "acc += sum[tk](2 * x[start + tk, tm])"))
found, complaints = place.doctor()
tap.check(found["file"] is None and "heuristic.program" in complaints and "has changed" in complaints, "another program has no heuristic", [complaints])
place.program.write_text(source)
found, complaints = place.doctor("--type", "T=f64")
tap.check(found["file"] is None and "T=f32 I=i64, not for T=f64" in complaints, "nor have other element types", [complaints])
tap.check(place.hash() == place.hash("--dim", "M=64", "--dim", "B=3"), "what is compiled in doesn't count")

# ---------------------------------------------------------------------------------------------- capabilities and folders

place = Place()
place.write(older, tree)
place.write(newer, tree)
found, complaints = place.doctor()
tap.check(found["file"] == f"./{older}" and complaints.count("warning") == 1 and "measured on sm_80" in complaints,
          "an older capability's file is used, with one warning; a newer one's isn't", [str(found), complaints])
(place.path / older).unlink()
found, complaints = place.doctor()
tap.check(found["file"] is None and complaints.count("warning") == 1 and "newer than sm_90" in complaints, "a newer one alone is refused", [complaints])
place.write(own, {"config": 1})
found, complaints = place.doctor(*shape, "--dim", "nnz=1")
tap.check(found["file"] == f"./{own}" and found["rule"] == "always" and not complaints, "its own is taken before all", [str(found), complaints])
place.write(own, {"config": 0}, folder=place.elsewhere)
for how in ({"TILEC_HEURISTIC_DIR": "elsewhere"}, None):
    found, _ = place.doctor(*([] if how else ["--heuristic-dir", "elsewhere"]), *shape, "--dim", "nnz=1", **(how or {}))
    tap.check(found["file"] == f"elsewhere/{own}" and found["choice"] == 0, "a folder that is named comes first", [str(found)])
place.write(older, {"config": 0}, configs=[{"format": 1, "kernel": "jagged_sum", "axes": axes(32), "grid": ["tk", "tm", "tb"]}])
(place.path / own).unlink()
found, complaints = place.doctor()
tap.check(found["file"] is None and "isn't used" in complaints, "an older file with a config that can't be had here isn't used", [complaints])

# ---------------------------------------------------------------------------------------------- what is wrong with a file

leaf = {"config": 0}


def deep(leaves):
    return leaf if leaves == 1 else {"if": "M", "below": leaves, "then": leaf, "else": deep(leaves - 1)}


place = Place()
place.write(own, deep(15))
found, complaints = place.doctor()
tap.check(found["file"], "fifteen answers are a tree", [complaints])
for what, words, arguments in (
        ("sixteen answers", "more than 15 answers", {"tree": deep(16)}),
        ("an index of no config", "choose.then.config: wants the index of a config, 0 to 1", {"tree": {**tree, "then": {"config": 2}}}),
        ("half an index", "choose.config: wants the index", {"tree": {"config": 0.5}}),
        ("a question without its number", "choose.below: the key is missing", {"tree": {"if": "M", "then": leaf, "else": leaf}}),
        ("a dimension that isn't there", "'K' is no feature of kernel jagged_sum; a dimension is (nnz, M, B)",
         {"tree": {"if": "K", "below": 1, "then": leaf, "else": leaf}}),
        ("a key that isn't there", "choose.blow: no such key; there are if, below, then and else",
         {"tree": {"if": "M", "blow": 1, "then": leaf, "else": leaf}}),
        ("an answer that is a list", "choose: wants an object", {"tree": [leaf]}),
        ("no configs", "configs: wants an array of 1 to 64", {"tree": leaf, "configs": []}),
        ("a wrong config", "configs[0]: axes.tx: kernel jagged_sum has no axis", {"tree": leaf, "configs": [{"format": 1, "axes": {"tx": {}}}]}),
        ("another kernel", "kernel: the file is for kernel sum, not for jagged_sum", {"tree": leaf, "kernel": "sum"}),
        ("no programs", "programs: is empty", {"tree": leaf, "programs": {}}),
        ("a newer format", "format: this tilec", {"tree": leaf, "format": 2}),
        ("no format", "format: the key is missing", {"tree": leaf, "format": None})):
    place.write(own, **arguments)
    found, complaints = place.doctor()
    tap.check(found["file"] is None and words in complaints and complaints.count("warning") == 1, f"{what}: {words}", [str(found), complaints])
whole = place.write(own, tree).read_text()
wrong = []
for length in range(0, len(whole), 7):
    (place.path / own).write_text(whole[:length])
    found, complaints = place.doctor()
    if found is None or found["file"] or "heuristic." not in complaints:
        wrong.append(f"cut at {length}: {complaints}")
tap.empty(wrong, "a file cut anywhere is a warning")

# ---------------------------------------------------------------------------------------------- which config wins

place = Place()
place.write("sums.jagged_sum.aot_cpu.json", tree, target="cpu")


def taken(*more, rows=10, **environment):
    done = place.call("run", "sums.tile", "--kernel", "jagged_sum", *data, "--dim", f"B={rows}", "--json", *more, **environment)
    return json.loads(done.stdout)["config"] if done.returncode == 0 else {"from": done.stderr, "name": ""}


first = taken()
tap.check(first["from"] == "heuristic" and first["name"].endswith("sums.jagged_sum.aot_cpu.json") and first["name"].startswith("config 0"),
          "a run takes the heuristic's config before the default", [str(first)])
explicit = place.path / "explicit.json"
explicit.write_text('{"format": 1}')
tap.check(taken("--config", "explicit.json")["from"] == "file", "an explicit config comes before it")
done = place.call("tune", "sums.tile", "--kernel", "jagged_sum", *data, "--dim", "B=10", "--count", "2")
tap.check(done.returncode == 0, "a tune keeps a config", [done.stderr])
tap.check(taken()["from"] == "cache", "the cache's best config for this very shape comes before it")
tap.check(taken("--autotune-cache", "aot")["from"] == "heuristic", "a cache of kind aot asks the heuristic alone")
tap.check(taken(TILEC_AUTOTUNE_CACHE="aot")["from"] == "heuristic", "by the variable, too")
(place.path / "sums.jagged_sum.aot_cpu.json").unlink()
tap.check(taken("--autotune-cache", "aot")["from"] == "default", "without one the default is taken")
tap.end()
