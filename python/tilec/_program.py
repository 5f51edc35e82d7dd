# SPDX-License-Identifier: Apache-2.0
"""Programs: .tile files, whose kernels are their attributes."""

import json
import keyword
import os

from . import _handles, _library as c
from ._kernel import Kernel


class Program:
    """A .tile file, or text. Its kernels are attributes, `program.jagged_sum`, and items, `program["jagged_sum"]`,
    which also finds those that are named like a method. `kernels` are their names.
    """

    def __init__(self, handle, path):
        self._handle, self._path = handle, path
        self._about = {
            kernel["name"]: kernel for kernel in json.loads(c.take(c.lib.tilec_program_describe(handle.value)))
        }
        self._made = {}
        self.kernels = tuple(self._about)

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._about:
            raise AttributeError(f"{self._path} has no kernel {name}; it has {', '.join(self.kernels) or 'none'}")
        self.__dict__[name] = kernel = self[name]  # found there without coming here again
        return kernel

    def __getitem__(self, name):
        if name not in self._about:
            raise KeyError(f"{self._path} has no kernel {name}; it has {', '.join(self.kernels) or 'none'}")
        if name not in self._made:
            self._made.setdefault(name, _kernel_class(self._about[name])(self._handle, self._about[name], self._path))
        return self._made[name]

    def __dir__(self):
        return [*super().__dir__(), *self.kernels]

    def check(self):
        """Checks every kernel under every kind of element type; raises ProgramError with all that is wrong."""
        c.call("tilec_program_check", self._handle.value, c.REPORT)

    def __reduce__(self):
        raise TypeError("a program can't be copied or pickled: load it where it is needed")

    def __repr__(self):
        return f"<tilec.Program {self._path}: {', '.join(self.kernels)}>"


def load(path):
    """Reads a .tile file with what it imports. Raises UsageError if it can't be read, ProgramError if it can't be
    parsed. Names and types are checked at a kernel's first call, or by Program.check() for all kernels at once."""
    path = os.fspath(path)
    handle = c.make("tilec_program_load", os.fsencode(path), c.REPORT)
    return Program(_handles.Handle(handle, "tilec_program_free"), os.fsdecode(path))


def parse(text, name="<text>"):
    """The same for text. `name` stands in messages; imports are relative to its folder."""
    if not isinstance(text, str):
        raise TypeError(f"a program is text, not {type(text).__name__}; tilec.load reads a file")
    data = text.encode("utf-8", "surrogatepass")  # what is no UTF-8 the message points at
    handle = c.make("tilec_program_parse", os.fsencode(name), data, len(data), c.REPORT)
    return Program(_handles.Handle(handle, "tilec_program_free"), os.fsdecode(name))


# ---------------------------------------------------------------------------------------------- a class for each kernel


def _names_of_inputs(about):
    taken = ("self", "out", "stream", *keyword.kwlist)
    return tuple(p["name"] + "_" if p["name"] in taken else p["name"] for p in about["params"] if p["kind"] != "out")


def _needs_nothing(parameter):
    """Whether a call may leave it out. Offsets may come with a nested tensor, so inputs may, too; the call says what is
    missing."""
    return parameter.get("optional") or parameter.get("default") or parameter["kind"] == "in"


def _kernel_class(about):
    """A class whose __call__ has the kernel's own parameters: Python's way of calling is faster than *inputs,
    **named."""
    names = _names_of_inputs(about)
    inputs = [p for p in about["params"] if p["kind"] != "out"]
    first = next((i for i, p in enumerate(inputs) if i and _needs_nothing(p)), len(inputs))
    head = ", ".join(["self", *names[:first], *(f"{name}=None" for name in names[first:]), "out=None", "stream=None"])
    scope = {}
    text = f"def __call__({head}):\n    return self._fast({', '.join([*names, 'out', 'stream'])})\n"
    exec(compile(text, f"<tilec: {about['name']}>", "exec"), scope)
    call = scope["__call__"]
    call.__qualname__ = about["name"]  # as messages name it
    call._torchdynamo_disable = True  # torch.compile can't look into foreign calls
    what = ", ".join(p["name"] for p in about["params"] if p["kind"] == "out") or "nothing"
    call.__doc__ = (
        f"Runs the kernel and returns {what}. `out` takes the place of what would be allocated (a tuple for several "
        "outputs), `stream` that of the current stream."
    )
    return type(
        about["name"], (Kernel,), {"__call__": call, "__module__": "tilec", "__doc__": Kernel.__doc__, "_names": names}
    )
