"""Other people's tools, one file each. A bridge is loaded when it is first used.

>>> import muster
>>> muster.bridges.torch.evaluate.__name__
'evaluate'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from muster.errors import UnknownName

if TYPE_CHECKING:
    from muster.bridges import flower, torch

__all__ = ["flower", "torch"]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name not in __all__:
        raise AttributeError(str(UnknownName("bridge", name, __all__)))
    return import_module(f"muster.bridges.{name}")
