"""A log from a file or a table: the columns it has, and how to get some of them."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from muster.errors import BadConfig, BadData
from muster.records import Column, unmasked
from muster.sources.given import is_place
from muster.sources.places import KINDS, Place, expand, quoted, quoted_text, reading, relation, untyped

LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
NUMBERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "FLOAT", "DOUBLE",
}  # fmt: skip
WIDE = {"UBIGINT", "HUGEINT", "UHUGEINT"}


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """What it is called, the names of its columns, and how to get some of them."""

    what: str
    names: Sequence[str]
    fetch: Callable[[Sequence[str]], Mapping[str, Column]]


def open_log(place: Any) -> Log:
    """From files of JSON lines, CSV, Parquet or Arrow, or from a table of any make.

    >>> open_log({"unit": ["a"], "round": [1]}).names
    ['unit', 'round']
    """
    if not is_place(place):
        return _table(place)
    listed = [
        one for given in ([place] if isinstance(place, str | Path) else place) for one in _inside(given)
    ]
    lines = [str(one).lower().endswith(LINES) for one in listed]
    if any(lines) and not all(lines):
        raise BadData(f"files of different kinds together: {', '.join(map(str, listed))}")
    return _of_lines(_lines(listed)) if any(lines) else _of_table(_files(listed))


def _table(given: Any) -> Log:
    """The columns of a pandas, Polars or Arrow table, a DuckDB relation, or a mapping."""
    frame = given.collect() if hasattr(given, "collect") else given
    if hasattr(frame, "fetchnumpy"):
        frame = frame.fetchnumpy()
    if not hasattr(frame, "__getitem__") or not (hasattr(frame, "columns") or isinstance(frame, Mapping)):
        raise BadConfig(
            f"a log: expected a path, a table or a mapping of columns, got {type(given).__name__}"
        )
    listed = getattr(frame, "column_names", None) or list(getattr(frame, "columns", frame))
    there = [name for name in listed if isinstance(name, str)]
    twice = [name for name, times in Counter(there).items() if times > 1]
    if twice:
        raise BadData(f"the table: column {twice[0]!r} is there more than once")

    def fetch(asked: Sequence[str]) -> Mapping[str, Column]:
        return unmasked({name: _array(frame[name]) for name in asked}).columns

    return Log("the table", there, fetch)


def _array(values: Any) -> Any:
    return values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)


def _inside(place: Place) -> list[Place]:
    """The files of JSON lines of a folder; anything else as it is."""
    found = sorted(Path(place).iterdir()) if Path(place).is_dir() else []
    return [file for file in found if file.name.lower().endswith(LINES)] or [place]


def _files(places: Sequence[Place]) -> list[Path]:
    for place in places:
        suffix = Path(place).suffix.lower()
        if Path(place).is_file() and suffix not in KINDS:
            raise BadData(f"{place}: unknown kind of file; known: {', '.join([*LINES[:2], *KINDS])}")
    return expand(places)


def _lines(places: Sequence[Place]) -> list[Path]:
    """Files of JSON lines; a pattern gives all that it matches, in order of name."""
    files: list[Path] = []
    for place in places:
        found = [Path(place)] if Path(place).is_file() else [Path(one) for one in sorted(glob(str(place)))]
        if not found:
            raise BadData(f"{place}: no such file or pattern of files")
        files += found
    for file in files:
        if file.stat().st_size == 0:
            raise BadData(f"{file}: the file is empty")
    if len({file.resolve() for file in files}) < len(files):
        raise BadData(f"named more than once: {', '.join(map(str, files[:4]))}")
    return files


def _of_table(files: Sequence[Path]) -> Log:
    """From CSV, Parquet or Arrow; of CSV, all that is asked for is read as text."""
    what, connection = _what(files), duckdb.connect()
    with reading(what):
        there = list(types_of(connection, relation(connection, files)))
        loose = untyped(connection, files, there)

    def fetch(asked: Sequence[str]) -> Mapping[str, Column]:
        with reading(what):
            sql = relation(connection, files, dict.fromkeys(loose & set(asked), "VARCHAR"))
            return _fetched(connection, sql, types_of(connection, sql), asked)

    return Log(what, there, fetch)


def _of_lines(files: Sequence[Path]) -> Log:
    """From JSON lines. One pass finds the types, over all lines, and one reads what is asked for."""
    what, connection = _what(files), duckdb.connect()
    how = f"read_json([{spelled(files)}], format = 'newline_delimited', maximum_depth = 2"
    with _by_line(what, files):
        types = types_of(connection, f"FROM {how}, sample_size = -1, union_by_name = true)")
    if list(types) == ["json"]:
        if not any(line.strip() for file in files for line in _opened(file)):
            raise BadData(f"{what}: no rows: there is nothing to evaluate")
        raise BadData(f'{what}: each line must be an object of names and values, like {{"unit": "a"}}')

    def fetch(asked: Sequence[str]) -> Mapping[str, Column]:
        chosen = ", ".join(f"{quoted_text(name)}: {quoted_text(types[name])}" for name in asked)
        with _by_line(what, files):
            return _fetched(connection, f"FROM {how}, columns = {{{chosen}}})", types, asked)

    return Log(what, list(types), fetch)


def _what(files: Sequence[Path]) -> str:
    return str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def _fetched(
    connection: duckdb.DuckDBPyConnection, sql: str, types: Mapping[str, str], asked: Sequence[str]
) -> Mapping[str, Column]:
    chosen = ", ".join(readable(name, types[name]) for name in asked)
    return unmasked(connection.execute(f"SELECT {chosen} FROM ({sql})").fetchnumpy()).columns


@contextmanager
def _by_line(what: str, files: Sequence[Path]) -> Iterator[None]:
    """What cannot be read is said by file and line."""
    try:
        with reading(what):
            yield
    except BadData:
        for file in files:
            _first_fault(file)
        raise


def _first_fault(file: Path) -> None:
    for number, line in enumerate(_opened(file), 1):
        try:
            json.loads(line) if line.strip() else None
        except ValueError as error:
            raise BadData(f"{file}, line {number}: not JSON: {error}: {line.strip()[:60]!r}") from error


def _opened(file: Path) -> Iterator[str]:
    """The lines of a file, packed or not."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8", errors="replace") as data:
        yield from data


def types_of(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, str]:
    """The columns of a relation, and of what type they are."""
    return {name: type_ for name, type_, *_ in connection.execute(f"DESCRIBE {sql}").fetchall()}


def readable(name: str, type_: str) -> str:
    """How a column is asked for, so that it comes as numbers, truths or text, whatever else it may be.

    >>> readable("n", "HUGEINT")
    '"n"::DOUBLE AS "n"'
    """
    column = quoted(name)
    if type_ in NUMBERS or type_ in {"BOOLEAN", "VARCHAR"}:
        return column
    if type_ == "JSON":
        return f"({column} ->> '$') AS {column}"
    return f"{column}::{'DOUBLE' if is_number(type_) else 'VARCHAR'} AS {column}"


def is_number(type_: str) -> bool:
    """Does DuckDB have a number in such a column?

    >>> is_number("DECIMAL(4,2)"), is_number("INTERVAL"), is_number("INTEGER[]")
    (True, False, False)
    """
    return type_ in NUMBERS | WIDE or (type_.startswith("DECIMAL") and "[" not in type_)


def spelled(files: Sequence[Path]) -> str:
    """Files for SQL; what would be a pattern in a name is meant as it stands."""
    return ", ".join(quoted_text(re.sub(r"([\[*?])", r"[\1]", str(file))) for file in files)
