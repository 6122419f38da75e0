"""Predictions from arrays and from frames of any make."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadConfig, BadData
from muster.kernels.codes import marks
from muster.kernels.types import Codes, Scores
from muster.records import Column, unmasked
from muster.sources.checks import describe, faults
from muster.sources.classes import resolve
from muster.sources.columns import SLICE, Columns, keyed, match
from muster.sources.labels import as_array, cleaned
from muster.sources.places import quoted
from muster.sources.predictions import Coded, Predictions, alone, cuts_of, label, levels_of, named_alone

DUPLICATES_UP_TO = 2_000_000


def from_frame(
    frame: Any,
    columns: Columns,
    *,
    model: str = "model",
    classes: Sequence[Any] = (),
    unnormalised: bool = False,
) -> Predictions:
    """From a pandas, Polars or Arrow table, a DuckDB relation, or a mapping of columns."""
    frame = _collected(frame, columns)
    if not hasattr(frame, "__getitem__") or not (hasattr(frame, "columns") or isinstance(frame, Mapping)):
        raise BadConfig(f"data: expected a path, a table or a mapping of columns, got {type(frame).__name__}")
    listed = getattr(frame, "column_names", None) or list(getattr(frame, "columns", frame))
    there = [name for name in listed if isinstance(name, str)]
    twice = [name for name, times in Counter(there).items() if times > 1 and name in columns.asked(there)]
    if twice:
        raise BadData(f"the table: column {', '.join(map(repr, twice))} is there more than once")
    found, names = match(columns, there, "the table")
    scores = [np.asarray(frame[name]) for name in found.scores]
    return from_arrays(
        truth=frame[found.truth],
        guess=None if found.guess is None else frame[found.guess],
        scores=np.stack(scores, 1) if scores else None,
        score_names=names if len(names) > 1 else None,
        confidence=None if found.confidence is None else frame[found.confidence],
        unit=None if found.unit is None else frame[found.unit],
        time=None if found.time is None else frame[found.time],
        slices={name: frame[name] for name in found.slices},
        item=None if found.item is None else frame[found.item],
        model=model,
        classes=classes,
        unnormalised=unnormalised,
    )


def from_arrays(
    *,
    truth: Any,
    guess: Any = None,
    scores: Any = None,
    confidence: Any = None,
    unit: Any = None,
    time: Any = None,
    slices: Mapping[str, Any] | None = None,
    item: Any = None,
    model: str = "model",
    classes: Sequence[Any] = (),
    score_names: Sequence[str] | None = None,
    unnormalised: bool = False,
) -> Predictions:
    """From one array a part, all with one entry a row; ``scores`` is ``[rows, classes]``.

    >>> found = from_arrays(truth=[0, 1, 1], guess=[0, 1, 0], unit=["a", "a", "b"])
    >>> found.keys[0]["unit"].tolist(), found.classes
    (['a', 'b'], ('0', '1'))
    """
    rows = _length(truth)
    given = {"truth": truth, "guess": guess, "unit": unit, "time": time, **keyed(slices)}
    arrays = {name: cleaned(name, values, rows) for name, values in given.items() if values is not None}
    if not rows:
        raise BadData("no rows: there is nothing to evaluate")
    levels, codes = levels_of(arrays)
    levels, codes = named_alone(levels), alone(codes, rows)
    matrix = _scores(scores, rows)
    if matrix is None and guess is None:
        raise BadData("predictions need the answers (guess) or the scores of the classes (scores), or both")
    width = 0 if matrix is None else len(matrix)
    answers = levels["guess"].tolist() if "guess" in levels else []
    names = score_names or _names(scores)
    found = resolve(levels["truth"].tolist(), answers, names or width, classes)
    if matrix is not None:
        matrix = _checked(matrix, levels["unit"], codes["unit"], unnormalised=unnormalised)
    sure = None if confidence is None else _share(confidence, rows)
    coded = Coded(codes, matrix, sure, None if item is None else _marked(item, rows))
    cuts = cuts_of(tuple(name.removeprefix(SLICE) for name in keyed(slices)), levels, codes)
    return Predictions(
        keys=tuple(one.keys(model, levels) for one in cuts),
        classes=found.names,
        rows=rows,
        has=frozenset(_has(matrix, sure)),
        blocks=lambda: iter([label(coded, cuts, found)]),
        whole=True,
        note=found.note,
        duplicates=lambda: _duplicates(coded),
        fingerprint=lambda: {"arrays": _fingerprint(coded)},
    )


def _length(truth: Any) -> int:
    """How many rows there are."""
    try:
        return len(truth)
    except TypeError:
        raise BadData(f"truth: expected one label a row, got {type(truth).__name__}") from None


def _scores(values: Any, rows: int) -> Scores | None:
    if values is None:
        return None
    to_numpy = getattr(values, "to_numpy", None)
    array = as_array("scores", to_numpy() if to_numpy and not np.ma.isMaskedArray(values) else values)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or len(array) != rows or array.dtype.kind not in "fiub":
        raise BadData(
            f"scores: expected numbers of shape [rows, classes] = [{rows}, classes], "
            f"got {array.dtype} of shape {array.shape}"
        )
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    return np.ascontiguousarray(array.T)


def _share(values: Any, rows: int) -> Scores:
    array = as_array("confidence", values)
    if array.dtype.kind not in "fiub":
        raise BadData(f"confidence: expected numbers, got {array.dtype}")
    array = array.astype(float)
    bad = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if array.shape != (rows,) or bad.size:
        where = f"row {bad[0]} has {array[bad[0]]}" if bad.size else f"its shape is {array.shape}"
        raise BadData(f"confidence: expected one number from 0 to 1 a row ({rows}), but {where}")
    return array


def _names(scores: Any) -> list[str]:
    """The columns of a table of scores, where it has names for them."""
    names = list(getattr(scores, "columns", ()))
    return names if len(names) > 1 and all(isinstance(name, str) for name in names) else []


def _checked(scores: Scores, units: Column, unit: Codes, *, unnormalised: bool) -> Scores:
    bad, total = faults(scores, unnormalised=unnormalised)
    if bad.size:
        row = bad[0]
        raise BadData(
            f"scores of {bad.size} rows are not probabilities; the first is row {row}, "
            f"unit {units[unit[row]]}: {describe(scores[:, row])}"
            + ("" if unnormalised else " (allow_unnormalised=True divides by the sum)")
        )
    return scores / total if unnormalised and len(scores) > 1 else scores


def _has(scores: Scores | None, confidence: Scores | None) -> list[str]:
    found = ["guess"]
    if scores is not None or confidence is not None:
        found.append("confidence")
    if scores is not None:
        found.append("scores")
    return found


def _marked(item: Any, rows: int) -> Codes:
    """A number for each item."""
    levels, codes = levels_of({"item": cleaned("item", item, rows)})
    return np.asarray(marks(map(str, levels["item"].tolist()))[codes["item"]])


def _duplicates(rows: Coded) -> str:
    """Rows that repeat another: the same item of the same unit and time, or equal in everything given."""
    parts: list[Codes] = [rows.codes["unit"], rows.codes["time"]]
    if rows.item is not None:
        parts.append(rows.item)
    elif rows.scores is not None:
        parts += [
            *(codes for name, codes in rows.codes.items() if name not in {"unit", "time"}),
            *rows.scores,
        ]
    else:
        return ""
    if len(parts[0]) > DUPLICATES_UP_TO:
        return f"duplicated rows were not looked for (more than {DUPLICATES_UP_TO:,} rows)"
    repeated = len(parts[0]) - np.unique(_mix(parts)).size
    what = (
        "items are there more than once"
        if rows.item is not None
        else "rows repeat another row in every column"
    )
    return f"{repeated:,} {what}" if repeated else ""


def _mix(parts: Sequence[Any]) -> NDArray[np.uint64]:
    mixed = np.zeros(len(parts[0]), np.uint64)
    for part in parts:
        mixed ^= np.ascontiguousarray(part, dtype=np.float64).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _fingerprint(rows: Coded) -> str:
    digest = hashlib.sha256()
    for name, codes in sorted(rows.codes.items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(codes, dtype=np.int32).data)
    for scores in (rows.scores, rows.confidence):
        if scores is not None:
            digest.update(np.ascontiguousarray(scores).data)
    return digest.hexdigest()


def _collected(frame: Any, columns: Columns) -> Any:
    if hasattr(frame, "fetchnumpy"):
        there = dict(zip(frame.columns, map(str, frame.types), strict=True))
        match(columns, list(there), "the relation")
        return unmasked(frame.project(", ".join(map(_chosen, there, there.values()))).fetchnumpy()).columns
    return frame.collect() if hasattr(frame, "collect") else frame


def _chosen(name: str, type_: str) -> str:
    """How a column of a relation is asked for: NumPy has no whole numbers of 128 bits, and no zones."""
    column = quoted(name)
    if type_ in {"HUGEINT", "UHUGEINT"}:
        return f"{column}::VARCHAR AS {column}"
    return f"{column} AT TIME ZONE 'UTC' AS {column}" if "TIME ZONE" in type_ else column
