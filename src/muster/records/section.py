"""A piece of a report as plain data. Renderers read it and compute nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from muster.records.verdict import Status

Cell: TypeAlias = str | int | float | tuple[float, float] | None
Kind: TypeAlias = Literal["text", "number", "count", "interval", "status"]


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a grid: its heading, and how its cells read."""

    name: str
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table to be read; ``left_out`` counts the rows that are not shown."""

    title: str
    fields: tuple[Field, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0

    @classmethod
    def of(
        cls,
        title: str,
        fields: Mapping[str, Kind],
        rows: Iterable[Iterable[Cell]],
        *,
        shown: int | None = None,
    ) -> Grid:
        """The first rows of a table, the others counted.

        >>> Grid.of("Units", {"unit": "text", "rows": "count"}, [("a", 3), ("b", 4)], shown=1).left_out
        1
        """
        listed = tuple(tuple(row) for row in rows)
        kept = listed if shown is None else listed[:shown]
        return cls(
            title, tuple(Field(name, kind) for name, kind in fields.items()), kept, len(listed) - len(kept)
        )


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
    notes: tuple[str, ...] = ()
