# SPDX-License-Identifier: Apache-2.0
"""Handles of libtilec as objects: each is freed once, after what depends on it, and not at all while Python shuts
down."""

import atexit
import ctypes
import json
import os
import threading
import warnings
from ctypes import byref

from . import _library as c
from ._errors import ConfigError, MissingError

_ending = False


def _end():
    global _ending
    _ending = True


atexit.register(_end)


class Handle:
    """A handle with the function that frees it; `needs` are handles that must outlive it."""

    __slots__ = ("value", "_free", "needs", "__weakref__")

    def __init__(self, value, free, *needs):
        self.value, self._free, self.needs = value, getattr(c.lib, free), needs

    def __reduce__(self):
        raise TypeError("what libtilec holds can't be copied or pickled: load the program where it is needed")

    def __del__(self):
        if not _ending:
            self._free(self.value)


def check_kernel(program, name, types=(), dims=()):
    """A kernel under types like "T=f16" and dimensions like "M=64"."""
    type_count, type_texts = c.texts(types)
    dim_count, dim_texts = c.texts(dims)
    given = c.Specialization(type_count=type_count, types=type_texts, dim_count=dim_count, dims=dim_texts)
    return Handle(
        c.make("tilec_kernel_check", program.value, name.encode(), byref(given), c.REPORT), "tilec_kernel_free", program
    )


def kernel_for(program, name, arguments, dynamic, static):
    """A kernel for an array of Argument."""
    dynamic_count, dynamics = c.texts(dynamic)
    static_count, statics = c.texts(static)
    more = c.Specialization(dynamic_count=dynamic_count, dynamics=dynamics, static_count=static_count, statics=statics)
    made = c.make("tilec_kernel_for", program.value, name.encode(), arguments, len(arguments), byref(more), c.REPORT)
    return Handle(made, "tilec_kernel_free", program)


def about_kernel(kernel):
    """What tilec_kernel_json says."""
    return json.loads(c.take(c.lib.tilec_kernel_json(kernel.value)))


# ------------------------------------------------------------------------------------------------ devices


class SlowWarning(RuntimeWarning):
    """Kernels run in the evaluator, which is slow, since there is no C compiler."""


_devices = {}
_devices_lock = threading.Lock()
_warned = False
_forks = 0


def _forked():
    """What the parent had open is of no use here, and its locks may be held by threads that aren't here."""
    global _devices, _devices_lock, _forks
    _forks += 1
    _left.append(_devices)
    _devices, _devices_lock = {}, threading.Lock()


_left = []
os.register_at_fork(after_in_child=_forked)


def process():
    """A number that is another one in a forked process."""
    return _forks


def device(name):
    """An open device, one per name and process."""
    with _devices_lock:
        if name not in _devices:
            _devices[name] = Handle(c.make("tilec_device_open", name.encode(), c.REPORT), "tilec_device_free")
        return _devices[name]


def bind(kernel, name, config, checked, cache):
    """A bound kernel. Without a C compiler the CPU target is the evaluator, with one warning."""
    global _warned
    try:
        return _bind(kernel, name, config, checked, cache)
    except MissingError as error:
        if error.code != "missing.compiler":
            raise
        if not _warned:
            _warned = True
            warnings.warn(
                "tilec finds no C compiler ($CC, cc, gcc, clang): kernels run in the reference evaluator, which is slow. "
                "Install one, for example with: sudo apt-get install build-essential",
                SlowWarning,
                stacklevel=6,
            )
        return _bind(kernel, "reference", None, checked, cache)


def _bind(kernel, name, config, checked, cache):
    opened = device(name)
    options = c.BindOptions(config=config.value if config else None, checked=checked, cache=cache)
    made = c.make("tilec_bind", kernel.value, opened.value, byref(options), c.REPORT)
    return Handle(made, "tilec_bound_free", kernel, opened)


# ------------------------------------------------------------------------------------------------ configs


def parse_config(kernel, text):
    data = text.encode()
    return Handle(c.make("tilec_config_parse", kernel.value, data, len(data), c.REPORT), "tilec_config_free", kernel)


def config_for(kernel, name, arguments, cache):
    """The best known config of the cache, else a heuristic's, else the default. Without a C compiler none is needed."""
    try:
        made = c.make(
            "tilec_config_for",
            kernel.value,
            device(name).value,
            arguments,
            len(arguments),
            byref(cache),
            c.REPORT,
        )
    except MissingError as error:
        if error.code != "missing.compiler":
            raise
        return None
    return Handle(made, "tilec_config_free", kernel)


def config_dispatch(kernel, name, arguments, path, cache):
    """The config of a dispatch file; None where the value of its key wasn't timed yet."""
    try:
        made = c.make(
            "tilec_config_dispatch",
            kernel.value,
            device(name).value,
            arguments,
            len(arguments),
            path,
            byref(cache),
            c.REPORT,
        )
    except ConfigError as error:
        if error.code != "search.untimed":
            raise
        return None
    return Handle(made, "tilec_config_free", kernel)


def dispatch(kernel, path):
    return Handle(c.make("tilec_dispatch_load", kernel.value, path, c.REPORT), "tilec_dispatch_free", kernel)


def dispatch_value(handle, arguments):
    text = c.Text()
    c.call("tilec_dispatch_value", handle.value, arguments, len(arguments), c.REPORT, byref(text))
    return c.take(text)


def heuristic(kernel, target, cache):
    made = c.make("tilec_heuristic_find", kernel.value, target.encode(), byref(cache), c.REPORT)
    return Handle(made, "tilec_heuristic_free", kernel)


def heuristic_config(found, kernel, index):
    return Handle(c.make("tilec_heuristic_config", found.value, index, c.REPORT), "tilec_config_free", kernel)


def config_text(handle, minimal=False):
    return c.take(c.lib.tilec_config_json(handle.value, int(minimal)))


def default_config(kernel):
    return Handle(c.make("tilec_config_default", kernel.value, None), "tilec_config_free", kernel)


def random_config(kernel, seed):
    state = ctypes.c_uint64(seed)
    return Handle(c.make("tilec_config_random", kernel.value, byref(state)), "tilec_config_free", kernel)
