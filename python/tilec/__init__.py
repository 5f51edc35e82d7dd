# SPDX-License-Identifier: Apache-2.0
"""tilec: kernels over jagged tensors, called with arrays of torch, cupy or numpy.

    import tilec
    program = tilec.load("jagged_softmax.tile")
    y = program.jagged_softmax(x, offsets)

docs/python.md of the project has the whole of it.
"""

from . import _library
from ._config import Config, Dispatch
from ._errors import (
    ConfigError,
    Error,
    FileError,
    InternalError,
    LaunchError,
    Message,
    MissingError,
    ProgramError,
    TuneInterrupted,
    UsageError,
)
from ._handles import SlowWarning
from ._kernel import Kernel
from ._program import Program, load, parse

__version__ = _library.lib.tilec_version().decode()
__all__ = [
    "Config",
    "ConfigError",
    "Dispatch",
    "Error",
    "FileError",
    "InternalError",
    "Kernel",
    "LaunchError",
    "Message",
    "MissingError",
    "Program",
    "ProgramError",
    "SlowWarning",
    "TuneInterrupted",
    "UsageError",
    "explain",
    "load",
    "parse",
]


def explain(code):
    """The long explanation of a code like "E0203", or None."""
    if not isinstance(code, str):
        raise TypeError(f"a code is text like 'E0203', not {type(code).__name__}")
    text = _library.lib.tilec_explain(code.encode())
    return None if text is None else text.decode()
