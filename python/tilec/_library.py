# SPDX-License-Identifier: Apache-2.0
"""libtilec through ctypes: the library, its structures and functions, and failures as exceptions.

The structures repeat those of tilec.h field by field; a test compares them with the header.
"""

import ctypes
import os
import pathlib
import warnings
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p

from ._errors import make_error

# ------------------------------------------------------------------------------------------------ structures

TEXTS = POINTER(c_char_p)


class Text(Structure):
    _fields_ = [("data", c_void_p), ("length", c_size_t)]


class Message(Structure):
    _fields_ = [
        ("severity", c_int),
        ("code", c_char_p),
        ("message", c_char_p),
        ("help", c_char_p),
        ("path", c_char_p),
        ("line", c_int),
        ("column", c_int),
        ("begin", c_size_t),
        ("end", c_size_t),
        ("plain", c_char_p),
        ("coloured", c_char_p),
    ]


class Specialization(Structure):
    _fields_ = [
        ("type_count", c_int),
        ("types", TEXTS),
        ("dim_count", c_int),
        ("dims", TEXTS),
        ("static_count", c_int),
        ("statics", TEXTS),
        ("dynamic_count", c_int),
        ("dynamics", TEXTS),
        ("absent_count", c_int),
        ("absent", TEXTS),
        ("for_all", c_int),
    ]


class EmitOptions(Structure):
    _fields_ = [
        ("target", c_char_p),
        ("index64", c_int),
        ("unaligned", c_int),
        ("checked", c_int),
        ("stop_after", c_char_p),
        ("skip_count", c_int),
        ("skips", TEXTS),
        ("stage", c_void_p),
        ("data", c_void_p),
    ]


class CacheOptions(Structure):
    _fields_ = [
        ("folder", c_char_p),
        ("kind", c_char_p),
        ("force", c_int),
        ("skip", c_int),
        ("assert_hit", c_int),
        ("effort", c_char_p),
        ("budget", c_char_p),
        ("heuristics", c_char_p),
        ("remote", c_char_p),
    ]


class Argument(Structure):
    _fields_ = [
        ("type", c_int),
        ("rank", c_int),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("data", c_void_p),
        ("integer", c_int64),
        ("number", c_double),
    ]


class BindOptions(Structure):
    _fields_ = [("config", c_void_p), ("checked", c_int), ("trusting", c_int), ("cache", CacheOptions)]


class BoundCounts(Structure):
    _fields_ = [("compiled", c_int), ("cached", c_int), ("launches", c_int), ("workspaces", c_int)]


class RunOptions(Structure):
    _fields_ = [
        ("kernel", c_char_p),
        ("argument_count", c_int),
        ("arguments", TEXTS),
        ("dim_count", c_int),
        ("dims", TEXTS),
        ("type_count", c_int),
        ("types", TEXTS),
        ("static_count", c_int),
        ("statics", TEXTS),
        ("dynamic_count", c_int),
        ("dynamics", TEXTS),
        ("seed", c_uint64),
        ("device", c_char_p),
        ("config", c_char_p),
        ("source", c_char_p),
        ("keep", c_char_p),
        ("check", c_int),
        ("checked", c_int),
        ("trusting", c_int),
        ("out_count", c_int),
        ("outs", TEXTS),
        ("save_arguments", c_char_p),
        ("histogram", c_char_p),
        ("cache", CacheOptions),
        ("search", c_void_p),
    ]


class TuneProgress(Structure):
    _fields_ = [
        ("done", c_int),
        ("total", c_int),
        ("ok", c_int),
        ("seconds", c_double),
        ("left", c_double),
        ("best", c_double),
        ("phase", c_char_p),
        ("compilers", c_int),
        ("peak_bytes", c_int64),
    ]


PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, POINTER(TuneProgress))
STOPPED = ctypes.CFUNCTYPE(c_int, c_void_p)


class TuneOptions(Structure):
    _fields_ = [
        ("run", RunOptions),
        ("configs", c_char_p),
        ("journal", c_char_p),
        ("worker", c_char_p),
        ("count", c_int),
        ("compilers", c_int),
        ("compile_limit", c_double),
        ("run_limit", c_double),
        ("from_cache", c_int),
        ("retimed", c_int),
        ("shard", c_char_p),
        ("folder", c_char_p),
        ("merge", c_char_p),
        ("compile_only", c_int),
        ("arch", c_char_p),
        ("progress", PROGRESS),
        ("stopped", STOPPED),
        ("data", c_void_p),
    ]


