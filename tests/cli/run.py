#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program as its users see it: what each command line writes, and the code it ends with.

    run.py TILEC [--rewrite]

Help and other fixed texts are compared with tests/cli/golden/; --rewrite takes them from the program, unless it crashed.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "house"))
from tap import Tap

TILEC = str(pathlib.Path(sys.argv[1]).resolve())
REWRITE = "--rewrite" in sys.argv
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="tilec-cli-"))
PLAIN = {"PATH": os.environ["PATH"], "HOME": str(FOLDER), "TILEC_CACHE_DIR": str(FOLDER / "cache"), "LC_ALL": "C"}
for name in ("CUDA_HOME", "TILEC_NVRTC_DIR", "CC", "TMPDIR"):
    if name in os.environ:
        PLAIN[name] = os.environ[name]
TWO, WRONG = str(HERE / "two.tile"), str(HERE / "wrong.tile")
tap = Tap()


def check(good, name, complaints=()):
    tap.check(bool(good), name, [] if good else complaints)


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


def tilec(*words, env=None, stdin="", binary=False):
    done = subprocess.run([TILEC, *map(str, words)], capture_output=True, cwd=FOLDER, timeout=300,
                          env={**PLAIN, **(env or {})}, input=stdin.encode())
    if not binary:
        done.stdout = done.stdout.decode()
    done.stderr = done.stderr.decode(errors="replace")
    return Result(done)


def read(name):
    """A file of the test's folder, or nothing: what made it has complained already."""
    path = FOLDER / name
    return path.read_text() if path.exists() else ""


def show(words):
    return " ".join(str(w).replace(str(ROOT) + "/", "").replace(str(FOLDER) + "/", "").replace("\n", " ") for w in words)


def expect(words, code, out=(), err=(), no_out=(), **how):
    """Runs the words; `out` and `err` are pieces that must occur. An empty `err` wants silence where the code is 0."""
    result = tilec(*words, **how)
    complaints = []
    if result.code != code:
        complaints.append(f"ended with {result.code}, not {code}")
    for stream, text, pieces in (("standard output", result.out, out), ("standard error", result.err, err)):
        complaints += [f"{stream} lacks: {piece}" for piece in pieces if piece not in text]
    complaints += [f"standard output has: {piece}" for piece in no_out if piece in result.out]
    if code == 0 and not err and result.err:
        complaints.append("standard error isn't silent")
    if code != 0 and not result.err:
        complaints.append("it failed without a word")
    if complaints:
        complaints += [f"out: {line}" for line in str(result.out).splitlines()[:10]]
        complaints += [f"err: {line}" for line in result.err.splitlines()[:10]]
    check(not complaints, f"tilec {show(words)}", complaints)
    return result


def golden(words, name):
    result = tilec(*words)
    path = HERE / "golden" / name if "/" not in name else ROOT / name
    if REWRITE and result.code == 0:
        path.parent.mkdir(exist_ok=True)
        path.write_text(result.out, encoding="utf-8")
    wanted = path.read_text(encoding="utf-8") if path.exists() else ""
    check(result.code == 0 and result.out == wanted and not result.err, f"tilec {show(words)} writes {path.name}",
              [f"run {pathlib.Path(__file__).name} TILEC --rewrite if this is meant"])


# ------------------------------------------------------------------------------------------------ help and usage

COMMANDS = ["check", "emit", "run", "bench", "tune", "compile", "config", "cache", "explain", "doctor", "completions", "manual"]


def test_help():
    expect(["--version"], 0, out=["tilec 0."])
    golden(["--help"], "help.txt")
    for command in COMMANDS:
        golden([command, "--help"], f"help-{command}.txt")
        text = tilec(command, "--help").out
        check("example:\n  " in text, f"{command} --help has an example")
        check(tilec("help", command).out == text, f"help {command} is {command} --help")
    golden(["manual"], "docs/tilec.1")


