# SPDX-License-Identifier: Apache-2.0
"""A jagged softmax for torch that torch.compile doesn't break at, and that has gradients: its backward is a second
kernel.

python examples/torch/softmax.py [cpu|cuda]
"""

import pathlib
import sys

import tilec
import tilec.torch
import torch

HERE = pathlib.Path(__file__).resolve().parent
softmax = tilec.torch.op(tilec.load(HERE.parent / "jagged_softmax.tile").jagged_softmax)
backward_of_softmax = tilec.torch.op(tilec.load(HERE / "jagged_softmax_backward.tile").jagged_softmax_backward)


def keep(ctx, inputs, output):
    ctx.save_for_backward(output, inputs[1])


def backward(ctx, grad):
    y, offsets = ctx.saved_tensors
    return backward_of_softmax(y, grad.contiguous(), offsets), None  # none for the offsets


torch.library.register_autograd("tilec::jagged_softmax", backward, setup_context=keep)


def main(device):
    offsets = torch.tensor([0, 3, 3, 10], device=device)
    x = torch.randn(10, 4, device=device, requires_grad=True)
    weights = torch.randn(10, 4, device=device)
    loss = torch.compile(lambda x: (softmax(x, offsets) * weights).sum(), fullgraph=True, backend="aot_eager")
    loss(x).backward()
    rows = zip(offsets.tolist(), offsets[1:].tolist())
    (wanted,) = torch.autograd.grad((torch.cat([x[a:b].softmax(0) for a, b in rows]) * weights).sum(), x)
    print("the gradient differs from torch's own by", (x.grad - wanted).abs().max().item())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cuda" if torch.cuda.is_available() else "cpu")
