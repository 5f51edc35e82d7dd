#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tilec aot` as its users see it: with a worker that computes nothing and says how long it took, and with times that are
planted where the phase `measure` leaves its own.

    program_test.py TILEC FAKE-WORKER SOURCE-ROOT [FAKE-LIBCUDA FOLDER-OF-FAKE-NVRTC WORKER]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
from tap import Tap

tilec, fake, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
TEXT = """kernel sums(x: f32[nnz], offsets: i64[B + 1]) -> out: f32[B] {
    for tb in tile(B) {
        let start = offsets[tb];
        let length = offsets[tb + 1] - start;
        var total: f32[tb] = 0;
        for tk in jagged_tile(length) {
            total += sum[tk](x[start + tk]);
        }
        out[tb] = total;
    }
}
"""


def shape(name, rows, length, **more):
    return {"name": name, "args": [f"offsets=offsets(const({length}))"], "dims": [f"B={rows}"], **more}


SHAPES = [shape("a", 10, 2), shape("b", 12, 3), shape("c", 9, 2), shape("d", 3, 40), shape("e", 4, 30), shape("f", 2, 50),
          shape("g", 11, 3, held_out=True), shape("h", 3, 45, held_out=True)]


class Place:
    def __init__(self, shapes=None):
        self.folder = tempfile.TemporaryDirectory(prefix="tilec-test-")
        self.path = pathlib.Path(self.folder.name)
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder.name, "TILEC_CACHE_DIR": str(self.path / "cache"),
                            "TILEC_WORKER": str(fake), "LC_ALL": "C"}
        if "CC" in os.environ:
            self.environment["CC"] = os.environ["CC"]
        (self.path / "sums.tile").write_text(TEXT)
        self.list(SHAPES if shapes is None else shapes)

    def list(self, shapes):
        (self.path / "shapes.json").write_text(json.dumps(shapes))

    def aot(self, *words, **environment):
        command = [str(tilec), "aot", "sums.tile", "--shapes", "shapes.json", "--arg", "x=randn", "--count", "4", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.path, env={**self.environment, **environment})

    def heuristic(self):
        return json.loads((self.path / "sums.sums.aot_cpu.json").read_text())

    def plant(self, times):
        """times(index of shape, index of config): milliseconds, or None."""
        count = len(json.loads((self.path / "aot/configs.json").read_text()))
        for path in (self.path / "aot/measure").glob("*.json"):
            kept = json.loads(path.read_text())
            kept["milliseconds"] = [times(int(path.stem), config) for config in range(count)]
            path.write_text(json.dumps(kept))
        return count


def two_configs(place):
    """A folder that is measured, with two configs: shape 0 is searched under one fault, the others under another."""
    place.list(SHAPES[:1])
    first = place.aot("--phase", "collect", TILEC_TEST_FAULTS="l")
    place.list(SHAPES)
    done = place.aot("--phase", "collect")
    measured = place.aot("--phase", "measure")
    return [text for text in (first.stderr, done.stderr, measured.stderr) if "error" in text]


def test_phases(tap):
    place = Place()
    early = place.aot("--phase", "measure")
    tap.check(early.returncode == 2 and "collect comes first" in early.stderr, "measuring comes behind collecting", [early.stderr])
    tap.check(place.aot("--phase", "collect").returncode == 0, "a phase by itself")
    early = place.aot("--phase", "build")
    tap.check(early.returncode == 2 and "measure comes first" in early.stderr, "building behind measuring", [early.stderr])
    done = place.aot("--phase", "measure")
    early = place.aot("--phase", "evaluate")
    tap.check(done.returncode == 0 and early.returncode == 2 and "build comes first" in early.stderr, "evaluating behind building", [early.stderr])
    done = place.aot()
    tap.check(done.returncode == 0 and done.stderr.count("known") == 2 * len(SHAPES), "what is there isn't done again", [done.stderr])
    tap.check("learnt from: 6 shapes, worst 1.000" in done.stdout and "held out: 2 shapes" in done.stdout, "the evaluation tells both", [done.stdout])
    again = place.aot(TILEC_WORKER="/nonexistent")
    tap.check(again.returncode == 0 and again.stdout == done.stdout, "the same once more, without a worker", [again.stderr])
    run = subprocess.run([str(tilec), "run", "sums.tile", "--arg", "x=randn", "--arg", "offsets=offsets(const(7))", "--dim", "B=30", "--check",
                          "--json"], capture_output=True, text=True, cwd=place.path, env=place.environment)
    tap.check(run.returncode == 0 and json.loads(run.stdout)["config"]["from"] == "heuristic", "a run takes its config from the file", [run.stderr])


