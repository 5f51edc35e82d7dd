# SPDX-License-Identifier: Apache-2.0
"""The package on numpy's arrays: results of the examples, what may be passed and how, failures, threads, forks,
configs."""

import copy
import inspect
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading

import numpy as np
import tilec
from support import EXAMPLES, SCALED, raises, run_tests

OFFSETS = np.array([0, 3, 3, 10, 11], dtype=np.int64)
SUM = tilec.load(EXAMPLES / "jagged_sum.tile")
generator = np.random.default_rng(1)


def rows(offsets=OFFSETS):
    return list(zip(offsets[:-1], offsets[1:]))


def draw(*shape, dtype="f4"):
    return generator.standard_normal(shape).astype(dtype)


def close(got, wanted, tolerance=1e-5):
    assert got.shape == wanted.shape, (got.shape, wanted.shape)
    assert np.allclose(got, wanted, rtol=tolerance, atol=tolerance), np.abs(got - wanted).max()


def sums(x, offsets=OFFSETS):
    return np.stack([x[a:b].sum(0) for a, b in rows(offsets)])


def load(name):
    return tilec.load(EXAMPLES / f"{name}.tile")[name]


# ------------------------------------------------------------------------------------------------ results


def test_sum():
    "jagged_sum"
    x = draw(11, 5)
    got = SUM.jagged_sum(x, OFFSETS)
    close(got, sums(x))
    assert got.dtype == np.float32 and got.flags.c_contiguous


def test_softmax():
    "jagged_softmax"
    x = draw(11, 5)
    wanted = np.concatenate(
        [np.exp(x[a:b] - x[a:b].max(0)) / np.exp(x[a:b] - x[a:b].max(0)).sum(0) for a, b in rows() if a < b]
    )
    close(load("jagged_softmax")(x, OFFSETS), wanted)


def test_layer_norm():
    "jagged_layer_norm, with its default and another eps"
    x = draw(11, 5)

    def wanted(eps):
        return np.concatenate([(x[a:b] - x[a:b].mean()) / np.sqrt(x[a:b].var() + eps) for a, b in rows() if a < b])

    norm = load("jagged_layer_norm")
    close(norm(x, OFFSETS), wanted(1e-6), 1e-4)
    close(norm(x, OFFSETS, 0.5), wanted(0.5), 1e-4)
    close(norm(x, OFFSETS, eps=np.float32(0.5)), wanted(0.5), 1e-4)


def test_mean():
    "jagged_mean"
    x, features = draw(11, 5), np.array([5, 0, 2, 1], dtype=np.int32)
    wanted = np.zeros((4, 5), "f4")
    for i, (a, b) in enumerate(rows()):
        if a < b:
            wanted[i, : features[i]] = x[a:b, : features[i]].mean(0)
    close(load("jagged_mean")(x, OFFSETS, features), wanted)


def test_dense_add():
    "jagged_dense_add"
    x, y = draw(11), draw(4, 6)
    wanted = y.copy()
    for i, (a, b) in enumerate(rows()):
        wanted[i, : min(b - a, 6)] += x[a:b][:6]
    close(load("jagged_dense_add")(x, OFFSETS, y), wanted)


def test_bmm():
    "jagged_dense_bmm, with and without its optional bias"
    x, dense, bias = draw(11, 5), draw(4, 5, 3), draw(4, 3)
    bmm = load("jagged_dense_bmm")
    close(bmm(x, OFFSETS, dense), np.concatenate([x[a:b] @ dense[i] for i, (a, b) in enumerate(rows())]))
    close(
        bmm(x, OFFSETS, dense, bias), np.concatenate([x[a:b] @ dense[i] + bias[i] for i, (a, b) in enumerate(rows())])
    )


def test_attention():
    "jagged_attention, which looks at no later keys and has two outputs"
    q, k, v = draw(11, 2, 4), draw(11, 2, 4), draw(11, 2, 3)
    out, lse = load("jagged_attention")(q, k, v, OFFSETS, 0.5)
    for a, b in rows():
        scores = np.einsum("ihd,jhd->hij", q[a:b], k[a:b]) * 0.5
        weights = np.exp(scores) * np.tri(b - a)
        close(lse[a:b], np.log(weights.sum(2)).T)
        close(out[a:b], np.einsum("hij,jhe->ihe", weights / weights.sum(2, keepdims=True), v[a:b]), 1e-4)


