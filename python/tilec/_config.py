# SPDX-License-Identifier: Apache-2.0
"""Configs: how a kernel is cut into tiles and dealt out to threads, as JSON that can be read, kept and edited."""

import collections.abc
import json
import os

from . import _handles, _library as c
from ._errors import FileError, ProgramError


def _wrong(reason):
    """The exception for text that is no config."""
    error = ProgramError(f"error[config.json]: {reason}")
    error.code, error.message = "config.json", reason
    return error


def _read(path):
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as cause:
        reason = f"can't read {os.fsdecode(path)}: {cause.strerror}"
        error = FileError(reason)
        error.code, error.errno, error.filename = "usage.file", cause.errno, cause.filename
        raise error from cause


class Config:
    """A config of a kernel. Equal if it says the same; `config["axes"]["tm"]["block"]` looks inside.

    From `Kernel.autotune`, `Kernel.default_config`, `Kernel.random_config`, or `Config.load`.
    """

    def __init__(self, text, kernel=None):
        if not isinstance(text, str):
            raise TypeError(f"a config is made of JSON text, not {type(text).__name__}; Config.load reads a file")
        self._text, self._kernel = text, kernel
        try:
            self._data = json.loads(text)
        except ValueError as cause:
            raise _wrong(f"a config is a JSON object: {cause}") from cause
        if not isinstance(self._data, dict):
            raise _wrong("a config is a JSON object")

    @classmethod
    def load(cls, path):
        """Reads a file. Whether it fits a kernel shows when it is used with one."""
        try:
            return cls(_read(path).decode())
        except (UnicodeDecodeError, ProgramError) as cause:
            raise _wrong(f"{os.fsdecode(path)}: {getattr(cause, 'message', cause)}") from cause

    def save(self, path, minimal=False):
        """Writes a file so that a reader sees the old one or the new one."""
        data = (self.minimal().json() if minimal else self._text).rstrip("\n").encode() + b"\n"
        c.call("tilec_file_save", os.fsencode(path), data, len(data), c.REPORT)

    def json(self):
        """The config as JSON text."""
        return self._text

    def minimal(self):
        """Without what the kernel's default config has anyway. Only for configs that a kernel gave."""
        if self._kernel is None:
            raise ValueError("this config was read from a file; kernel.fit(config) makes it that kernel's")
        return Config(_handles.config_text(_handles.parse_config(self._kernel, self._text), minimal=True), self._kernel)

    def __getitem__(self, key):
        return self._data[key]

    def __copy__(self):
        return self

    def __deepcopy__(self, _):
        return self

    def __reduce__(self):
        return Config, (self._text,)  # the kernel stays behind

    def __eq__(self, other):
        return self._data == other._data if isinstance(other, Config) else NotImplemented

    def __hash__(self):
        return hash(json.dumps(self._data, sort_keys=True))

    def __repr__(self):
        axes = ", ".join(f"{name} {axis.get('block', '?')}" for name, axis in self._data.get("axes", {}).items())
        return f"<tilec.Config of {self._data.get('kernel', '?')}: {axes}>"


class Dispatch:
    """A dispatch file: several configs, and a key over a kernel's dimensions and scalars. `kernel.config = dispatch`, or
    `kernel.with_options(config=dispatch)`: the first call with each value of the key times the configs on its data, and
    the fastest that is right is used for this value from then on, by other processes through the cache too.

    Whether the file fits a kernel shows when it is used with one.
    """

    def __init__(self, path):
        self.path = os.fspath(path)

    @classmethod
    def load(cls, path):
        """Of a file, as Config.load; raises if there is none."""
        _read(path)
        return cls(path)

    def __eq__(self, other):
        return os.path.abspath(self.path) == os.path.abspath(other.path) if isinstance(other, Dispatch) else NotImplemented

    def __hash__(self):
        return hash(os.path.abspath(self.path))

    def __repr__(self):
        return f"<tilec.Dispatch {self.path}>"


def checked_config(what, config, *more):
    """The config, if it is one, or None, or of one of the classes `more`."""
    if config is not None and not isinstance(config, (Config, *more)):
        kinds = ", ".join([f"a tilec.{kind.__name__}" for kind in (Config, *more)])
        raise TypeError(f"{what} is {kinds} or None, not {type(config).__name__}")
    return config


_FLAGS = {"force": "force", "skip": "skip", "assert_hit": "assert_hit"}
_TEXTS = {"dir": "folder", "kind": "kind", "heuristics": "heuristics", "remote": "remote"}


def cache_options(given, **more):
    """The structure for with_options(cache={…}): what isn't there is as the environment says."""
    fields = dict(more)
    if not isinstance(given, (type(None), collections.abc.Mapping)):
        raise TypeError(f"cache wants a dict, {{\"dir\": \"/path\"}}, not {type(given).__name__}")
    for name, value in (given or {}).items():
        if name in _FLAGS:
            fields[_FLAGS[name]] = int(bool(value))
        elif name in _TEXTS and not isinstance(value, (str, bytes, os.PathLike, type(None))):
            raise TypeError(f"cache: '{name}' is text, not {type(value).__name__}")
        elif name in _TEXTS and value is not None:
            fields[_TEXTS[name]] = os.fsencode(value)
        elif name not in _TEXTS:
            raise TypeError(f"cache has no '{name}'; there are {', '.join([*_TEXTS, *_FLAGS])}")
    return c.CacheOptions(**fields)