def test_usage():
    expect([], 2, err=["wants a command"])
    expect(["nonsense"], 2, err=["no such command: nonsense"])
    expect(["--nonsense"], 2, err=["no such option: --nonsense"])
    expect(["help", "nonsense"], 2, err=["no such command: nonsense"])
    expect(["check"], 2, err=["wants FILE"])
    expect(["check", "--nonsense", TWO], 2, err=["no such option: --nonsense"])
    expect(["check", "-q", TWO], 2, err=["no such option"])
    expect(["check", "-x.tile"], 2, err=["no such option: -x;"])
    expect(["check", TWO, "--json=3"], 2, err=["no such option: --json=3"])
    expect(["emit", TWO, "--kernel"], 2, err=["--kernel wants a value"])
    expect(["emit", TWO, TWO], 2, err=["one word too many"])
    expect(["emit"], 2, err=["wants FILE"])
    expect(["emit", "nowhere.tile"], 2, err=["can't read nowhere.tile: No such file or directory"])
    expect(["emit", str(FOLDER)], 2, err=["it is a folder"])
    expect(["emit", TWO, "--kernel", "none"], 2, err=["has no kernel none; it has total, scale"])
    expect(["emit", TWO, "--kernel", "total", "--type", "T=i32"], 2, err=["T stands for f16, bf16, f32 or f64"])
    expect(["emit", TWO, "--kernel", "total", "--type", "I=f32"], 2, err=["I stands for i32 or i64"])
    expect(["emit", TWO, "--kernel", "total", "--type", "U=f32"], 2, err=["has no element type U; it has T, I"])
    expect(["emit", TWO, "--kernel", "total", "--type", "T"], 2, err=["write --type T=f32"])
    expect(["emit", TWO, "--kernel", "total", "--type", "T=f32", "--type", "T=f16"], 2, err=["T is given twice"])
    expect(["emit", TWO, "--kernel", "total", "--dim", "Q=3"], 2, err=["has no dimension Q"])
    expect(["emit", TWO, "--kernel", "total", "--dim", "M"], 2, err=["write --dim N=256"])
    for number in ("x", "-1", "1.5", "", "99999999999999999999", "3 ", str(2**47 + 1), str(2**63 - 1)):
        expect(["emit", TWO, "--kernel", "total", "--dim", f"M={number}"], 2, err=["wants an integer from 0 to 140737488355328"])
    expect(["emit", TWO, "--kernel", "total", "--dim", "M=3", "--dim", "M=4"], 2, err=["M is given twice"])
    expect(["emit", TWO, "--kernel", "total", "--static", "M"], 2, err=["write --dim M="])
    expect(["emit", TWO, "--kernel", "total", "--dynamic", "Q"], 2, err=["has no dimension Q"])
    shutil.copy(TWO, FOLDER / "own.tile")
    os.symlink("own.tile", FOLDER / "link.tile")
    for target in ("own.tile", "./own.tile", "link.tile"):
        expect(["emit", "own.tile", "--kernel", "total", "-o", target], 2, err=["is the program itself"])
    check(read("own.tile") == pathlib.Path(TWO).read_text(), "and the program is as it was")
    expect(["emit", TWO, "--kernel", "total", "--dim", "M=4", "--static", "M", "--dynamic", "M"], 2,
           err=["a dimension is compiled in or left open"])
    expect(["emit", TWO, "--kernel", "total", "--without", "x"], 2, err=["no optional tensor of that name"])
    expect(["emit", TWO, "--kernel", "total", "--target", "gpu"], 2, err=["no target gpu"])
    expect(["emit", TWO, "--kernel", "total", "--arch", "90"], 2, err=["sm_90"])
    expect(["emit", TWO, "--kernel", "total", "--ir", "nowhere"], 2, err=["no stage nowhere"])
    expect(["config", "default", TWO], 2, err=["several kernels: total, scale", "--kernel"])
    expect(["compile", TWO, "-o", "x"], 2, err=["-o is one file"])
    expect(["compile", TWO, "--source", "x"], 2, err=["--source is one kernel's text"])
    expect(["emit", "-"], 2, err=["has no kernel"], stdin="const A = 1;")
    expect(["config", "shuffle", TWO], 2, err=["no such action: shuffle"])
    expect(["config", "check", TWO, "--kernel", "total"], 2, err=["wants --config"])
    expect(["config", "random", TWO, "--kernel", "total", "--seed", "x"], 2, err=["wants a whole number"])
    expect(["explain"], 2, err=["wants CODE"])
    expect(["explain", ""], 2, err=["there is no code ''"])
    expect(["explain", "E9999"], 2, err=["there is no code 'E9999'"])
    expect(["explain", "launch.offsets"], 2, err=["launch.offsets has no page"])
    expect(["completions", "tcsh"], 2, err=["bash, zsh, fish"])
    expect(["run", TWO, "--kernel", "total", "--device", "abacus"], 2, err=["abacus"])


# ------------------------------------------------------------------------------------------------ commands

def test_check():
    expect(["check", TWO], 0)
    expect(["check", TWO, WRONG], 1, err=["wrong.tile:4:18: error[E"])
    result = expect(["check", WRONG], 1, err=["wrong.tile:5:25"])
    check(result.out == "", "messages go to standard error alone")
    both = tilec("check", "--json", TWO, WRONG)
    data = json.loads(both.out)
    check(both.code == 1 and both.err == "", "check --json writes to standard output alone")
    check([entry["ok"] for entry in data] == [True, False], "check --json has an entry per file")
    check([k["name"] for k in data[0]["kernels"]] == ["total", "scale"], "check --json lists the kernels")
    message = data[1]["messages"][0]
    source = pathlib.Path(WRONG).read_text()
    check(message["severity"] == "error" and (message["line"], message["column"]) == (4, 18), "check --json has places")
    check(source[message["begin"]:message["end"]].startswith("y"), "check --json has byte offsets")
    expect(["check", "-"], 0, stdin=pathlib.Path(TWO).read_text())
    expect(["check", "-"], 1, err=["<stdin>:1:1: error"], stdin="nonsense")
    expect(["check", TWO], 0, env={"LC_ALL": "de_DE.UTF-8"})
    check("\x1b[" not in tilec("check", WRONG).err, "no colours where there is no terminal")
    check("\x1b[" in tilec("check", WRONG, "--colour=always").err, "--colour=always has colours")


def test_imports():
    """One file on several ways is read once, and a circle through folders is one."""
    folder = FOLDER / "imports"
    (folder / "sub").mkdir(parents=True)
    (folder / "lib.tile").write_text("const W = 4;\n")
    (folder / "link.tile").symlink_to("lib.tile")
    (folder / "linked").symlink_to("sub")
    kernel = "kernel k(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = x[t] * W; } }\n"
    ways = ("lib.tile", "./lib.tile", "sub/../lib.tile", "link.tile", "linked/../lib.tile", str(folder / "lib.tile"))
    (folder / "all.tile").write_text("".join(f'import "{way}";\n' for way in ways) + kernel)
    expect(["check", folder / "all.tile"], 0)
    (folder / "other.tile").write_text("const W = 5;\n")
    (folder / "two.tile").write_text('import "lib.tile";\nimport "other.tile";\n' + kernel)
    expect(["check", folder / "two.tile"], 1, err=["error[E0202]"])
    (folder / "round.tile").write_text('import "sub/back.tile";\n' + kernel)
    (folder / "sub" / "back.tile").write_text('import "../linked/../round.tile";\n')
    result = expect(["check", folder / "round.tile"], 1, err=["error[E0117]"])
    check("E0107" not in result.err, "a circle through folders is shown as one")