def test_types():
    "element types of data and offsets"
    for dtype, tolerance in (("f2", 1e-2), ("f4", 1e-5), ("f8", 1e-12)):
        for index in ("i4", "i8"):
            x = draw(11, 5, dtype=dtype)
            got = SUM.jagged_sum(x, OFFSETS.astype(index))
            assert got.dtype == x.dtype
            close(got, sums(x.astype("f8")), tolerance)


def test_changing_batches():
    "rows and totals change from call to call, also to none"
    built = 0
    for lengths in ([1], [0], [], [5, 0, 7], [40] * 30, [0, 0]):
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        x = draw(offsets[-1], 5)
        close(
            SUM.jagged_sum(x, offsets), sums(x, offsets).reshape(len(lengths), 5) if lengths else np.zeros((0, 5), "f4")
        )
    kernel = SUM.jagged_sum
    built = sum(len(entries) for entries in kernel._entries.values())
    SUM.jagged_sum(draw(11, 5), OFFSETS)
    assert built == sum(len(entries) for entries in kernel._entries.values())


# ------------------------------------------------------------------------------------------------ ways of passing


def test_out():
    "out= takes the place of what would be allocated, and is returned"
    x, out = draw(11, 5), np.full((4, 5), 7, "f4")
    assert SUM.jagged_sum(x, OFFSETS, out=out) is out
    close(out, sums(x))
    assert SUM.jagged_sum(x=x, offsets=OFFSETS, out=[out])[0] is not None


def test_not_dense():
    "slices, transposes, turned and broadcast arrays, other byte orders and odd addresses are copied"
    x, big = draw(11, 5), draw(22, 10)
    shifted = np.frombuffer(b"x" + x.tobytes(), dtype=np.uint8)[1:].view("f4").reshape(11, 5)
    assert not shifted.flags.aligned
    for array in (
        big[::2, ::2],
        np.asfortranarray(x),
        x[::-1],
        x[:, ::-1],
        np.broadcast_to(x[0], (11, 5)),
        x.astype(">f4"),
        shifted,
    ):
        close(SUM.jagged_sum(array, OFFSETS), sums(array))
    close(SUM.jagged_sum(x, np.repeat(OFFSETS, 2)[::2]), sums(x))


def test_scalars_and_options():
    "scalars, defaults, optional and inout arrays, several outputs"
    kernel = tilec.parse(SCALED).scaled
    x, bias, y = np.arange(4, dtype="f4"), np.ones(4, "f4"), np.zeros(4, "f4")
    out, three = kernel(x, None, y, on=True)
    assert out.tolist() == [0, 2, 4, 6, 1, 1, 1, 1] and three.tolist() == [3] and y.tolist() == [1] * 4
    out, _ = kernel(x, bias, y, 3, np.int32(5), np.bool_(True))
    assert out.tolist() == [1, 4, 7, 10, 5, 5, 5, 5] and y.tolist() == [2] * 4
    out, _ = kernel(x, bias, y, scale=0.5, on=False)
    assert out.tolist() == [1, 1.5, 2, 2.5, 0, 0, 0, 0]
    given = np.empty(8, "f4"), np.empty(1, "f4")
    assert kernel(x, None, y, on=False, out=given)[0] is given[0]


def test_looks():
    "signatures, names, repr and help"
    kernel = tilec.parse(SCALED).scaled
    assert (
        str(inspect.signature(kernel))
        == "(x, bias=None, y=None, scale=None, times=None, on=None, out=None, stream=None)"
    )
    assert str(inspect.signature(SUM.jagged_sum)) == "(x, offsets, out=None, stream=None)"
    assert repr(SUM.jagged_sum) == "<tilec.Kernel jagged_sum(x: T[nnz, M], offsets: I[B + 1]) -> out: T[B, M]>"
    assert "bias: f32[n]?" in repr(kernel) and "inout y: f32[n]" in repr(kernel)
    assert "scale: f32 = 2.0, times: i32 = 1, on: bool" in repr(kernel)
    assert "jagged_sum" in dir(SUM) and SUM.jagged_sum is SUM["jagged_sum"] and "jagged_sum" in repr(SUM)
    assert "returns out, sum" in type(kernel).__call__.__doc__
    assert tilec.explain("E0203") and tilec.explain("E9999") is None
    with raises(AttributeError, words="has no kernel jagged_product"):
        SUM.jagged_product
    with raises(KeyError):
        SUM["jagged_product"]


# ------------------------------------------------------------------------------------------------ failures


