# SPDX-License-Identifier: Apache-2.0
"""The short way of a call with torch's tensors.

A call that is like the last one differs from it in addresses, extents of the batch and the stream. For each bound
kernel a function is written that looks at just what could make it unlike: types, devices, contiguity, whether gradients
are wanted. It packs addresses and extents into the words of tilec_launch_words, which checks every extent, and takes
one foreign call. Whatever it doesn't expect goes to the functions made before it, and then the long way, which does the
same with words for what is wrong.
"""

import ctypes
import struct

from . import _library as c

FLOATS = ("f16", "bf16", "f32", "f64")


def _extent(extent, dims):
    """The Python expression of an output's extent, or None if it takes more than a dimension."""
    if "dim" not in extent:
        return str(extent["offset"]) if "offset" in extent else None
    scale, offset = extent["scale"], extent["offset"]
    text = dims.get(extent["dim"])
    if text is None:
        return None
    return f"{text} * {scale} + {offset}" if scale != 1 else f"{text} + {offset}" if offset else text


def _dims(about, names):
    """The expression of each dimension in the variables of the extents."""
    dims = {}
    for dim in about["dimensions"]:
        if "value" in dim:
            dims[dim["name"]] = str(dim["value"])
        elif "parameter" in dim and about["parameters"][dim["parameter"]]["role"] != "out":
            text = f"{names[dim['parameter']]}_{dim['position']}"
            if dim["offset"]:
                text = f"({text} - {dim['offset']})"
            dims[dim["name"]] = f"({text} // {dim['scale']})" if dim["scale"] != 1 else text
    return dims


class _Writer:
    """Pieces of the function, by parameter; parameter i is the variable pi, its extents are pi_0, pi_1, …"""

    def __init__(self, about, index):
        self.parameters, self.index = about["parameters"], index  # of the device as get_device gives it; -1: the CPU
        self.names = [f"p{i}" for i in range(len(self.parameters))]
        self.dims = _dims(about, self.names)
        self.format, self.words = "<", []
        self.guards = {i: [] for i in range(len(self.parameters))}
        self.inner = [
            f"{self.names[d['parameter']]}_{d['position']} == {d['value'] * d['scale'] + d['offset']}"
            for d in about["dimensions"]
            if "value" in d and "parameter" in d and self.parameters[d["parameter"]]["role"] != "out"
        ]
        for i, parameter in enumerate(self.parameters):
            self.read(i, parameter)

    def read(self, i, parameter):
        name, rank = self.names[i], len(parameter["extents"]) if "extents" in parameter else 0
        if parameter["role"] == "scalar":
            self.format += "d" if parameter["type"] in FLOATS else "q"
            self.words.append(name)
        elif parameter["absent"]:
            self.guards[i].append(f"{name} is None")
            self.format += "Q" + rank * "q"
            self.words += ["0"] * (1 + rank)
        else:
            self.guards[i] += [
                f"type({name}) in TENSORS",
                f"{name}.dtype is T{i}",
                f"{name}.get_device() == {self.index}",
                f"{name}.is_contiguous()",
            ]
            if parameter["type"] in FLOATS:  # others have no gradients, and no sign beside the numbers
                self.guards[i] += [f"not ({name}.requires_grad and grad_enabled())", f"not {name}.is_neg()"]
            self.format += "Q" + rank * "q"
            self.words += [f"{name}.data_ptr()"] + [f"{name}_{d}" for d in range(rank)]

    def defaults(self):
        for i, parameter in enumerate(self.parameters):
            if "default" in parameter:
                yield f"if {self.names[i]} is None: {self.names[i]} = {parameter['default']!r}"

    def shapes(self, role_out):
        for i, parameter in enumerate(self.parameters):
            if parameter["role"] == "scalar" or parameter["absent"] or (parameter["role"] == "out") != role_out:
                continue
            variables = "".join(f"{self.names[i]}_{d}, " for d in range(len(parameter["extents"])))
            yield f"{variables}= {self.names[i]}.shape" if variables else f"() = {self.names[i]}.shape"

    def made(self):
        """Lines that allocate the outputs, or None if their shapes need the library."""
        lines = []
        for i, parameter in enumerate(self.parameters):
            if parameter["role"] != "out":
                continue
            extents = [_extent(extent, self.dims) for extent in parameter["extents"]]
            if None in extents:
                return None
            lines += [f"{self.names[i]}_{d} = {extent}" for d, extent in enumerate(extents)]
            names = [f"{self.names[i]}_{d}" for d in range(len(extents))]
            shape = "".join(f"{name}, " for name in names)
            strides = "".join(f"{' * '.join(names[d + 1 :]) or 1}, " for d in range(len(names)))
            lines.append(f"{self.names[i]} = take(({shape}), ({strides}), T{i})")
            again = f"{self.names[i]} = empty(({shape}), dtype=T{i}, device=DEVICE)"  # another device was current
            lines.append(f"if {self.names[i]}.get_device() != {self.index}: {again}")
        return lines