def test_emit():
    result = expect(["emit", TWO, "--kernel", "total"], 0, out=["__global__", "total"])
    check(tilec("emit", TWO, "--kernel", "total", env={"LC_ALL": "de_DE.UTF-8"}).out == result.out, "the same bytes each time")
    expect(["emit", TWO, "--kernel", "scale"], 1, err=["D"])
    expect(["emit", TWO, "--kernel", "scale", "--dim", "D=64"], 0, out=["bias"])
    expect(["emit", TWO, "--kernel", "scale", "--dim", "D=64", "--without", "bias"], 0, no_out=["bias["])
    expect(["emit", TWO, "--kernel", "total", "--target", "cpu"], 0, out=["total_run"], no_out=["__global__"])
    expect(["emit", TWO, "--kernel", "total", "--ir=ast"], 0, out=["kernel total", "jagged_tile"])
    expect(["emit", TWO, "--kernel", "total", "--ir=checked"], 0, out=["reduce"])
    expect(["emit", TWO, "--kernel", "total", "--ir=all"], 0, out=["// after checked", "// after lower_masks"])
    expect(["emit", TWO, "--kernel", "total", "--ir=lower_jagged"], 0)
    expect(["emit", TWO, "--kernel", "total", "--stop-after=lower_jagged"], 0, no_out=["__global__"])
    expect(["emit", TWO, "--kernel", "total", "--skip-pass=opt_hoist"], 0, out=["__global__"])
    expect(["emit", TWO, "--kernel", "total", "--skip-pass=lower_masks"], 2, err=["lower_masks can't be left out"])
    expect(["emit", TWO, "--kernel", "total", "--skip-pass=opt_nothing"], 2, err=["there is no pass opt_nothing"])
    expect(["emit", TWO, "--kernel", "total", "--stop-after=opt_nothing"], 2, err=["there is no stage opt_nothing"])
    expect(["emit", "a\x1b[31mb.tile"], 2, err=["can't read a?[31mb.tile"])
    expect(["emit", TWO, "--kernel", "total", "--keep", TWO], 1, err=["Not a directory"])
    expect(["emit", TWO, "--kernel", "total", "-o", str(FOLDER)], 1, err=["s a directory"])
    expect(["emit", TWO, "--kernel", "total", "--config", str(FOLDER)], 2, err=["it is a folder"])
    expect(["check", "/dev/zero"], 2, err=["larger than 64 MiB"])
    expect(["emit", "--list-passes"], 0, out=["lower_masks", "opt_hoist"])
    odd = FOLDER / "a\nb.tile"  # neither the file's name nor a comment in it goes on in the emitted text
    odd.write_text("kernel k(x: f32[n]) -> out: f32[n]\n{\n    for t in tile(n) {  // C:\\\t\n        out[t] = x[t];  // ??/\n    }\n}\n")
    expect(["emit", str(odd)], 0, out=["// k from a b.tile, compiled", "// 3: for t in tile(n) {  // C:\n", "// ?/\n"])
    expect(["emit", "--list-ops"], 0, out=["reduce", "select"])
    half = tilec("emit", TWO, "--kernel", "total", "--type", "T=f16", "--dim", "M=64").out
    check(half and half != result.out, "types and dimensions change the text")
    opened = tilec("emit", TWO, "--kernel", "total", "--dim", "M=64", "--dynamic", "M").out
    check(opened == result.out, "--dynamic opens what --dim gave")
    expect(["emit", TWO, "--kernel", "total", "-o", "sum.cu"], 0)
    check(read("sum.cu") == result.out, "-o writes the same text")
    expect(["emit", TWO, "--kernel", "total", "--source", "sum.cu"], 0, out=["__global__"])
    (FOLDER / "edited.cu").write_text("void other(void) {}\n")
    expect(["emit", TWO, "--kernel", "total", "--source", "edited.cu"], 1, err=["doesn't define total"])
    expect(["emit", TWO, "--kernel", "total", "--keep", "kept"], 0)
    kept = sorted(p.name for p in FOLDER.glob("kept/*"))
    check({"total.cu", "total.config.json", "total.00-checked.ir"} <= set(kept), "--keep keeps all", kept)
    both = FOLDER / "both.tile"
    both.write_text(pathlib.Path(TWO).read_text().replace("axis d = D;", "").replace("tn in tile(N)", "(tn, d) in tile(N, D)"))
    expect(["emit", both], 0, out=["total", "scale"])
    expect(["emit", both, "--dim", "M=64", "--type", "I=i32", "--without", "bias"], 0, out=["total", "scale"])
    expect(["emit", both, "--dim", "Z=64"], 2, err=["has no dimension Z"])


def test_config():
    space = json.loads(expect(["config", "space", TWO, "--kernel", "total"], 0).out)
    check(any(knob["path"] == "axes.tm.block" and len(knob["choices"]) > 1 for knob in space["knobs"]), "the space has knobs")
    default = expect(["config", "default", TWO, "--kernel", "total", "-o", "default.json"], 0)
    full = json.loads(read("default.json") or "{}")
    check(full["format"] == 1 and full["kernel"] == "total" and set(full["axes"]) >= {"tb", "tm", "tk"}, "the default is full")
    rows = ["config", "default", TWO, "--kernel", "total", "--rows", "1000", "--mean-length", "812.5"]
    even, skewed = (json.loads(expect(rows + ["--max-length", longest], 0).out) for longest in ("1700", "400000"))
    check(even == full and skewed["strategy"] != "rows", "rows of which one is very long have another default than even ones")
    expect(rows, 2, err=["--rows, --mean-length and --max-length belong together"])
    expect(rows + ["--max-length", "812"], 2, err=["no rows have these lengths"])
    expect(rows + ["--max-length", "900", "--mean-length", "0"], 2, err=["--mean-length 0: wants a number above 0"])
    many = json.loads(expect(["config", "random", TWO, "--kernel", "total", "--seed", "7", "--count", "50"], 0).out)
    again = json.loads(tilec("config", "random", TWO, "--kernel", "total", "--seed", "7", "--count", "50").out)
    check(len(many) == 50 and many == again, "random configs: as many as asked for, the same for a seed")
    check(len({json.dumps(c) for c in many}) > 20, "random configs differ")
    check(json.loads(tilec("config", "random", TWO, "--kernel", "total", "--count", "0").out) == [], "no configs is an empty array")
    one = json.loads(tilec("config", "random", TWO, "--kernel", "total", "--seed", "7").out)
    check(one == many[0], "without --count one config, not an array")
    expect(["config", "check", TWO, "--kernel", "total", "--config", "default.json"], 0, out=['"format": 1'])
    expect(["config", "check", TWO, "--kernel", "total", "--config", "default.json", "--minimal"], 0, no_out=["axes"])
    plain = tilec("emit", TWO, "--kernel", "total").out
    check(tilec("emit", TWO, "--kernel", "total", "--config", "default.json").out == plain, "the default config by file is the default")
    for name, text, words in (("cut", '{"format": 1', "ends too early"), ("new", '{"format": 9}', "use a newer tilec"),
                              ("key", '{"format": 1, "speed": 9}', "speed: no such key"),
                              ("axis", '{"format": 1, "axes": {"tq": {}}}', "axes.tq: kernel total has no axis of that name")):
        (FOLDER / f"{name}.json").write_text(text)
        for command in (["config", "check"], ["emit"]):
            expect([*command, TWO, "--kernel", "total", "--config", f"{name}.json"], 1, err=[f"{name}.json", words])
    expect(["config", "check", TWO, "--kernel", "total", "--config", "none.json"], 2, err=["can't read the config none.json"])


