"""What is in a column that may hold anything: as numbers, or as names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.kernels.codes import natural
from muster.kernels.types import Codes, Floats
from muster.records import Column
from muster.sources.labels import MISSING

NOTHING = {"", "?", "na", "nan", "none", "null"}


def numbers(column: Column) -> tuple[Floats, NDArray[np.intp]]:
    """The values as numbers, ``nan`` where there is none, and the rows that hold something else.

    >>> values, wrong = numbers(np.array(["0.5", None, "", "high"], dtype=object))
    >>> values.tolist(), wrong.tolist()
    ([0.5, nan, nan, nan], [3])
    """
    if column.dtype.kind in "biuf":
        return column.astype(float), np.zeros(0, np.intp)
    codes, values = distinct(column)
    found = [_number(value) for value in values]
    wrong = np.array([value is None for value in found], bool)
    return np.array([np.nan if v is None else v for v in found])[codes], np.flatnonzero(wrong[codes])


def names(column: Column) -> tuple[Codes, Column]:
    """Codes and the names they stand for, in their natural order; without a name, the code is -1.

    >>> codes, levels = names(np.array(["c10", "c9", "", None], dtype=object))
    >>> codes.tolist(), levels.tolist()
    ([1, 0, -1, -1], ['c9', 'c10'])
    """
    codes, values = distinct(column)
    texts = [_name(value) for value in values]
    order = natural(text for text in texts if text)
    place = {text: i for i, text in enumerate(order)}
    moved = np.array([place.get(text, -1) for text in texts], np.intp)
    return moved[codes], np.array([*order, None], dtype=object)[:-1]


def distinct(column: Column) -> tuple[Codes, list[Any]]:
    """Codes and the values they stand for, as they are.

    >>> distinct(np.array(["b", "a", "b"], dtype=object))
    (array([0, 1, 0]), ['b', 'a'])
    """
    if column.dtype.kind != "O":
        levels, found = np.unique(column, return_inverse=True)
        return found, levels.tolist()
    seen: dict[Any, int] = {}
    try:
        codes = [seen.setdefault(value, len(seen)) for value in column.tolist()]
    except TypeError:
        seen = {}
        codes = [seen.setdefault(str(value), len(seen)) for value in column.tolist()]
    return np.array(codes, np.intp), list(seen)


def shown(value: Any) -> str:
    """A value as it is written.

    >>> shown(np.float64(0.5)), shown("0.5")
    ('0.5', "'0.5'")
    """
    return repr(value.item() if isinstance(value, np.generic) else value)


def _number(value: Any) -> float | None:
    """A number, ``nan`` for what says that there is none, None for anything else."""
    if type(value).__name__ in MISSING or (isinstance(value, str) and value.strip().lower() in NOTHING):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _name(value: Any) -> str:
    if type(value).__name__ in MISSING or (isinstance(value, float) and np.isnan(value)):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
