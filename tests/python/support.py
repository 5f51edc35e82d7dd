# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: functions named test_… become tests, and jagged data with its results."""

import contextlib
import pathlib
import sys
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "house"))
from tap import Tap

EXAMPLES = ROOT / "examples"


class Skip(Exception):
    """Raised by a test that this machine can't run."""


def run_tests(names, *arguments):
    """Runs the functions test_… of a module's globals(), each as one test whose assertions must hold."""
    tap = Tap()
    for name, function in list(names.items()):
        if not name.startswith("test_") or not callable(function):
            continue
        title = function.__doc__ or name
        try:
            function(*arguments)
        except Skip as reason:
            tap.skip(title, reason)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not error.args:
                raise
            tap.check(False, title, traceback.format_exc().splitlines())
        else:
            tap.check(True, title)
        sys.stdout.flush()
    tap.end()


@contextlib.contextmanager
def raises(kind, code=None, words=""):
    """The block raises an exception of this kind, code and part of a message, which is given to look at further."""
    caught = []
    try:
        yield caught
    except kind as error:
        assert code is None or error.code == code, f"code {error.code}: {error}"
        assert words in str(error), f"{words!r} is not in {error}"
        caught.append(error)
        return
    raise AssertionError(f"nothing raised {kind.__name__}")


SCALED = """
kernel scaled(x: f32[n], bias: f32[n]?, inout y: f32[n], scale: f32 = 2.0, times: i32 = 1, on: bool) -> (out: f32[2 * n], sum: f32[1]) {
    for t in tile(n) {
        out[t] = x[t] * scale + (has(bias) ? bias[t] : 0);
        out[n + t] = on ? f32(times) : 0;
        y[t] = y[t] + 1;
    }
    for t in tile(1) { sum[t] = 3; }
}
"""