def test_explain():
    codes = [line.split(":")[0] for line in expect(["explain", "--list"], 0).out.splitlines()]
    check(len(codes) > 10, "there are codes")
    for code in codes:
        result = tilec("explain", code)
        check(result.code == 0 and result.out.startswith(code) and len(result.out) > 40, f"explain {code}")
    expect(["explain", codes[0].lower()], 0, out=[codes[0]])


def test_doctor():
    result = tilec("doctor", "--json")
    names = [finding["name"] for finding in json.loads(result.out)]
    check(result.code in (0, 3) and {"tilec", "C compiler", "NVRTC", "object cache"} <= set(names), "doctor looks around", names)
    missing = tilec("doctor", env={"PATH": str(FOLDER / "empty"), "CC": ""})
    check(missing.code == 3 and "apt-get install" in missing.out, "doctor: no compiler is 3, with the mend")
    check("CC=no-such-cc, which isn't there" in tilec("doctor", env={"CC": "no-such-cc"}).out, "doctor: a compiler that is passed over")
    open_folder = FOLDER / "open"
    (open_folder / "objects").mkdir(parents=True)
    (open_folder / "objects").chmod(0o777)
    check("another user" in tilec("doctor", env={"TILEC_CACHE_DIR": str(open_folder)}).out, "doctor: a folder open to all")


def test_compile():
    findings = {f["name"]: f["ok"] for f in json.loads(tilec("doctor", "--json").out)}
    words = ["compile", TWO, "--kernel", "total"]
    if not findings["NVRTC"]:
        expect(words, 3, err=["NVRTC isn't here"])
        return
    expect([*words, "--arch", "sm_80", "--arch", "sm_90a"], 0, out=["total.sm_80.cubin", "total.sm_90a.cubin", "registers", "spills"])
    cubin = FOLDER / "total.sm_90a.cubin"
    check(cubin.exists() and cubin.read_bytes()[:4] == b"\x7fELF", "a cubin is an ELF file")
    expect([*words, "--ptx", "-o", "total.ptx"], 0)
    check(".entry total" in read("total.ptx"), "PTX has the entry")
    data = json.loads(expect([*words, "--json", "-o", "/dev/null"], 0).out or "[]")
    check(data and data[0]["arch"] == "sm_90" and data[0]["kernels"][0]["registers"] > 0, "compile --json")
    expect(["compile", TWO, "--dim", "D=8"], 0, out=["total.sm_90.cubin", "scale.sm_90.cubin"])
    expect([*words, "--arch", "sm_20"], 3, err=["has no sm_20; it has"])
    expect([*words, "--arch", "fast"], 2, err=["fast"])
    expect([*words, "--arch", "sm_80", "--arch", "sm_90", "-o", "x"], 2, err=["-o is one file"])
    expect([*words, "-o", "/dev/full"], 1, err=["No space left on device"])
    (FOLDER / "bad.cu").write_text("extern \"C\" __global__ void total(float *x) { nonsense(); }\n")
    expect([*words, "--source", "bad.cu"], 1, err=["nonsense"])


RUN = ["run", TWO, "--kernel", "total", "--arg", "x=randn", "--arg", "offsets=offsets(uniform(0, 30))", "--dim", "B=40", "--dim", "M=5"]


