# SPDX-License-Identifier: Apache-2.0
"""Kernels: what a call does when it isn't like the last ones, and all that can be asked of a kernel."""

import ctypes
import inspect
import json
import os
import threading
from ctypes import byref

from . import _arrays, _fast, _handles, _library as c, _ship, _tune
from ._arguments import Arguments
from ._config import Config, Dispatch, cache_options, checked_config
from ._errors import refused, usage


class _Entry:
    """A bound kernel with what a call needs of it. `about` is what tilec_kernel_json says."""

    __slots__ = ("about", "kernel", "bound", "config", "device", "fast", "workspaces")

    def __init__(self, about, kernel, bound, config, device):
        self.about, self.kernel, self.bound, self.config, self.device, self.fast = (
            about,
            kernel,
            bound,
            config,
            device,
            None,
        )
        self.workspaces = c.lib.tilec_bound_counts(bound.value).workspaces


def _extents(places, tensors):
    return tuple(tensors[i].shape[d] if d < len(tensors[i].shape) else -1 for i, d in places)


class Kernel:
    """A kernel, ready to be called with arrays: torch and cupy run on CUDA, numpy and torch's CPU tensors on the CPU.

    The first call for new element types, or for new inner extents, checks, compiles and loads; others only launch.
    Outputs are allocated as the inputs are, unless given as `out`. `name` is its name, `__signature__` its parameters
    in Python.
    """

    def __init__(self, program, about, path):
        self._program, self._about, self._params, self._path = program, about, about["params"], path
        self.name = about["name"]
        self._inputs = [i for i, p in enumerate(self._params) if p["kind"] != "out"]
        self._outputs = [i for i, p in enumerate(self._params) if p["kind"] == "out"]
        self._config, self._dynamic, self._static, self._checked, self._cache = None, (), (), False, None
        self._lock = threading.RLock()
        self._process = _handles.process()
        self._rows = None  # _nested.rows of it
        self._tuned = {}  # (device, types, extents) -> config
        self._forget()
        self.__signature__ = self._make_signature()

    def _forget(self):
        self._entries = {}  # (device, types) -> extents that are compiled in, value of the dispatch key -> entry
        self._keys = {}  # (device, types) -> extents -> the dispatch file, read for this kernel
        self._inner = {}  # (device, types) -> where those extents stand: (parameter, position)
        self._last = None  # entry of the last call that came the long way
        self._fast = self._call

    # -------------------------------------------------------------------------------- looking at it

    def _make_signature(self):
        kinds = inspect.Parameter
        made = []
        for name, index in zip(self._names, self._inputs):
            may_lack = self._params[index].get("optional") or self._params[index].get("default")
            lacks = may_lack or (made and made[-1].default is None)
            made.append(kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None if lacks else kinds.empty))
        return inspect.Signature(
            [*made, *(kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None) for name in ("out", "stream"))]
        )

    def __repr__(self):
        def words(p):
            shape = f"[{', '.join(p['shape'])}]" if "shape" in p else ""
            return (
                f"{'inout ' if p['kind'] == 'inout' else ''}{p['name']}: {p['type']}{shape}{'?' if p.get('optional') else ''}"
                f"{' = ' + p['default'] if p.get('default') else ''}"
            )

        inputs = ", ".join(words(self._params[i]) for i in self._inputs)
        outputs = ", ".join(words(self._params[i]) for i in self._outputs)
        return f"<tilec.Kernel {self.name}({inputs}){' -> ' + outputs if outputs else ''}>"

    @property
    def config(self):
        """The config for all calls, or a Dispatch, or None: what `autotune` found, else the best known one of the cache,
        else a heuristic file's, else the default. May be set."""
        return self._config

    @config.setter
    def config(self, config):
        checked_config(f"{self.name}.config", config, Dispatch)
        with self._lock:
            self._config = config
            self._forget()

    def with_options(self, *, config=None, dynamic=(), static=(), checked=False, cache=None):
        """The same kernel with other options: a config, or a Dispatch; dimensions to leave open or to compile in; asserts
        and index checks; how the cache and heuristic files are used, in place of what the environment says: "dir",
        "kind" ("local", "strict", "remote", "aot"), "heuristics" (a folder), "remote" (an address, or "none"), "force",
        "skip", "assert_hit"."""
        cache_options(cache)
        checked_config("config", config, Dispatch)
        dynamic, static = self._dimensions("dynamic", dynamic), self._dimensions("static", static)
        for name in static:
            if name in dynamic:
                raise usage("usage.static", f"'{name}' is in static and in dynamic: it is compiled in or left open")
        other = type(self)(self._program, self._about, self._path)
        other._config, other._dynamic, other._static, other._checked, other._cache = (
            self._config if config is None else config,
            dynamic,
            static,
            checked,
            self._cache if cache is None else dict(cache),
        )
        return other

    def _dimensions(self, option, names):
        """The names of dimensions that an option gives."""
        if isinstance(names, (str, bytes)) or not hasattr(names, "__iter__"):
            raise TypeError(f"{option} is a list of names, {option}=['M'], not {names!r}")
        names = tuple(names)
        for name in names:
            if name not in self._about["dims"]:
                known = ", ".join(self._about["dims"]) or "none"
                raise usage(f"usage.{option}", f"{option}: kernel {self.name} has no dimension {name!r}; it has {known}")
        return names

    def __reduce__(self):
        raise TypeError(f"the kernel {self.name} can't be copied or pickled: load the program where it is needed")

    # -------------------------------------------------------------------------------- a call, the long way

    def _call(self, *values):
        """Called as the short way is: inputs in their order, `out`, `stream`."""
        *inputs, out, stream = values
        if self._process != _handles.process():
            raise refused(
                self.name,
                "launch.fork",
                "the kernel was used before this process was forked; load the program anew in it, or start "
                "the process without fork",
            )
        inputs, wrap = self._unpack(list(inputs))
        library, device = self._place(inputs)
        with library.stream(device, stream) as address:
            tensors = self._look(library, inputs)
            entry = self._entry(library, device, inputs, tensors)
            arguments = Arguments(len(self._params))
            arguments.set_inputs(self._inputs, self._params, inputs, tensors)
            results = self._results(entry, library, arguments, out)
            self._launch(entry, library, arguments, address)
        if entry.fast is not None:
            with self._lock:
                self._fast = _fast.put_first(entry.fast, self._fast, self._call)
        results = [wrap(i, array) for i, array in zip(self._outputs, results)]
        return results[0] if len(results) == 1 else tuple(results) if results else None

    _call._torchdynamo_disable = True  # torch.compile can't look into foreign calls

    def _unpack(self, inputs):
        """Takes nested tensors apart. Also what puts an output together again."""
        nested = [position for position, value in enumerate(inputs) if getattr(value, "is_nested", False)]
        if not nested:
            return inputs, lambda index, array: array
        from . import _nested

        return _nested.unpack(self, inputs, nested)

    def _arrays(self, inputs):
        """(index of the parameter, array) of each tensor that is given."""
        return [
            (index, value)
            for value, index in zip(inputs, self._inputs)
            if self._params[index]["kind"] != "scalar" and value is not None
        ]

    def _place(self, inputs):
        """The library and the device of the arrays, which must be one of each."""
        library, place = None, None
        for index, value in self._arrays(inputs):
            name, own = self._params[index]["name"], _arrays.library_of(value)
            if own is None:
                raise TypeError(
                    f"{self.name}: '{name}' must be an array of numpy, torch or cupy, not {type(value).__name__}"
                )
            if library is not None and own is not library:
                raise TypeError(f"{self.name}: '{name}' is of another library than the arrays before it")
            reason = own.refuse(value, name)
            if reason:
                raise refused(self.name, *reason)
            device = own.device(value)
            if place is not None and device != place[1]:
                raise refused(
                    self.name,
                    "launch.device",
                    f"the arguments are on several devices: '{place[0]}' on {place[1]}, '{name}' on {device}",
                )
            library, place = own, place or (name, device)
        if library is None:
            raise TypeError(f"{self.name}: there is no array among the arguments")
        return library, place[1]

    def _look(self, library, inputs):
        """The tensors by index of parameter; dense copies where they aren't."""
        return {
            index: self._look_at(library, value, index, self._params[index]["kind"] == "inout")
            for index, value in self._arrays(inputs)
        }

    def _look_at(self, library, value, index, written):
        tensor, name = library.look(value), self._params[index]["name"]
        if written and (not tensor.is_dense or tensor.keep is not value):
            raise refused(self.name, "launch.strides", f"'{name}' is written, so it must be contiguous")
        if written and not library.writable(value):
            raise refused(self.name, "launch.argument", f"'{name}' is written, but it is read-only")
        return tensor if tensor.is_dense else library.look(library.dense(tensor.keep))

    def _look_at_outputs(self, library, device, out):
        arrays = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(arrays) != len(self._outputs):
            raise TypeError(f"{self.name} has {len(self._outputs)} outputs, and out= has {len(arrays)}")
        for array, index in zip(arrays, self._outputs):
            name = self._params[index]["name"]
            if _arrays.library_of(array) is not library:
                raise TypeError(
                    f"{self.name}: '{name}' (out=) must be an array of the inputs' library, not {type(array).__name__}"
                )
            if getattr(array, "is_nested", False):
                raise refused(self.name, "launch.layout", f"'{name}' (out=) is nested: pass its values()")
            reason = library.refuse(array, name)
            if reason is None and library.device(array) != device:
                reason = "launch.device", f"'{name}' (out=) is on {library.device(array)}, the inputs are on {device}"
            if reason:
                raise refused(self.name, *reason)
        return arrays, [self._look_at(library, array, i, True) for array, i in zip(arrays, self._outputs)]

    # -------------------------------------------------------------------------------- bound kernels

    def _types(self, tensors):
        return tuple(tensors[i].type if i in tensors else None for i in self._inputs)

    def _extents(self, family, tensors):
        return _extents(self._inner[family], tensors)

    def _key(self, family, inputs, tensors):
        """What calls with the same entry have in common, or None if it isn't known yet."""
        if family not in self._inner:
            return None
        extents = self._extents(family, tensors)
        if not isinstance(self._config, Dispatch):
            return extents
        read = self._keys[family].get(extents)
        return read and (*extents, self._dispatch_value(read, inputs, tensors))

    def _dispatch_value(self, read, inputs, tensors):
        arguments = Arguments(len(self._params))
        arguments.set_inputs(self._inputs, self._params, inputs, tensors)
        return _handles.dispatch_value(read, arguments.array)

    def _entry(self, library, device, inputs, tensors):
        """The bound kernel for these types and inner extents, and this value of the dispatch key."""
        family = (device, self._types(tensors))
        with self._lock:
            entry = self._entries.get(family, {}).get(self._key(family, inputs, tensors))
            if entry is None:
                entry = self._new_entry(library, family, inputs, tensors)
            self._last = entry
            return entry

    def _new_entry(self, library, family, inputs, tensors):
        if library.capturing():
            raise refused(
                self.name,
                "launch.capture",
                "the first call for these types and extents compiles and loads, which can't be captured "
                "into a graph: call the kernel once before",
            )
        device = family[0]
        arguments = Arguments(len(self._params))
        arguments.set_inputs(self._inputs, self._params, inputs, tensors)
        kernel = _handles.kernel_for(self._program, self.name, arguments.array, self._dynamic, self._static)
        about = _handles.about_kernel(kernel)
        places = [(d["parameter"], d["position"]) for d in about["dimensions"] if "value" in d and "parameter" in d]
        inner = tuple(place for place in places if place[0] in tensors)
        extents = _extents(inner, tensors)
        self._inner[family] = inner
        if isinstance(self._config, Dispatch):
            read = self._keys.setdefault(family, {}).get(extents) or _handles.dispatch(kernel, os.fsencode(self._config.path))
            self._keys[family][extents] = read
            config = self._dispatched(kernel, library, device, inputs, tensors)
        else:
            config = self._choose_config(kernel, about, library, (*family, extents), arguments, tensors)
        bound = _handles.bind(kernel, device, config, self._checked, cache_options(self._cache))
        entry = _Entry(about, kernel, bound, config, device)
        if isinstance(library, _arrays.Torch) and not isinstance(self._config, Dispatch):
            entry.fast = _fast.make(about, library, device, bound, entry.workspaces, self._call)
        self._entries.setdefault(family, {})[self._key(family, inputs, tensors)] = entry
        return entry

    def _choose_config(self, kernel, about, library, key, arguments, tensors):
        """Also looks at the data of offsets and lengths, once: the default depends on how long rows are."""
        chosen = self._config or self._tuned.get(key)
        if chosen is not None:
            return _handles.parse_config(kernel, chosen.json())
        rows = {use["parameter"] for use in about["rows"]}
        held = []
        for index, tensor in tensors.items():
            if index in rows:
                held.append(library.host(tensor.keep))
                arguments.set_tensor(index, tensor, _arrays.library_of(held[-1]).look(held[-1]).address)
            else:
                arguments.set_tensor(index, tensor, 0)
        return _handles.config_for(kernel, key[0], arguments.array, cache_options(self._cache))

    def _dispatched(self, kernel, library, device, inputs, tensors):
        """What the dispatch file has for the value of its key; timed on these arguments if nobody has yet."""
        path, arguments = os.fsencode(self._config.path), Arguments(len(self._params))
        arguments.set_inputs(self._inputs, self._params, inputs, tensors)
        found = _handles.config_dispatch(kernel, device, arguments.array, path, cache_options(self._cache))
        if found is None:
            found = _handles.parse_config(kernel, _tune.time(self, library, device, inputs, tensors, path))
        return found

    # -------------------------------------------------------------------------------- launching

    def _results(self, entry, library, arguments, out):
        """The outputs, given or allocated, and set as arguments."""
        if out is not None:
            arrays, looked = self._look_at_outputs(library, entry.device, out)
        else:
            arrays = [self._allocate(entry, library, arguments, index) for index in self._outputs]
            looked = [library.look(array) for array in arrays]
        for index, tensor in zip(self._outputs, looked):
            arguments.set_tensor(index, tensor)
        return arrays

    def _allocate(self, entry, library, arguments, index):
        parameter = entry.about["parameters"][index]
        rank = len(parameter["extents"])
        shape = (ctypes.c_int64 * max(rank, 1))()
        c.call("tilec_output_shape", entry.bound.value, arguments.array, len(arguments), index, shape, c.REPORT)
        return library.empty(tuple(shape[:rank]), parameter["type"], entry.device)

    def _launch(self, entry, library, arguments, stream):
        workspace = None
        if entry.workspaces:
            size = ctypes.c_int64()
            c.call("tilec_workspace_size", entry.bound.value, arguments.array, len(arguments), byref(size), c.REPORT)
            memory = library.empty((size.value,), "u8", entry.device)
            arguments.keep.append(memory)
            workspace = library.look(memory).address
        c.call("tilec_launch", entry.bound.value, arguments.array, len(arguments), workspace, stream or None, c.REPORT)

    # -------------------------------------------------------------------------------- configs and code

    def _specialized(self, types=None, dims=None):
        """The kernel of the last call, or under given types and dimensions."""
        if types or dims or self._last is None:
            return _handles.check_kernel(
                self._program,
                self.name,
                [f"{k}={v}" for k, v in (types or {}).items()],
                [f"{k}={v}" for k, v in (dims or {}).items()],
            )
        return self._last.kernel

    def source(self, config=None, *, target=None, types=None, dims=None, checked=False):
        """The code for a config as text: CUDA C, or C for target "cpu".

        It is that for the types and extents of the last call, or for `types` ({"T": "f16"}) and `dims` ({"M": 64}).
        Without `config` it is what that call ran. `target` is the device of that call if it was a GPU, else "sm_90".
        """
        checked_config("config", config)
        kernel = self._specialized(types, dims)
        last = self._last if self._last is not None and kernel is self._last.kernel else None
        config = config or (self._config if isinstance(self._config, Config) else None)
        handle = _handles.parse_config(kernel, config.json()) if config else last.config if last else None
        on_cuda = last is not None and last.device != "cpu"
        target = target or (
            c.lib.tilec_device_target(_handles.device(last.device).value).decode() if on_cuda else "sm_90"
        )
        options = c.EmitOptions(target=target.encode(), checked=checked)
        text = c.Text()
        c.call(
            "tilec_kernel_emit", kernel.value, handle.value if handle else None, byref(options), c.REPORT, byref(text)
        )
        return c.take(text)

    def default_config(self, *, types=None, dims=None):
        """The default for the last call's types and extents, or for `types` and `dims`."""
        kernel = self._specialized(types, dims)
        return Config(_handles.config_text(_handles.default_config(kernel)), kernel)

    def random_config(self, seed=0, *, types=None, dims=None):
        """One drawn from the space; the same seed gives the same."""
        kernel = self._specialized(types, dims)
        return Config(_handles.config_text(_handles.random_config(kernel, seed)), kernel)

    def fit(self, config, *, types=None, dims=None):
        """The config in full, with the defaults of this kernel for keys it leaves out; raises if it doesn't fit."""
        if checked_config("config", config) is None:
            raise TypeError("config is a tilec.Config, not None")
        kernel = self._specialized(types, dims)
        return Config(_handles.config_text(_handles.parse_config(kernel, config.json())), kernel)

    def space(self, *, types=None, dims=None):
        """The knobs and their choices, as data."""
        kernel = self._specialized(types, dims)  # lives until the call is over
        return json.loads(c.take(c.lib.tilec_config_space(kernel.value)))

    def hash(self, *, types=None):
        """64 hexadecimal digits that stand for the checked program under its types: heuristic files are for one."""
        kernel = self._specialized(types)
        return c.take(c.lib.tilec_kernel_hash(kernel.value))

    def heuristic(self, dims, *, longest=None, types=None, target=None):
        """What the heuristic file that is used for a target says of a shape: its path, the rule, the Config; or None
        where there is no file.

        dims: a value for each dimension. longest: points of the longest row, where that is known. target: "sm_90",
        "cpu"; otherwise that of the last call's device, else "cpu".
        """
        kernel = self._specialized(types)
        names = [dimension["name"] for dimension in _handles.about_kernel(kernel)["dimensions"]]
        if set(names) != set(dims):
            raise TypeError(f"{self.name} has the dimensions {', '.join(names)}; dims gives {', '.join(dims) or 'none'}")
        if target is None:
            target = (
                c.lib.tilec_device_target(_handles.device(self._last.device).value).decode() if self._last else "cpu"
            )
        found = _handles.heuristic(kernel, target, cache_options(self._cache))
        path = c.lib.tilec_heuristic_path(found.value)
        if path is None:
            return None
        values = (ctypes.c_int64 * max(len(names), 1))(*[dims[name] for name in names])
        shape = found.value, values, -1 if longest is None else longest
        rule = c.take(c.lib.tilec_heuristic_rule(*shape))
        config = _handles.heuristic_config(found, kernel, c.lib.tilec_heuristic_choose(*shape))
        return os.fsdecode(path), rule, Config(_handles.config_text(config), kernel)

    # -------------------------------------------------------------------------------- tuning

    def autotune(self, *inputs, effort="quick", budget=None, count=None, force=False, progress=None, **named):
        """Searches for the best config on these arguments, which are copied to files, and returns it. Later calls for
        the same types and inner extents use it, and so do other processes through the cache.

        effort: "quick", "full" or "none". budget: seconds, in place of the effort's. count: at most so many configs.
        force: searches though the best is known. progress: called with (configs done, best milliseconds or None,
        phase). Ctrl-C raises TuneInterrupted, which has the best config so far.
        """
        _tune.check_options(effort, budget, count)
        given = self.__signature__.bind(*inputs, **named)
        given.apply_defaults()
        inputs, _ = self._unpack([given.arguments[name] for name in self._names])
        library, device = self._place(inputs)
        with library.stream(device, given.arguments["stream"]):
            tensors = self._look(library, inputs)
            text = _tune.tune(
                self,
                library,
                device,
                inputs,
                tensors,
                effort=effort,
                budget=budget,
                count=count,
                force=force,
                progress=progress,
            )
            return self._keep_tuned(library, (device, self._types(tensors)), inputs, tensors, text)

    def _keep_tuned(self, library, family, inputs, tensors, text):
        with self._lock:
            entry = self._entry(library, family[0], inputs, tensors)
            extents = self._extents(family, tensors)
            self._tuned[(*family, extents)] = config = Config(text, entry.kernel)
            self._entries[family].pop(self._key(family, inputs, tensors))
            self._fast = self._call
            return config

    # -------------------------------------------------------------------------------- ahead of time

    def aot(
        self,
        shapes,
        *,
        device="cuda",
        arguments=None,
        dims=None,
        types=None,
        folder="aot",
        out=None,
        arch=None,
        phase=None,
        goal=None,
        threshold=None,
        max_configs=None,
        list=False,
        note=None,
        effort=None,
        budget=None,
        count=None,
        from_cache=None,
        shard=None,
    ):
        """`tilec aot`: searches and measures configs for many shapes and writes the heuristic file that chooses among the
        fewest of them; returns what it says at the end.

        shapes: the path of a list, or the list. arguments: {"x": "randn"}, as on the command line, for all shapes; so
        are dims and types. note: called with a line for each step. The other words are those of the command line.
        """
        _tune.check_options(effort, budget, count)
        search = {"effort": effort, "budget": budget, "count": count, "from_cache": from_cache, "shard": shard}
        more = {"goal": goal, "threshold": threshold, "max_configs": max_configs, "list": int(list)}
        return _ship.aot(
            self, shapes, device, arguments, dims, types, folder, note, search, self._cache, out=out, arch=arch, phase=phase, **more
        )

    def bundle(self, folder, *, architectures=("sm_90",), name=None, config=None, heuristics=None, types=None, dims=None):
        """`tilec bundle`: the kernel as a C header and source with its code inside; returns their paths.

        Without `config` and `heuristics` (a path) the heuristic file that is found, else the default config. Dimensions
        of `dims` are compiled in.
        """
        checked_config("config", config)
        return _ship.bundle(self, folder, architectures, name, config, heuristics, types, dims, self._cache)
