"""Tables as Parquet files, through DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np

from muster.errors import BadData, interruptible
from muster.records import Table, unmasked


def write_table(path: Path, table: Table) -> None:
    """One file; text is VARCHAR, whole numbers BIGINT, others DOUBLE."""
    arriving = dict(table.columns)
    chosen = ", ".join(f'"{name}"::{_sql_type(column)} AS "{name}"' for name, column in arriving.items())
    target = str(path).replace("'", "''")
    try:
        with interruptible(), duckdb.connect() as connection:
            connection.register("arriving", arriving)
            connection.execute(
                f"COPY (SELECT {chosen} FROM arriving) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
            )
    except duckdb.IOException as error:
        raise OSError(str(error).splitlines()[0]) from error


def read_table(path: Path) -> Table:
    """The table of a file, undefined numbers as ``nan``."""
    try:
        with duckdb.connect() as connection:
            found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchnumpy()
    except duckdb.Error as error:
        raise BadData(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    return unmasked(found)


def _sql_type(column: np.ndarray) -> str:
    return {"O": "VARCHAR", "i": "BIGINT", "u": "BIGINT", "b": "BOOLEAN", "M": "TIMESTAMP"}.get(
        column.dtype.kind, "DOUBLE"
    )