def test_errors_of_programs():
    "a program that is wrong: where, what, the mend"
    with raises(tilec.ProgramError, "E0201") as caught:
        tilec.parse("kernel f(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = z[t]; } }", "wrong.tile").check()
    error = caught[0]
    assert (error.path, error.line, error.column) == ("wrong.tile", 1, 66) and error.end > error.begin
    assert "z" in error.message and "wrong.tile:1:66" in str(error) and error.messages[0].severity == "error"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.line) == (str(error), error.code, 1) and isinstance(again, ValueError)
    with raises(tilec.ProgramError):
        tilec.parse("kernel kernel")
    with raises(tilec.UsageError, words="nowhere.tile"):
        tilec.load("nowhere.tile")


def test_errors_of_arguments():
    "arguments that are wrong are named"
    x = draw(11, 5)
    with raises(tilec.LaunchError, "launch.rank", "'x'"):
        SUM.jagged_sum(x[0], OFFSETS)
    with raises(tilec.LaunchError, "launch.dimension", "'out'"):
        SUM.jagged_sum(x, OFFSETS, out=np.empty((5, 5), "f4"))
    with raises(tilec.LaunchError, "launch.type", "'out' holds f64"):
        SUM.jagged_sum(x, OFFSETS, out=np.empty((4, 5)))
    with raises(tilec.LaunchError, "launch.offsets"):
        SUM.jagged_sum(x, OFFSETS[::-1])
    with raises(tilec.LaunchError, "launch.offsets"):
        SUM.jagged_sum(x, OFFSETS + 1)
    with raises(tilec.LaunchError, "launch.overlap", "shares memory with 'x'"):
        SUM.jagged_sum(x, OFFSETS, out=x[:4])
    with raises(tilec.LaunchError, "launch.strides", "'out' is written"):
        SUM.jagged_sum(x, OFFSETS, out=np.empty((5, 4), "f4").T)
    with raises(tilec.LaunchError, "launch.type", "complex64"):
        SUM.jagged_sum(x.astype("c8"), OFFSETS)
    with raises(tilec.LaunchError, "launch.layout", "masked"):
        SUM.jagged_sum(np.ma.array(x), OFFSETS)
    locked = np.empty((4, 5), "f4")
    locked.flags.writeable = False
    with raises(tilec.LaunchError, "launch.argument", "read-only"):
        SUM.jagged_sum(x, OFFSETS, out=locked)
    with raises(tilec.LaunchError, "launch.argument", "'offsets' is missing"):
        SUM.jagged_sum(x)
    with raises(TypeError, words="'offsets' must be an array"):
        SUM.jagged_sum(x, [0, 11])
    with raises(TypeError, words="1 outputs, and out= has 2"):
        SUM.jagged_sum(x, OFFSETS, out=(locked, locked))
    with raises(TypeError):
        SUM.jagged_sum(x, OFFSETS, offset=1)
    with raises(ValueError, words="stream="):
        SUM.jagged_sum(x, OFFSETS, stream=1)
    close(SUM.jagged_sum(x, OFFSETS), sums(x))


def test_errors_of_scalars():
    "scalars that are missing or don't fit"
    kernel, x, y = tilec.parse(SCALED).scaled, np.ones(4, "f4"), np.ones(4, "f4")
    with raises(tilec.LaunchError, "launch.argument", "'on' is missing"):
        kernel(x, None, y)
    with raises(tilec.LaunchError, "launch.argument", "'times' is declared as i32"):
        kernel(x, None, y, times=2**31, on=True)
    with raises(tilec.LaunchError, "launch.argument", "'times'"):
        kernel(x, None, y, times=0.5, on=True)
    with raises(tilec.LaunchError, "launch.strides", "'y' is written"):
        kernel(x, None, np.ones(8, "f4")[::2], on=True)


