# SPDX-License-Identifier: Apache-2.0
"""The arguments of a call as libtilec takes them."""

import ctypes

from . import _library as c

TYPE_NUMBERS = {None: 0, "bool": 1, "i8": 2, "u8": 3, "i32": 4, "i64": 5, "f16": 6, "bf16": 7, "f32": 8, "f64": 9}


class Arguments:
    """An array of tilec_argument, with the memory that it points to. What isn't set is left out."""

    def __init__(self, count):
        self.array, self.keep = (c.Argument * count)(), []

    def __len__(self):
        return len(self.array)

    def set_tensor(self, index, tensor, address=None):
        """`address`: in place of the tensor's own."""
        rank = len(tensor.shape)
        shape, strides = (ctypes.c_int64 * max(rank, 1))(*tensor.shape), (ctypes.c_int64 * max(rank, 1))(
            *tensor.strides
        )
        self.keep += [shape, strides, tensor.keep]
        self.array[index] = c.Argument(
            type=TYPE_NUMBERS[tensor.type],
            rank=rank,
            shape=shape,
            strides=strides,
            data=tensor.address if address is None else address,
        )

    def set_number(self, index, value, name):
        if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):  # numpy's has no __index__
            self.array[index] = c.Argument(type=TYPE_NUMBERS["bool"], integer=int(value), number=float(value))
        elif hasattr(value, "__index__") and not isinstance(value, float):
            self.array[index] = c.Argument(
                type=TYPE_NUMBERS["i64"], integer=value.__index__(), number=float(value.__index__())
            )
        elif hasattr(value, "__float__"):
            self.array[index] = c.Argument(type=TYPE_NUMBERS["f64"], number=float(value))
        else:
            raise TypeError(f"'{name}' must be a number, not {type(value).__name__}")

    def set_inputs(self, indices, params, inputs, tensors):
        """The inputs of a call: `tensors` by index of parameter, the others from `inputs`."""
        for value, index in zip(inputs, indices):
            if index in tensors:
                self.set_tensor(index, tensors[index])
            elif params[index]["kind"] == "scalar" and value is not None:
                self.set_number(index, value, params[index]["name"])
