#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package on torch's tensors, with torch's own results as the reference.

torch_test.py cpu|cuda [LIBTILEC]       with the library: the package of the source over it; without: what is installed
"""

import importlib.util
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading

try:
    import torch
except ImportError:
    print("1..0 # SKIP torch isn't installed")
    sys.exit()

HERE = pathlib.Path(__file__).resolve().parent
if len(sys.argv) > 2:
    os.environ["TILEC_LIBRARY"] = sys.argv[2]
    sys.path.insert(0, str(HERE.parents[1] / "python"))
import tilec
import tilec.torch
from support import EXAMPLES, SCALED, Skip, raises, run_tests

DEVICE = sys.argv[1]
cache = tempfile.TemporaryDirectory()
os.environ.setdefault("TILEC_CACHE_DIR", cache.name)
torch.manual_seed(1)


def needs_cuda():
    if DEVICE == "cpu":
        raise Skip("it takes a GPU")


def load(name, kernel=None):
    return tilec.load(EXAMPLES / f"{name}.tile")[kernel or name]


def make(lengths, *inner, dtype=torch.float32, index=torch.int64):
    """Data and offsets for rows of these lengths."""
    offsets = torch.tensor(
        [0, *torch.tensor(lengths, dtype=torch.int64).cumsum(0).tolist()], dtype=index, device=DEVICE
    )
    return torch.randn(int(offsets[-1]), *inner, device=DEVICE).to(dtype), offsets


def rows(x, offsets):
    bounds = offsets.tolist()
    return [x[a:b] for a, b in zip(bounds, bounds[1:])]


def sums(x, offsets):
    return torch.stack([row.double().sum(0) for row in rows(x, offsets)])


def softmaxes(x, offsets):
    return torch.cat([row.double().softmax(0) for row in rows(x, offsets)])


def close(got, wanted, tolerance=1e-5):
    torch.testing.assert_close(got.double(), wanted.double(), rtol=tolerance, atol=tolerance)


LENGTHS = [3, 0, 7, 100, 1, 40]
SUM = load("jagged_sum")
SOFTMAX = load("jagged_softmax")


# ------------------------------------------------------------------------------------------------ results


def test_results():
    "sums, softmaxes and norms of all element types"
    norm = load("jagged_layer_norm")
    for dtype, tolerance in (
        (torch.float64, 1e-10),
        (torch.float32, 1e-4),
        (torch.float16, 2e-2),
        (torch.bfloat16, 1e-1),
    ):
        for index in (torch.int32, torch.int64):
            x, offsets = make(LENGTHS, 24, dtype=dtype, index=index)
            got = SUM(x, offsets)
            assert got.dtype == dtype and got.device == x.device and got.is_contiguous()
            close(got, sums(x, offsets), tolerance * 3)
            close(SOFTMAX(x, offsets), softmaxes(x, offsets), tolerance)
            wanted = [
                torch.nn.functional.layer_norm(row.double(), row.shape, eps=1e-6)
                for row in rows(x, offsets)
                if len(row)
            ]
            close(norm(x, offsets), torch.cat(wanted), tolerance)


def test_several_outputs():
    "attention, whose reference is torch's, and optional arguments"
    q, offsets = make(LENGTHS, 2, 16)
    k, v = torch.randn_like(q), torch.randn_like(q)
    out, lse = load("jagged_attention")(q, k, v, offsets, 0.25)
    split = [rows(t, offsets) for t in (q, k, v)]
    attend = torch.nn.functional.scaled_dot_product_attention
    wanted = [
        attend(*(t.transpose(0, 1).double() for t in parts), is_causal=True, scale=0.25).transpose(0, 1)
        for parts in zip(*split)
        if len(parts[0])
    ]
    close(out, torch.cat(wanted), 1e-3)
    assert lse.shape == (151, 2) and lse.dtype == torch.float32
    bmm, dense = load("jagged_dense_bmm"), torch.randn(len(LENGTHS), 24, 5, device=DEVICE)
    x, offsets = make(LENGTHS, 24)
    bias = torch.randn(len(LENGTHS), 5, device=DEVICE)
    plain = torch.cat([row @ dense[i] for i, row in enumerate(rows(x, offsets))])
    more = torch.cat([row @ dense[i] + bias[i] for i, row in enumerate(rows(x, offsets))])
    for _ in range(3):  # by turns, and again
        close(bmm(x, offsets, dense), plain, 1e-3)
        close(bmm(x, offsets, dense, bias), more, 1e-3)


def test_all_kinds_of_parameters():
    "scalars, defaults, optional and inout tensors"
    kernel = tilec.parse(SCALED).scaled
    x, bias, y = (torch.full((4,), value, device=DEVICE) for value in (3.0, 1.0, 0.0))
    for turn in range(3):
        out, three = kernel(x, None, y, on=True)
        assert out.tolist() == [6] * 4 + [1] * 4 and three.tolist() == [3]
        out, _ = kernel(x, bias, y, 0.5, 7, True)
        assert out.tolist() == [2.5] * 4 + [7] * 4 and y.tolist() == [2.0 * turn + 2] * 4
        with raises(tilec.LaunchError, "launch.argument", "'on' is missing"):
            kernel(x, None, y)
        with raises(tilec.LaunchError, "launch.argument", "'times'"):
            kernel(x, None, y, times=2**40, on=True)


def test_changing_batches():
    "1,000 batches after the first: nothing is compiled, no memory grows"
    x, offsets = make(LENGTHS, 24)
    close(SUM(x, offsets), sums(x, offsets))
    entries = SUM._entries.values()
    before = sum(map(len, entries))
    generator = torch.Generator().manual_seed(3)
    for turn in range(1050):
        lengths = torch.randint(0, 60, (2 + turn % 97,), generator=generator)
        x, offsets = make(lengths.tolist(), 24)
        got = SUM(x, offsets)
        if turn % 50 == 0:
            close(got, sums(x, offsets), 1e-4)
        if turn == 50:
            del x, offsets, got
            start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, (
                torch.cuda.memory_allocated() if DEVICE != "cpu" else 0
            )
    del x, offsets, got
    assert sum(map(len, entries)) == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start[0] < 16 << 10
    assert DEVICE == "cpu" or torch.cuda.memory_allocated() == start[1]


def test_types_by_turns():
    "kernels for several types and extents take turns"
    for _ in range(3):
        for size in range(8, 24):
            for dtype in (torch.float32, torch.float16):
                x, offsets = make(LENGTHS, size, dtype=dtype)
                close(SUM(x, offsets), sums(x, offsets), 1e-1)


# ------------------------------------------------------------------------------------------------ ways of passing


def test_not_contiguous():
    "slices, transposes, broadcast and negated tensors are copied; what is written must be contiguous"
    x, offsets = make(LENGTHS, 24)
    big = torch.randn(302, 48, device=DEVICE)
    for tensor in (big[::2, ::2], torch.randn(24, 151, device=DEVICE).T, x[:1].expand(151, 24), torch._neg_view(x)):
        assert tensor.is_neg() or not tensor.is_contiguous()
        close(SUM(tensor, offsets), sums(tensor, offsets), 1e-4)
    close(SUM(x, offsets.repeat_interleave(2)[::2]), sums(x, offsets), 1e-4)
    with raises(tilec.LaunchError, "launch.strides", "'out' is written"):
        SUM(x, offsets, out=torch.empty(24, 6, device=DEVICE).T)
    out = torch.empty(6, 24, device=DEVICE)
    assert SUM(x, offsets, out=out) is out
    close(out, sums(x, offsets), 1e-4)
    close(SUM(x[1:], torch.clamp(offsets - 1, min=0)), sums(x[1:], torch.clamp(offsets - 1, min=0)), 1e-4)


def test_gradients():
    "what requires grad is refused, but where none are wanted"
    x, offsets = make(LENGTHS, 24)
    leaf = x.clone().requires_grad_()
    for _ in range(2):
        with raises(tilec.LaunchError, "launch.gradient", "'x' requires grad"):
            SUM(leaf, offsets)
        with torch.no_grad():
            close(SUM(leaf, offsets), sums(x, offsets), 1e-4)
        close(SUM(leaf.detach(), offsets), sums(x, offsets), 1e-4)
    with torch.inference_mode():
        close(SUM(leaf, offsets), sums(x, offsets), 1e-4)
    with torch.no_grad():
        close(SUM(torch.nn.Parameter(x), offsets), sums(x, offsets), 1e-4)


def test_failures():
    "arguments that are wrong are named, and what follows is right"
    x, offsets = make(LENGTHS, 24)
    SUM(x, offsets)
    with raises(tilec.LaunchError, "launch.dimension", "'out'"):
        SUM(x, offsets, out=torch.empty(5, 24, device=DEVICE))
    with raises(tilec.LaunchError, "launch.type", "'out'"):
        SUM(x, offsets, out=torch.empty(6, 24, device=DEVICE, dtype=torch.float64))
    with raises(tilec.LaunchError, "launch.rank", "'x'"):
        SUM(x[:, 0], offsets)
    with raises(tilec.LaunchError, "launch.dimension", "'offsets'"):
        SUM(x, offsets[:0])
    with raises(tilec.LaunchError, "launch.overlap", "'x'"):
        SUM(x, offsets, out=x[:6])
    with raises(tilec.LaunchError, "launch.type", "complex64"):
        SUM(x.to(torch.complex64), offsets)
    with raises(tilec.LaunchError, "launch.layout", "sparse"):
        SUM(x.to_sparse(), offsets)
    with raises(tilec.LaunchError, "launch.device", "meta"):
        SUM(x.to("meta"), offsets)
    with raises(TypeError, words="'offsets' must be an array"):
        SUM(x, offsets.tolist())
    if DEVICE != "cpu":
        with raises(tilec.LaunchError, "launch.device", "'x' on cuda:0, 'offsets' on cpu"):
            SUM(x, offsets.cpu())
        with raises(tilec.LaunchError, "launch.device", "'out'"):
            SUM(x, offsets, out=torch.empty(6, 24))
    close(SUM(x, offsets), sums(x, offsets), 1e-4)


def test_nested():
    "nested tensors bring their offsets, and outputs laid out alike are nested, too"
    x, offsets = make(LENGTHS, 24)
    nested = torch.nested.nested_tensor_from_jagged(x, offsets)
    close(SUM(nested), sums(x, offsets), 1e-4)
    close(SUM(nested, offsets), sums(x, offsets), 1e-4)
    got = SOFTMAX(nested)
    assert got.is_nested and got.layout is torch.jagged and torch.equal(got.offsets(), offsets)
    close(got.values(), softmaxes(x, offsets), 1e-4)
    with raises(tilec.LaunchError, "launch.offsets", "differ"):
        SUM(nested, offsets + 1)
    with raises(tilec.LaunchError, "launch.gradient"):
        SUM(torch.nested.nested_tensor_from_jagged(x.clone().requires_grad_(), offsets))
    with raises(tilec.LaunchError, "launch.layout", "values()"):
        SOFTMAX(nested, out=nested)


# ------------------------------------------------------------------------------------------------ operators


def test_operator():
    "an operator passes torch's own checks and doesn't break the graph of torch.compile"
    x, offsets = make(LENGTHS, 24)
    summed = tilec.torch.op(load("jagged_sum"), "tilec_test")
    close(summed(x, offsets), sums(x, offsets), 1e-4)
    torch.library.opcheck(
        summed, (x, offsets), test_utils=("test_schema", "test_faketensor", "test_autograd_registration")
    )
    doubled = torch.compile(
        lambda x, offsets: summed(x, offsets) * 2 + 1, fullgraph=True, backend="aot_eager", dynamic=True
    )
    for lengths in (LENGTHS, [4, 5], [9] * 11):
        x, offsets = make(lengths, 24)
        close(doubled(x, offsets), sums(x, offsets) * 2 + 1, 1e-4)
    attend = tilec.torch.op(load("jagged_attention"), "tilec_test")
    q, offsets = make(LENGTHS, 2, 16)
    compiled = torch.compile(lambda q: attend(q, q, q, offsets, 0.25)[0] + 0, fullgraph=True, backend="aot_eager")
    close(compiled(q), load("jagged_attention")(q, q, q, offsets, 0.25)[0], 1e-4)
    scaled = tilec.torch.op(tilec.parse(SCALED).scaled, "tilec_test")
    x, y = torch.ones(4, device=DEVICE), torch.zeros(4, device=DEVICE)
    torch.compile(lambda x, y: scaled(x, None, y, None, None, True)[0], fullgraph=True, backend="aot_eager")(x, y)
    assert y.tolist() == [1] * 4


def test_autograd():
    "the example's gradients are torch's"
    spec = importlib.util.spec_from_file_location("softmax", EXAMPLES / "torch" / "softmax.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    x, offsets = make([3, 0, 7], 4, dtype=torch.float64)
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: example.softmax(x, offsets), (x,))
    weights = torch.randn_like(x)
    (example.softmax(x, offsets) * weights).sum().backward()
    (wanted,) = torch.autograd.grad((softmaxes(x, offsets) * weights).sum(), x)
    close(x.grad, wanted, 1e-10)
    example.main(DEVICE)


def test_compile_without_an_operator():
    "a kernel that is no operator breaks the graph, and is right"
    x, offsets = make(LENGTHS, 24)
    close(torch.compile(lambda x: SUM(x * 2, offsets) + 1, backend="aot_eager")(x), sums(x, offsets) * 2 + 1, 1e-4)


# --------------------------------------------------------------------------------------------- streams, graphs, devices


def chunked():
    """A kernel whose config needs a workspace."""
    kernel = load("jagged_sum")
    x, offsets = make([2000, 3, 500], 24)
    kernel(x, offsets)
    for seed in range(400):
        config = kernel.random_config(seed)
        if "chunks" not in config.json():
            continue
        other = kernel.with_options(config=config)
        try:
            other(x, offsets)
        except tilec.ConfigError:
            continue
        if other._last.workspaces:
            return other
    raise AssertionError("no config in 400 has a workspace")


def test_streams():
    "the current stream, a given one, and two at once whose workspaces are apart"
    needs_cuda()
    kernel, streams = chunked(), [torch.cuda.Stream() for _ in range(2)]
    data = [make([3000 + seed, 17, 900], 24) for seed in range(2)]
    wanted = [sums(*pair) for pair in data]
    torch.cuda.synchronize()
    for way in ("current", "given", "number"):
        results = [[], []]
        for turn in range(30):
            for i, stream in enumerate(streams):
                if way == "current":
                    with torch.cuda.stream(stream):
                        results[i].append(kernel(*data[i]))
                else:
                    results[i].append(kernel(*data[i], stream=stream if way == "given" else stream.cuda_stream))
        torch.cuda.synchronize()
        for i in range(2):
            for got in results[i]:
                close(got, wanted[i], 1e-3)
    # A stream that waits long: what is queued on it mustn't run elsewhere.
    x, offsets = make(LENGTHS, 24)
    late, out = torch.zeros_like(x), torch.empty(6, 24, device=DEVICE)
    SUM(late, offsets, out=out)
    torch.cuda.synchronize()
    for given in (False, True):
        late.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(streams[0]):
            torch.cuda._sleep(200_000_000)
            late.copy_(x)
            if not given:
                SUM(late, offsets, out=out)
        if given:
            SUM(late, offsets, out=out, stream=streams[0])
        torch.cuda.synchronize()
        close(out, sums(x, offsets), 1e-4)


def test_threads():
    "threads with a stream each"
    failures = []

    def work(seed):
        try:
            with torch.cuda.stream(torch.cuda.Stream()) if DEVICE != "cpu" else torch.no_grad():
                for turn in range(30):
                    x, offsets = make([seed, turn, 5], 24)
                    close(SUM(x, offsets), sums(x, offsets), 1e-4)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_graphs():
    "a captured call is replayed with other rows at the same addresses"
    needs_cuda()
    for kernel in (load("jagged_sum"), chunked()):
        x, offsets = make([30, 0, 70], 24)
        kernel(x, offsets)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = kernel(x, offsets)
        for lengths in ([30, 0, 70], [0, 100, 0], [1, 2, 97], [0, 0, 0]):
            other, ends = make(lengths, 24)
            x[: len(other)].copy_(other)
            offsets.copy_(ends)
            graph.replay()
            close(out, sums(x, offsets), 1e-4)


def test_first_call_in_a_graph():
    "a first call can't be captured"
    needs_cuda()
    x, offsets = make(LENGTHS, 31)
    kernel, graph = load("jagged_sum"), torch.cuda.CUDAGraph()
    with raises(tilec.LaunchError, "launch.capture", "once before"):
        with torch.cuda.graph(graph):
            kernel(x, offsets)
    torch.cuda.synchronize()
    close(kernel(x, offsets), sums(x, offsets), 1e-4)


def test_devices():
    "two GPUs, also with the other one current"
    x, offsets = make(LENGTHS, 24)
    for turn in range(3):
        for name in ("cuda:0", "cuda:1"):
            with torch.cuda.device(turn % 2):
                got = SUM(x.to(name), offsets.to(name))
                assert str(got.device) == name
                close(got.cpu(), sums(x, offsets).cpu(), 1e-4)


def test_without_nvrtc():
    "what the cache has needs no NVRTC"
    needs_cuda()
    text = (
        "import sys, torch, tilec\n"
        "kernel = tilec.load(sys.argv[1]).jagged_sum\n"
        "x, offsets = torch.ones(5, 24, device='cuda'), torch.tensor([0, 2, 5], device='cuda')\n"
        "print(kernel(x, offsets)[:, 0].tolist())\n"
    )
    for folder, inner, wanted in ((None, 24, 0), ("none", 24, 0), ("none", 25, 1)):
        words = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
        words.update({"TILEC_NVRTC_DIR": folder} if folder else {})
        command = [sys.executable, "-c", text.replace("24", str(inner)), str(EXAMPLES / "jagged_sum.tile")]
        done = subprocess.run(command, env=words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert done.returncode == wanted, done.stderr
        assert done.stdout == "[2.0, 3.0]\n" if wanted == 0 else "missing.nvrtc" in done.stderr, done.stdout + done.stderr


def test_autotune():
    "the best of a few configs is used"
    kernel = load("jagged_sum")
    x, offsets = make(LENGTHS, 24)
    config = kernel.autotune(x, offsets, count=3, effort="quick", force=True)
    assert config["kernel"] == "jagged_sum" and kernel.source() == kernel.source(config)
    close(kernel(x, offsets), sums(x, offsets), 1e-4)


if torch.cuda.device_count() < 2:
    del test_devices  # the GPU suite takes what is skipped for a failure
run_tests(globals())
