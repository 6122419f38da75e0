"""An open relation of predictions: what its columns are, and what their labels are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from muster.errors import BadData
from muster.kernels.types import Codes
from muster.records import Column
from muster.sources.columns import SLICE, Columns, match
from muster.sources.labels import EXACT
from muster.sources.places import quoted, relation, same_types, untyped, with_rows
from muster.sources.predictions import alone, levels_of, named_alone

MEMORY = "1GB"
ANSWERS = ("truth", "guess")
WHOLE = {
    "TINYINT": np.int8, "SMALLINT": np.int16, "INTEGER": np.int32, "BIGINT": np.int64,
    "UTINYINT": np.uint8, "USMALLINT": np.uint16, "UINTEGER": np.uint32,
}  # fmt: skip
FINITE = "(CASE WHEN {0} - {0} = 0 THEN {0} END)"
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
POINTED = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0+)?")
DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """In what SQL and as what type each label column is read, and its distinct values."""

    connection: duckdb.DuckDBPyConnection
    what: str
    sql: str
    columns: Columns
    classes: Sequence[str]
    rows: int
    types: Mapping[str, str]
    levels: dict[str, Column] = field(default_factory=dict)
    codes: dict[str, tuple[str, Any]] = field(default_factory=dict)


def open_scan(files: Sequence[Path], columns: Columns, what: str) -> tuple[Scan, dict[str, Codes]]:
    """The scan, and every combination of unit, time and slices that occurs, as codes."""
    connection = duckdb.connect(config={"memory_limit": MEMORY})
    files = with_rows(connection, files)
    there = list(_types(connection, relation(connection, files)))
    if len(there) == 1 and re.search(r"[,;\t|]", there[0]):
        raise BadData(f"{what}: no table: some line has not as many fields as the first, {there[0]!r}")
    found, classes = match(columns, there, what)
    labels, loose = _labels(found), untyped(connection, files, there)
    read = {name: "VARCHAR" for name in labels.values() if name in loose}
    numbers = [*found.scores, *([found.confidence] if found.confidence else [])]
    sql = relation(connection, files, {**dict.fromkeys(numbers, "DOUBLE"), **read})
    same_types(connection, files, found.named())
    scan = Scan(connection, what, sql, found, classes, 0, _types(connection, sql))
    answers = {part: name for part, name in labels.items() if part in ANSWERS}
    keys = {part: name for part, name in labels.items() if part not in ANSWERS}
    _, rows = _learn(scan, answers, loose)
    cells, _ = _learn(scan, keys, loose) if keys else ({}, rows)
    scan.levels.update(named_alone(scan.levels))
    return replace(scan, rows=rows), alone(cells, len(next(iter(cells.values()), [0])))


def _types(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, str]:
    return {name: type_ for name, type_, *_ in connection.execute(f"DESCRIBE {sql}").fetchall()}


def _labels(columns: Columns) -> dict[str, str]:
    """The label columns by the part they play."""
    parts = {"truth": columns.truth, "guess": columns.guess, "unit": columns.unit, "time": columns.time}
    return {part: name for part, name in parts.items() if name} | {
        SLICE + name: name for name in columns.slices
    }


def _learn(scan: Scan, labels: Mapping[str, str], loose: set[str]) -> tuple[dict[str, Codes], int]:
    """Find the values of some label columns: the combinations that occur, as codes, and how many rows."""
    asked = {part: _asked(scan, part, name) for part, name in labels.items()}
    chosen = ", ".join(f"{value} AS c{i}" for i, (value, _) in enumerate(asked.values()))
    query = f"SELECT {chosen}, count(*) AS rows FROM ({scan.sql}) GROUP BY ALL"
    *given, counts = scan.connection.execute(query).fetchnumpy().values()
    rows = int(counts.sum())
    if not rows:
        raise BadData(f"{scan.what}: no rows: there is nothing to evaluate")
    columns = {}
    for (part, name), values in zip(labels.items(), given, strict=True):
        absent = int(counts[np.ma.getmaskarray(values)].sum())
        if absent:
            raise BadData(f"{scan.what}: column {name!r} ({part}) has no value in {absent} of {rows} rows")
        (value, dtype), column = asked[part], np.asarray(values)
        if name in loose:
            value, dtype, column = _typed(part, value, column)
        columns[part], scan.codes[part] = column, (value, dtype)
    levels, codes = levels_of(columns)
    scan.levels.update(levels)
    for part in labels:
        if levels[part].dtype == object:
            scan.codes[part] = _coded(scan, part)
    return codes, rows


def _asked(scan: Scan, part: str, name: str) -> tuple[str, Any]:
    """How a label column is read: whole numbers as such, also where they are written 1.0; else as text.

    What is not a number is missing: found by subtraction, for DuckDB takes `isnan` to be false
    where a file's statistics leave NaN out. A time with a zone is in UTC.
    """
    value, type_ = quoted(name), scan.types[name]
    if type_ in WHOLE:
        return value, WHOLE[type_]
    if type_ in {"FLOAT", "DOUBLE"}:
        value = FINITE.format(value)
        if _all(scan, f"abs({value}) < {EXACT} AND {value} = trunc({value})"):
            return f"{value}::BIGINT", np.int64
        if part == "time":
            return f"{value}::VARCHAR::DOUBLE", np.float64
    if "TIME ZONE" in type_:
        value = f"({value} AT TIME ZONE 'UTC')"
    return (f"{value}::BIGINT", np.int64) if type_ == "BOOLEAN" else (f"{value}::VARCHAR", None)


def _typed(part: str, value: str, column: Column) -> tuple[str, Any, Column]:
    """Text that is whole numbers, all of it, is read as such; times may be decimal numbers too."""
    texts = column.tolist()
    if all(NUMBER.fullmatch(text) for text in texts):
        return f"{value}::BIGINT", np.int64, column.astype(np.int64)
    if all(POINTED.fullmatch(text) for text in texts):
        return f"{value}::DOUBLE::BIGINT", np.int64, column.astype(np.float64).astype(np.int64)
    if {text.lower() for text in texts} <= {"true", "false"}:
        return (
            f"(lower({value}) = 'true')::BIGINT",
            np.int64,
            np.array([t.lower() == "true" for t in texts], int),
        )
    if part == "time" and all(DECIMAL.fullmatch(text) for text in texts):
        return f"{value}::DOUBLE", np.float64, column.astype(np.float64)
    return value, None, column


def _coded(scan: Scan, part: str) -> tuple[str, Any]:
    """Text is turned into codes where it is read."""
    name = f"labels_{len(scan.codes)}_{abs(hash(part))}"
    scan.connection.register("found", {"level": scan.levels[part]})
    scan.connection.execute(f"CREATE TYPE {name} AS ENUM (SELECT level FROM found ORDER BY level)")
    return f"enum_code({scan.codes[part][0]}::{name})::INTEGER", np.int32


def _all(scan: Scan, condition: str) -> bool:
    found = scan.connection.execute(f"SELECT bool_and({condition}) FROM ({scan.sql})").fetchone()
    return bool(found and found[0])
