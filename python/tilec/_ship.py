# SPDX-License-Identifier: Apache-2.0
"""What is made ahead of time and shipped: heuristic files over many shapes, and bundles."""

import json
import os
import tempfile
from ctypes import byref

from . import _handles, _library as c, _tune
from ._config import cache_options
from ._errors import TuneInterrupted, usage


def _words(pairs):
    return [f"{name}={value}" for name, value in (pairs or {}).items()]


def _shapes(shapes, folder):
    """The path of a list of shapes, which may be given as data."""
    if isinstance(shapes, (str, os.PathLike)):
        return os.fsencode(shapes)
    if not isinstance(shapes, (list, tuple)) or not shapes:
        raise usage("usage.shapes", f"shapes is a path, or a list of at least one shape, not {shapes!r}")
    path = os.path.join(folder, "shapes.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(shapes, file)
    return os.fsencode(path)


def _text(value):
    return None if value is None else os.fsencode(value)


def aot(kernel, shapes, device, arguments, dims, types, folder, note, search, cache, **options):
    watch = _tune._Watch(None)
    more = {name: str(search.pop(name)).encode() for name in ("effort", "budget") if search.get(name) is not None}
    search = {name: _text(value) if name == "shard" else value for name, value in search.items() if value is not None}
    told = c.NOTE((lambda _, line: note(line.decode("utf-8", "replace"))) if note else (lambda *_: None))
    dim_count, dim_texts = c.texts(_words(dims))
    with tempfile.TemporaryDirectory(prefix="tilec-") as place, c.Report() as report:
        run = _tune._run_options(
            kernel,
            device,
            _words(arguments),
            _words(types),
            cache_options(cache, **more),
            dim_count=dim_count,
            dims=dim_texts,
        )
        options = {name: _text(value) if isinstance(value, (str, os.PathLike)) else value for name, value in options.items()}
        asked = c.AotOptions(
            tune=c.TuneOptions(run=run, stopped=watch.stopped, **search),
            shapes=_shapes(shapes, place),
            folder=_text(folder),
            note=told,
            **{name: value for name, value in options.items() if value is not None},
        )
        summary = c.Text()
        with watch.interrupts():
            result = c.lib.tilec_aot(kernel._program.value, byref(asked), report.handle, byref(summary))
        text = c.take(summary)
        if watch.interrupted or result == c.INTERRUPTED:
            raise TuneInterrupted(None)
        report.check(result)
    return text


def bundle(kernel, folder, architectures, name, config, heuristics, types, dims, cache):
    handle = _handles.check_kernel(kernel._program, kernel.name, _words(types), _words(dims))
    chosen = _handles.parse_config(handle, config.json()) if config is not None else None
    count, texts = c.texts(architectures)
    asked = c.BundleOptions(
        name=_text(name),
        architecture_count=count,
        architectures=texts,
        config=chosen.value if chosen else None,
        heuristic=_text(heuristics),
        cache=cache_options(cache),
    )
    header, source = c.Text(), c.Text()
    c.call("tilec_bundle", handle.value, byref(asked), c.REPORT, byref(header), byref(source))
    os.makedirs(folder, exist_ok=True)
    paths = []
    for ending, text in (("h", header), ("c", source)):
        data = c.take(text).encode()
        paths.append(os.path.join(folder, f"{name or kernel.name}.{ending}"))
        c.call("tilec_file_save", os.fsencode(paths[-1]), data, len(data), c.REPORT)
    return tuple(paths)
