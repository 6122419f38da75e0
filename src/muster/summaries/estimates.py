"""Finished numbers, one row each, with interval, chance level, rows behind it, and reason if undefined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Estimate, Measure, Table, Tallies, stack

COLUMNS = (
    "model", "unit", "time", "slice", "summary", "measure", "part", "value", "low", "high",
    "expected", "chance", "bound", "n", "units", "method", "reason",
)  # fmt: skip


def finish(
    block: Block,
    measures: Sequence[Measure],
    classes: Sequence[str],
    *,
    summary: str,
    level: float = 0.95,
    units: int = 1,
) -> Table:
    """The value of every measure for every entry of a block.

    Measures of shape ``class`` give one row a class, named in ``part``;
    matrices and curves number their parts.
    """
    rows = counts_of(block.tallies).sum((-1, -2))
    return stack([_one(block, measure, classes, rows, summary, level, units) for measure in measures])


def spelled(estimates: Sequence[Estimate], *, model: str, time: Any, slice_: str = "") -> Table:
    """Estimates of a population as rows of the same table."""
    size = len(estimates)
    columns: dict[str, Any] = {
        "model": _same(model, size),
        "unit": _same("", size),
        "time": np.array([time] * size, dtype=object if isinstance(time, str) else None),
        "slice": _same(slice_, size),
        "summary": [estimate.summary for estimate in estimates],
        "measure": [estimate.measure for estimate in estimates],
        "part": _same("", size),
    }
    for name in ("value", "low", "high", "expected", "chance"):
        columns[name] = np.array([getattr(estimate, name) for estimate in estimates], float)
    columns["bound"] = np.full(size, np.nan)
    for name in ("n", "units"):
        columns[name] = np.array([getattr(estimate, name) for estimate in estimates], np.int64)
    columns["method"] = [estimate.method for estimate in estimates]
    columns["reason"] = [estimate.reason for estimate in estimates]
    return Table.of(columns)


def _one(
    block: Block,
    measure: Measure,
    classes: Sequence[str],
    rows: Floats,
    summary: str,
    level: float,
    units: int,
) -> Table:
    value = measure.finish(block.tallies)
    value = value[:, None] if measure.shape == "unit" else value
    low, high = measure.interval(block.tallies, level) if measure.interval else (np.nan, np.nan)
    cells, parts = value.shape
    flat = {
        "value": value,
        "low": _spread(low, value),
        "high": _spread(high, value),
        "expected": _spread(np.nan, value),
        "chance": _spread(_maybe(measure.chance, block.tallies), value),
        "bound": _spread(_maybe(measure.bound, block.tallies), value),
    }
    names = _parts(measure, parts, classes)
    undefined = np.isnan(value.ravel())
    empty = np.repeat(rows == 0, parts)
    reason = np.where(undefined, np.where(empty, "no rows", measure.undefined), "").astype(object)
    return Table.of(
        {name: np.repeat(column, parts) for name, column in block.keys.columns.items()}
        | {
            "summary": _same(summary, cells * parts),
            "measure": _same(measure.name, cells * parts),
            "part": np.tile(names, cells),
        }
        | {name: column.ravel() for name, column in flat.items()}
        | {
            "n": np.repeat(rows.astype(np.int64), parts),
            "units": np.full(cells * parts, units),
            "method": _same(measure.method or "no interval", cells * parts),
            "reason": reason,
        }
    )


def _maybe(kernel: Any, tallies: Tallies) -> Any:
    return np.nan if kernel is None else kernel(tallies)


def _spread(found: Any, value: Floats) -> Floats:
    array = np.asarray(found, float)
    return np.broadcast_to(array[:, None] if array.ndim == 1 else array, value.shape)


def _parts(measure: Measure, parts: int, classes: Sequence[str]) -> Any:
    names = np.empty(parts, dtype=object)
    match measure.shape:
        case "unit":
            names[:] = ""
        case "class":
            names[:] = list(classes)
        case "matrix":
            names[:] = [f"{truth} -> {guess}" for truth in classes for guess in classes]
        case "curve":
            names[:] = [f"({i / parts:.3f}, {(i + 1) / parts:.3f}]" for i in range(parts)]
    return names


def _same(value: str, size: int) -> Any:
    column = np.empty(size, dtype=object)
    column[:] = value
    return column
