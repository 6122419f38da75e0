"""Charts as plain data: what is drawn, not how. A closed set; every value is already worked out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Tone: TypeAlias = Literal["good", "bad", "noise", "plain"]


@dataclass(frozen=True, slots=True)
class Zone:
    """A stretch of the axis with a meaning: a band, or what noise alone would show."""

    low: float
    high: float
    label: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Level:
    """A value that others are held against: a threshold, a mean, chance."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: an injection, an alarm, a mitigation."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Span:
    """A value with its interval; `tone` says whether it is in trouble."""

    name: str
    value: float
    low: float
    high: float
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Series:
    """A line: x and y, and an interval around y where there is one."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What every chart has: a short name for its file, a title, and a sentence that says what it shows."""

    name: str
    title: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks(Drawing):
    """A distribution over units: a tick a unit, the mean, the mean of the worst tenth, zones behind."""

    kind: Literal["ticks"] = "ticks"
    axis: str
    values: tuple[float, ...]
    points: tuple[Level, ...] = ()
    zones: tuple[Zone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest(Drawing):
    """Values with intervals, one below the other."""

    kind: Literal["forest"] = "forest"
    axis: str
    rows: tuple[Span, ...]
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines(Drawing):
    """Lines over a common axis: a timeline, a recovery, a reliability or Lorenz or ROC curve."""

    kind: Literal["lines"] = "lines"
    x: str
    y: str
    series: tuple[Series, ...]
    levels: tuple[Level, ...] = ()
    events: tuple[Event, ...] = ()
    diagonal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix(Drawing):
    """A value from 0 to 1 a cell, with its text: confusion, units over time, routing, similarity."""

    kind: Literal["matrix"] = "matrix"
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    row_axis: str
    column_axis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes(Drawing):
    """Every unit before and after: a paired comparison."""

    kind: Literal["slopes"] = "slopes"
    axis: str
    left: str
    right: str
    rows: tuple[tuple[str, float, float, Tone], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars(Drawing):
    """A histogram: counts between edges."""

    kind: Literal["bars"] = "bars"
    axis: str
    counted: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(Drawing):
    """Points in two dimensions, named and grouped."""

    kind: Literal["scatter"] = "scatter"
    x: str
    y: str
    points: tuple[tuple[str, float, float, str], ...]


Chart: TypeAlias = Ticks | Forest | Lines | Matrix | Slopes | Bars | Scatter
