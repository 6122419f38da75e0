"""The numbers of a chart as a table beside it: for those who do not see it, and those who want to copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muster.records import Grid
from muster.records.chart import Bars, Chart, Forest, Lines, Matrix, Scatter, Slopes, Ticks
from muster.records.section import Kind

SHOWN = 200


def numbers(chart: Chart) -> Grid:
    """What is drawn, one row a mark; of many, the first.

    >>> from muster.records.chart import Level
    >>> mean = (Level(0.5, "mean"),)
    >>> numbers(Ticks(name="a", title="A", description="", axis="x", values=(0.5,), points=mean)).rows
    (('mean', 0.5), ('unit', 0.5))
    """
    fields, rows = KINDS[type(chart)](chart)
    return Grid.of(chart.title, fields, rows[:SHOWN], total=len(rows))


Found = tuple[Mapping[str, Kind], list[tuple[Any, ...]]]


def _ticks(chart: Ticks) -> Found:
    named = [(point.label, point.value) for point in chart.points]
    return {"what": "text", chart.axis: "number"}, [*named, *(("unit", value) for value in chart.values)]


def _forest(chart: Forest) -> Found:
    levels = [(level.label, level.value, None) for level in chart.levels]
    rows = [(row.name, row.value, (row.low, row.high)) for row in chart.rows]
    return {"name": "text", chart.axis: "number", "interval": "interval"}, [*rows, *levels]


def _lines(chart: Lines) -> Found:
    rows = [
        (series.name, x, y, span)
        for series in chart.series
        for x, y, span in zip(
            series.x, series.y, zip(series.low or series.y, series.high or series.y, strict=True), strict=True
        )
    ]
    events = [(event.label, event.at, None, None) for event in chart.events]
    fields: dict[str, Kind] = {"line": "text", f"x: {chart.x}": "number", f"y: {chart.y}": "number"}
    return {**fields, "interval": "interval"}, [*events, *rows]


def _matrix(chart: Matrix) -> Found:
    fields: dict[str, Kind] = {f"{chart.row_axis}, by {chart.column_axis}": "text"}
    fields |= {f"{i + 1}: {name}": "text" for i, name in enumerate(chart.columns)}
    return fields, [(name, *texts) for name, texts in zip(chart.rows, chart.texts, strict=True)]


def _slopes(chart: Slopes) -> Found:
    fields: dict[str, Kind] = {"unit": "text", f"1: {chart.left}": "number", f"2: {chart.right}": "number"}
    return fields, [(name, before, after) for name, before, after, _ in chart.rows]


def _bars(chart: Bars) -> Found:
    rows = list(zip(chart.edges[:-1], chart.edges[1:], chart.counts, strict=True))
    return {f"{chart.axis} from": "number", "to": "number", chart.counted: "count"}, rows


def _scatter(chart: Scatter) -> Found:
    fields: dict[str, Kind] = {"name": "text", f"x: {chart.x}": "number", f"y: {chart.y}": "number"}
    return {**fields, "group": "text"}, list(chart.points)


KINDS: Mapping[type, Callable[[Any], Found]] = {
    Ticks: _ticks, Forest: _forest, Lines: _lines, Matrix: _matrix, Slopes: _slopes, Bars: _bars,
    Scatter: _scatter,
}  # fmt: skip
