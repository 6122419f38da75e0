"""A block: the keys of many units and the tallies they counted, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from muster.errors import BadRecord
from muster.records.table import Table, stack
from muster.records.tally import Tallies, Tally

KEY = ("model", "unit", "time", "slice")
COLUMNS = (*KEY, "stat", "part", "total", "weight")


class Key(NamedTuple):
    """Whose number it is: which model, which unit, when, and which cut of its data."""

    model: str
    unit: str
    time: Any = ""
    slice: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """``keys`` has one row for each entry of the tallies' leading axis."""

    keys: Table
    tallies: Tallies

    def __len__(self) -> int:
        return len(self.keys)

    def where(self, rows: Any) -> Block:
        """The entries of a mask or of positions."""
        return Block(self.keys.where(rows), {stat: tally[rows] for stat, tally in self.tallies.items()})


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
                stat=np.full(len(cell), stat, dtype=object),
                part=part.astype(np.int32),
                total=tally.total[cell, part],
                weight=tally.weight[cell, part],
            )
        )
    return stack(tables)


def unspell(table: Table, keys: Table, widths: Mapping[str, int]) -> Block:
    """The block that a tidy table spells; `widths` says how many parts a stat has."""
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise BadRecord(f"a tally table needs {', '.join(COLUMNS)}; missing: {', '.join(missing)}")
    place = {key: i for i, key in enumerate(_keys(keys))}
    cell = np.array([place[key] for key in _keys(table)], dtype=int)
    tallies = {}
    for stat, parts in widths.items():
        rows = table["stat"] == stat
        if rows.any() and table["part"][rows].max() >= parts:
            raise BadRecord(f"stat {stat!r} has part {table['part'][rows].max()}, but only {parts} parts")
        at = (cell[rows], table["part"][rows])
        total, weight = np.zeros((len(keys), parts)), np.zeros((len(keys), parts))
        np.add.at(total, at, table["total"][rows])
        np.add.at(weight, at, table["weight"][rows])
        tallies[stat] = Tally(total, weight)
    return Block(keys, tallies)


def _keys(table: Table) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].tolist() for name in KEY), strict=True))
