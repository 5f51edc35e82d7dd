# SPDX-License-Identifier: Apache-2.0
"""Arrays of numpy, torch and cupy as tilec sees them. None of the three is imported here: an array tells which it
is."""

import contextlib
import sys

# Element types by the names that the libraries give theirs.
TYPES = {
    "bool": "bool",
    "bool_": "bool",
    "int8": "i8",
    "uint8": "u8",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}
NAMES = {
    "bool": "bool",
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}


class Tensor:
    """What a launch needs to know of an array. `strides` in elements; `keep` is what holds the memory."""

    __slots__ = ("type", "shape", "strides", "address", "keep")

    def __init__(self, type, shape, strides, address, keep):
        self.type, self.shape, self.strides, self.address, self.keep = type, shape, strides, address, keep

    @property
    def is_dense(self):
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != step:
                return 0 in self.shape
            step *= extent
        return True


class Numpy:
    """Runs on the CPU target."""

    def __init__(self):
        self.module = sys.modules["numpy"]

    def owns(self, value):
        """Whether it is an array of this library."""
        return isinstance(value, self.module.ndarray)

    def refuse(self, value, name):
        """Why the array can't be used, as (code, words), or None."""
        if isinstance(value, self.module.ma.MaskedArray):
            return "launch.layout", f"'{name}' is a masked array, and kernels know no masks: pass {name}.filled(…)"
        if value.dtype.name not in TYPES:
            return "launch.type", f"'{name}' has elements of type {value.dtype}, which kernels don't know"
        return None

    def device(self, value):
        return "cpu"

    def look(self, value):
        """The array as a Tensor; of another byte order, or with elements at odd places, a copy of it."""
        size = value.dtype.itemsize
        if not value.dtype.isnative or not value.flags.aligned or any(stride % size for stride in value.strides):
            value = self.module.array(value, dtype=value.dtype.newbyteorder("="), order="C", copy=True)
        strides = tuple(stride // size for stride in value.strides)
        return Tensor(TYPES[value.dtype.name], value.shape, strides, value.ctypes.data, value)

    def dense(self, value):
        return self.module.array(value, order="C", copy=True)

    def writable(self, value):
        return value.flags.writeable

    def empty(self, shape, type, device):
        """An array for an output, or for a workspace."""
        return self.module.empty(shape, dtype=NAMES[type])

    def host(self, value):
        """The same on the host."""
        return value

    def capturing(self):
        """Whether the current stream is captured into a graph."""
        return False

    def stream(self, device, given):
        """A context in which memory is taken for a stream, and copies are made on it. Gives the stream as a number."""
        if given is not None:
            raise ValueError("stream= is for arrays on CUDA; these are on the CPU")
        return contextlib.nullcontext(0)


class Cupy(Numpy):
    """Runs on CUDA."""

    def __init__(self):
        self.module = sys.modules["cupy"]

    def refuse(self, value, name):
        if value.dtype.name not in TYPES:
            return "launch.type", f"'{name}' has elements of type {value.dtype}, which kernels don't know"
        return None

    def device(self, value):
        return f"cuda:{value.device.id}"

    def look(self, value):
        strides = tuple(stride // value.dtype.itemsize for stride in value.strides)
        return Tensor(TYPES[value.dtype.name], value.shape, strides, value.data.ptr, value)

    def writable(self, value):
        return True

    def dense(self, value):
        return self.module.ascontiguousarray(value)

    def empty(self, shape, type, device):
        return self.module.empty(shape, dtype=NAMES[type])

    def host(self, value):
        return self.module.asnumpy(value)

    def capturing(self):
        return self.module.cuda.get_current_stream().is_capturing()

    @contextlib.contextmanager
    def stream(self, device, given):
        with self.module.cuda.Device(int(device[5:])):
            if given is None:
                yield self.module.cuda.get_current_stream().ptr
                return
            with given if hasattr(given, "ptr") else self.module.cuda.ExternalStream(int(given)) as stream:
                yield stream.ptr


class Torch:
    """Runs where the tensors are."""

    def __init__(self):
        self.module = torch = sys.modules["torch"]
        self.types = {getattr(torch, name): type for name, type in TYPES.items() if name != "bool_"}
        self.dtypes = {type: dtype for dtype, type in self.types.items()}

    def owns(self, value):
        return isinstance(value, self.module.Tensor)

    def refuse(self, value, name):
        if value.layout is not self.module.strided:
            return "launch.layout", f"'{name}' has the layout {value.layout}, and kernels take strided tensors"
        if value.device.type not in ("cpu", "cuda"):
            return "launch.device", f"'{name}' is on the device {value.device}, and kernels run on CPU and CUDA"
        if value.dtype not in self.types:
            return "launch.type", f"'{name}' has elements of type {value.dtype}, which kernels don't know"
        if value.requires_grad and self.module.is_grad_enabled():
            return "launch.gradient", (
                f"'{name}' requires grad, and tilec computes no gradients: pass {name}.detach(), call under "
                "torch.no_grad(), or register a backward kernel (tilec.torch.op)"
            )
        try:
            value.data_ptr()
        except RuntimeError:
            return (
                "launch.layout",
                f"'{name}' is a {type(value).__name__} without memory; torch.compile takes tilec.torch.op(kernel)",
            )
        return None

    def device(self, value):
        return "cpu" if value.device.type == "cpu" else f"cuda:{value.get_device()}"

    def look(self, value):
        if value.is_neg():  # the sign is kept beside the numbers
            value = value.resolve_neg()
        return Tensor(self.types[value.dtype], tuple(value.shape), value.stride(), value.data_ptr(), value)

    def dense(self, value):
        return value.contiguous()

    def writable(self, value):
        return True

    def empty(self, shape, type, device):
        return self.module.empty(shape, dtype=self.dtypes[type], device=device)

    def host(self, value):
        return value.detach().to("cpu").contiguous()

    def capturing(self):
        return self.module.cuda.is_available() and self.module.cuda.is_current_stream_capturing()

    @contextlib.contextmanager
    def stream(self, device, given):
        cuda = self.module.cuda
        if device == "cpu":
            if given is not None:
                raise ValueError("stream= is for tensors on CUDA; these are on the CPU")
            yield 0
        elif given is None:
            stream = cuda.current_stream(device)
            if stream.device_index == cuda.current_device():
                yield stream.cuda_stream
            else:
                with cuda.device(device):
                    yield stream.cuda_stream
        else:
            with cuda.stream(
                given if hasattr(given, "cuda_stream") else cuda.ExternalStream(int(given), device=device)
            ):
                yield getattr(given, "cuda_stream", given)


_KINDS = {"torch": Torch, "numpy": Numpy, "cupy": Cupy}
_made = {}


def library_of(value):
    """What knows about arrays like `value`, or None if it is no array."""
    for name, kind in _KINDS.items():
        if getattr(sys.modules.get(name), "__version__", None) is None:
            continue  # not imported, or not yet
        if name not in _made:
            _made[name] = kind()
        if _made[name].owns(value):
            return _made[name]
    return None
