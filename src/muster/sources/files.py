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
from muster.sources.predictions import Coded, Predictions, alone, cuts_of, label, named_alone

BLOCK = 1 << 20
MEMORY = "1GB"
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """An open relation: how each label column is read as a code, and what the codes stand for."""

    connection: duckdb.DuckDBPyConnection
    what: str
    sql: str
    columns: Columns
    types: Mapping[str, str]
    levels: Mapping[str, Column]
    codes: Mapping[str, str]


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
        scan = _open(connection, what, sql, found, types)
        cuts = cuts_of(found.slices, scan.levels, _cells(scan))
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
) -> Scan:
    levels: dict[str, Column] = {}
    codes: dict[str, str] = {}
    for i, (part, name) in enumerate(_labels(columns).items()):
        value = quoted(name)
        if types[name] in {"FLOAT", "DOUBLE"} and _all(connection, sql, f"{value} = trunc({value})"):
            value = f"{value}::BIGINT"
        elif types[name] not in WHOLE:
            value = f"{value}::VARCHAR"
        distinct = f"SELECT DISTINCT {value} AS level FROM ({sql}) ORDER BY level"
        found = [row[0] for row in connection.execute(distinct).fetchall()]
        if value.endswith("VARCHAR"):
            connection.execute(f"CREATE TYPE labels_{i} AS ENUM ({distinct})")
            codes[part] = f"enum_code({value}::labels_{i})::INTEGER"
            levels[part] = np.array([*found, None], dtype=object)[:-1]
        else:
            codes[part] = f"{value}::BIGINT"
            levels[part] = np.array(found, dtype=np.int64)
    return Scan(connection, what, sql, columns, types, named_alone(levels), codes)


def _all(connection: duckdb.DuckDBPyConnection, sql: str, condition: str) -> bool:
    found = connection.execute(f"SELECT bool_and({condition}) FROM ({sql})").fetchone()
    return bool(found and found[0])


def _cells(scan: Scan) -> dict[str, Codes]:
    """Every combination of unit, time and slices that occurs, as codes."""
    parts = [part for part in scan.codes if part not in {"truth", "guess"}]
    if not parts:
        return _complete(scan, {}, 1)
    chosen = ", ".join(f"{scan.codes[part]} AS c{i}" for i, part in enumerate(parts))
    found = scan.connection.execute(f"SELECT DISTINCT {chosen} FROM ({scan.sql}) ORDER BY ALL").fetchnumpy()
    columns = {part: np.asarray(found[f"c{i}"]) for i, part in enumerate(parts)}
    return _complete(scan, columns, len(next(iter(columns.values()))))


def _complete(scan: Scan, raw: Mapping[str, Column], rows: int) -> dict[str, Codes]:
    """Raw columns as codes; the parts that were not asked for are all 0."""
    return alone({part: _coded(values, scan.levels[part]) for part, values in raw.items()}, rows)


def _coded(values: Column, levels: Column) -> Codes:
    if levels.dtype == object:
        return values
    low, high = int(levels[0]), int(levels[-1])
    if high - low + 1 == levels.size:
        return values - low
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
    """Blocks of about a million rows, in the order of the files."""
    columns = scan.columns
    single = all(scan.types[name] == "FLOAT" for name in columns.scores)
    kind, dtype = ("FLOAT", np.float32) if single else ("DOUBLE", np.float64)
    chosen = [*scan.codes.values(), *(f"coalesce({quoted(n)}::{kind}, 'nan')" for n in columns.scores)]
    chosen += [f"coalesce({quoted(columns.confidence)}::DOUBLE, 'nan')"] if columns.confidence else []
    named = ", ".join(f"{value} AS c{i}" for i, value in enumerate(chosen))
    types: list[Any] = [np.int32 if "enum_code" in code else np.int64 for code in scan.codes.values()]
    types += [dtype] * len(columns.scores) + [np.float64] * bool(columns.confidence)
    held: list[list[Any]] = []
    with reading(scan.what):
        for chunk in nanoarrow.ArrayStream(scan.connection.cursor().sql(f"SELECT {named} FROM ({scan.sql})")):
            held.append([_view(chunk.child(i), type_) for i, type_ in enumerate(types)])
            if sum(len(columns[0]) for columns in held) >= BLOCK:
                yield _joined(scan, held)
                held = []
    if held:
        yield _joined(scan, held)


def _view(array: Any, dtype: Any) -> Column:
    return np.frombuffer(array.buffer(1), dtype, len(array) + array.offset)[array.offset :]


def _joined(scan: Scan, held: list[list[Column]]) -> dict[str, Any]:
    parts = len(scan.codes)
    width = len(scan.columns.scores)
    columns = list(zip(*held, strict=True))
    found: dict[str, Any] = {
        part: np.concatenate(column) for part, column in zip(scan.codes, columns[:parts], strict=True)
    }
    if width:
        rows = len(found["truth"])
        scores = np.empty((width, rows), columns[parts][0].dtype)
        for k, column in enumerate(columns[parts : parts + width]):
            np.concatenate(column, out=scores[k])
        found["scores"] = scores
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
    found = scan.connection.execute(query).fetchone()
    repeated = rows - int(found[0] if found else rows)
    what = "items are there more than once" if columns.item else "rows repeat another row in every column"
    return f"{repeated:,} {what}" if repeated else ""
