"""Finished numbers, one row each, with interval, chance level, rows behind it, and reason if undefined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, TypeAlias

import numpy as np

from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Bounds, Column, Estimate, Measure, Table, Tallies, grouped, same, stack
from muster.summaries.leaving_out import METHOD, by_units, leave_out
from muster.summaries.pool import pool

Span: TypeAlias = tuple[Any, Any, str]
Units: TypeAlias = Literal["sampled", "fixed"]
NUMBERS = {field.name for field in fields(Estimate)}
COLUMNS = (
    "model", "unit", "time", "slice", "summary", "measure", "part", "value", "low", "high",
    "expected", "chance", "p_value", "bound", "n", "units", "method", "reason",
)  # fmt: skip


def finish(
    block: Block,
    measures: Sequence[Measure],
    classes: Sequence[str],
    *,
    summary: str,
    level: float = 0.95,
    spans: Callable[[Measure], Bounds] | None = None,
) -> Table:
    """The value of every measure for every entry of a block.

    Measures of shape ``class`` give one row a class, named in ``part``; matrices and curves
    number their parts. `spans` gives further intervals: the wider ends are taken.
    """
    rows = counts_of(block.tallies).sum((-1, -2))
    facts = {"n": rows.astype(np.int64), "units": block.units, "summary": summary}
    tables = []
    for measure in measures:
        more = spans(measure) if spans and measure.shape in {"unit", "class"} else None
        span = _interval(block, measure, level, more)
        tables.append(_one(block, measure, _parts(measure, block, classes), facts, span))
    return stack(tables)


def finish_pooled(
    block: Block,
    measures: Sequence[Measure],
    classes: Sequence[str],
    *,
    summary: str = "per_sample",
    level: float = 0.95,
    units: Units = "sampled",
) -> Table:
    """The value of every measure over all units together, at every time and in every slice.

    Where units are sampled, the interval knows of it.
    """
    whole = pool(block)
    if units == "fixed":
        return finish(whole, measures, classes, summary=summary, level=level)
    group, _ = grouped(block.keys, tuple(name for name in block.keys.columns if name != "unit"))
    parts = [leave_out(block.where(group == entry)) for entry in range(len(whole))]

    def spans(measure: Measure) -> Bounds:
        low, high = zip(*(by_units(part, measure.finish, level) for part in parts), strict=True)
        return np.concatenate(low), np.concatenate(high)

    return finish(whole, measures, classes, summary=summary, level=level, spans=spans)


def pooled(block: Block, measure: Measure, level: float = 0.95, units: Units = "sampled") -> Estimate:
    """A measure over all entries of a block together."""
    (row,) = finish_pooled(block, [measure], (), level=level, units=units).rows()
    return Estimate(level=level, **{name: value for name, value in row.items() if name in NUMBERS})


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


def _one(block: Block, measure: Measure, names: Column, facts: Mapping[str, Any], span: Span) -> Table:
    value = measure.finish(block.tallies).reshape(len(block), -1)
    low, high, method = span
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
        | {"method": same(method, value.size), "reason": reason.ravel()}
    )


def _interval(block: Block, measure: Measure, level: float, more: Bounds | None) -> Span:
    """The interval of each value and its method; with a second interval, the wider ends."""
    low, high = measure.interval(block.tallies, level) if measure.interval else (np.nan, np.nan)
    if more is None or np.isnan(more[0]).all():
        return low, high, measure.method or "no interval"
    return *np.clip((np.fmin(low, more[0]), np.fmax(high, more[1])), *measure.bounds), METHOD


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