def test_defaults(tap):
    """What a search finds is for its shape; the default for every shape is measured beside it. On a driver that runs
    nothing no search finds anything, and the defaults are all there is."""
    driver, compiler, worker = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[4:7])
    rows = {"short": (10, 2), "long": (1, 100000), "unseen": (3000, 30)}
    place = Place([shape(name, *how, **({"held_out": True} if name == "unseen" else {})) for name, how in rows.items()])
    own = {"TILEC_TEST_LIBCUDA": driver, "TILEC_NVRTC_DIR": compiler, "TILEC_WORKER": worker}
    done = [place.aot("--device", "cuda", "--phase", phase, **own) for phase in ("collect", "measure")]
    measured = json.loads((place.path / "aot/configs.json").read_text())
    for name, (count, length) in rows.items():
        words = ["--rows", str(count), "--mean-length", str(length), "--max-length", str(length)]
        said = subprocess.run([str(tilec), "config", "default", "sums.tile", *words], capture_output=True, text=True,
                              cwd=place.path, env=place.environment)
        tap.check(json.loads(said.stdout) in measured, f"the default for the shape {name} is measured",
                  [said.stdout, *(one.stderr for one in done)])
    tap.check(len(measured) == len({json.dumps(one) for one in measured}) > 1, "each config once", [str(len(measured))])


def test_broken_off(tap):
    """A tune that ends early leaves what it has; the next run goes on there."""
    place = Place()
    done = place.aot(TILEC_WORKER="/nonexistent")
    tap.check(done.returncode == 3 and not list((place.path / "aot/collect").glob("*.json")), "without a worker nothing is collected", [done.stderr])
    place.list(SHAPES[:3])
    place.aot("--phase", "collect")
    place.list(SHAPES)
    done = place.aot("--phase", "collect")
    tap.check(done.stderr.count("known") == 3 and done.stderr.count("searching") == 5, "shapes that are new are searched", [done.stderr])
    (place.path / "aot/collect/1.json").write_text('{"shape"')
    done = place.aot("--phase", "collect")
    tap.check(done.stderr.count("searching") == 1, "a file that is cut is done anew", [done.stderr])
    (place.path / "sums.tile").write_text(TEXT.replace("total += ", "total += 2 * "))
    done = place.aot("--phase", "collect")
    tap.check(done.stderr.count("searching") == len(SHAPES), "for another program everything is", [done.stderr])


def test_tree(tap):
    """Short rows want one config, long ones the other."""
    place = Place()
    complaints = two_configs(place)
    count = place.plant(lambda index, config: 1 if (config == 0) == (index in (0, 1, 2, 6)) else 3)
    done = place.aot("--phase", "build")
    made = place.heuristic()
    tap.check(count == 2 and done.returncode == 0, "two configs were found and measured", [*complaints, done.stderr])
    tap.check(len(made["configs"]) == 2 and made["choose"].get("then", {}).get("config") != made["choose"].get("else", {}).get("config"),
              "one question tells them apart", [json.dumps(made["choose"])])
    done = place.aot("--phase", "evaluate")
    tap.check(done.returncode == 0 and "learnt from: 6 shapes, worst 1.000" in done.stdout and "held out: 2 shapes, worst 1.000" in done.stdout,
              "and is right for the shapes that it hasn't seen", [done.stdout, done.stderr])
    listed = place.aot("--list")
    tap.check(listed.returncode == 0 and listed.stdout.count(" < ") == 4 and listed.stdout.count(" >= ") == 4, "--list has the rule of each", [listed.stdout])
    tap.check(f"# ./sums.sums.aot_cpu.json, program {made['programs']['']}" in listed.stdout, "and the file and the program", [listed.stdout])
    text = (place.path / "sums.sums.aot_cpu.json").read_text()
    place.aot("--phase", "build")
    tap.check(text == (place.path / "sums.sums.aot_cpu.json").read_text(), "the same times give the same bytes")


