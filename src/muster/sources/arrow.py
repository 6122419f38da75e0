"""Arrow files, of the stream and of the file format, to a stream of batches."""

from __future__ import annotations

import hashlib
import io
import struct
from pathlib import Path
from typing import IO, Any

import duckdb
import nanoarrow
from nanoarrow._utils import NanoarrowException

from muster.errors import BadData

VIEWS = (
    "; Polars writes text that can be read with compat_level=polars.CompatLevel.oldest(), or give the frame"
)
MAGIC, FRAME = b"ARROW1", b"\xff\xff\xff\xff"


def load(connection: duckdb.DuckDBPyConnection, file: Path) -> str:
    """Put the rows of a file into a table of the connection, once, and give its name."""
    table = "arrow_" + hashlib.sha256(str(file.resolve()).encode()).hexdigest()
    try:
        with file.open("rb") as data:
            rows = nanoarrow.ArrayStream.from_readable(_stream(data))
            _refuse_dictionaries(file, rows.schema)
            connection.register("arriving", rows)
            connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS SELECT * FROM arriving")
            connection.unregister("arriving")
    except (NanoarrowException, duckdb.Error, struct.error) as error:
        said = str(error).splitlines()[0]
        raise BadData(f"{file}: cannot be read as Arrow: {said}{VIEWS if 'View' in said else ''}") from error
    return table


def _refuse_dictionaries(file: Path, schema: Any) -> None:
    """What a dictionary stands for is read wrongly where the file is compressed."""
    coded = [field.name for field in schema.fields if field.type == nanoarrow.Type.DICTIONARY]
    if coded:
        raise BadData(
            f"{file}: {', '.join(coded)} is dictionary-encoded (categorical), which is not read from Arrow "
            "files; write it as plain values or as Parquet, or give the frame itself"
        )


def _stream(data: IO[bytes]) -> Any:
    """A file of the file format is a stream between a magic word and a footer.

    Polars writes the magic word over the length of the first message: it ends
    where the first batch begins, which the footer tells.
    """
    start = data.read(12)
    if start[:6] != MAGIC:
        data.seek(0)
        return data
    data.seek(8)
    if start[8:12] == FRAME:
        return data
    rest = data.read()
    first = _first_batch(rest)
    if not first:
        raise BadData(f"{data.name}: no rows: there is nothing to evaluate")
    return io.BytesIO(FRAME + struct.pack("<i", first - 8) + rest)


def _first_batch(rest: bytes) -> int:
    """Where in the file the first dictionary or batch lies, 0 where there is none: the footer lists them."""
    (size,) = struct.unpack_from("<i", rest, len(rest) - 10)
    footer = rest[-10 - size : -10]
    (root,) = struct.unpack_from("<I", footer, 0)
    (back,) = struct.unpack_from("<i", footer, root)
    found = []
    for field in (2, 3):
        (offset,) = struct.unpack_from("<H", footer, root - back + 4 + 2 * field)
        if offset:
            (ahead,) = struct.unpack_from("<I", footer, root + offset)
            (blocks,) = struct.unpack_from("<I", footer, root + offset + ahead)
            found += [struct.unpack_from("<q", footer, root + offset + ahead + 4)[0]] if blocks else []
    return int(min(found, default=0))
