"""Predictions from files of any size: one pass to learn the names, one to count, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import nanoarrow
import numpy as np

from muster.errors import BadData
from muster.kernels.types import Codes, Scores
from muster.records import Column, Labelled
from muster.sources.arrays import DUPLICATES_UP_TO
from muster.sources.cells import Cut
from muster.sources.checks import describe, faults
from muster.sources.classes import Classes, resolve
from muster.sources.columns import Columns, match
from muster.sources.places import Place, expand, fingerprint, quoted, reading, relation
from muster.sources.predictions import Coded, Predictions, alone, cuts_of, label, levels_of, named_alone

BLOCK = 1 << 21
MEMORY = "1GB"
ANSWERS = ("truth", "guess")
WHOLE = {
    "TINYINT": np.int8, "SMALLINT": np.int16, "INTEGER": np.int32, "BIGINT": np.int64,
    "UTINYINT": np.uint8, "USMALLINT": np.uint16, "UINTEGER": np.uint32,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """An open relation: in what SQL and as what type each label column is read, and its distinct values."""

    connection: duckdb.DuckDBPyConnection
    what: str
    sql: str
    columns: Columns
    types: Mapping[str, str]
    levels: Mapping[str, Column]
    codes: Mapping[str, tuple[str, Any]]


def from_files(
    places: Place | Sequence[Place],
    columns: Columns,
    *,
    model: str = "model",
    classes: Sequence[Any] = (),
    unnormalised: bool = False,
) -> Predictions:
    """From CSV, Parquet or Arrow files, globs or (hive) folders, larger than memory if need be."""
    files = expand(places)
    connection = duckdb.connect(config={"memory_limit": MEMORY})
    what = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    with reading(what):
        sql = relation(connection, files)
        types = {name: type_ for name, type_, *_ in connection.execute(f"DESCRIBE {sql}").fetchall()}
        found, names = match(columns, list(types), what)
        rows = _profile(connection, what, sql, found)
        scan, cells = _open(connection, what, sql, found, types)
        cuts = cuts_of(found.slices, scan.levels, cells)
    resolved = resolve(
        scan.levels["truth"].tolist(),
        scan.levels["guess"].tolist() if found.guess else (),
        names if len(names) > 1 else len(names),
        classes,
    )
    has = (
        {"guess"}
        | ({"confidence"} if found.confidence or names else set())
        | ({"scores"} if names else set())
    )
    return Predictions(
        keys=tuple(cut.keys(model, scan.levels) for cut in cuts),
        classes=resolved.names,
        rows=rows,
        has=frozenset(has),
        blocks=lambda: _blocks(scan, cuts, resolved, unnormalised=unnormalised),
        whole=rows <= BLOCK,
        note=resolved.note,
        duplicates=lambda: _duplicates(scan, rows),
        fingerprint=lambda: {str(file): fingerprint(file) for file in files},
    )


def _labels(columns: Columns) -> dict[str, str]:
    """The label columns by the part they play."""
    parts = {"truth": columns.truth, "guess": columns.guess, "unit": columns.unit, "time": columns.time}
    return {part: name for part, name in parts.items() if name} | {name: name for name in columns.slices}


def _profile(connection: duckdb.DuckDBPyConnection, what: str, sql: str, columns: Columns) -> int:
    """Count rows, and refuse labels that are missing."""
    labels = _labels(columns)
    counts = ", ".join(f"count({quoted(name)})" for name in labels.values())
    found = connection.execute(f"SELECT count(*), {counts} FROM ({sql})").fetchone()
    rows, *known = found or (0,)
    if not rows:
        raise BadData(f"{what}: no rows: there is nothing to evaluate")
    for (part, name), count in zip(labels.items(), known, strict=True):
        if count < rows:
            raise BadData(f"{what}: column {name!r} ({part}) has no value in {rows - count} of {rows} rows")
    return int(rows)


def _open(
    connection: duckdb.DuckDBPyConnection, what: str, sql: str, columns: Columns, types: Mapping[str, str]
) -> tuple[Scan, dict[str, Codes]]:
    """The scan, and every combination of unit, time and slices that occurs, as codes."""
    asked = {part: _value(connection, sql, name, types[name]) for part, name in _labels(columns).items()}
    answers = {part: value for part, value in asked.items() if part in ANSWERS}
    keys = {part: value for part, value in asked.items() if part not in ANSWERS}
    levels, cells = levels_of(_distinct(connection, sql, keys))
    levels |= levels_of(_distinct(connection, sql, answers))[0]
    codes: dict[str, tuple[str, Any]] = {}
    for i, (part, value) in enumerate(asked.items()):
        codes[part] = value, WHOLE.get(types[_labels(columns)[part]], np.int64)
        if levels[part].dtype == object:
            connection.register("found", {"level": levels[part]})
            connection.execute(f"CREATE TYPE labels_{i} AS ENUM (SELECT level FROM found ORDER BY level)")
            codes[part] = f"enum_code({value}::labels_{i})::INTEGER", np.int32
    rows = len(next(iter(cells.values()), [0]))
    return Scan(connection, what, sql, columns, types, named_alone(levels), codes), alone(cells, rows)


def _value(connection: duckdb.DuckDBPyConnection, sql: str, name: str, type_: str) -> str:
    """How a label column is read: whole numbers as such, also where they were written 1.0; else as text."""
    value = quoted(name)
    if type_ in WHOLE:
        return value
    if type_ == "BOOLEAN":
        return f"{value}::BIGINT"
    if type_ in {"FLOAT", "DOUBLE"} and _all(connection, sql, f"{value} = trunc({value})"):
        return f"{value}::BIGINT"
    return f"{value}::VARCHAR"


def _distinct(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, str]
) -> dict[str, Column]:
    """The combinations of these values that occur."""
    if not values:
        return {}
    chosen = ", ".join(f"{value} AS c{i}" for i, value in enumerate(values.values()))
    found = connection.execute(f"SELECT DISTINCT {chosen} FROM ({sql})").fetchnumpy()
    return {part: np.asarray(found[f"c{i}"]) for i, part in enumerate(values)}


def _all(connection: duckdb.DuckDBPyConnection, sql: str, condition: str) -> bool:
    found = connection.execute(f"SELECT bool_and({condition}) FROM ({sql})").fetchone()
    return bool(found and found[0])


def _complete(scan: Scan, raw: Mapping[str, Column], rows: int) -> dict[str, Codes]:
    """Raw columns as codes; the parts that were not asked for are all 0."""
    return alone({part: _coded(values, scan.levels[part]) for part, values in raw.items()}, rows)


def _coded(values: Column, levels: Column) -> Codes:
    if levels.dtype == object:
        return values
    low, high = int(levels[0]), int(levels[-1])
    if high - low + 1 == levels.size:
        return np.subtract(values, low, dtype=np.int64) if low else values
    return np.searchsorted(levels, values).astype(np.int32)


def _blocks(
    scan: Scan, cuts: tuple[Cut, ...], classes: Classes, *, unnormalised: bool
) -> Iterator[tuple[Labelled, ...]]:
    done = 0
    for raw in _stream(scan):
        scores = raw.pop("scores", None)
        confidence = raw.pop("confidence", None)
        rows = len(raw["truth"])
        codes = _complete(scan, raw, rows)
        if scores is not None:
            scores = _checked(scan, scores, codes["unit"], done, unnormalised=unnormalised)
        if confidence is not None and not ((confidence >= 0) & (confidence <= 1)).all():
            row = int(np.flatnonzero(~((confidence >= 0) & (confidence <= 1)))[0])
            raise BadData(
                f"{scan.what}: the confidence of row {done + row} is {confidence[row]}, not from 0 to 1"
            )
        yield label(Coded(codes, scores, confidence), cuts, classes)
        done += rows


def _stream(scan: Scan) -> Iterator[dict[str, Any]]:
    """Blocks of two million rows or so, in the order of the files; a block is good until the next."""
    columns = scan.columns
    single = all(scan.types[name] == "FLOAT" for name in columns.scores)
    asked: list[tuple[str, Any]] = [*scan.codes.values()]
    asked += [_number(scan, name, np.float32 if single else np.float64) for name in columns.scores]
    asked += [_number(scan, columns.confidence, np.float64)] if columns.confidence else []
    named = ", ".join(f"{value} AS c{i}" for i, (value, _) in enumerate(asked))
    room: dict[str, Any] = {}
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


def _joined(scan: Scan, held: list[list[Column]], room: dict[str, Any]) -> dict[str, Any]:
    """The chunks of a block in one piece; scores go where those of the last block were, if they fit."""
    parts, width = len(scan.codes), len(scan.columns.scores)
    columns = list(zip(*held, strict=True))
    found: dict[str, Any] = {
        part: np.concatenate(column) for part, column in zip(scan.codes, columns[:parts], strict=True)
    }
    if width:
        rows = len(found["truth"])
        if "scores" not in room or room["scores"].shape[1] < rows:
            room["scores"] = np.empty((width, rows), columns[parts][0].dtype)
        found["scores"] = room["scores"][:, :rows]
        for score, column in zip(found["scores"], columns[parts : parts + width], strict=True):
            np.concatenate(column, out=score)
    if scan.columns.confidence:
        found["confidence"] = np.concatenate(columns[-1])
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


def _duplicates(scan: Scan, rows: int) -> str:
    columns = scan.columns
    key = [columns.unit, columns.time, columns.item] if columns.item else list(columns.named())
    if not columns.item and not columns.scores:
        return ""
    if not columns.item and rows > DUPLICATES_UP_TO:
        return f"duplicated rows were not looked for (more than {DUPLICATES_UP_TO:,} rows)"
    chosen = ", ".join(quoted(name) for name in key if name)
    query = f"SELECT count(*) FROM (SELECT DISTINCT {chosen} FROM ({scan.sql}))"
    with reading(scan.what):
        found = scan.connection.execute(query).fetchone()
    repeated = rows - int(found[0] if found else rows)
    what = "items are there more than once" if columns.item else "rows repeat another row in every column"
    return f"{repeated:,} {what}" if repeated else ""
