# SPDX-License-Identifier: Apache-2.0
"""Tuning from Python: the best config is used and kept, an interrupt leaves the best so far."""

import os
import signal
import tempfile
import threading

import numpy as np
import tilec
from support import EXAMPLES, SCALED, raises, run_tests

OFFSETS = np.array([0, 3, 3, 10, 11], dtype=np.int64)
X = np.arange(55, dtype="f4").reshape(11, 5)
folder = tempfile.TemporaryDirectory()
os.environ["TILEC_CACHE_DIR"] = folder.name


def fresh():
    return tilec.load(EXAMPLES / "jagged_sum.tile").jagged_sum


def right(kernel):
    return np.array_equal(kernel(X, OFFSETS), np.stack([X[a:b].sum(0) for a, b in zip(OFFSETS[:-1], OFFSETS[1:])]))


def test_best():
    "the best of a few configs is returned, used by calls, and known to the cache"
    kernel, seen = fresh(), []
    config = kernel.autotune(X, OFFSETS, count=3, progress=lambda *what: seen.append(what))
    assert config["kernel"] == "jagged_sum" and kernel.fit(config) == config and right(kernel)
    assert seen[-1][2] == "done" and seen[-1][0] == 3 and seen[-1][1] > 0
    assert kernel.source() == kernel.source(config)
    seen.clear()
    other = fresh()
    assert other.autotune(X, OFFSETS, count=3, progress=lambda *what: seen.append(what)) == config
    assert all(done == 0 for done, _, _ in seen)
    third = fresh()
    third(X, OFFSETS)
    assert third.source() == third.source(config)
    assert other.autotune(x=X, offsets=OFFSETS, effort="none", force=True)["kernel"] == "jagged_sum"


def test_all_kinds_of_arguments():
    "scalars, optional and inout arguments"
    kernel, y = tilec.parse(SCALED).scaled, np.zeros(4, "f4")
    config = kernel.autotune(np.ones(4, "f4"), None, y, scale=0.5, times=np.int32(2), on=True, count=2)
    assert config["kernel"] == "scaled" and not y.any()


def interrupt(done, best, phase):
    if best is not None:
        signal.raise_signal(signal.SIGINT)


def test_interrupt():
    "Ctrl-C raises with the best so far, and its handler is there again"
    kernel, before = fresh(), signal.getsignal(signal.SIGINT)
    with raises(tilec.TuneInterrupted) as caught:
        kernel.autotune(X, OFFSETS, count=200, force=True, progress=interrupt)
    assert isinstance(caught[0], KeyboardInterrupt) and kernel.fit(caught[0].best) == caught[0].best
    assert signal.getsignal(signal.SIGINT) is before and right(kernel)


def test_failures():
    "what goes wrong in progress= is raised, and so are arguments that can't be tuned on"
    with raises(ZeroDivisionError):
        fresh().autotune(X, OFFSETS, count=50, force=True, progress=lambda *_: 1 / 0)
    with raises(tilec.UsageError, words="effort"):
        fresh().autotune(X, OFFSETS, effort="enormous")
    with raises(tilec.Error):
        fresh().autotune(X, OFFSETS[::-1].copy(), count=1, force=True)


def test_other_thread():
    "a thread that isn't the main one tunes, too"
    made = []
    thread = threading.Thread(target=lambda: made.append(fresh().autotune(X, OFFSETS, count=2, force=True)))
    thread.start()
    thread.join()
    assert made and made[0]["kernel"] == "jagged_sum"


run_tests(globals())
