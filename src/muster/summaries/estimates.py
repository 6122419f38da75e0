"""Finished numbers, one row each, with interval, chance level, rows behind it, and reason if undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Column, Estimate, Measure, Table, Tallies, same, stack

NUMBERS = {field.name for field in fields(Estimate)}
COLUMNS = (
    "model", "unit", "time", "slice", "summary", "measure", "part", "value", "low", "high",
    "expected", "chance", "p_value", "bound", "n", "units", "method", "reason",
)  # fmt: skip


def finish(
    block: Block, measures: Sequence[Measure], classes: Sequence[str], *, summary: str, level: float = 0.95
) -> Table:
    """The value of every measure for every entry of a block.

    Measures of shape ``class`` give one row a class, named in ``part``;
    matrices and curves number their parts.
    """
    rows = counts_of(block.tallies).sum((-1, -2))
    facts = {"n": rows.astype(np.int64), "units": block.units}
    named = [(measure, _parts(measure, block, classes)) for measure in measures]
    return stack(
        [_one(block, measure, parts, facts | {"summary": summary}, level) for measure, parts in named]
    )


def pooled(block: Block, measure: Measure, level: float = 0.95) -> Estimate:
    """A measure over all entries of a block together, with interval and chance level."""
    whole = {stat: tally.sum()[None] for stat, tally in block.tallies.items()}
    low, high = measure.interval(whole, level) if measure.interval else (np.nan, np.nan)
    value, rows = float(measure.finish(whole)[0]), counts_of(whole).sum()
    return Estimate(
        measure=measure.name,
        summary="per_sample",
        value=value,
        low=float(np.ravel(low)[0]),
        high=float(np.ravel(high)[0]),
        level=level,
        chance=float(np.ravel(_maybe(measure.chance, whole))[0]),
        n=int(rows),
        units=int(block.units.sum()),
        method=measure.method or "no interval",
        reason="" if value == value else measure.undefined if rows else "no rows",  # noqa: PLR0124
    )


def spelled(estimates: Sequence[Estimate], *, model: str, time: Any, slice_: str = "") -> Table:
    """Estimates of a population as rows of the same table."""
    size = len(estimates)
    columns: dict[str, Any] = {
        "model": same(model, size),
        "unit": same("", size),
        "time": np.array([time] * size, dtype=object if isinstance(time, str) else None),
        "slice": same(slice_, size),
        "summary": [estimate.summary for estimate in estimates],
        "measure": [estimate.measure for estimate in estimates],
        "part": same("", size),
    }
    for name in ("value", "low", "high", "expected", "chance", "p_value"):
        columns[name] = np.array([getattr(estimate, name) for estimate in estimates], float)
    columns["bound"] = np.full(size, np.nan)
    for name in ("n", "units"):
        columns[name] = np.array([getattr(estimate, name) for estimate in estimates], np.int64)
    columns["method"] = [estimate.method for estimate in estimates]
    columns["reason"] = [estimate.reason for estimate in estimates]
    return Table.of(columns)


def of_population(table: Table, time: Any, level: float) -> list[Estimate]:
    """The estimates of the whole population at a time, from the table of all."""
    whole = (table["unit"] == "") & (table["slice"] == "") & (table["part"] == "") & (table["time"] == time)
    return [
        Estimate(level=level, **{name: value for name, value in row.items() if name in NUMBERS})
        for row in table.where(whole).rows()
    ]


def _one(block: Block, measure: Measure, names: Column, facts: Mapping[str, Any], level: float) -> Table:
    value = measure.finish(block.tallies).reshape(len(block), -1)
    low, high = measure.interval(block.tallies, level) if measure.interval else (np.nan, np.nan)
    parts, undefined = len(names), np.isnan(value)
    reason = np.where(undefined, measure.undefined, "").astype(object)
    reason[undefined & (facts["n"] == 0)[:, None]] = "no rows"
    flat = {
        "value": value,
        "low": _spread(low, value),
        "high": _spread(high, value),
        "expected": _spread(_maybe(measure.expected, block.tallies), value),
        "chance": _spread(_maybe(measure.chance, block.tallies), value),
        "p_value": _spread(np.nan, value),
        "bound": _spread(_maybe(measure.bound, block.tallies), value),
    }
    return Table(
        {name: np.repeat(column, parts) for name, column in block.keys.columns.items()}
        | {"summary": same(facts["summary"], value.size), "measure": same(measure.name, value.size)}
        | {"part": np.tile(names, len(block))}
        | {name: column.ravel() for name, column in flat.items()}
        | {name: np.repeat(facts[name], parts) for name in ("n", "units")}
        | {"method": same(measure.method or "no interval", value.size), "reason": reason.ravel()}
    )


def _maybe(kernel: Any, tallies: Tallies) -> Any:
    return np.nan if kernel is None else kernel(tallies)


def _spread(found: Any, value: Floats) -> Floats:
    array = np.asarray(found, float)
    return np.broadcast_to(array[:, None] if array.ndim == 1 else array, value.shape)


def _parts(measure: Measure, block: Block, classes: Sequence[str]) -> Column:
    match measure.shape:
        case "unit":
            names = [""]
        case "class":
            names = list(classes)
        case "matrix":
            names = [f"{truth} -> {guess}" for truth in classes for guess in classes]
        case "curve":
            parts = measure.finish(block.tallies).shape[-1]
            names = [f"({i / parts:.3f}, {(i + 1) / parts:.3f}]" for i in range(parts)]
    return np.array([*names, None], dtype=object)[:-1]
