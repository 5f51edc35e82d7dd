#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package on cupy's arrays, with results that numpy worked out in f64 as the reference.

cupy_test.py [LIBTILEC]       with the library: the package of the source over it; without: what is installed
"""

import os
import pathlib
import sys
import tempfile

try:
    import cupy
    import numpy
except ImportError:
    print("1..0 # SKIP cupy isn't installed")
    sys.exit()

HERE = pathlib.Path(__file__).resolve().parent
if len(sys.argv) > 1:
    os.environ["TILEC_LIBRARY"] = sys.argv[1]
    sys.path.insert(0, str(HERE.parents[1] / "python"))
import tilec
from support import EXAMPLES, SCALED, raises, run_tests

cache = tempfile.TemporaryDirectory()
os.environ.setdefault("TILEC_CACHE_DIR", cache.name)
random = numpy.random.default_rng(1)
LENGTHS = [3, 0, 700, 1, 40, 0]


def load(name, kernel=None):
    return tilec.load(EXAMPLES / f"{name}.tile")[kernel or name]


def make(*inner, dtype="float32", index="int64", lengths=LENGTHS):
    """Data and offsets, on the GPU and on the host."""
    offsets = numpy.array([0, *numpy.cumsum(lengths)], dtype=index)
    x = random.standard_normal((int(offsets[-1]), *inner)).astype(dtype)
    return cupy.asarray(x), cupy.asarray(offsets), x.astype("float64"), offsets


def sums(x, offsets):
    return numpy.stack([x[a:b].sum(0) for a, b in zip(offsets, offsets[1:])])


def close(got, wanted, tolerance=1e-5):
    assert isinstance(got, cupy.ndarray) and got.shape == wanted.shape, f"{type(got)} {got.shape}, {wanted.shape}"
    error = numpy.abs(cupy.asnumpy(got).astype("float64") - wanted)
    assert (error <= tolerance * (1 + numpy.abs(wanted))).all(), f"off by {error.max()}"


def test_results():
    """sums and softmax in every element type and both index types"""
    kernel, softmax = load("jagged_sum"), load("jagged_softmax")
    for dtype, tolerance in (("float32", 1e-4), ("float16", 2e-2), ("float64", 1e-12)):
        for index in ("int32", "int64"):
            x, offsets, numbers, bounds = make(13, dtype=dtype, index=index)
            y = kernel(x, offsets)
            assert y.dtype == dtype
            close(y, sums(numbers, bounds), tolerance)
            wanted = numpy.zeros_like(numbers)
            for a, b in zip(bounds, bounds[1:]):
                if a < b:
                    power = numpy.exp(numbers[a:b] - numbers[a:b].max(0))
                    wanted[a:b] = power / power.sum(0)
            close(softmax(x, offsets), wanted, tolerance)


def test_outputs():
    """out= is filled and given back, and takes only what fits"""
    x, offsets, numbers, bounds = make(8)
    out = cupy.full((len(LENGTHS), 8), numpy.nan, dtype="float32")
    assert load("jagged_sum")(x, offsets, out=out) is out
    close(out, sums(numbers, bounds))
    with raises(tilec.LaunchError, "launch.dimension"):
        load("jagged_sum")(x, offsets, out=out[:-1])


def test_streams():
    """the current stream, one that is given, and its address"""
    kernel = load("jagged_sum")
    x, offsets, numbers, bounds = make(16, lengths=[5000, 1, 20000])
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    for stream in streams:
        with stream:
            mine = x * 2  # on this stream: the kernel must come behind it
            results = [kernel(mine, offsets)]
        results += [kernel(mine, offsets, stream=stream), kernel(mine, offsets, stream=stream.ptr)]
        stream.synchronize()
        for y in results:
            close(y, 2 * sums(numbers, bounds), 1e-3)


def test_graph():
    """a captured launch is replayed over changed data"""
    kernel = load("jagged_sum")
    x, offsets, numbers, bounds = make(8)
    out = kernel(x, offsets)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        kernel(x, offsets, out=out)
        graph = stream.end_capture()
        x *= 3
        graph.launch(stream)
    stream.synchronize()
    close(out, 3 * sums(numbers, bounds), 1e-4)


def test_strides():
    """what isn't dense is copied, what is written must be"""
    x, offsets, numbers, bounds = make(16)
    close(load("jagged_sum")(x[:, ::2], offsets), sums(numbers[:, ::2], bounds))
    close(load("jagged_sum")(cupy.asfortranarray(x), offsets), sums(numbers, bounds))
    close(load("jagged_sum")(cupy.broadcast_to(x[:1], x.shape), offsets), sums(numpy.broadcast_to(numbers[:1], numbers.shape), bounds), 1e-4)


def test_empty():
    """no rows, and rows without elements"""
    kernel = load("jagged_sum")
    for lengths in ([], [0, 0, 0]):
        x, offsets, _, _ = make(4, lengths=lengths)
        assert kernel(x, offsets).shape == (len(lengths), 4)
        assert not cupy.asnumpy(kernel(x, offsets)).any()


def test_all_kinds_of_parameters():
    """scalars, an optional tensor, one that is written in place, two outputs"""
    kernel = tilec.parse(SCALED).scaled
    x, y = cupy.arange(4, dtype="float32"), cupy.zeros(4, dtype="float32")
    out, sum = kernel(x, y=y, on=True)
    close(out, numpy.array([0, 2, 4, 6, 1, 1, 1, 1]))
    close(y, numpy.ones(4))
    close(sum, numpy.array([3]))


def test_refused():
    """kinds of arrays together, complex elements, bad extents"""
    kernel = load("jagged_sum")
    x, offsets, numbers, bounds = make(8)
    with raises(TypeError, words="'offsets' is of another library"):
        kernel(x, bounds)
    with raises(tilec.LaunchError, "launch.type", "complex64"):
        kernel(x.astype("complex64"), offsets)
    with raises(tilec.LaunchError, "launch.argument", "'offsets' is missing"):
        kernel(x, None)


run_tests(globals())