def test_run():
    for device in ("reference", "cpu"):
        expect([*RUN, "--device", device, "--check", "--out", f"out={device}.npy"], 0)
        file = FOLDER / f"{device}.npy"
        check(file.exists() and file.stat().st_size > 40 * 5 * 4, f"{device} wrote its output")
    data = json.loads(expect([*RUN, "--check", "--json"], 0).out or "{}")
    check(data and data["outputs"][0]["check"]["ok"] is True and data["outputs"][0]["shape"] == [40, 5], "run --json")
    expect([*RUN, "--type", "T=f16", "--check"], 0)
    expect([*RUN, "--save-args", "args"], 0, out=["out"])
    check({"x.npy", "offsets.npy"} <= {p.name for p in FOLDER.glob("args/*")}, "--save-args saves")
    expect(["run", TWO, "--kernel", "total", "--arg", "x=@args/x.npy", "--arg", "offsets=@args/offsets.npy", "--check"], 0)
    expect(["run", TWO], 2, err=["total"])
    for number in (2**47 + 1, 2**63 - 1):
        expect(["run", TWO, "--kernel", "total", "--arg", "x=randn", "--arg", "offsets=zeros", "--dim", f"B={number}", "--dim", "nnz=10", "--dim", "M=5"],
               5, err=[f"would make B = {number}; a dimension is at most {2**47}"])
    whole = FOLDER / "args" / "x.npy"
    (FOLDER / "cut.npy").write_bytes(whole.read_bytes()[:-3] if whole.exists() else b"")
    expect(["run", TWO, "--kernel", "total", "--arg", "x=@cut.npy", "--arg", "offsets=@args/offsets.npy"], 5, err=["cut.npy"])
    (FOLDER / "none").mkdir()
    expect(RUN, 3, err=["no C compiler", "apt-get install"], env={"PATH": str(FOLDER / "none"), "CC": ""})
    expect([*RUN, "--device", "reference"], 0, out=["out"], env={"PATH": str(FOLDER / "none"), "CC": ""})
    expect([*RUN, "--out", "out=/dev/full"], 1, err=["/dev/full"])
    expect([*RUN, "--device", ""], 2, err=["there is no device ''"])
    expect([*RUN, "--seed", 10**20], 2, err=["from 0 to 18446744073709551615"])
    expect([*RUN, "--histogram", "zz"], 2, err=["has no argument 'zz'"])
    expect(["config", "random", TWO, "--kernel", "total", "--count", 10**12], 2, err=["--count is at most 1000000"])
    (FOLDER / "pair.tile").write_text("kernel pair(x: f32[n]) -> (a: f32[n], b: f32[n]) { for t in tile(n) { a[t] = x[t]; b[t] = -x[t]; } }\n")
    pair = ["run", "pair.tile", "--arg", "x=ones", "--dim", "n=4", "--device", "reference"]
    expect([*pair, "--out", "a=same.npy", "--out", "b=same.npy"], 2, err=["--out b: another output goes to same.npy, too"])
    check(not (FOLDER / "same.npy").exists(), "and nothing is written")
    expect([*pair, "--out", "a=/dev/null", "--out", "b=/dev/null"], 0, out=["a"])
    expect(["run", TWO, "--kernel", "scale", "--arg", "x=randn", "--dim", "N=10", "--dim", "D=6", "--check"], 0)
    expect(["run", TWO, "--kernel", "scale", "--arg", "x=randn", "--arg", "bias=ones", "--arg", "factor=0.5", "--dim", "N=10",
            "--dim", "D=6", "--check"], 0)
    tilec(*RUN, "--keep", str(FOLDER))
    edited = FOLDER / "total.c"
    check(edited.exists(), "run --keep keeps the C")
    expect([*RUN, "--source", str(edited), "--check"], 0)
    edited.write_text(re.sub(r"\+=", "-=", read(edited)))
    expect([*RUN, "--source", str(edited), "--check"], 1, err=["out"])
    edited.write_text(read(edited) + "no C\n")
    expect([*RUN, "--source", str(edited)], 2, err=["usage.source"])
    expect(["emit", TWO, "--kernel", "total", "--target", "cpu", "-o", "open.c"], 0)
    expect([*RUN, "--source", "open.c"], 2, err=["usage.source", "emitted for something else"])


def array(name, kind, values, shape=None):
    """A .npy file, without NumPy."""
    shape = shape or (len(values),)
    head = f"{{'descr': '<{dict(f='f4', q='i8', d='f8')[kind]}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    (FOLDER / name).write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{kind}", *values))
    return f"@{name}"


