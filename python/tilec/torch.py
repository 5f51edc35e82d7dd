# SPDX-License-Identifier: Apache-2.0
"""Kernels as operators of torch, so that torch.compile keeps its graph whole and a backward can be registered.

jagged_sum = tilec.torch.op(program.jagged_sum)          # torch.ops.tilec.jagged_sum
compiled = torch.compile(lambda x, offsets: jagged_sum(x, offsets) * 2)
"""

import torch

from . import _arrays, _handles
from ._arguments import Arguments
from ._errors import ProgramError

_libraries = {}


def _schema(kernel):
    """The operator's schema: tensors, then what the kernel returns."""
    words = []
    for number, index in enumerate(kernel._inputs):
        parameter = kernel._params[index]
        if parameter["kind"] == "scalar":
            kind = {"f": "float", "b": "float" if parameter["type"] == "bf16" else "bool"}.get(
                parameter["type"][0], "int"
            )
            words.append(
                f"{kind}? {kernel._names[number]}=None"
                if parameter.get("default")
                else f"{kind} {kernel._names[number]}"
            )
        elif parameter["kind"] == "inout":
            words.append(f"Tensor(a{number}!) {kernel._names[number]}")
        else:
            words.append(
                f"Tensor? {kernel._names[number]}=None"
                if parameter.get("optional")
                else f"Tensor {kernel._names[number]}"
            )
    # A required argument can't stand behind one with a default.
    seen = False
    for i, word in enumerate(words):
        seen = seen or word.endswith("=None")
        if seen and not word.endswith("=None"):
            words = [w[:-5] if w.endswith("=None") else w for w in words]
            break
    outputs = ["Tensor"] * len(kernel._outputs)
    if not outputs:
        return f"({', '.join(words)}) -> ()"
    return f"({', '.join(words)}) -> {outputs[0] if len(outputs) == 1 else '(' + ', '.join(outputs) + ')'}"


def _types(kernel, inputs):
    """The generic element types of these inputs, as "T=f16"."""
    library, types = _arrays.library_of(next(value for value in inputs if isinstance(value, torch.Tensor))), {}
    for value, index in zip(inputs, kernel._inputs):
        if isinstance(value, torch.Tensor) and not kernel._params[index]["type"].startswith("accum("):
            types.setdefault(kernel._params[index]["type"], library.types[value.dtype])
    return library, tuple(f"{name}={type}" for name, type in types.items() if name not in _arrays.NAMES)


def _hint(extent):
    """What a symbol stood for when it was made; nothing is concluded from it."""
    return extent.node.hint if isinstance(extent, torch.SymInt) else extent


def _about(kernel, inputs, library, types):
    """What tilec_kernel_json says of the kernel for these types, with nothing compiled in that may be open. Where
    something must be, as for full axes, that is so for these inputs."""
    known = kernel.__dict__.setdefault("_about_types", {})
    if types in known:
        return known[types]
    try:
        known[types] = _handles.about_kernel(_handles.check_kernel(kernel._program, kernel.name, types))
        return known[types]
    except ProgramError:
        arguments = Arguments(len(kernel._params))
        for value, index in zip(inputs, kernel._inputs):
            if isinstance(value, torch.Tensor):
                shape = tuple(map(_hint, value.shape))
                arguments.set_tensor(index, _arrays.Tensor(library.types[value.dtype], shape, shape, 0, None))
        return _handles.about_kernel(
            _handles.kernel_for(kernel._program, kernel.name, arguments.array, kernel._dynamic, kernel._static)
        )


def _fake(kernel):
    """Outputs without data: their shapes from the shapes of the inputs, which may be symbols."""

    def fake(*inputs):
        library, types = _types(kernel, inputs)
        about, given, dims = _about(kernel, inputs, library, types), dict(zip(kernel._inputs, inputs)), {}
        for dim in about["dimensions"]:
            tensor = given.get(dim.get("parameter"))
            if tensor is None:
                continue
            extent = tensor.shape[dim["position"]]
            if "value" in dim:
                int(extent)  # torch.compile notes that the shapes hold for this extent alone
            else:
                dims[dim["name"]] = (extent - dim["offset"]) // dim["scale"]
        first = next(value for value in inputs if isinstance(value, torch.Tensor))
        made = []
        for index in kernel._outputs:
            parameter = about["parameters"][index]
            shape = []
            for extent in parameter["extents"]:
                if "offset" not in extent or ("dim" in extent and extent["dim"] not in dims):
                    raise NotImplementedError(
                        f"tilec: the extent {extent['text']} of {parameter['name']} can't be told without data"
                    )
                shape.append(
                    dims[extent["dim"]] * extent["scale"] + extent["offset"] if "dim" in extent else extent["offset"]
                )
            made.append(first.new_empty(shape, dtype=library.dtypes[parameter["type"]]))
        return made[0] if len(made) == 1 else tuple(made) if made else None

    return fake


def op(kernel, namespace="tilec", name=None):
    """Registers a kernel as torch.ops.NAMESPACE.NAME and returns that. For its gradients
    torch.library.register_autograd takes "NAMESPACE::NAME"; without them it is forward only."""
    name = name or kernel.name
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define(name + _schema(kernel))

    def run(*inputs):
        with torch.no_grad():  # autograd has been there already
            return kernel(*inputs)

    library.impl(name, run, "CPU")
    library.impl(name, run, "CUDA")
    torch.library.register_fake(f"{namespace}::{name}", _fake(kernel), lib=library)
    _libraries[namespace, name] = library  # as long as it lives the operator does
    return getattr(getattr(torch.ops, namespace), name)


__all__ = ["op"]
