"""The rows of a log, each at its place among rounds and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadData, nearest
from muster.kernels.types import Codes
from muster.records import Column
from muster.sources.contents import names, numbers, shown
from muster.sources.logs import Log
from muster.sources.parts import Parts

SHOWN = 4
SPARSE = 1000
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entries:
    """Rows of one metric: ``row`` is where each stood in the log, ``moment`` and ``unit`` its place.

    A row without a unit is the server's: its ``unit`` is -1.
    """

    what: str
    rounds: NDArray[np.int64]
    units: Column
    row: NDArray[np.intp]
    moment: Codes
    unit: Codes
    columns: Mapping[str, Column]

    @property
    def shape(self) -> tuple[int, int]:
        """How many rounds and units there are."""
        return len(self.rounds), len(self.units)

    def say(self, i: int) -> str:
        """Where a row is, in words."""
        return f"{self.what}: {_cell(self, i)} (row {self.row[i]})"

    def spread(self, values: NDArray[Any], nothing: float) -> NDArray[Any]:
        """One value a row as an array ``[rounds, units]``; `nothing` where there is no row."""
        found = np.full(self.shape, nothing, values.dtype)
        found[self.moment, self.unit] = values
        return found

    def where(self, rows: Mask) -> Entries:
        """The rows of a mask."""
        return replace(
            self,
            row=self.row[rows],
            moment=self.moment[rows],
            unit=self.unit[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
        )


def enter(log: Log, parts: Parts, which: str, first_round: int) -> tuple[Entries, list[str]]:
    """The rows of a metric, each once, and what is to be said of its rounds."""
    columns = log.fetch(parts.listed())
    if not len(columns[parts.unit]):
        raise BadData(f"{log.what}: no rows: there is nothing to evaluate")
    unit, units = names(columns[parts.unit])
    number = _whole(log.what, parts.round, columns[parts.round], unit, units)
    row = np.arange(len(unit))
    found = Entries(
        what=log.what, rounds=number[:0], units=units, row=row, moment=number, unit=unit, columns=columns
    )
    if parts.metric:
        found = found.where(_of_metric(found, columns[parts.metric], which))
    if not (found.unit >= 0).any():
        raise BadData(f"{log.what}: no row of {which} has a unit (column {parts.unit!r})")
    found, notes = _between(found, first_round)
    _once(found)
    return found, notes


def listed(values: Sequence[Any]) -> str:
    """The first few, and how many there are if that is more.

    >>> listed(range(7))
    '0, 1, 2, 3, ... (7)'
    """
    said = ", ".join(str(value) for value in values[:SHOWN])
    return f"{said}, ... ({len(values)})" if len(values) > SHOWN else said


def _cell(rows: Entries, i: int) -> str:
    who = "the server" if rows.unit[i] < 0 else f"unit {rows.units[rows.unit[i]]!r}"
    return f"{who}, round {rows.rounds[rows.moment[i]]}"


def _whole(what: str, name: str, column: Column, unit: Codes, units: Column) -> NDArray[np.int64]:
    """Round numbers."""
    found, _ = numbers(column)
    wrong = np.flatnonzero(~(found == np.rint(found)) | (np.abs(found) > 2**53))
    if wrong.size:
        i = int(wrong[0])
        who = "the server" if unit[i] < 0 else f"unit {units[unit[i]]!r}"
        raise BadData(
            f"{what}: {who} (row {i}): column {name!r} is {shown(column[i])}: "
            f"a round is a whole number (rows like it: {wrong.size})"
        )
    return found.astype(np.int64)


def _of_metric(rows: Entries, column: Column, which: str) -> Mask:
    """The rows of the metric; a row of the server need not name one."""
    code, there = names(column)
    unnamed = np.flatnonzero((code < 0) & (rows.unit >= 0))
    if unnamed.size:
        raise BadData(f"{rows.what}: {unnamed.size} rows name no metric; the first is row {unnamed[0]}")
    known = there.tolist()
    if which not in known:
        raise BadData(f"{rows.what}: no metric {which!r}{nearest(which, known)}; there are: {listed(known)}")
    return np.asarray((code == known.index(which)) | (code < 0))


def _between(rows: Entries, first_round: int) -> tuple[Entries, list[str]]:
    """Rounds from the first to the last that a unit reports, without holes."""
    of_units = rows.unit >= 0
    number = rows.moment
    seen = np.unique(number[of_units])
    low, high = int(seen[0]), int(seen[-1])
    if low < first_round:
        i = int(np.flatnonzero(of_units & (number == low))[0])
        raise BadData(
            f"{rows.what}: round {low} of unit {rows.units[rows.unit[i]]!r} (row {i}) is before the first "
            f"round, {first_round}: pass first_round={low} (--first-round {low}) if rounds count from {low}"
        )
    if high - low > SPARSE + SPARSE * len(seen):
        raise BadData(
            f"{rows.what}: {len(seen)} rounds between {low} and {high}: rounds must count 1, 2, 3, "
            "and these look like something else"
        )
    notes = []
    if low > first_round:
        missing = (
            f"round {first_round} is" if low == first_round + 1 else f"rounds {first_round} to {low - 1} are"
        )
        notes.append(f"{missing} missing: the log starts at round {low}")
    rounds = np.arange(low, high + 1)
    inside = (number >= low) & (number <= high)
    if not inside.all():
        notes.append(
            f"rows of the server from before round {low} or after round {high}, where no unit reports: "
            f"{(~inside).sum()}; they are not used"
        )
    kept = rows.where(inside)
    return replace(kept, rounds=rounds, moment=kept.moment - low), notes


def _once(rows: Entries) -> None:
    """Every unit, and the server, once a round."""
    cell = rows.moment * (len(rows.units) + 1) + rows.unit + 1
    found, first, times = np.unique(cell, return_index=True, return_counts=True)
    if (times == 1).all():
        return
    said = []
    for i, one in zip(first[times > 1][:SHOWN].tolist(), found[times > 1].tolist(), strict=False):
        where = rows.row[np.flatnonzero(cell == one)].tolist()
        said.append(f"{_cell(rows, i)} (rows {listed(where)})")
    raise BadData(
        f"{rows.what}: more than one row of the same unit and round, {(times > 1).sum()} times: "
        f"{'; '.join(said)}; keep one of them, or read the logs of several runs one by one"
    )