def test_longest(tap):
    """Two configs that only the longest row tells apart: who can't know it gets the one for long rows."""
    place = Place()
    place.list(SHAPES[:1])
    place.aot("--phase", "collect", TILEC_TEST_FAULTS="l")
    rows = {"one": "const(2)", "all": "zipf(40, 40)"}
    place.list([SHAPES[0], *({"name": name, "args": [f"offsets=offsets({how})"], "dims": ["B=10", "nnz=64"]} for name, how in rows.items())])
    place.aot("--phase", "collect")
    place.aot("--phase", "measure")
    count = place.plant(lambda index, config: 1 if (config == 0) == (index < 2) else 3)
    place.aot("--phase", "build")
    done = place.aot("--phase", "evaluate")
    tap.check(count == 2 and 'longest' in (place.path / "sums.sums.aot_cpu.json").read_text(), "the tree asks for the longest row", [done.stderr])
    tap.check("learnt from: 3 shapes, worst 1.000" in done.stdout and "learnt from, the longest row not told: 3 shapes, worst 3.000" in done.stdout,
              "and what not telling it costs is said", [done.stdout, done.stderr])


def test_arch(tap):
    """A file for a GPU: what is measured needs one, the rest doesn't."""
    place = Place()
    two_configs(place)
    place.plant(lambda index, config: 1 if (config == 0) == (index in (0, 1, 2, 6)) else 3)
    place.aot("--phase", "build")
    (place.path / "sums.sums.aot_cuda_sm90.json").write_text(json.dumps({**place.heuristic(), "target": "sm_90"}))
    for arch, file in (("sm_90", "./sums.sums.aot_cuda_sm90.json"), ("sm_100", "./sums.sums.aot_cuda_sm90.json")):
        done = place.aot("--list", "--arch", arch)
        tap.check(done.returncode == 0 and f"# {file}" in done.stdout and done.stdout.count(" < ") == 4, f"--list --arch {arch}", [done.stdout, done.stderr])
    done = place.aot("--list", "--arch", "sm_80")
    tap.check(done.returncode == 0 and "newer than sm_80" in done.stdout and done.stdout.count("default config") == len(SHAPES),
              "a newer capability's file isn't for an older one", [done.stdout])
    done = place.aot("--phase", "build", "--arch", "sm_90")
    tap.check(done.returncode == 2 and "collect comes first" in done.stderr, "build looks for what was measured there", [done.stderr])
    done = place.aot("--phase", "collect", "--arch", "sm_90")
    tap.check(done.returncode == 2 and "this one is cpu" in done.stderr, "and nothing is measured elsewhere", [done.stderr])
    done = place.aot("--out", "chosen", "--phase", "evaluate")
    tap.check(done.returncode == 2 and "can't read chosen/sums.sums.aot_cpu.json" in done.stderr, "--out is where the file is", [done.stderr])


def test_devices(tap):
    place = Place(SHAPES[:3])
    place.aot()
    for phase, number in (("measure", 1), ("collect", 2)):
        path = place.path / f"aot/{phase}/{number}.json"
        kept = path.read_text()
        path.write_text(json.dumps({**json.loads(kept), "device": "Another One"}))
        done = place.aot("--phase", "build")
        tap.check(done.returncode == 2 and f"{phase}/{number}.json was measured on Another One" in done.stderr,
                  f"no mixing of devices: {phase}", [done.stderr])
        path.write_text(kept)


