"""A piece of a report as plain data. Renderers read it and compute nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from muster.records.chart import Chart
from muster.records.verdict import Status

Cell: TypeAlias = str | int | float | tuple[float, float] | None
Kind: TypeAlias = Literal["text", "number", "count", "interval", "status"]
HELD = 500


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a grid: its heading, and how its cells read."""

    name: str
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table to be read. It holds at most `HELD` of its `total` rows; text shows the first ``shown``.

    ``name`` is that of its files; ``searched`` asks a page for search, sorting and filters.
    """

    title: str
    fields: tuple[Field, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    shown: int
    searched: bool = False

    @classmethod
    def of(
        cls,
        title: str,
        fields: Mapping[str, Kind],
        rows: Iterable[Iterable[Cell]],
        *,
        shown: int = HELD,
        total: int | None = None,
        searched: bool = False,
    ) -> Grid:
        """The first rows of a table, the others counted.

        >>> Grid.of("Units", {"unit": "text", "rows": "count"}, [("a", 3), ("b", 4)], shown=1).left_out
        1
        """
        listed = tuple(tuple(row) for row in rows)
        named = tuple(Field(name, kind) for name, kind in fields.items())
        return cls(title, named, listed[:HELD], len(listed) if total is None else total, shown, searched)

    @property
    def left_out(self) -> int:
        """How many rows text does not show."""
        return self.total - min(self.shown, len(self.rows))

    @property
    def name(self) -> str:
        """The title as a file is named."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Callout:
    """One sentence that must not be missed."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A question, a lead sentence that says the finding, what supports it, and what is not known."""

    title: str
    lead: str
    callouts: tuple[Callout, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    unknown: tuple[str, ...] = ()
