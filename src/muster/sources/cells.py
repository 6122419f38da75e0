"""Rows to cells: which unit, at which time, in which cut of its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muster.kernels.codes import encode
from muster.kernels.types import Codes
from muster.records import Column, Table
from muster.sources.columns import SLICE

DENSE = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """One way to cut the rows: by unit and time, and by one column of the data where `column` is set.

    ``combined`` lists the cells that occur, as unit x time x value numbers.
    """

    column: str
    shape: tuple[int, int, int]
    combined: NDArray[np.int64]
    position: NDArray[np.int32] | None

    def place(self, codes: Mapping[str, Codes]) -> NDArray[np.integer]:
        """The cell of each row."""
        found = combine(codes, self.column, self.shape)
        if len(self.combined) == np.prod(self.shape, dtype=np.int64):
            return found
        if self.position is not None:
            return self.position[found]
        return np.searchsorted(self.combined, found)

    def keys(self, model: str, levels: Mapping[str, Column]) -> Table:
        """One row a cell: model, unit, time, slice."""
        unit, time, value = np.unravel_index(self.combined, self.shape)
        slices = np.full(len(unit), "", dtype=object)
        if self.column:
            slices[:] = [f"{self.column.removeprefix(SLICE)}={levels[self.column][v]}" for v in value]
        return Table.of(
            {
                "model": np.full(len(unit), model, dtype=object),
                "unit": levels["unit"][unit],
                "time": levels["time"][time],
                "slice": slices,
            }
        )


def cut(column: str, levels: Mapping[str, Column], codes: Mapping[str, Codes]) -> Cut:
    """The cut whose cells are those that occur in `codes`; every level occurs, alone or with others."""
    values = len(levels[column]) if column else 1
    shape = (len(levels["unit"]), len(levels["time"]), values)
    size = int(np.prod(shape, dtype=np.int64))
    if size == max(shape):
        return Cut(column, shape, np.arange(size), None)
    _, present = encode(combine(codes, column, shape).astype(np.int64))
    position = None
    if size <= DENSE:
        position = np.full(size, -1, np.int32)
        position[present] = np.arange(present.size, dtype=np.int32)
    return Cut(column, shape, present, position)


def combine(codes: Mapping[str, Codes], column: str, shape: tuple[int, int, int]) -> Codes:
    """Unit, time and value as one number."""
    found = codes["unit"]
    if shape[1] > 1:
        found = np.multiply(found, shape[1], dtype=np.int64) + codes["time"]
    if column:
        found = np.multiply(found, shape[2], dtype=np.int64) + codes[column]
    return found
