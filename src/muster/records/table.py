"""A table: named columns of equal length, frozen. What every room hands to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadRecord, UnknownName

Column = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns by name. ``dict(table.columns)`` goes straight into pandas or Polars.

    >>> table = Table.of({"unit": ["a", "b", "c"], "accuracy": [0.9, 0.5, 0.7]})
    >>> table.sort("accuracy").head(1)["unit"]
    array(['a'], dtype=object)
    >>> next(table.where(table["accuracy"] < 0.6).rows())
    {'unit': 'b', 'accuracy': 0.5}
    """

    columns: Mapping[str, Column]

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Table:
        """Turn sequences into columns; text is kept as objects, so that it has no width."""
        made = {name: _column(values) for name, values in columns.items()}
        lengths = {name: len(column) for name, column in made.items()}
        if len(set(lengths.values())) > 1:
            raise BadRecord(f"columns of different lengths: {lengths}")
        return cls(made)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise UnknownName("column", name, self.columns)
        return self.columns[name]

    def where(self, rows: Any) -> Table:
        """The rows of a mask or of positions."""
        return Table({name: column[rows] for name, column in self.columns.items()})

    def sort(self, by: str, *, lowest: bool = False) -> Table:
        """Largest first, or lowest first; undefined values last either way."""
        values = self[by]
        if values.dtype == object:
            order = np.array(sorted(range(len(self)), key=values.__getitem__, reverse=not lowest), dtype=int)
        else:
            order = np.argsort(values if lowest else -values, kind="stable")
        return self.where(order)

    def head(self, rows: int = 10) -> Table:
        """The first rows."""
        return self.where(slice(rows))

    def rows(self) -> Iterator[dict[str, Any]]:
        """One plain dictionary a row."""
        names = list(self.columns)
        for values in zip(*(column.tolist() for column in self.columns.values()), strict=True):
            yield dict(zip(names, values, strict=True))

    def with_columns(self, **columns: Any) -> Table:
        """The table with further or replaced columns."""
        return Table.of({**self.columns, **columns})

    def __repr__(self) -> str:
        shown = [
            [f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()]
            for row in self.head(12).rows()
        ]
        lines = [list(self.columns), *shown]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = [
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        more = [f"... {len(self) - 12} more rows"] if len(self) > 12 else []
        return "\n".join([*text, *more])


def stack(tables: Sequence[Table]) -> Table:
    """Tables of the same columns, one below the other.

    >>> len(stack([Table.of({"n": [1, 2]}), Table.of({"n": [3]})]))
    3
    """
    kept = [table for table in tables if table.columns]
    if not kept:
        return Table({})
    names = list(kept[0].columns)
    for table in kept:
        if list(table.columns) != names:
            raise BadRecord(f"tables of different columns: {names} and {list(table.columns)}")
    return Table({name: np.concatenate([table[name] for table in kept]) for name in names})


def same(value: Any, rows: int) -> Column:
    """A column that says the same in every row.

    >>> same("", 2)
    array(['', ''], dtype=object)
    """
    return np.full(rows, value, dtype=object if isinstance(value, str) else None)


def unmasked(columns: Mapping[str, Any]) -> Table:
    """What DuckDB gives as NumPy columns; a missing number is ``nan``, another missing value None.

    >>> unmasked({"x": np.ma.array([1.0, 2.0], mask=[False, True])})["x"]
    array([ 1., nan])
    """
    return Table.of({name: _unmasked(column) for name, column in columns.items()})


def _unmasked(column: Any) -> Column:
    if not (isinstance(column, np.ma.MaskedArray) and np.ma.is_masked(column)):
        return np.asarray(column)
    if column.dtype.kind == "f":
        return np.ma.filled(column, np.nan)
    found = np.array(column.data, dtype=object)
    found[np.ma.getmaskarray(column)] = None
    return found


def _column(values: Any) -> Column:
    if isinstance(values, np.ndarray):
        return values.astype(object) if values.dtype.kind in "US" else values
    if any(isinstance(value, str) or value is None for value in values):
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column
    return np.asarray(values)
