"""Columns of labels as they come (units, times, classes, groups) to whole numbers or text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadData
from muster.records import Column

EXACT, LARGEST = 2**53, 2**63 - 1
MISSING = {"NoneType", "NAType", "NaTType"}


def cleaned(name: str, values: Any, rows: int) -> Column:
    """One label a row, none missing. True is 1, 5.0 is 5; a date, or a unit of 0.5, is its text.

    >>> cleaned("unit", [1.0, 2.0], 2), cleaned("time", np.array(["2026-01-02"], "datetime64[ns]"), 1)
    (array([1, 2]), array(['2026-01-02 00:00:00'], dtype=object))
    """
    array = as_array(name, values)
    if array.ndim != 1 or len(array) != rows:
        raise BadData(f"{name}: expected one value a row ({rows}), got an array of shape {array.shape}")
    match array.dtype.kind:
        case "i" | "u" | "b":
            return _integers(array)
        case "f":
            _refuse(name, np.isnan(array))
            return _floats(name, array)
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
    if np.ma.is_masked(values):
        raise BadData(
            f"{name}: {int(np.ma.getmaskarray(values).sum())} values are masked, which is to be missing"
        )
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    try:
        array = np.asarray(values)
        texts = array.dtype.kind == "U" and not all(isinstance(value, str) for value in values)
        large = array.dtype.kind == "f" and isinstance(values, list | tuple) and _has_large_integer(values)
        return np.array([*values, None], dtype=object)[:-1] if texts or large else array
    except (TypeError, ValueError) as error:
        raise BadData(f"{name}: cannot be made an array: {error}") from error


def _has_large_integer(values: Sequence[Any]) -> bool:
    """Whole numbers that no 64 bits hold, which NumPy takes for floating-point ones."""
    return any(isinstance(value, int) and abs(value) > LARGEST for value in values)


def _integers(array: NDArray[Any]) -> Column:
    if array.dtype.kind == "u" and array.size and array.max() > LARGEST:
        return array.astype(str).astype(object)
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def _floats(name: str, array: NDArray[Any]) -> Column:
    """Whole numbers where they are exact; times as they read; others as text, the shortest that says them."""
    if np.isfinite(array).all() and (array == np.rint(array)).all() and (np.abs(array) < EXACT).all():
        return array.astype(np.int64)
    texts = array.astype(str)
    return texts.astype(np.float64) if name == "time" else texts.astype(object)


def _refuse(name: str, missing: NDArray[np.bool_]) -> None:
    if missing.any():
        raise BadData(
            f"{name}: {int(missing.sum())} rows have no value, the first is row {int(missing.argmax())}"
        )


def _dates(array: NDArray[Any]) -> Column:
    if array.dtype == np.dtype("datetime64[D]"):
        return np.datetime_as_string(array).astype(object)
    fine = array.astype("datetime64[us]")
    whole = (fine == fine.astype("datetime64[s]")).all()
    texts = np.datetime_as_string(fine, "s" if whole else "us").tolist()
    return np.array([text.replace("T", " ") for text in texts], dtype=object)


def _objects(name: str, values: list[Any]) -> Column:
    absent = [type(v).__name__ in MISSING or (isinstance(v, float) and np.isnan(v)) for v in values]
    _refuse(name, np.array(absent, bool))
    kinds = {type(value) for value in values}
    if kinds and kinds <= {bool, np.bool_, int} and all(abs(value) <= LARGEST for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    found = np.empty(len(values), dtype=object)
    found[:] = [_text(name, value) for value in values]
    return found


def _text(name: str, value: Any) -> str:
    """A label as text: a time with a zone in UTC, bytes as UTF-8."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise BadData(f"{name}: {value!r} is not UTF-8") from error
    if isinstance(value, datetime) and value.tzinfo is not None:
        return str(value.astimezone(UTC).replace(tzinfo=None))
    return str(value)
