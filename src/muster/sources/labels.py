"""Columns of labels as they come (units, times, classes, groups) to whole numbers or text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadData
from muster.records import Column

MISSING = {"NoneType", "NAType", "NaTType"}


def cleaned(name: str, values: Any, rows: int) -> Column:
    """One label a row, none missing. True is 1, 5.0 is 5, and a date is its text.

    >>> cleaned("unit", [1.0, 2.0], 2), cleaned("time", np.array(["2026-01-02"], "datetime64[ns]"), 1)
    (array([1, 2]), array(['2026-01-02 00:00:00'], dtype=object))
    """
    array = as_array(name, values)
    if array.ndim != 1 or len(array) != rows:
        raise BadData(f"{name}: expected one value a row ({rows}), got an array of shape {array.shape}")
    match array.dtype.kind:
        case "i" | "u":
            return array
        case "b":
            return array.astype(np.int64)
        case "f":
            _refuse(name, np.isnan(array))
            whole = np.isfinite(array).all() and (array == np.rint(array)).all()
            return array.astype(np.int64) if whole else array
        case "M":
            _refuse(name, np.isnat(array))
            return _dates(array)
        case "m":
            _refuse(name, np.isnat(array))
            return cleaned(name, array / np.timedelta64(1, "s"), rows)
        case "U" | "S" | "O" | "T":
            return _objects(name, array.astype(object).tolist())
    raise BadData(f"{name}: labels cannot be of type {array.dtype}")


def as_array(name: str, values: Any) -> NDArray[Any]:
    """What may be a tensor, a series or a list, as an array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    try:
        array = np.asarray(values)
        mixed = array.dtype.kind == "U" and not all(isinstance(value, str) for value in values)
        return np.array([*values, None], dtype=object)[:-1] if mixed else array
    except (TypeError, ValueError) as error:
        raise BadData(f"{name}: cannot be made an array: {error}") from error


def _refuse(name: str, missing: NDArray[np.bool_]) -> None:
    if missing.any():
        raise BadData(
            f"{name}: {int(missing.sum())} rows have no value, the first is row {int(missing.argmax())}"
        )


def _dates(array: NDArray[Any]) -> Column:
    fine = array.astype("datetime64[us]")
    whole = (fine == fine.astype("datetime64[s]")).all()
    texts = np.datetime_as_string(fine, "s" if whole else "us").tolist()
    return np.array([text.replace("T", " ") for text in texts], dtype=object)


def _objects(name: str, values: list[Any]) -> Column:
    absent = [type(v).__name__ in MISSING or (isinstance(v, float) and np.isnan(v)) for v in values]
    _refuse(name, np.array(absent, bool))
    kinds = {type(value) for value in values}
    if kinds and kinds <= {bool, np.bool_, int}:
        return np.array([int(value) for value in values], dtype=np.int64)
    found = np.empty(len(values), dtype=object)
    found[:] = [value.decode() if isinstance(value, bytes) else str(value) for value in values]
    return found