def test_errors_of_options():
    "options that are wrong are refused where they are set"
    kernel = tilec.load(EXAMPLES / "jagged_sum.tile").jagged_sum
    for option in ("static", "dynamic"):
        with raises(tilec.UsageError, f"usage.{option}", "has no dimension 'Z'; it has "):
            kernel.with_options(**{option: ["Z"]})
        with raises(TypeError, words=f"{option} is a list of names"):
            kernel.with_options(**{option: "M"})
    with raises(tilec.UsageError, "usage.static", "'M' is in static and in dynamic"):
        kernel.with_options(static=["M"], dynamic=["M"])
    for wrong in (5, "x", {}):
        with raises(TypeError, words="jagged_sum.config is a tilec.Config, a tilec.Dispatch or None, not "):
            kernel.config = wrong
        for call in (kernel.with_options, kernel.source, kernel.fit):
            with raises(TypeError, words="config is a tilec.Config"):
                call(config=wrong)
    assert kernel.config is None
    with raises(TypeError, words="cache wants a dict"):
        kernel.with_options(cache="zz")
    with raises(TypeError, words="'dir' is text, not int"):
        kernel.with_options(cache={"dir": 5})
    with raises(TypeError, words="a code is text like 'E0203'"):
        tilec.explain(None)
    for word, value, code, words in (
        ("effort", "fast", "usage.effort", "'quick' or 'full', not 'fast'"),
        ("budget", -1, "usage.budget", "above 0, not -1"),
        ("count", 0, "usage.count", "from 1 on, not 0"),
    ):
        with raises(tilec.UsageError, code, words):
            kernel.autotune(draw(11, 5), OFFSETS, **{word: value})
        with raises(tilec.UsageError, code, words):
            kernel.aot([], **{word: value})
    for wrong in ([], 5):
        with raises(tilec.UsageError, "usage.shapes", "a list of at least one shape"):
            kernel.aot(wrong)


def test_errors_of_files():
    "files and texts that are wrong raise tilec's own exceptions, which are Python's, too"
    with raises(tilec.FileError, "usage.file", "can't read /nonexistent/c: No such file") as caught:
        tilec.Config.load("/nonexistent/c")
    assert isinstance(caught[0], (tilec.UsageError)) and isinstance(caught[0], OSError) and caught[0].errno == 2
    assert str(pickle.loads(pickle.dumps(caught[0]))) == str(caught[0])
    with raises(tilec.FileError, "usage.file"):
        tilec.Dispatch.load("/nonexistent/d")
    for text in ("{", "[]", "nothing"):
        with raises(tilec.ProgramError, "config.json", "a config is a JSON object"):
            tilec.Config(text)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\xff")
        file.flush()
        with raises(tilec.ProgramError, "config.json", file.name):
            tilec.Config.load(file.name)
    for text in ("// \udc80", "// \ud800"):
        with raises(tilec.ProgramError, words="UTF-8"):
            tilec.parse(text)
    with raises(TypeError, words="a program is text, not bytes"):
        tilec.parse(b"")


def test_errors_that_name():
    "what is wrong has its own name: arguments of the wrong kind, scalars, keywords, kernels"
    x, w = draw(11, 5), draw(11)
    with raises(tilec.LaunchError, "launch.type", "'offsets' holds f32, but its type I stands for i32 or i64"):
        SUM.jagged_sum(x, w)
    with raises(tilec.LaunchError, "launch.type", "'x' holds i32, but its type T stands for f16, bf16, f32 or f64"):
        SUM.jagged_sum(x.astype("i4"), OFFSETS)
    kernel, y = tilec.parse(SCALED).scaled, np.ones(4, "f4")
    for wrong in ("a", [1], object()):
        with raises(TypeError, words="'scale' must be a number, not "):
            kernel(y.copy(), None, y, scale=wrong, on=True)
        with raises(TypeError, words="'scale' must be a number, not "):
            kernel.autotune(y.copy(), None, y, scale=wrong, on=True)
    if sys.version_info >= (3, 10):
        with raises(TypeError, words="jagged_sum() got an unexpected keyword"):
            SUM.jagged_sum(x, OFFSETS, offset=1)
    with raises(KeyError, words="has no kernel zip; it has jagged_sum"):
        SUM["zip"]


def test_copies():
    "kernels and programs aren't copied or pickled, configs are"
    kernel = tilec.load(EXAMPLES / "jagged_sum.tile").jagged_sum
    config = kernel.default_config()
    for thing in (SUM, kernel, SUM._handle):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with raises(TypeError, words="can't be copied or pickled"):
                way(thing)
    assert copy.deepcopy(config) == config == pickle.loads(pickle.dumps(config))
    assert copy.deepcopy(config).minimal() == config.minimal()


# ------------------------------------------------------------------------------------------------ threads and processes


def test_threads():
    "threads share a kernel"
    program, failures = tilec.load(EXAMPLES / "jagged_sum.tile"), []

    def work(seed):
        try:
            own = np.random.default_rng(seed)
            for turn in range(40):
                offsets = np.concatenate([[0], np.cumsum(own.integers(0, 9, 1 + turn))])
                x = own.standard_normal((offsets[-1], 3 + seed % 3)).astype("f4")
                close(program.jagged_sum(x, offsets), sums(x, offsets))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def in_child(function):
    """Runs a function in a forked process; whether it returned true."""
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = function()
        finally:
            os._exit(0 if good else 1)
    return os.waitpid(child, 0)[1] == 0


