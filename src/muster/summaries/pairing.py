"""What two runs share: units by name, items by unit, time and mark."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Column, Table, unmasked


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """The entries of both models for the units they share, in one order; their items where both named them.

    ``items`` has unit, truth, guess and loss of each side, where all rows of these units are of
    items that both have; ``matched`` counts the items that are shared, ``only_a`` and ``only_b``
    the units that one side alone has.
    """

    a: Block
    b: Block
    units: Column
    items: Table | None
    matched: int
    only_a: int
    only_b: int

    def discordant(self) -> tuple[Floats, Floats, Floats] | None:
        """For each unit: items that only the first, and only the second, got right, and all items."""
        if self.items is None:
            return None
        at = {name: i for i, name in enumerate(self.units.tolist())}
        unit = np.array([at[name] for name in self.items["unit"].tolist()], np.intp)
        a, b = (self.items[f"guess_{name}"] == self.items["truth"] for name in ("a", "b"))

        def counted(rows: NDArray[np.bool_]) -> Floats:
            return np.bincount(unit[rows], minlength=self.units.size).astype(np.float64)

        return counted(a & ~b), counted(b & ~a), counted(np.ones_like(a))


def pair(a: Block, b: Block, items: tuple[Table | None, Table | None]) -> Paired:
    """Match units that have rows by name, and items by unit, time and mark."""
    a, b = (block.where(counts_of(block.tallies).sum((-1, -2)) > 0) for block in (a, b))
    names = [[str(unit) for unit in block.keys["unit"].tolist()] for block in (a, b)]
    shared = sorted(set(names[0]) & set(names[1]))
    own_a, own_b = ({name: i for i, name in enumerate(own)} for own in names)
    at_a, at_b = (np.array([own[name] for name in shared], np.intp) for own in (own_a, own_b))
    first, second = items
    found = None if first is None or second is None else _matched(first, second, set(shared))
    units, sides = np.array([*shared, None], dtype=object)[:-1], (a.where(at_a), b.where(at_b))
    rows = [float(counts_of(side.tallies).sum()) for side in sides]
    matched = 0 if found is None else len(found)
    whole = found if rows == [matched, matched] else None
    return Paired(*sides, units, whole, matched, len(a) - len(shared), len(b) - len(shared))


def _matched(a: Table, b: Table, units: Collection[str]) -> Table | None:
    """Items that both models saw with the same truth; those named twice are left out."""
    rows_a, rows_b = _places(a, units), _places(b, units)
    shared = [key for key in rows_a if key in rows_b]
    at_a, at_b = (np.array([rows[key] for key in shared], np.intp) for rows in (rows_a, rows_b))
    alike = a["truth"][at_a] == b["truth"][at_b]
    if not alike.any():
        return None
    columns = {
        "unit": np.array([str(u) for u in a["unit"][at_a].tolist()], dtype=object),
        "truth": a["truth"][at_a],
    }
    for name, table, at in (("a", a, at_a), ("b", b, at_b)):
        columns |= {f"{column}_{name}": table[column][at] for column in ("guess", "loss")}
    return unmasked(columns).where(alike)


def _places(table: Table, units: Collection[str]) -> dict[Hashable, int]:
    """The row of each item by unit, time and mark."""
    found: dict[Hashable, int] = {}
    twice = set()
    columns = (table[name].tolist() for name in ("unit", "time", "item"))
    for row, (unit, time, item) in enumerate(zip(*columns, strict=True)):
        key = (str(unit), str(time), item)
        if key[0] in units:
            twice |= {key} if key in found else set()
            found[key] = row
    return {key: row for key, row in found.items() if key not in twice}
