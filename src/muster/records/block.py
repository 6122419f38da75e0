"""A block: the keys of many units and the tallies they counted, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadRecord
from muster.kernels.codes import encode
from muster.records.table import Column, Table, same, stack
from muster.records.tally import Tallies, Tally

KEY = ("model", "unit", "time", "slice")
COLUMNS = (*KEY, "stat", "part", "total", "weight")
_KIND = {"part": np.int32, "total": np.float64, "weight": np.float64}


class Key(NamedTuple):
    """Whose number it is: which model, which unit, when, and which cut of its data."""

    model: str
    unit: str
    time: Any = ""
    slice: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """``keys`` has one row for each entry of the tallies' leading axis.

    ``pooled`` says how many entries each was pooled from, where it was.
    """

    keys: Table
    tallies: Tallies
    pooled: Column | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def where(self, rows: Any) -> Block:
        """The entries of a mask or of positions; all of them cost nothing."""
        if isinstance(rows, np.ndarray) and rows.dtype.kind == "b" and rows.all():
            return self
        pooled = None if self.pooled is None else self.pooled[rows]
        return Block(
            self.keys.where(rows), {stat: tally[rows] for stat, tally in self.tallies.items()}, pooled
        )

    @property
    def units(self) -> Column:
        """How many units stand behind each entry."""
        return np.ones(len(self), np.int64) if self.pooled is None else self.pooled


def grouped(table: Table, by: tuple[str, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The group of each row, and the first row of each group, groups in order of their values.

    >>> keys = Table.of({"unit": ["b", "a", "b"], "time": [1, 1, 1]})
    >>> [found.tolist() for found in grouped(keys, ("unit", "time"))]
    [[1, 0, 1], [1, 0]]
    """
    combined = np.zeros(len(table), np.int64)
    for name in by:
        codes, levels = encode(table[name])
        combined = combined * len(levels) + codes
    _, first, group = np.unique(combined, return_index=True, return_inverse=True)
    return group, first


def spell(block: Block) -> Table:
    """The tidy long form, one row a key, stat and part.

    A part that is 0 of weight 0 is the zero of addition: it is left out, and
    comes back as such.

    >>> keys = Table.of({"model": ["m"], "unit": ["a"], "time": [1], "slice": [""]})
    >>> [row["total"] for row in spell(Block(keys, {"right": Tally.of([[3, 0]], [[4, 0]])})).rows()]
    [3.0]
    """
    tables = []
    for stat, tally in block.tallies.items():
        cell, part = np.nonzero((tally.total != 0) | (tally.weight != 0))
        keys = block.keys.where(cell)
        tables.append(
            keys.with_columns(
                stat=same(stat, len(cell)),
                part=part.astype(np.int32),
                total=tally.total[cell, part],
                weight=tally.weight[cell, part],
            )
        )
    return (
        stack(tables) if tables else Table({name: np.zeros(0, _KIND.get(name, object)) for name in COLUMNS})
    )


def unspell(table: Table, widths: Mapping[str, int]) -> Block:
    """The block that a tidy table spells; `widths` says how many parts a stat has.

    Rows of one key, stat and part are added: reading many tables is pooling them.
    Keys come in order, so that what is drawn for them does not depend on who came first.
    """
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise BadRecord(f"a tally table needs {', '.join(COLUMNS)}; missing: {', '.join(missing)}")
    unknown = set(table["stat"].tolist()) - set(widths)
    if unknown:
        raise BadRecord(f"stats without a known number of parts: {', '.join(sorted(unknown))}")
    group, first = grouped(table, KEY)
    tallies = {}
    for stat, parts in widths.items():
        rows = table["stat"] == stat
        part = table["part"][rows].astype(np.intp)
        if part.size and not 0 <= part.min() <= part.max() < parts:
            raise BadRecord(f"stat {stat!r} has parts {part.min()} to {part.max()}, not 0 to {parts - 1}")
        at = group[rows] * parts + part
        total, weight = (
            np.bincount(at, table[name][rows], first.size * parts).astype(float).reshape(first.size, parts)
            for name in ("total", "weight")
        )
        tallies[stat] = Tally(total, weight)
    keys = table.where(first)
    return Block(Table({name: keys[name] for name in KEY}), tallies)
