"""A piece of a report as plain data. Renderers read it and compute nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from muster.records.verdict import Status

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a grid: its heading, and how its cells read."""

    name: str
    kind: Literal["text", "number", "count", "interval", "status"] = "text"
    help: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table to be read; ``left_out`` counts the rows that are not shown."""

    title: str
    fields: tuple[Field, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Callout:
    """One sentence that must not be missed."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A question, a lead sentence that says the finding, and what supports it."""

    title: str
    lead: str
    callouts: tuple[Callout, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = field(default=())
