# SPDX-License-Identifier: Apache-2.0
"""Which config a call gets: of a dispatch file by its key, of a heuristic file by shape, and how the cache is used."""

import json
import os
import pathlib
import shutil
import tempfile
import warnings

import numpy as np
import tilec
from support import EXAMPLES, Skip, raises, run_tests

folder = tempfile.TemporaryDirectory()
PLACE = pathlib.Path(folder.name)
os.environ["TILEC_CACHE_DIR"] = str(PLACE / "cache")
shutil.copy(EXAMPLES / "jagged_sum.tile", PLACE)
CONFIGS = [{"format": 1, "strategy": "rows", "peel": True}, {"format": 1, "strategy": "rows", "peel": False}]


def fresh(**options):
    return tilec.load(PLACE / "jagged_sum.tile").jagged_sum.with_options(**options)


def data(rows, columns=5):
    offsets = np.arange(rows + 1, dtype=np.int64) * 3
    return np.arange(3 * rows * columns, dtype="f4").reshape(3 * rows, columns), offsets


def right(kernel, rows, columns=5):
    x, offsets = data(rows, columns)
    return np.array_equal(kernel(x, offsets), x.reshape(rows, 3, columns).sum(1))


def dispatch(name, key="next_pow2(B)", configs=CONFIGS):
    path = PLACE / name
    path.write_text(json.dumps({"format": 1, "kernel": "jagged_sum", "key": key, "configs": configs}))
    return path


def entries():
    return {path.name for path in (PLACE / "cache" / "configs").glob("*")}


def test_dispatch():
    "each value of the key is timed once, in this process and by others through the cache"
    kernel = fresh(config=tilec.Dispatch.load(dispatch("one.json")))
    before = entries()
    for rows, known in ((3, 1), (4, 1), (5, 2), (8, 2), (3, 2)):
        assert right(kernel, rows) and len(entries() - before) == known, (rows, entries())
    assert "jagged_sum" in kernel.source(target="cpu")
    other = fresh()
    other.config = tilec.Dispatch(dispatch("one.json"))
    assert right(other, 4) and right(other, 7) and len(entries() - before) == 2
    assert other.config == kernel.config and other.config != tilec.Dispatch("two.json")


def test_dispatch_picks():
    "inner extents keep apart; the config is one of the listed ones, and what can't be had isn't it"
    kernel = fresh(config=tilec.Dispatch(dispatch("pick.json", "M", [{"format": 1, "grid": ["tk", "tm", "tb"]}, CONFIGS[1]])))
    assert right(kernel, 3, 4) and right(kernel, 3, 6) and right(kernel, 5, 4)
    assert kernel.source(target="cpu") == kernel.source(kernel.fit(tilec.Config(json.dumps(CONFIGS[1]))), target="cpu")


def test_dispatch_without_a_cache():
    "what was timed is kept in memory"
    kernel = fresh(config=tilec.Dispatch(dispatch("alone.json", "B + 0")), cache={"skip": True})
    before = entries()
    assert right(kernel, 3) and right(kernel, 3) and entries() == before


def test_wrong_dispatch():
    "what is wrong with the file or its key is said, with the place"
    with raises(tilec.FileError, "usage.file"):
        tilec.Dispatch.load(PLACE / "none.json")
    for key, words in (("next_pow2(Q)", "wrong.json:1:"), ("B +", "wrong.json:1:")):
        with raises(tilec.ProgramError, words=words):
            fresh(config=tilec.Dispatch(dispatch("wrong.json", key)))(*data(3))
    with raises(tilec.Error, words="configs: wants an array"):
        fresh(config=tilec.Dispatch(dispatch("wrong.json", configs=[])))(*data(3))


def write_heuristic(where, below=10):
    kernel = fresh()
    full = [json.loads(kernel.fit(tilec.Config(json.dumps(config))).json()) for config in CONFIGS]
    found = PLACE / where
    found.mkdir(exist_ok=True)
    made = {
        "format": 1,
        "kernel": "jagged_sum",
        "target": "cpu",
        "programs": {"T=f32 I=i64": PROGRAM},
        "configs": full,
        "choose": {"if": "B", "below": below, "then": {"config": 0}, "else": {"config": 1}},
    }
    (found / "jagged_sum.jagged_sum.aot_cpu.json").write_text(json.dumps(made))
    return found


