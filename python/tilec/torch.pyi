# SPDX-License-Identifier: Apache-2.0
from typing import Any, Optional

from . import Kernel

__all__ = ["op"]

def op(kernel: Kernel, namespace: str = ..., name: Optional[str] = ...) -> Any: ...
