"""Does your model pass muster, for everyone it serves?

>>> import muster
>>> run = muster.evaluate(truth=[0, 1] * 60, guess=[0, 1] * 50 + [1, 0] * 10, unit=["a", "b"] * 60, draws=50)
>>> run.status.value
'unknown'

A name is loaded when it is first used, so that ``import muster`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster import bridges, kernels
    from muster.errors import BadConfig, BadData, BadRecord, MissingExtra, MusterError, UnknownName
    from muster.measures import CATALOG
    from muster.records import (
        Block,
        Callout,
        Estimate,
        Finding,
        Grid,
        Key,
        Measure,
        Section,
        Status,
        Table,
        Tally,
        Verdict,
    )
    from muster.reports.reading import load
    from muster.reports.run import Run
    from muster.suites import federation
    from muster.suites.classification import Settings, calibrate, compare, evaluate, gate, merge, per_unit

_HOMES = {
    "muster": ("bridges", "kernels"),
    "muster.errors": ("BadConfig", "BadData", "BadRecord", "MissingExtra", "MusterError", "UnknownName"),
    "muster.measures": ("CATALOG",),
    "muster.records": (
        "Block", "Callout", "Estimate", "Finding", "Grid", "Key", "Measure", "Section", "Status", "Table",
        "Tally", "Verdict",
    ),
    "muster.reports.reading": ("load",),
    "muster.reports.run": ("Run",),
    "muster.suites": ("federation",),
    "muster.suites.classification": (
        "Settings", "calibrate", "compare", "evaluate", "gate", "merge", "per_unit",
    ),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CATALOG",
    "BadConfig",
    "BadData",
    "BadRecord",
    "Block",
    "Callout",
    "Estimate",
    "Finding",
    "Grid",
    "Key",
    "Measure",
    "MissingExtra",
    "MusterError",
    "Run",
    "Section",
    "Settings",
    "Status",
    "Table",
    "Tally",
    "UnknownName",
    "Verdict",
    "bridges",
    "calibrate",
    "compare",
    "evaluate",
    "federation",
    "gate",
    "kernels",
    "load",
    "merge",
    "per_unit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'muster' has no attribute {name!r}")
    home = _HOME[name]
    is_module = home in {"muster", "muster.suites"}
    found = import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