def test_tolerance():
    """Whatever one element's size is, a wrong one beside it is found; right programs pass, cancellation or not."""
    (FOLDER / "expo.tile").write_text("kernel expo<T: float>(x: T[n]) -> out: T[n]\n{\n    for t in tile(n) {\n"
                                      "        out[t] = exp(x[t]);\n    }\n}\n")
    for values in ([0, 1, 2, 3, 4, 5, 6, 80], [i % 8 for i in range(999)] + [20]):
        words = ["run", "expo.tile", "--arg", f"x={array('expo.npy', 'f', values)}", "--check"]
        expect([*words, "--keep", "."], 0)
        right = read("expo.c")
        for wrong in ("{} + 1.0f", "-12345.0f", "{} * 1.0001f", "{} - 0.001f"):
            planted = re.sub(r"= (expf\(.*\));", lambda found: f"= {wrong.format(found[1])};", right)
            check(planted != right, f"{wrong} is planted")
            (FOLDER / "planted.c").write_text(planted)
            expect([*words, "--source", "planted.c"], 1, err=["check.differs", f"of {len(values)} elements are wrong"])
    (FOLDER / "sums.tile").write_text("kernel sums<T: float>(x: T[n, m]) -> out: T[n]\n{\n    for r in tile(n) {\n"
                                      "        var s: accum(T)[r] = 0;\n        for c in tile(m) { s += sum[c](x[r, c]); }\n"
                                      "        out[r] = s;\n    }\n}\n")
    halves = [(-1) ** (i // 500) * (1 + i % 7 / 8) for i in range(1000)]
    values = [*halves, *[0.1] * 1000, *[1e30] + [0.0] * 999]
    for kind in ("f", "d"):
        expect(["run", "sums.tile", "--arg", f"x={array('sums.npy', kind, values, (3, 1000))}", "--check"], 0, out=["out agrees"])
    for kind in ("f32", "f16", "bf16", "f64"):
        expect(["run", "sums.tile", "-t", f"T={kind}", "--arg", "x=randn", "--dim", "n=40", "--dim", "m=3000", "--check"], 0, out=["out agrees"])


STEPS = """\
kernel steps(x: f32[n]) -> (tens: i64[n], over: i32[n], first: i32[n], count: i64[1]) {
    for t in tile(n) {
        let y = x[t] * 0.1 + 0.3;
        tens[t] = i64(y * 1000000) * 10;
        over[t] = where(y * 3 > 0.9 + x[t] * 0.3, i32(100), i32(7));
    }
    for one in tile(1) {
        var c: i64[one] = 0;
        for t in tile(n) { c += sum[t](i64(x[t] * 0.1 + 0.3 > 0.3 + x[t] * 0.1)); }
        count[one] = c;
    }
    axis j = 8;
    for r in tile(n) {
        let y = x[r] * 0.1 + 0.3;
        first[r] = i32(argmax[j](exp(y * (f32(j) * 0.1 + 0.1) / (f32(j) * 0.1 + 0.1))));
    }
}
"""


def test_tolerance_of_integers():
    """What hangs on a rounding may come out on either side of a step, with all that follows; anything else is found."""
    (FOLDER / "steps.tile").write_text(STEPS)
    words = ["run", "steps.tile", "--arg", "x=randn", "--dim", "n=1000"]
    expect([*words, "--check", "--keep", "."], 0, out=[f"{name} agrees" for name in ("tens", "over", "first", "count")])
    right = read("steps.c")
    for at, wrong in ((r"(tens\[[^;]*) = (.*);", r"\1 = \2 + 10;"), (r"(tens\[[^;]*) = (.*);", r"\1 = \2 + 1;"),
                      (r"(over\[[^;]*) = (.*);", r"\1 = \2 + 1000;"), (r"(count\[[^;]*) = (.*);", r"\1 = \2 + 2000;")):
        planted = re.sub(at, wrong, right)
        check(planted != right, f"{wrong} is planted")
        (FOLDER / "planted.c").write_text(planted)
        expect([*words, "--check", "--source", "planted.c"], 1, err=["check.differs"])


def plant(name, at, wrong):
    """The kept text of a kernel with a mistake in it."""
    right = read(f"{name}.c")
    planted = re.sub(at, wrong, right)
    check(planted != right, f"{wrong} is planted")
    (FOLDER / "planted.c").write_text(planted)


EXACT = """\
kernel exact(x: f32[n, m]) -> (first: i64[n], least: bool[n, m], many: bool[n], last: i64[n])
{
    axis c = m;
    for r in tile(n) {
        first[r] = argmax[c](x[r, c] * 2.0);
        least[r, c] = x[r, c] * 2.0 >= 4.0;
        many[r] = sum[c](x[r, c]) >= 8;
        last[r] = argmax[c](x[r, c] / 2 - 1);
    }
}
"""


def test_exact():
    """What no target rounds leaves no doubt: ties and thresholds are judged."""
    (FOLDER / "exact.tile").write_text(EXACT)
    rows = [[2, 1, 0, 2, 3], [2, 2, 2, 2, 1], [0, 3, 1, 3, 1], [1, 1, 1, 1, 1]]
    words = ["run", "exact.tile", "--arg", f"x={array('exact.npy', 'f', [x for row in rows for x in row], (4, 5))}", "--check"]
    expect([*words, "--keep", "."], 0, out=["first agrees: all", "least agrees: all", "many agrees: all", "last agrees: all"])
    for at, wrong in ((r"(first\[[^;]*) = (.*);", r"\1 = \2 + 1;"), (r"(last\[[^;]*) = (.*);", r"\1 = \2 + 1;"),
                      (r">= 4\.0", "> 4.0"), (r">= 8\.0", "> 8.0")):
        plant("exact", at, wrong)
        expect([*words, "--source", "planted.c"], 1, err=["check.differs"])


def test_short_sums():
    """Of thousands of numbers one that was left out is missed; however they lie, their right sum is not."""
    (FOLDER / "sums.tile").write_text("kernel sums(x: f32[n, m]) -> out: f32[n]\n{\n    for r in tile(n) {\n        var s: f32[r] = 0;\n"
                                      "        for c in tile(m) { s += sum[c](x[r, c]); }\n        out[r] = s;\n    }\n}\n")
    kinds = ([0.5 + (i * 7919 % 8009) / 8009 for i in range(8000)], [0.1] * 8000, [3.3, -3.2] * 4000,
             [i / 8000 + 1 for i in range(8000)], [3e5] + [0.7] * 7999)
    values = [x for kind in kinds for x in kind]
    words = ["--arg", f"x={array('sums.npy', 'f', values, (len(kinds), 8000))}", "--check"]
    expect(["run", "sums.tile", *words, "--keep", "."], 0, out=["out agrees"])
    plant("sums", r"(out\[[^;]*) = (.*);", r"\1 = \2 - 0.5f;")
    expect(["run", "sums.tile", *words, "--source", "planted.c"], 1, err=["check.differs", "3 of 5 elements are wrong"])


EDGES = """\
kernel edges(x: f32[n, m], y: f32[n]) -> (root: f32[n], near: f32[n], odd: bool[n], inverse: f32[n], wide: f16[n],
                                      small: i8[n], whole: i64[n], sure: f32[n])
{
    axis c = m;
    for r in tile(n) {
        let mean = sum[c](x[r, c]) / f32(m);
        let variance = sum[c](x[r, c] * x[r, c]) / f32(m) - mean * mean;
        root[r] = sqrt(variance);
        odd[r] = isnan(sqrt(variance));
        inverse[r] = rsqrt(variance) + 1 / variance + log(abs(variance));
        near[r] = where(variance > 0, sqrt(-1 - mean * mean), 1);
        wide[r] = f16(65519.999 + variance);
        let step = i64((x[r, 0] * 3 - x[r, 0] - x[r, 0] - x[r, 0]) * 100000000 + 1.0);
        small[r] = i8(126 + step);
        whole[r] = 9223372036854775806 + step;
        sure[r] = sqrt(y[r]) + log(y[r]);
    }
}
"""


def test_edges():
    """Near where there is no number, or no room, either side is right; far from it one alone is."""
    (FOLDER / "edges.tile").write_text(EDGES)
    values = [x for i in range(64) for x in [0.1 + i / 7] * 9]
    words = ["run", "edges.tile", "--arg", f"x={array('edges.npy', 'f', values, (64, 9))}", "--arg",
             f"y={array('edge.npy', 'f', [-1.0, 0.0, 4.0, float('inf')] * 16)}", "--check"]
    says = "they are not judged"
    expect([*words, "--keep", "."], 0, out=["root agrees", "near agrees", "odd agrees", "inverse agrees", "wide agrees", "small agrees",
                                            "whole agrees", "sure agrees", says])
    for wrong in ("1.0f", "0.0f / 0.0f"):
        plant("edges", r"(sure\[[^;]*) = (.*);", rf"\1 = {wrong};")
        expect([*words, "--source", "planted.c"], 1, err=["check.differs"])


def test_cuts():
    """A result that depends on how rows are cut is told, whatever the device's own cut comes to."""
    (FOLDER / "cuts.tile").write_text("kernel cuts(x: f32[n, m]) -> out: f32[n]\n{\n    for r in tile(n) {\n        var count: f32[r] = 0;\n"
                                      "        for c in tile(m) { count += 1 + 0 * sum[c](x[r, c]); }\n        out[r] = count;\n    }\n}\n")
    says = "the program's result depends on how rows are cut into tiles"
    expect(["run", "cuts.tile", "--arg", "x=ones", "--dim", "n=5", "--dim", "m=20", "--check"], 0, out=[says, "out agrees"])
    many = tilec("run", "cuts.tile", "--arg", "x=ones", "--dim", "n=20000", "--dim", "m=20", "--check")
    check(says in many.out, "of many rows some are cut otherwise", [many.out, many.err])
    expect(["run", "cuts.tile", "--arg", "x=ones", "--dim", "n=5", "--dim", "m=20", "--device", "reference", "--check"], 1,
           err=["check.differs", says])
    expect([*RUN, "--check"], 0, no_out=[says])


def test_overruns():
    """Rows that overrun are an error on the CPU, whatever says where they begin and end."""
    (FOLDER / "ends.tile").write_text("kernel ends(x: f32[n], lo: i64[B], hi: i64[B]) -> out: f32[B]\n{\n    for tb in tile(B) {\n"
                                      "        var s: f32[tb] = 0;\n        for tk in jagged_tile(lo[tb], hi[tb]) { s += sum[tk](x[tk.index]); }\n"
                                      "        out[tb] = s;\n    }\n}\n")
    (FOLDER / "starts.tile").write_text("kernel starts(x: f32[n], st: i64[B], len: i64[B]) -> out: f32[B]\n{\n    for tb in tile(B) {\n"
                                        "        let from = st[tb];\n        var s: f32[tb] = 0;\n"
                                        "        for tk in jagged_tile(len[tb]) { s += sum[tk](x[from + tk]); }\n        out[tb] = s;\n    }\n}\n")
    for kernel, first, second, good, bad in (("ends", "lo", "hi", [6, 5, 10], [0, 5, 100]), ("starts", "st", "len", [2, 2, 8], [2, 2, 9])):
        for numbers, code, err in ((good, 0, []), (bad, 1, ["check.assert", "outside the tensor"])):
            expect(["run", f"{kernel}.tile", "--arg", "x=ones", "--dim", "n=10", "--arg", f"{first}={array('first.npy', 'q', [4, 3, 2])}",
                    "--arg", f"{second}={array('second.npy', 'q', numbers)}"], code, err=err)


def test_far_bounds():
    """Bounds at which the indices of a tile could overflow are refused; up to there loops run right."""
    (FOLDER / "far.tile").write_text("kernel far(x: f32[n], a: i64, b: i64) -> out: f32[1]\n{\n    for one in tile(1) {\n"
                                     "        var s: f32[one] = 0;\n        for t in tile(a, b) { s += sum[t](x[abs(t.index) % n]); }\n"
                                     "        out[one] = s;\n    }\n}\n")
    for device in ("cpu", "reference"):
        for a, b in ((2**63 - 8, 2**63 - 1), (-2**63, -2**63 + 3), (2**63 - 1, -2**63), (0, 2**47 + 1)):
            expect(["run", "far.tile", "--device", device, "--arg", "x=ones", "--arg", f"a={a}", "--arg", f"b={b}", "--dim", "n=4"], 5,
                   err=["launch.bounds", "the loop over 't' would have the bound"])
        for a, b, sum in ((2**47 - 5, 2**47, 5), (-2**47, -2**47 + 3, 3), (5, 2, 0)):
            expect(["run", "far.tile", "--device", device, "--arg", "x=ones", "--arg", f"a={a}", "--arg", f"b={b}", "--dim", "n=4"], 0,
                   out=[f"first {sum}"])


def test_crashes():
    offsets = array("wild.npy", "q", [0, 2 ** 62, 2 ** 62, 10])
    words = ["run", TWO, "--kernel", "total", "--arg", "x=ones", "--arg", f"offsets={offsets}", "--dim", "M=4", "--dim", "nnz=10"]
    expect(words, 5, err=["launch.offsets"])
    expect([*words, "--no-validate"], 5, err=["launch.crash", "--no-validate"])


def test_faults_of_the_machine():
    """What is wrong around the program is said in its words."""
    cold = lambda name, **more: {"TILEC_CACHE_DIR": str(FOLDER / name), **more}
    expect(RUN, 3, err=["missing.compiler", "can't be loaded", "CC"], env=cold("cold1", CC="true"))
    for place in ("/dev/null", "/proc", "/nonexistent"):
        expect(RUN, 0, out=["out"], env=cold("cold2", TMPDIR=place))
    shell("ulimit -f 0; $TILEC emit $TWO --kernel total -o limited.cu", 1, ["File too large"])
    expect(["emit", TWO, "--kernel", "scale", "--dim", "N=3000000000", "--dim", "D=4"], 0, out=["long long"], no_out=["2146435071"])
    expect(["run", "expo.tile", "--arg", "x=zeros", "--dim", "n=-9223372036854775808"], 5, err=["-9223372036854775808"])


def test_edited_texts():
    tilec(*RUN, "--keep", "edit")
    text = read("edit/total.c")
    (FOLDER / "returns.c").write_bytes(text.replace("\n", "\r\n").encode())
    expect([*RUN, "--source", "returns.c", "--check"], 0, out=["out agrees"])
    for broken in ("", "int x;\n"):
        (FOLDER / "broken.c").write_text(broken)
        expect([*RUN, "--source", "broken.c"], 2, err=["usage.source", "no function total", "--keep"])


def test_names_of_files():
    """A name is bytes: what isn't UTF-8, or breaks lines, goes neither into JSON nor into a text as it is."""
    for name in (b"o\xffdd.tile", b"two\nlines.tile", "größe.tile".encode()):
        (pathlib.Path(os.fsdecode(os.fsencode(FOLDER) + b"/" + name))).write_bytes(pathlib.Path(TWO).read_bytes())
        done = subprocess.run([TILEC, "check", "--json", name], capture_output=True, cwd=FOLDER, env=PLAIN)
        file = json.loads(done.stdout.decode())[0]["file"]
        check(done.returncode == 0 and file == name.decode(errors="replace"), f"check --json of {name}", [repr(done.stdout)])
        done = subprocess.run([TILEC, "emit", name, "--kernel", "total"], capture_output=True, cwd=FOLDER, env=PLAIN)
        wanted = name.decode(errors="replace").replace("\ufffd", "?").replace("\n", " ")
        check(done.stdout.decode().startswith(f"// total from {wanted}, "), f"emit of {name}", [repr(done.stdout[:80])])


def test_meant():
    for words, meant in ((["chekc", TWO], "check"), (["emti", TWO], "emit"), (["help", "rum"], "run"),
                         (["emit", TWO, "--kernal", "total"], "--kernel"), (["run", TWO, "--chekc"], "--check")):
        expect(words, 2, err=[f"is `{meant}` meant?"])
    expect(["zzz"], 2, err=["no such command: zzz; see tilec --help"])


def test_checked():
    """What a checked build says of an index outside, and of an assert; the same program runs where all is well."""
    (FOLDER / "outside.tile").write_text("""
kernel outside(x: f32[n], step: i64) -> out: f32[n] = 0
{
    for t in tile(n) {
        assert(step < 100, "100% too far");
        out[t * step] = x[t];
    }
}
""")
    words = ["run", "outside.tile", "--arg", "x=ones", "--dim", "n=50", "--checked", "--arg"]
    expect([*words, "step=1", "--check"], 0)
    for step in (2, 99, -1):
        expect([*words, f"step={step}"], 1, err=["check.assert", "outside.tile:6: a store to out outside the tensor"])
    expect([*words, "step=1000000000000"], 1, err=["check.assert", "outside.tile:5: 100% too far"])


# ------------------------------------------------------------------------------------------------ the outside

def shell(line, code, err=()):
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=FOLDER, timeout=60,
                          env={**PLAIN, "TILEC": TILEC, "TWO": TWO})
    good = done.returncode == code and all(piece in done.stderr for piece in err)
    check(good, line, [f"ended with {done.returncode}, not {code}", *done.stderr.splitlines()[:5]])


def test_output_that_fails():
    shell("set -o pipefail; { sleep 0.2; $TILEC manual; } | true; exit ${PIPESTATUS[0]}", 1, ["can't write to standard output: Broken pipe"])
    for words in ("manual", "--help", "emit --list-ops", "emit $TWO --kernel total", "config random $TWO --kernel total --count 9",
                  "explain --list", "check --json $TWO", "completions zsh"):
        shell(f"$TILEC {words} > /dev/full", 1, ["can't write to standard output: No space left on device"])
        shell(f"$TILEC {words} >&-", 1, ["can't write to standard output"])
    shell("$TILEC emit $TWO --kernel total -o /dev/full", 1, ["No space left on device"])
    shell("$TILEC emit $TWO --kernel total -o /nonexistent/x.cu", 1, ["/nonexistent/x.cu"])
    shell("$TILEC check $TWO <&- 2>&-", 0)


def test_interrupts():
    """An interrupt ends the program at once, and leaves no folder of a build behind."""
    (FOLDER / "slow").mkdir()
    slow = FOLDER / "slow" / "cc"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o700)
    (FOLDER / "tmp").mkdir()
    env = {**PLAIN, "CC": str(slow), "TMPDIR": str(FOLDER / "tmp"), "TILEC_CACHE_DIR": str(FOLDER / "cold")}
    child = subprocess.Popen([TILEC, *RUN], env=env, cwd=FOLDER, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while child.poll() is None and not list((FOLDER / "tmp").glob("*/log")):
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGINT)
    child.communicate(timeout=20)
    check(child.returncode in (-signal.SIGINT, 130), "an interrupt while the compiler is at work", [str(child.returncode)])
    check(not list((FOLDER / "tmp").iterdir()), "leaves nothing behind", map(str, (FOLDER / "tmp").iterdir()))


