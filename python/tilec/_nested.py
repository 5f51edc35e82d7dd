# SPDX-License-Identifier: Apache-2.0
"""Nested tensors of torch (layout torch.jagged): a packed argument and the offsets of its rows in one.

The kernel says which of its arguments holds the offsets of which. Where that argument is left out it is taken from the
nested tensor; an output that is packed alike is put together again with the same offsets.
"""

import sys

from . import _handles
from ._errors import refused


def _rows(kernel):
    """For each packed parameter the parameter with its offsets."""
    if kernel._rows is None:
        about = _handles.about_kernel(_handles.check_kernel(kernel._program, kernel.name))
        kernel._rows = {
            use["of"]: use["parameter"]
            for use in about["rows"]
            if use["kind"] == "offsets" and "of" in use and use["position"] == 0
        }
    return kernel._rows


def _take_apart(kernel, torch, value, name):
    if value.layout is not torch.jagged:
        raise refused(
            kernel.name,
            "launch.layout",
            f"'{name}' is a nested tensor with the layout {value.layout}; tilec takes torch.jagged",
        )
    if value.lengths() is not None:
        raise refused(
            kernel.name, "launch.layout", f"'{name}' is a nested tensor with holes between its rows; make it contiguous"
        )
    return value.values(), value.offsets()


def unpack(kernel, inputs, nested):
    """Inputs without nested tensors, and a function that wraps an output."""
    torch, rows, offsets_of = sys.modules["torch"], _rows(kernel), {}
    positions = {index: position for position, index in enumerate(kernel._inputs)}
    for position in nested:
        index = kernel._inputs[position]
        name = kernel._params[index]["name"]
        values, offsets = _take_apart(kernel, torch, inputs[position], name)
        inputs[position] = values
        target = rows.get(index)
        if target is None:
            raise refused(
                kernel.name,
                "launch.layout",
                f"'{name}' is nested, but the kernel doesn't read it by offsets: pass its values()",
            )
        held = inputs[positions[target]]
        if held is None:
            inputs[positions[target]] = offsets
        elif held is not offsets and not torch.equal(held, offsets):
            raise refused(
                kernel.name,
                "launch.offsets",
                f"'{kernel._params[target]['name']}' and the offsets of the nested tensor '{name}' differ",
            )
        offsets_of[kernel._params[index]["shape"][0]] = offsets

    def wrap(index, array):
        shape = kernel._params[index]["shape"]
        offsets = offsets_of.get(shape[0]) if shape else None
        return array if offsets is None else torch.nested.nested_tensor_from_jagged(array, offsets)

    return inputs, wrap