NOTE = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class AotOptions(Structure):
    _fields_ = [
        ("tune", TuneOptions),
        ("shapes", c_char_p),
        ("folder", c_char_p),
        ("out", c_char_p),
        ("arch", c_char_p),
        ("phase", c_char_p),
        ("goal", c_char_p),
        ("threshold", c_double),
        ("max_configs", c_int),
        ("list", c_int),
        ("note", NOTE),
    ]


class BundleOptions(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("architecture_count", c_int),
        ("architectures", TEXTS),
        ("config", c_void_p),
        ("heuristic", c_char_p),
        ("cache", CacheOptions),
    ]


# ------------------------------------------------------------------------------------------------ functions

# name: (result, arguments); R is the tilec_result that `call` turns into an exception, with the report put in its
# place.
R = c_int
FUNCTIONS = {
    "tilec_version": (c_char_p, []),
    "tilec_text_free": (None, [POINTER(Text)]),
    "tilec_report_new": (c_void_p, []),
    "tilec_report_free": (None, [c_void_p]),
    "tilec_report_count": (c_int, [c_void_p]),
    "tilec_report_message": (Message, [c_void_p, c_int]),
    "tilec_program_load": (R, [c_char_p, c_void_p, POINTER(c_void_p)]),
    "tilec_program_parse": (R, [c_char_p, c_char_p, c_size_t, c_void_p, POINTER(c_void_p)]),
    "tilec_program_free": (None, [c_void_p]),
    "tilec_program_kernel_count": (c_int, [c_void_p]),
    "tilec_program_kernel_name": (c_char_p, [c_void_p, c_int]),
    "tilec_program_check": (R, [c_void_p, c_void_p]),
    "tilec_program_describe": (Text, [c_void_p]),
    "tilec_kernel_check": (R, [c_void_p, c_char_p, POINTER(Specialization), c_void_p, POINTER(c_void_p)]),
    "tilec_kernel_for": (
        R,
        [c_void_p, c_char_p, POINTER(Argument), c_int, POINTER(Specialization), c_void_p, POINTER(c_void_p)],
    ),
    "tilec_kernel_free": (None, [c_void_p]),
    "tilec_kernel_hash": (Text, [c_void_p]),
    "tilec_kernel_json": (Text, [c_void_p]),
    "tilec_kernel_emit": (R, [c_void_p, c_void_p, POINTER(EmitOptions), c_void_p, POINTER(Text)]),
    "tilec_config_default": (R, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "tilec_config_random": (R, [c_void_p, POINTER(c_uint64), POINTER(c_void_p)]),
    "tilec_config_for": (
        R,
        [c_void_p, c_void_p, POINTER(Argument), c_int, POINTER(CacheOptions), c_void_p, POINTER(c_void_p)],
    ),
    "tilec_config_dispatch": (
        R,
        [c_void_p, c_void_p, POINTER(Argument), c_int, c_char_p, POINTER(CacheOptions), c_void_p, POINTER(c_void_p)],
    ),
    "tilec_dispatch_load": (R, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "tilec_dispatch_free": (None, [c_void_p]),
    "tilec_dispatch_value": (R, [c_void_p, POINTER(Argument), c_int, c_void_p, POINTER(Text)]),
    "tilec_config_parse": (R, [c_void_p, c_char_p, c_size_t, c_void_p, POINTER(c_void_p)]),
    "tilec_config_free": (None, [c_void_p]),
    "tilec_config_json": (Text, [c_void_p, c_int]),
    "tilec_config_check": (R, [c_void_p, c_char_p, c_void_p]),
    "tilec_config_space": (Text, [c_void_p]),
    "tilec_device_open": (R, [c_char_p, c_void_p, POINTER(c_void_p)]),
    "tilec_device_free": (None, [c_void_p]),
    "tilec_device_target": (c_char_p, [c_void_p]),
    "tilec_bind": (R, [c_void_p, c_void_p, POINTER(BindOptions), c_void_p, POINTER(c_void_p)]),
    "tilec_bound_free": (None, [c_void_p]),
    "tilec_bound_counts": (BoundCounts, [c_void_p]),
    "tilec_output_shape": (R, [c_void_p, POINTER(Argument), c_int, c_int, POINTER(c_int64), c_void_p]),
    "tilec_workspace_size": (R, [c_void_p, POINTER(Argument), c_int, POINTER(c_int64), c_void_p]),
    "tilec_launch": (R, [c_void_p, POINTER(Argument), c_int, c_void_p, c_void_p, c_void_p]),
    "tilec_launch_words": (R, [c_void_p, c_char_p]),
    "tilec_argument_save": (R, [POINTER(Argument), c_char_p, c_void_p]),
    "tilec_run_kernel": (R, [c_void_p, POINTER(RunOptions), c_void_p, POINTER(c_void_p)]),
    "tilec_run_free": (None, [c_void_p]),
    "tilec_run_json": (Text, [c_void_p]),
    "tilec_heuristic_find": (R, [c_void_p, c_char_p, POINTER(CacheOptions), c_void_p, POINTER(c_void_p)]),
    "tilec_heuristic_free": (None, [c_void_p]),
    "tilec_heuristic_path": (c_char_p, [c_void_p]),
    "tilec_heuristic_choose": (c_int, [c_void_p, POINTER(c_int64), c_int64]),
    "tilec_heuristic_rule": (Text, [c_void_p, POINTER(c_int64), c_int64]),
    "tilec_heuristic_config": (R, [c_void_p, c_int, c_void_p, POINTER(c_void_p)]),
    "tilec_tune_kernel": (R, [c_void_p, POINTER(TuneOptions), c_void_p, POINTER(c_void_p)]),
    "tilec_tune_free": (None, [c_void_p]),
    "tilec_tune_config": (Text, [c_void_p, c_int]),
    "tilec_tune_summary": (c_char_p, [c_void_p]),
    "tilec_aot": (R, [c_void_p, POINTER(AotOptions), c_void_p, POINTER(Text)]),
    "tilec_bundle": (R, [c_void_p, POINTER(BundleOptions), c_void_p, POINTER(Text), POINTER(Text)]),
    "tilec_file_save": (R, [c_char_p, c_void_p, c_size_t, c_void_p]),
    "tilec_explain": (c_char_p, [c_char_p]),
}
OK, WRONG, USAGE, MISSING, NO_CONFIG, LAUNCH, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 70, 130


def _candidates():
    """Where the library may be: as told, in the package, then what the loader finds."""
    chosen = os.environ.get("TILEC_LIBRARY")
    if chosen:
        return [chosen]
    here = pathlib.Path(__file__).resolve().parent
    return [str(here / "libtilec.so"), "libtilec.so.0"]


def _open():
    """The library, twice: calls that may take long let other threads run, launches are too short for that."""
    reasons = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path), ctypes.PyDLL(path)
        except OSError as error:
            reasons.append(str(error))
    raise ImportError("tilec finds no libtilec: " + "; ".join(reasons) + ". TILEC_LIBRARY may name it.")


lib, _quick = _open()
for _name, (_result, _arguments) in FUNCTIONS.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments
launch_words = _quick.tilec_launch_words
launch_words.restype, launch_words.argtypes = c_int, [c_void_p, c_char_p]
workspace_words = _quick.tilec_workspace_words
workspace_words.restype, workspace_words.argtypes = c_int, [c_void_p, c_char_p, c_void_p, c_void_p]


# ------------------------------------------------------------------------------------------------ calls


def take(text):
    """The characters of a tilec_text, which is freed."""
    try:
        return ctypes.string_at(text.data, text.length).decode("utf-8", "replace") if text.data else ""
    finally:
        lib.tilec_text_free(byref(text))


def texts(items):
    """(count, array) of strings for a structure; the array keeps them alive."""
    items = [item.encode() for item in items]
    return len(items), (c_char_p * len(items))(*items) if items else None


def _messages(report):
    return [lib.tilec_report_message(report, i) for i in range(lib.tilec_report_count(report))]


class Report:
    """Collects what a call has to say. Use with `with`."""

    def __enter__(self):
        self.handle = lib.tilec_report_new()
        return self

    def __exit__(self, *_):
        lib.tilec_report_free(self.handle)

    def error(self, result, before="", behind=""):
        """The exception for a result that isn't OK, with more text around its own."""
        return make_error(result, _messages(self.handle), before, behind)

    def check(self, result):
        """Raises unless the result is OK; then there may be warnings."""
        if result != OK:
            raise self.error(result)
        for message in _messages(self.handle):
            warnings.warn(message.message.decode("utf-8", "replace"), RuntimeWarning, stacklevel=4)


def call(name, *arguments):
    """Calls a function whose report is the argument REPORT; raises what it reports."""
    with Report() as report:
        report.check(getattr(lib, name)(*[report.handle if a is REPORT else a for a in arguments]))


REPORT = object()


def make(name, *arguments):
    """The same for functions that give a handle through their last argument (those of configs have no report)."""
    handle = c_void_p()
    call(name, *arguments, byref(handle))
    return handle.value
