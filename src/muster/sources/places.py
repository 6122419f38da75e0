"""From what a user names (a file, a glob, a folder) to a relation that DuckDB can read."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import duckdb

from muster.errors import BadData, interruptible
from muster.records import is_run
from muster.sources import arrow

Place: TypeAlias = str | Path
KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".gz": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".arrows": "arrow",
}
CSV = "union_by_name = true, header = true, comment = '', quote = '\"', escape = '\"'"
WHOLE_UP_TO = 64 << 20
END = 1 << 20


def expand(places: Place | Sequence[Place]) -> list[Path]:
    """Files, in order of name. A folder gives all the files of a known kind below it, runs left out."""
    listed = [places] if isinstance(places, str | Path) else list(places)
    files = [file for place in listed for file in _files(place)]
    if not files:
        raise BadData("no files were named")
    for file in files:
        if file.suffix.lower() not in KINDS:
            raise BadData(f"{file}: unknown kind of file; known: {', '.join(KINDS)}")
        if file.stat().st_size == 0:
            raise BadData(f"{file}: the file is empty")
    twice = [str(file) for file, times in Counter(file.resolve() for file in files).items() if times > 1]
    if twice:
        raise BadData(f"named more than once: {', '.join(twice[:4])}")
    if len({KINDS[file.suffix.lower()] for file in files}) > 1:
        raise BadData(f"files of different kinds together: {', '.join(sorted({f.suffix for f in files}))}")
    return files


def relation(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], types: Mapping[str, str] | None = None
) -> str:
    """The SQL of all rows of the files, columns matched by name; of CSV, columns are read as `types` says."""
    kind, names = KINDS[files[0].suffix.lower()], _listed(files)
    if kind == "arrow":
        return " UNION ALL BY NAME ".join(f"SELECT * FROM {arrow.load(connection, file)}" for file in files)
    keys = _hive(connection, files)
    hive = f"hive_partitioning = {str(bool(keys)).lower()}, hive_types_autocast = false"
    if kind == "parquet":
        union = str(not _alike(connection, names)).lower()
        return f"SELECT * FROM read_parquet([{names}], union_by_name = {union}, {hive})"
    own = {name: type_ for name, type_ in (types or {}).items() if name not in keys}
    asked = ", ".join(f"{quoted_text(name)}: {quoted_text(type_)}" for name, type_ in own.items())
    given = f", types = {{{asked}}}" if asked else ""
    return f"SELECT * FROM read_csv([{names}], {CSV}, {hive}{given})"


def untyped(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], columns: Iterable[str]) -> set[str]:
    """Columns whose types nobody wrote down: those of CSV files, and those that folders give."""
    return set(columns) if KINDS[files[0].suffix.lower()] == "csv" else _hive(connection, files)


def with_rows(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> Sequence[Path]:
    """Parquet files without rows say nothing, and their types may be anything: they are left out."""
    if len(files) < 2 or KINDS[files[0].suffix.lower()] != "parquet":
        return files
    query = f"SELECT file_name FROM parquet_file_metadata([{_listed(files)}]) WHERE num_rows = 0"
    empty = {str(row[0]) for row in connection.execute(query).fetchall()}
    return [file for file in files if str(file) not in empty] or files


def same_types(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], used: Iterable[str]) -> None:
    """Columns that are used must be of one type in all files."""
    seen: dict[str, tuple[str, Path]] = {}
    wanted = set(used) - untyped(connection, files, used)
    for file in files if len(files) > 1 else ():
        with reading(str(file)):
            described = connection.execute(f"DESCRIBE {relation(connection, [file])}").fetchall()
        for name, type_, *_ in described:
            first, where = seen.setdefault(name, (type_, file))
            if name in wanted and _family(first) != _family(type_):
                raise BadData(
                    f"column {name!r} is {first} in {where} and {type_} in {file}; "
                    "write it with one type in all files"
                )


def _listed(files: Sequence[Path]) -> str:
    """Files for SQL; what would be a pattern in a name is meant as it stands."""
    return ", ".join(quoted_text(re.sub(r"([\[*?])", r"[\1]", str(file))) for file in files)


def _hive(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> set[str]:
    """The columns that folders named key=value give to files, none of which has a column of such a name."""
    keys = {key for file in files for key in re.findall(r"([^/\\]+)=[^/\\]*[/\\]", str(file))}
    if not keys or KINDS[files[0].suffix.lower()] == "arrow":
        return set()
    if KINDS[files[0].suffix.lower()] == "parquet":
        query = f"SELECT DISTINCT name FROM parquet_schema([{_listed(files)}])"
    else:
        query = f"DESCRIBE SELECT * FROM read_csv([{_listed(files)}], {CSV}, hive_partitioning = false)"
    own = {str(row[0]).lower() for row in connection.execute(query).fetchall()}
    return set() if {key.lower() for key in keys} & own else keys


def _alike(connection: duckdb.DuckDBPyConnection, names: str) -> bool:
    """Have all Parquet files the same columns? Then DuckDB may use what they say of their values."""
    columns = "SELECT list((name, duckdb_type) ORDER BY column_id) AS columns"
    grouped = f"{columns} FROM parquet_schema([{names}]) GROUP BY file_name"
    found = connection.execute(f"SELECT count(DISTINCT columns) FROM ({grouped})").fetchone()
    return bool(found and found[0] == 1)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn what DuckDB says of a file into an error of ours, first line first."""
    try:
        with interruptible():
            yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise BadData(f"{what}: cannot be read: {' '.join(lines[:3])}") from error


def fingerprint(file: Path) -> str:
    """SHA-256 of a file; of a large one, of its size and its two ends."""
    size = file.stat().st_size
    with file.open("rb") as data:
        if size <= WHOLE_UP_TO:
            return f"sha256:{hashlib.file_digest(data, 'sha256').hexdigest()}"
        digest = hashlib.sha256(str(size).encode())
        digest.update(data.read(END))
        data.seek(-END, 2)
        digest.update(data.read(END))
    return f"sha256-of-size-and-ends:{digest.hexdigest()}"


def quoted(name: str) -> str:
    """A column's name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def _files(place: Place) -> Iterable[Path]:
    path = Path(place)
    try:
        str(path).encode()
        is_dir = path.is_dir()
    except (OSError, UnicodeEncodeError) as error:
        raise BadData(f"{str(place)[:80]!r} cannot be the name of a file: {error}") from error
    if is_dir:
        found = sorted(_below(path))
        if not found:
            raise BadData(f"{path}: no files of a known kind ({', '.join(KINDS)}) in this folder")
        return found
    if path.is_file():
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(place), recursive=True) if Path(name).is_file())
    if not found:
        raise BadData(f"{place}: no such file, folder or pattern of files")
    return found


def _below(top: Path) -> Iterator[Path]:
    """Files of a known kind in a folder and those below it; not what is hidden, nor the outcome of a run."""
    for folder, inner, names in os.walk(top):
        inner[:] = [name for name in inner if not name.startswith(".")]
        if is_run({*names, *inner}):
            inner.clear()
        else:
            shown = (Path(folder, name) for name in names if not name.startswith("."))
            yield from (file for file in shown if file.suffix.lower() in KINDS)


def _family(type_: str) -> str:
    number = "INT" in type_ or type_ in {"FLOAT", "DOUBLE"} or type_.startswith("DECIMAL")
    return "number" if number else type_