def test_completions():
    for name, reads in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
        text = expect(["completions", name], 0).out
        path = FOLDER / f"completions.{name}"
        path.write_text(text)
        check(all(command in text for command in COMMANDS) and "stop-after" in text, f"{name} completions know the commands")
        if shutil.which(name):
            done = subprocess.run([*reads, str(path)], capture_output=True, text=True)
            check(done.returncode == 0, f"{name} reads its completions", [done.stderr])
    ask = ("source completions.bash; COMP_WORDS=({0}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); compopt() {{ :; }}; _tilec; "
           "echo ${{COMPREPLY[*]}}")
    for words, wanted in (("tilec em", "emit"), ("tilec emit --stop", "--stop-after"), ("tilec run --device ref", "reference"),
                          ("tilec config spa", "space"), ("tilec completions fi", "fish")):
        done = subprocess.run(["bash", "-c", ask.format(words)], capture_output=True, text=True, cwd=FOLDER)
        check(done.stdout.strip() == wanted, f"bash completes {words} to {wanted}", [done.stdout, done.stderr])


def main():
    tests = [test_help, test_usage, test_check, test_imports, test_emit, test_config, test_explain, test_doctor, test_compile, test_run,
             test_tolerance, test_tolerance_of_integers, test_exact, test_short_sums, test_edges, test_cuts, test_overruns,
             test_far_bounds, test_crashes, test_faults_of_the_machine, test_edited_texts,
             test_names_of_files, test_meant, test_checked, test_interrupts, test_output_that_fails, test_completions]
    only = [word for word in sys.argv[2:] if not word.startswith("--")]
    for test in tests:
        if not only or test.__name__[5:] in only:
            test()
    shutil.rmtree(FOLDER)
    tap.end()


main()
