"""An open table of any kind of file, with a header or without, of which columns can be asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from muster.errors import BadData
from muster.records import Column, unmasked
from muster.sources.logs import readable, spelled, types_of
from muster.sources.places import KINDS, quoted, reading, relation, untyped

OWN = re.compile(r"^column(?=\d+$)")


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What the table is called, its SQL, and the type of each column; those of CSV are all text."""

    what: str
    connection: duckdb.DuckDBPyConnection
    sql: str
    types: Mapping[str, str]

    def fetch(self, asked: Mapping[str, str]) -> Mapping[str, Column]:
        """Columns by name, each as the SQL asked for."""
        query = f"SELECT {', '.join(asked.values())} FROM ({self.sql})"
        with reading(self.what):
            found = self.connection.execute(query).fetchnumpy()
        return unmasked(found).columns

    def column(self, name: str) -> Column:
        """One column, as it is."""
        return self.fetch({name: readable(name, self.types[name])})[name]


def open_table(files: Sequence[Path], asked: Sequence[str]) -> Opened:
    """A table, whose columns are named by its header, or by their places where it has none."""
    what = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    connection = duckdb.connect()
    with reading(what):
        there = list(types_of(connection, relation(connection, files)))
        first = list(types_of(connection, relation(connection, files[:1])))
        if KINDS[files[0].suffix.lower()] == "csv" and _by_number(asked, first):
            sql = _without_header(connection, files)
        else:
            sql = relation(connection, files, dict.fromkeys(untyped(connection, files, there), "VARCHAR"))
        found = Opened(what, connection, sql, types_of(connection, sql))
    if not int(found.fetch({"rows": "count(*) AS rows"})["rows"][0]):
        raise BadData(f"{what}: no rows: there is nothing to learn from")
    return found


def _without_header(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> str:
    """The SQL of files whose first line is a row like the others; columns are named 0, 1, 2, ...

    Columns that folders named key=value give keep their names.
    """
    how = "header = false, all_varchar = true, comment = '', quote = '\"', escape = '\"'"
    raw = f"read_csv([{spelled(files)}], {how})"
    given = {name: OWN.sub("", name) for name in types_of(connection, f"FROM {raw}")}
    named = ", ".join(
        f"{quoted(name)} AS {quoted(str(int(own)) if own.isdecimal() else name)}"
        for name, own in given.items()
    )
    return f"SELECT {named} FROM {raw}"


def _by_number(asked: Sequence[str], header: Sequence[str]) -> bool:
    """Are columns asked for by their places, from 0, because the file has no header?

    A first line with a number that is not its own place is a row, not a header.

    >>> _by_number(["0", "2"], ["3", "Fears for pensions", "Unions say"]), _by_number(["0"], ["0", "1"])
    (True, False)
    """
    places = {name for name in asked if name.isdecimal()}
    if not places <= set(header):
        return True
    if any(int(place) >= len(header) for place in places):
        return False
    return bool(places) and any(_is_number(name) and name != str(i) for i, name in enumerate(header))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