def refused_by_fork(function):
    try:
        function()
    except tilec.LaunchError as error:
        return error.code == "launch.fork"
    return False


def test_forks():
    "a forked process gets an error, and may use the evaluator"
    x = draw(11, 5)
    SUM.jagged_sum(x, OFFSETS)
    assert in_child(lambda: refused_by_fork(lambda: SUM.jagged_sum(x, OFFSETS)))
    assert in_child(lambda: refused_by_fork(lambda: tilec.load(EXAMPLES / "jagged_sum.tile").jagged_sum(x, OFFSETS)))
    close(SUM.jagged_sum(x, OFFSETS), sums(x))


def test_without_a_compiler():
    "without a C compiler the evaluator runs, with one warning"
    text = (
        "import warnings, numpy as np, tilec\n"
        "warnings.simplefilter('always')\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        f"    p = tilec.load({str(EXAMPLES / 'jagged_sum.tile')!r})\n"
        "    x = np.arange(8, dtype='f4').reshape(4, 2)\n"
        "    a = p.jagged_sum(x, np.array([0, 1, 4])); b = p.jagged_sum(x.astype('f8'), np.array([0, 4]))\n"
        "assert a.tolist() == [[0, 1], [12, 15]] and b.tolist() == [[12, 16]], (a, b)\n"
        "assert [w.category for w in caught] == [tilec.SlowWarning] and caught[0].filename == '<string>', caught\n"
    )
    words = {key: value for key, value in os.environ.items() if key != "CC"}
    done = subprocess.run(
        [sys.executable, "-c", text], env={**words, "PATH": "/nonexistent"}, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------------------------ configs and code


def test_configs():
    "configs are drawn, saved, loaded, compared, cut down, filled up and used"
    kernel = tilec.load(EXAMPLES / "jagged_sum.tile").jagged_sum
    x = draw(11, 5)
    close(kernel(x, OFFSETS), sums(x))
    default, other = kernel.default_config(), kernel.random_config(3)
    assert default != other and kernel.random_config(3) == other and hash(kernel.random_config(3)) == hash(other)
    assert default["kernel"] == "jagged_sum" and "jagged_sum" in repr(other)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        other.save(path)
        read = tilec.Config.load(path)
        assert read == other
        other.save(path, minimal=True)
        small = tilec.Config.load(path)
        assert len(small.json()) < len(other.json()) and kernel.fit(small) == other
        with raises(ValueError, words="kernel.fit"):
            small.minimal()
    for config in (other, small, default):
        close(kernel.with_options(config=config)(x, OFFSETS), sums(x))
        kernel.config = config
        close(kernel(x, OFFSETS), sums(x))
    assert {"axes.tk.block", "axes.tb.warps"} <= {knob["path"] for knob in kernel.space()["knobs"]}
    with raises(tilec.ProgramError, words="colour"):
        kernel.fit(tilec.Config('{"format": 1, "colour": 3}'))


def test_sources():
    "the code for a config, types, extents and targets"
    kernel = tilec.load(EXAMPLES / "jagged_sum.tile").jagged_sum
    assert "__global__" in kernel.source() and "__global__" not in kernel.source(target="cpu")
    assert "T = f16" in kernel.source(types={"T": "f16"}) and "M = 24" in kernel.source(dims={"M": 24})
    kernel(draw(11, 5), OFFSETS.astype("i4"))
    assert "I = i32, M = 5" in kernel.source()
    config = kernel.random_config(5)
    assert kernel.source(config) != kernel.source() and kernel.source(config) == kernel.source(config)
    with raises(tilec.ProgramError):
        kernel.source(tilec.Config('{"format": 1, "axes": {"tz": {"block": 4}}}'))


def test_options():
    "dimensions are left open or compiled in, asserts kept"
    kernel = tilec.load(EXAMPLES / "jagged_sum.tile").jagged_sum
    other = kernel.with_options(dynamic=["M"], static=["B"], checked=True)
    x = draw(11, 5)
    close(other(x, OFFSETS), sums(x))
    close(other(draw(11, 7), OFFSETS), sums(np.zeros((11, 7), "f4")) + other(np.zeros((11, 7), "f4"), OFFSETS), 1e9)
    assert len(other._entries[("cpu", ("f32", "i64"))]) == 1


run_tests(globals())