def test_shards(tap):
    place = Place()
    names = [shape["name"] for shape in SHAPES]
    for phase in ("collect", "measure"):
        said = [place.aot("--phase", phase, "--shard", f"{i}/3") for i in (1, 2, 3)]
        done = [[line.split(": ")[0].split()[-1] for line in one.stderr.splitlines() if line.startswith(phase)] for one in said]
        if phase == "collect":
            early = [one.stderr for one in said if one.returncode]
            tap.check(not early, "shards are searched by themselves", early)
        tap.check(sorted(sum(done, [])) == names and len([one for one in done if one]) > 1, f"each shape is in one shard: {phase}", [str(done)])
    built = place.aot("--phase", "build")
    tap.check(built.returncode == 0, "behind all shards the file is built", [built.stderr])
    other = Place()
    first, second = [i + 1 for i in range(3) if done[i]][:2]
    other.aot("--phase", "collect", "--shard", f"{first}/3")
    broken = other.aot("--phase", "collect", "--shard", f"{second}/3", TILEC_WORKER="/nonexistent")
    done = other.aot("--phase", "measure")
    tap.check(broken.returncode == 3 and done.returncode == 2 and "wasn't searched for yet" in done.stderr, "a shard that is missing is told", [done.stderr])
    done = other.aot("--phase", "collect")
    tap.check(done.returncode == 0 and done.stderr.count("known") + done.stderr.count("searching") == len(SHAPES) and "known" in done.stderr,
              "and what it should have done is done", [done.stderr])
    launchers = ({"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_STEP": "2"},
                 {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3"}, {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3"},
                 {"RANK": "2", "WORLD_SIZE": "3", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"})
    third = [line for line in place.aot("--phase", "collect", "--shard", "3/3").stderr.splitlines() if line.startswith("collect")]
    for variables in launchers:
        done = place.aot("--phase", "collect", "--shard", "auto", **variables)
        tap.check(done.returncode == 0 and [line for line in done.stderr.splitlines() if line.startswith("collect")] == third,
                  f"--shard auto: {' '.join(variables)}", [done.stderr])
    both = {**launchers[0], "RANK": "1", "WORLD_SIZE": "2"}  # the last of three jobs, the second process of two: 6/6
    sixth = place.aot("--phase", "collect", "--shard", "6/6").stderr
    tap.check(place.aot("--phase", "collect", "--shard", "auto", **both).stderr == sixth, "an array of jobs with several processes each")
    for words, variables, complaint in (("0/3", {}, "1 <= i <= n"), ("4/3", {}, "1 <= i <= n"), ("1/0", {}, "1 <= i <= n"), ("3", {}, "'i/n'"),
                                        ("1/3x", {}, "'i/n'"), ("-1/3", {}, "'i/n'"), ("auto", {}, "no launcher says"),
                                        ("auto", {"RANK": "3", "WORLD_SIZE": "3"}, "torchrun says RANK=3"),
                                        ("auto", {"SLURM_ARRAY_TASK_ID": "8", "SLURM_ARRAY_TASK_COUNT": "3"}, "Slurm says SLURM_ARRAY_TASK_ID=8")):
        done = place.aot("--phase", "collect", "--shard", words, **variables)
        tap.check(done.returncode == 2 and complaint in done.stderr, f"--shard {words} {variables} is refused", [str(done.returncode), done.stderr])
    done = place.aot("--shard", "1/3")
    tap.check(done.returncode == 2 and "--phase is collect or measure" in done.stderr, "a shard is of one phase", [done.stderr])


def test_slowdowns(tap):
    """One config is the best everywhere but for one shape, by a thousandth, and takes ten times as long there."""
    place = Place([shape(name, 10, 2) for name in "abcdefgh"])  # nothing tells them apart
    place.list([{**one, "args": [*one["args"]], "dims": ["B=10"]} for one in SHAPES[:1]])
    place.aot("--phase", "collect", TILEC_TEST_FAULTS="l")
    place.list([shape(name, 10, 2) if name == "a" else {**shape(name, 10, 2), "held_out": False} for name in "abcdefgh"])
    place.aot("--phase", "collect", "--force-autotune")
    place.aot("--phase", "measure")
    count = place.plant(lambda index, config: (10 if index == 7 else 1) if config == 0 else 1 if index == 7 else 1.001)
    done = place.aot("--phase", "build")
    place_done = place.aot("--phase", "evaluate")
    tap.check(count == 2 and done.returncode == 0 and "worst 1.001" in place_done.stdout, "slowdowns are kept small, not wrong labels few",
              [str(count), done.stderr, place_done.stdout])


def test_nothing_compared(tap):
    place = Place()
    two_configs(place)
    place.aot("--phase", "build")
    place.plant(lambda index, config: None)
    done = place.aot("--phase", "build")
    tap.check(done.returncode == 4 and "no config is right" in done.stderr, "where nothing is right nothing is built", [done.stderr])
    done = place.aot("--phase", "evaluate")
    tap.check(done.returncode == 1 and "compared nothing" in done.stderr, "an evaluation that compares nothing fails", [done.stdout, done.stderr])
    place.plant(lambda index, config: 1 + config)
    place.aot("--phase", "build")
    path = place.path / "sums.sums.aot_cpu.json"
    path.write_text(path.read_text().replace('"peel": true', '"peel": false'))
    done = place.aot("--phase", "evaluate")
    tap.check(done.returncode == 1 and "compared nothing" in done.stderr, "so does one of configs that nobody measured", [done.stdout, done.stderr])
    place.plant(lambda index, config: 1 if config == 0 else 3)
    place.aot("--phase", "build")
    place.plant(lambda index, config: (None if index == 4 else 1) if config == 0 else 3)
    done = place.aot("--phase", "evaluate")
    tap.check(done.returncode == 1 and "for 1 of 8 shapes" in done.stderr, "and one whose choice isn't right somewhere", [done.stdout, done.stderr])


def test_wrong(tap):
    place = Place()
    cases = [(["--goal", "least"], "no goal least"), (["--phase", "guess"], "no phase guess"), (["--threshold", "0.5"], "at least 1"),
             (["--max-configs", "65"], "at most 64"), (["--device", "tpu"], "no device 'tpu'")]
    for words, complaint in cases:
        done = place.aot(*words)
        tap.check(done.returncode == 2 and complaint in done.stderr, f"{' '.join(words)} is refused", [str(done.returncode), done.stderr])
    for text, complaint in (("", "no JSON array"), ("[]", "no JSON array"), ("[7]", "shape 0: it: wants an object"),
                            ('[{"args": [7]}]', "shape 0: args: wants an array of texts"), ('[{"dims": "B=1"}]', "dims: wants an array of texts"),
                            ('[{"dims": 3}]', "dims: wants an array of texts"), ('[{"arg": []}]', "shape 0: arg: there is no such key; there are name"),
                            ('[{"name": 5}]', "name: wants a text"), ('[{"held_out": 3}]', "held_out: wants true or false"),
                            ('[{"name": "a"}, {"name": "a"}]', "shape 1: name: shape 0 is called a already"), ('[', "shapes.json:1:2: error[usage.shapes]"),
                            ('[{"name": "q", "args": ["offsets=zeros"], "dims": ["Q=1"]}]', "q: kernel 'sums' has no dimension 'Q'")):
        (place.path / "shapes.json").write_text(text)
        done = place.aot()
        tap.check(done.returncode == 2 and complaint in done.stderr, f"the list {text or 'of nothing'} is refused", [str(done.returncode), done.stderr])
    done = subprocess.run([str(tilec), "aot", "sums.tile"], capture_output=True, text=True, cwd=place.path, env=place.environment)
    tap.check(done.returncode == 2 and "--shapes" in done.stderr, "without --shapes there is nothing to do", [done.stderr])


def main():
    tap = Tap()
    for test in (test_phases, test_broken_off, test_tree, test_longest, test_arch, test_devices, test_shards,
                 test_slowdowns, test_nothing_compared, test_wrong):
        test(tap)
    if len(sys.argv) > 4:
        test_defaults(tap)
    tap.end()


main()
