# SPDX-License-Identifier: Apache-2.0
import inspect
import os
from typing import Any, Callable, Mapping, Optional, Sequence, Tuple, Type, Union

__version__: str

class Message:
    severity: str
    code: str
    message: str
    help: Optional[str]
    path: Optional[str]
    line: int
    column: int
    begin: int
    end: int
    text: str

class Error(Exception):
    code: Optional[str]
    message: str
    help: Optional[str]
    path: Optional[str]
    line: Optional[int]
    column: Optional[int]
    begin: Optional[int]
    end: Optional[int]
    messages: Sequence[Message]

class ProgramError(Error, ValueError): ...
class UsageError(Error, ValueError): ...
class FileError(UsageError, OSError): ...
class MissingError(Error, RuntimeError): ...
class ConfigError(Error, ValueError): ...
class LaunchError(Error, ValueError): ...
class InternalError(Error, RuntimeError): ...
class SlowWarning(RuntimeWarning): ...

class TuneInterrupted(KeyboardInterrupt):
    best: Optional[Config]

class Config:
    def __init__(self, text: str) -> None: ...
    @classmethod
    def load(cls: Type[Config], path: Union[str, os.PathLike[str]]) -> Config: ...
    def save(self, path: Union[str, os.PathLike[str]], minimal: bool = ...) -> None: ...
    def json(self) -> str: ...
    def minimal(self) -> Config: ...
    def __getitem__(self, key: str) -> Any: ...

class Dispatch:
    path: str
    def __init__(self, path: Union[str, os.PathLike[str]]) -> None: ...
    @classmethod
    def load(cls: Type[Dispatch], path: Union[str, os.PathLike[str]]) -> Dispatch: ...

_Types = Optional[Mapping[str, str]]
_Dims = Optional[Mapping[str, int]]

class Kernel:
    name: str
    config: Union[None, Config, Dispatch]
    __signature__: inspect.Signature
    def __call__(self, *inputs: Any, out: Any = ..., stream: Any = ..., **named: Any) -> Any: ...
    def with_options(
        self,
        *,
        config: Union[None, Config, Dispatch] = ...,
        dynamic: Sequence[str] = ...,
        static: Sequence[str] = ...,
        checked: bool = ...,
        cache: Optional[Mapping[str, Any]] = ...,
    ) -> Kernel: ...
    def source(
        self,
        config: Optional[Config] = ...,
        *,
        target: Optional[str] = ...,
        types: _Types = ...,
        dims: _Dims = ...,
        checked: bool = ...,
    ) -> str: ...
    def default_config(self, *, types: _Types = ..., dims: _Dims = ...) -> Config: ...
    def random_config(self, seed: int = ..., *, types: _Types = ..., dims: _Dims = ...) -> Config: ...
    def fit(self, config: Config, *, types: _Types = ..., dims: _Dims = ...) -> Config: ...
    def space(self, *, types: _Types = ..., dims: _Dims = ...) -> Any: ...
    def hash(self, *, types: _Types = ...) -> str: ...
    def heuristic(
        self,
        dims: Mapping[str, int],
        *,
        longest: Optional[int] = ...,
        types: _Types = ...,
        target: Optional[str] = ...,
    ) -> Optional[Tuple[str, str, Config]]: ...
    def autotune(
        self,
        *inputs: Any,
        effort: str = ...,
        budget: Optional[float] = ...,
        count: Optional[int] = ...,
        force: bool = ...,
        progress: Optional[Callable[[int, Optional[float], str], object]] = ...,
        **named: Any,
    ) -> Config: ...
    def aot(
        self,
        shapes: Union[str, os.PathLike[str], Sequence[Mapping[str, Any]]],
        *,
        device: str = ...,
        arguments: Optional[Mapping[str, str]] = ...,
        dims: Optional[Mapping[str, Any]] = ...,
        types: _Types = ...,
        folder: Union[str, os.PathLike[str]] = ...,
        out: Union[None, str, os.PathLike[str]] = ...,
        arch: Optional[str] = ...,
        phase: Optional[str] = ...,
        goal: Optional[str] = ...,
        threshold: Optional[float] = ...,
        max_configs: Optional[int] = ...,
        list: bool = ...,
        note: Optional[Callable[[str], object]] = ...,
        effort: Optional[str] = ...,
        budget: Optional[float] = ...,
        count: Optional[int] = ...,
        from_cache: Optional[int] = ...,
        shard: Optional[str] = ...,
    ) -> str: ...
    def bundle(
        self,
        folder: Union[str, os.PathLike[str]],
        *,
        architectures: Sequence[str] = ...,
        name: Optional[str] = ...,
        config: Optional[Config] = ...,
        heuristics: Union[None, str, os.PathLike[str]] = ...,
        types: _Types = ...,
        dims: _Dims = ...,
    ) -> Tuple[str, str]: ...

class Program:
    kernels: Tuple[str, ...]
    def __getattr__(self, name: str) -> Kernel: ...
    def __getitem__(self, name: str) -> Kernel: ...
    def check(self) -> None: ...

def load(path: Union[str, os.PathLike[str]]) -> Program: ...
def parse(text: str, name: str = ...) -> Program: ...
def explain(code: str) -> Optional[str]: ...