def _results(writer, outputs, slow, workspaces):
    """Lines that make or look at the outputs and find the stream. What is allocated belongs to the current stream."""
    result = ", ".join(writer.names[i] for i in outputs)
    guards = " and ".join(guard for i in outputs for guard in writer.guards[i])
    current = f"address = raw_stream({writer.index})"
    given = [
        f"if stream is None: {current}",
        f"else: {slow if workspaces or writer.index < 0 else 'address = stream.cuda_stream'}",
    ]
    if not outputs:
        return [f"if out is not None: {slow}", *given]
    allocation = writer.made()
    make = [slow] if allocation is None else [f"if stream is not None: {slow}", *allocation, current]
    look = [f"{result} = out", f"if not ({guards}): {slow}", *writer.shapes(True), *given]
    return ["if out is None:", *(f"    {line}" for line in make), "else:", *(f"    {line}" for line in look)]


def _launch(writer, workspaces, result):
    words = ", ".join(writer.words)
    if not workspaces:
        return [f"if launch_words(HANDLE, pack({words}, 0, address)) == 0: return {result}"]
    return [
        "size = int64()",
        f"if workspace_words(HANDLE, pack({words}, 0, 0), byref(size), None) == 0:",
        "    memory = empty((size.value,), dtype=BYTES, device=DEVICE)",
        f"    if launch_words(HANDLE, pack({words}, memory.data_ptr(), address)) == 0: return {result}",
    ]


def _text(writer, inputs, outputs, workspaces):
    """The function's source. `inputs` and `outputs` are indices of parameters."""
    own = ", ".join([*(writer.names[i] for i in inputs), "out", "stream"])
    results = [writer.names[i] for i in outputs]
    result = results[0] if len(results) == 1 else "(" + ", ".join(results) + ")" if results else "None"
    guards = " and ".join(guard for i in inputs for guard in writer.guards[i])
    body = [*writer.defaults(), *writer.shapes(False)]
    if writer.inner:
        body.append(f"if not ({' and '.join(writer.inner)}): return other({own})")
    body += [*_results(writer, outputs, f"return slow({own})", workspaces), *_launch(writer, workspaces, result)]
    lines = [
        f"def fast({own}):",
        f"    if not ({guards}): return other({own})",
        "    try:",
        *(f"        {line}" for line in body),
        "    except UNLIKE:",
        "        pass",
        f"    return slow({own})",
    ]
    return "\n".join(lines) + "\n"


def _raw_stream_function(torch, index):
    """A function from a device's index to its current stream's address."""
    if index < 0:
        return lambda index: 0
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return raw or (lambda index: torch.cuda.current_stream(index).cuda_stream)


def _take_function(torch, index):
    """A function from shape, strides and type to memory on the current device, like torch.empty_strided: the one that the
    code of torch's compiler calls, where there is it, as it reads no options."""
    name = "_empty_strided_cpu" if index < 0 else "_empty_strided_cuda"
    found = getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None), name, None)
    device = "cpu" if index < 0 else "cuda"
    return found or (lambda shape, strides, dtype: torch.empty(shape, dtype=dtype, device=device))


def make(about, library, device, bound, workspaces, slow):
    """The function for a bound kernel, called as slow(*inputs, out, stream) is."""
    torch = library.module
    on_cpu = device == "cpu"
    writer = _Writer(about, -1 if on_cpu else int(device[5:]))
    inputs = [i for i, p in enumerate(about["parameters"]) if p["role"] != "out"]
    outputs = [i for i, p in enumerate(about["parameters"]) if p["role"] == "out"]
    scope = {
        "TENSORS": frozenset((torch.Tensor, torch.nn.Parameter)),
        "DEVICE": torch.device(device),
        "HANDLE": ctypes.c_void_p(bound.value),  # a number would be made into one at each call
        "BYTES": torch.uint8,
        "UNLIKE": (ValueError, TypeError, AttributeError, RuntimeError, struct.error),
        "grad_enabled": torch.is_grad_enabled,
        "empty": torch.empty,
        "take": _take_function(torch, writer.index),
        "pack": struct.Struct(writer.format + "QQ").pack,
        # A launch on CUDA is too short to let other threads run meanwhile, one on the CPU isn't.
        "launch_words": c.lib.tilec_launch_words if on_cpu else c.launch_words,
        "workspace_words": c.workspace_words,
        "int64": ctypes.c_int64,
        "byref": ctypes.byref,
        "raw_stream": _raw_stream_function(torch, writer.index),
        "other": slow,
        "slow": slow,
        "keep": bound,
    }
    for i, parameter in enumerate(about["parameters"]):
        scope[f"T{i}"] = library.dtypes.get(parameter["type"])
    text = _text(writer, inputs, outputs, workspaces)
    exec(compile(text, f"<tilec: a call of {about['name']}>", "exec"), scope)
    made = scope["fast"]
    made.source, made._torchdynamo_disable = text, True
    return made


# ------------------------------------------------------------------------------------------------ several of them

LONGEST_CHAIN = 8


def put_first(function, head, slow):
    """Kernels for several types or extents may take turns, so their functions stand in a chain: each hands on what
    isn't like its own calls. `head` is the first of it, or `slow`. Returns the first of the chain with `function` in
    it."""
    chain = []
    while hasattr(head, "source"):
        chain.append(head)
        head = head.__globals__["other"]
    if function in chain:
        return chain[0]
    function.__globals__["other"] = chain[0] if chain else slow
    if len(chain) >= LONGEST_CHAIN:
        chain[LONGEST_CHAIN - 2].__globals__["other"] = slow
    return function
