# SPDX-License-Identifier: Apache-2.0
"""Tuning on the arguments of a call: they go to the tuner's processes as files."""

import contextlib
import ctypes
import json
import math
import os
import signal
import tempfile
import threading
from ctypes import byref

from . import _arrays, _library as c
from ._arguments import Arguments
from ._config import Config, cache_options
from ._errors import TuneInterrupted, usage


EFFORTS = ("none", "quick", "full")


def check_options(effort, budget, count):
    """What a search is asked for, by Python's names."""
    if effort is not None and effort not in EFFORTS:
        raise usage("usage.effort", f"effort is 'none', 'quick' or 'full', not {effort!r}")
    for name, value in (("budget", budget), ("count", count)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise TypeError(f"{name} is a number, not {type(value).__name__}")
    if budget is not None and not 0 < budget < math.inf:
        raise usage("usage.budget", f"budget is a number of seconds above 0, not {budget!r}")
    if count is not None and (count < 1 or count != int(count)):
        raise usage("usage.count", f"count is a number of configs from 1 on, not {count!r}")


def _save(kernel, folder, library, inputs, tensors):
    """Arguments and generic types as on the command line, the tensors in files of `folder`."""
    words, types = [], {}
    for value, index in zip(inputs, kernel._inputs):
        parameter = kernel._params[index]
        if index in tensors:
            host = library.host(tensors[index].keep)
            arguments = Arguments(1)
            arguments.set_tensor(0, _arrays.library_of(host).look(host))
            path = os.path.join(folder, parameter["name"] + ".npy")
            c.call("tilec_argument_save", arguments.array, os.fsencode(path), c.REPORT)
            words.append(f"{parameter['name']}=@{path}")
            types.setdefault(parameter["type"], tensors[index].type)
        elif value is not None:
            name = parameter["name"]
            text = str(bool(value)).lower() if parameter["type"] == "bool" else repr(_number(value, name))
            words.append(f"{name}={text}")
    generic = [generic["name"] for generic in kernel._about["generics"]]
    return words, [f"{name}={types[name]}" for name in generic if name in types]


def _number(value, name):
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"'{name}' must be a number, not {type(value).__name__}")
    return value.__index__() if hasattr(value, "__index__") and not isinstance(value, float) else float(value)


class _Watch:
    """The functions that the tuner calls now and then. What goes wrong in them ends the tune and is raised behind
    it."""

    def __init__(self, progress):
        self.interrupted, self.error, self._progress = False, None, progress
        self.stopped, self.told = c.STOPPED(self._stopped), c.PROGRESS(self._told)

    def _stopped(self, _):
        return int(self.interrupted or self.error is not None)

    def _told(self, _, raw):
        try:
            if self._progress is not None and self.error is None:
                best = raw.contents.best
                self._progress(
                    raw.contents.done, best if math.isfinite(best) else None, (raw.contents.phase or b"").decode()
                )
        except BaseException as error:
            self.error = error

    @contextlib.contextmanager
    def interrupts(self):
        """Ctrl-C is kept for the end of the tune: raised inside a call from C it would be lost."""

        def note(*_):
            self.interrupted = True

        own = threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT))
        before = signal.signal(signal.SIGINT, note) if own else None
        try:
            yield
        finally:
            if own:
                signal.signal(signal.SIGINT, before)


def _run_options(kernel, device, words, types, cache, **more):
    counts, texts = zip(*[c.texts(items) for items in (words, types, kernel._static, kernel._dynamic)])
    return c.RunOptions(
        kernel=kernel.name.encode(),
        argument_count=counts[0],
        arguments=texts[0],
        type_count=counts[1],
        types=texts[1],
        static_count=counts[2],
        statics=texts[2],
        dynamic_count=counts[3],
        dynamics=texts[3],
        device=device.encode(),
        checked=kernel._checked,
        cache=cache,
        **more,
    )


def _run(kernel, options, watch):
    """The best config as text."""
    made = ctypes.c_void_p()
    with c.Report() as report:
        with watch.interrupts():
            result = c.lib.tilec_tune_kernel(kernel._program.value, byref(options), report.handle, byref(made))
        text = c.take(c.lib.tilec_tune_config(made, 0)) if made else ""
        table = c.lib.tilec_tune_summary(made).decode("utf-8", "replace") if made else ""
        c.lib.tilec_tune_free(made)
        if watch.error is not None and not isinstance(watch.error, KeyboardInterrupt):
            raise watch.error
        if watch.interrupted or watch.error is not None or result == c.INTERRUPTED:
            raise TuneInterrupted(Config(text) if text else None)
        if result == c.NO_CONFIG and table:
            raise report.error(result, f"{kernel.name}: ", "\n" + table)
        report.check(result)
    return text


def tune(kernel, library, device, inputs, tensors, effort, budget, count, force, progress):
    """Searches; the best config as text."""
    watch = _Watch(progress)
    more = {"effort": effort.encode(), "budget": None if budget is None else f"{budget:g}".encode()}
    cache = cache_options({**(kernel._cache or {}), **({"force": True} if force else {})}, **more)
    with tempfile.TemporaryDirectory(prefix="tilec-") as folder:
        words, types = _save(kernel, folder, library, inputs, tensors)
        run = _run_options(kernel, device, words, types, cache)
        options = c.TuneOptions(run=run, count=int(count or 0), progress=watch.told, stopped=watch.stopped)
        return _run(kernel, options, watch)


def time(kernel, library, device, inputs, tensors, path):
    """Times the configs of a dispatch file on these arguments; the fastest as text. Ctrl-C is as in `tune`."""
    watch, made = _Watch(None), ctypes.c_void_p()
    with tempfile.TemporaryDirectory(prefix="tilec-") as folder, c.Report() as report:
        words, types = _save(kernel, folder, library, inputs, tensors)
        search = c.TuneOptions(stopped=watch.stopped)
        search_address = ctypes.cast(ctypes.pointer(search), ctypes.c_void_p)
        options = _run_options(kernel, device, words, types, cache_options(kernel._cache), config=path, search=search_address)
        with watch.interrupts():
            result = c.lib.tilec_run_kernel(kernel._program.value, byref(options), report.handle, byref(made))
        text = c.take(c.lib.tilec_run_json(made)) if made else ""
        c.lib.tilec_run_free(made)
        if watch.interrupted or result == c.INTERRUPTED:
            raise TuneInterrupted(None)
        report.check(result)
    return json.dumps(json.loads(text)["config"]["json"])
