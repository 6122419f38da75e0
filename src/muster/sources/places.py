"""From what a user names (a file, a glob, a folder) to a relation that DuckDB can read."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import duckdb

from muster.errors import BadData
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
INTERRUPTED = "Query interrupted"
WHOLE_UP_TO = 64 << 20
END = 1 << 20


def expand(places: Place | Sequence[Place]) -> list[Path]:
    """Files, in order of name. A folder gives all the files of a known kind below it."""
    listed = [places] if isinstance(places, str | Path) else list(places)
    files = [file for place in listed for file in _files(place)]
    if not files:
        raise BadData("no files were named")
    for file in files:
        if file.suffix.lower() not in KINDS:
            raise BadData(f"{file}: unknown kind of file; known: {', '.join(KINDS)}")
        if file.stat().st_size == 0:
            raise BadData(f"{file}: the file is empty")
    if len({KINDS[file.suffix.lower()] for file in files}) > 1:
        raise BadData(f"files of different kinds together: {', '.join(sorted({f.suffix for f in files}))}")
    return files


def relation(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> str:
    """The SQL of a relation of all rows of the files, columns matched by name."""
    kind = KINDS[files[0].suffix.lower()]
    listed = ", ".join(quoted_text(str(file)) for file in files)
    if kind == "arrow":
        for i, file in enumerate(files):
            arrow.load(connection, file, f"arrow_{i}")
        return " UNION ALL BY NAME ".join(f"SELECT * FROM arrow_{i}" for i in range(len(files)))
    if len(files) > 1:
        _same_types(connection, files, kind)
    if kind == "parquet":
        return f"SELECT * FROM read_parquet([{listed}], union_by_name = true)"
    return f"SELECT * FROM read_csv([{listed}], union_by_name = true, header = true)"


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn what DuckDB says of a file into an error of ours, first line first."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise BadData(f"{what}: cannot be read: {' '.join(lines[:3])}") from error
    except RuntimeError as error:
        if str(error) == INTERRUPTED:
            raise KeyboardInterrupt from None
        raise


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
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix.lower() in KINDS and file.is_file())
        if not found:
            raise BadData(f"{path}: no files of a known kind ({', '.join(KINDS)}) in this folder")
        return found
    if path.is_file():
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(place), recursive=True) if Path(name).is_file())
    if not found:
        raise BadData(f"{place}: no such file, folder or pattern of files")
    return found


def _same_types(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], kind: str) -> None:
    """Columns of one name must be of one type in all files."""
    seen: dict[str, tuple[str, Path]] = {}
    for file in files:
        with reading(str(file)):
            described = connection.execute(
                f"DESCRIBE SELECT * FROM read_{kind}({quoted_text(str(file))})"
            ).fetchall()
        for name, type_, *_ in described:
            first, where = seen.setdefault(name, (type_, file))
            if _family(first) != _family(type_):
                raise BadData(
                    f"column {name!r} is {first} in {where} and {type_} in {file}; "
                    "write it with one type in all files"
                )


def _family(type_: str) -> str:
    if "INT" in type_:
        return "whole number"
    return "number" if type_ in {"FLOAT", "DOUBLE"} or type_.startswith("DECIMAL") else type_