PROGRAM = "0" * 64  # no program's, at first


def test_heuristics():
    "a heuristic file chooses by shape; one of another program is refused with a reason"
    global PROGRAM
    dims = {"B": 3, "nnz": 9, "M": 5}
    where = write_heuristic("heuristics")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert fresh(cache={"heuristics": where}).heuristic(dims, target="cpu") is None
    assert "another program" in str(caught[0].message)
    PROGRAM = fresh().hash()
    assert len(PROGRAM) == 64 and fresh().hash() == PROGRAM != fresh().hash(types={"T": "f16"})
    assert fresh().space()["knobs"]
    kernel = fresh(cache={"heuristics": write_heuristic("heuristics"), "kind": "aot"})
    path, rule, config = kernel.heuristic(dims)
    assert path == str(where / "jagged_sum.jagged_sum.aot_cpu.json") and rule == "B < 10" and config["peel"] is True
    assert kernel.heuristic({**dims, "B": 12})[2]["peel"] is False
    assert fresh().heuristic(dims) is None
    for rows in (3, 12):
        again = fresh(cache={"heuristics": where, "kind": "aot"})
        assert right(again, rows)
        chosen = again.heuristic({**dims, "B": rows})[2]  # fitted to the extents of the call
        assert chosen["peel"] == kernel.heuristic({**dims, "B": rows})[2]["peel"]
        assert again.source(target="cpu") == again.source(chosen, target="cpu")
    with raises(TypeError, words="dimensions"):
        kernel.heuristic({"B": 3})


def test_cache_options():
    "how the cache is used: another folder, a miss that is an error, words that there aren't"
    elsewhere = PLACE / "elsewhere"
    assert right(fresh(cache={"dir": elsewhere}), 3) and (elsewhere / "objects").exists()
    with raises(tilec.ConfigError, code="cache.miss"):
        fresh(cache={"assert_hit": True, "dir": elsewhere})(*data(3))
    with raises(TypeError, words="cache has no 'folder'"):
        fresh(cache={"folder": elsewhere})
    with raises(tilec.UsageError, words="kind"):
        fresh(cache={"kind": "enormous"})(*data(3))
    assert right(fresh(cache={"remote": "none"}), 3)
    with raises(tilec.UsageError, code="usage.cache", words="'ftp://' is no scheme"):
        fresh(cache={"remote": "ftp://elsewhere"})(*data(3))


def test_aot():
    "shapes are searched and measured, and the file that comes of it is used"
    kernel, steps = fresh(), []
    shapes = [
        {"name": f"rows {rows}", "args": ["offsets=offsets(const(2))"], "dims": [f"B={rows}"], "held_out": rows == 9}
        for rows in (3, 9)
    ]
    words = {"device": "cpu", "arguments": {"x": "randn"}, "dims": {"M": 4}, "folder": PLACE / "run", "out": PLACE}
    said = kernel.aot(shapes, count=1, note=steps.append, **words)
    assert "learnt from: 1 shapes" in said and "held out: 1 shapes" in said and len(steps) == 4, (said, steps)
    assert kernel.heuristic({"B": 3, "nnz": 6, "M": 4})[0].endswith("jagged_sum.jagged_sum.aot_cpu.json")
    assert "rows 9" in kernel.aot(shapes, list=True, **words)
    with raises(tilec.UsageError, words="there is no phase guess"):
        kernel.aot(shapes, phase="guess", **words)
    with raises(tilec.UsageError, words="'i/n'"):
        kernel.aot(shapes, phase="collect", shard="1", **words)


def test_bundle():
    "a header and a source, where there is NVRTC"
    try:
        paths = fresh().bundle(PLACE / "bundle", architectures=["sm_80"], name="sums", dims={"M": 8})
    except tilec.MissingError as error:
        raise Skip(error) from error
    assert [os.path.basename(path) for path in paths] == ["sums.h", "sums.c"]
    assert "sums_launch" in pathlib.Path(paths[0]).read_text()


run_tests(globals())
