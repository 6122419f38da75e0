"""An open relation, block by block: nothing but a block of rows is ever in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import nanoarrow
import numpy as np

from muster.errors import BadData
from muster.kernels.types import Codes, Scores
from muster.records import Column, Labelled
from muster.sources.cells import Cut
from muster.sources.checks import describe, faults
from muster.sources.classes import Classes
from muster.sources.places import quoted, reading
from muster.sources.predictions import Coded, alone, label
from muster.sources.scan import Scan

BLOCK = 1 << 21


def blocks(
    scan: Scan, cuts: tuple[Cut, ...], classes: Classes, *, unnormalised: bool
) -> Iterator[tuple[Labelled, ...]]:
    """The rows as each cut sees them, checked."""
    done = 0
    for raw in _stream(scan):
        scores = raw.pop("scores", None)
        confidence, item = raw.pop("confidence", None), raw.pop("item", None)
        rows = len(raw["truth"])
        codes = _complete(scan, raw, rows)
        if scores is not None:
            scores = _checked(scan, scores, codes["unit"], done, unnormalised=unnormalised)
        if confidence is not None and not ((confidence >= 0) & (confidence <= 1)).all():
            row = int(np.flatnonzero(~((confidence >= 0) & (confidence <= 1)))[0])
            raise BadData(
                f"{scan.what}: the confidence of row {done + row} is {confidence[row]}, not from 0 to 1"
            )
        yield label(Coded(codes, scores, confidence, item), cuts, classes)
        done += rows


def _stream(scan: Scan) -> Iterator[dict[str, Any]]:
    """Blocks of two million rows or so, in the order of the files; a block is good until the next."""
    columns = scan.columns
    single = all(scan.types[name] == "FLOAT" for name in columns.scores)
    asked: list[tuple[str, Any]] = [*scan.codes.values()]
    asked += [_number(scan, name, np.float32 if single else np.float64) for name in columns.scores]
    asked += [_number(scan, columns.confidence, np.float64)] if columns.confidence else []
    asked += [(_marked(scan, columns.item), np.int64)] if columns.item else []
    named = ", ".join(f"{value} AS c{i}" for i, (value, _) in enumerate(asked))
    room: dict[str, Column] = {}
    held: list[list[Any]] = []
    alive: list[Any] = []
    with reading(scan.what):
        rows = scan.connection.cursor().sql(f"SELECT {named} FROM ({scan.sql})")
        for chunk in nanoarrow.c_array_stream(rows):
            view = chunk.view()
            held.append([_values(view.child(i), dtype) for i, (_, dtype) in enumerate(asked)])
            alive.append(chunk)
            if sum(len(columns[0]) for columns in held) >= BLOCK:
                yield _joined(scan, held, room)
                held, alive = [], []
    if held:
        yield _joined(scan, held, room)


def _marked(scan: Scan, item: str) -> str:
    """How the mark of an item is asked for; 1.0 is 1."""
    name = quoted(item)
    if scan.types[item] in {"FLOAT", "DOUBLE"}:
        name = f"CASE WHEN {name} = trunc({name}) THEN {name}::HUGEINT::VARCHAR ELSE {name}::VARCHAR END"
    return f"md5_number_lower(({name})::VARCHAR)"


def _number(scan: Scan, name: str, dtype: Any) -> tuple[str, Any]:
    """How a column of numbers is asked for, and as what it comes."""
    kind = "FLOAT" if dtype is np.float32 else "DOUBLE"
    return (quoted(name) if scan.types[name] == kind else f"{quoted(name)}::{kind}"), dtype


def _values(array: Any, dtype: Any) -> Column:
    """The values of an Arrow array where they lie; a missing number is ``nan``."""
    kept = slice(array.offset, array.offset + array.length)
    values = np.frombuffer(array.buffer(1), dtype)[kept]
    if array.null_count == 0:
        return values
    known = np.unpackbits(np.frombuffer(array.buffer(0), np.uint8), bitorder="little")[kept]
    return values if known.all() else np.where(known, values, dtype(np.nan))


def _joined(scan: Scan, held: list[list[Column]], room: dict[str, Column]) -> dict[str, Any]:
    """The chunks of a block in one piece, column by column; the scores of all classes together."""
    parts, width = len(scan.codes), len(scan.columns.scores)
    columns = list(zip(*held, strict=True))
    found: dict[str, Any] = {
        part: _laid(room, part, [column])[0] for part, column in zip(scan.codes, columns[:parts], strict=True)
    }
    if width:
        found["scores"] = _laid(room, "scores", columns[parts : parts + width])
    rest = columns[parts + width :]
    names = [name for name in ("confidence", "item") if getattr(scan.columns, name)]
    return found | {name: _laid(room, name, [column])[0] for name, column in zip(names, rest, strict=True)}


def _laid(room: dict[str, Column], name: str, columns: Sequence[Sequence[Column]]) -> Column:
    """The chunks of each column in a row, where those of the last block lay, if there is room."""
    rows = sum(map(len, columns[0]))
    if name not in room or room[name].size < len(columns) * rows:
        room[name] = np.empty(len(columns) * rows, columns[0][0].dtype)
    found = room[name][: len(columns) * rows].reshape(len(columns), rows)
    for row, chunks in zip(found, columns, strict=True):
        np.concatenate(chunks, out=row)
    return found


def _checked(scan: Scan, scores: Scores, unit: Codes, done: int, *, unnormalised: bool) -> Scores:
    bad, total = faults(scores, unnormalised=unnormalised)
    if bad.size:
        row = int(bad[0])
        raise BadData(
            f"{scan.what}: scores of {bad.size} rows are not probabilities (of {len(total)} read at a time); "
            f"the first is row {done + row}, unit {scan.levels['unit'][unit[row]]}: "
            f"{describe(scores[:, row])}"
            + ("" if unnormalised else " (--allow-unnormalised divides by the sum)")
        )
    return scores / total if unnormalised and len(scores) > 1 else scores


def _complete(scan: Scan, raw: Mapping[str, Column], rows: int) -> dict[str, Codes]:
    """Raw columns as codes; the parts that were not asked for are all 0."""
    return alone({part: _coded(values, scan.levels[part]) for part, values in raw.items()}, rows)


def _coded(values: Column, levels: Column) -> Codes:
    if levels.dtype == object:
        return values
    if levels.dtype.kind == "f":
        return np.searchsorted(levels, values).astype(np.int32)
    low, high = int(levels[0]), int(levels[-1])
    if high - low + 1 == levels.size:
        return np.subtract(values, low, dtype=np.int64) if low else values
    return np.searchsorted(levels, values).astype(np.int32)
