"""Predictions from files of any size: one pass to learn the names, one to count, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from muster.sources import stream
from muster.sources.arrays import DUPLICATES_UP_TO
from muster.sources.classes import resolve
from muster.sources.columns import Columns
from muster.sources.places import Place, expand, fingerprint, quoted, reading
from muster.sources.predictions import Predictions, cuts_of
from muster.sources.scan import Scan, open_scan


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
    what = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    with reading(what):
        scan, cells = open_scan(files, columns, what)
    cuts = cuts_of(scan.columns.slices, scan.levels, cells)
    names, found = scan.classes, scan.columns
    answers = scan.levels["guess"].tolist() if found.guess else ()
    resolved = resolve(
        scan.levels["truth"].tolist(), answers, names if len(names) > 1 else len(names), classes
    )
    marks = cache(lambda: {str(file): fingerprint(file) for file in files})
    has = {"guess"}
    has |= {"confidence"} if found.confidence or names else set()
    has |= {"scores"} if names else set()
    return Predictions(
        keys=tuple(cut.keys(model, scan.levels) for cut in cuts),
        classes=resolved.names,
        rows=scan.rows,
        has=frozenset(has),
        blocks=lambda: stream.blocks(scan, cuts, resolved, unnormalised=unnormalised),
        whole=scan.rows <= stream.BLOCK,
        note=resolved.note,
        duplicates=lambda: _twins(marks()) or _duplicates(scan),
        fingerprint=marks,
    )


def _twins(marks: Mapping[str, str]) -> str:
    """Files of the same bytes."""
    first: dict[str, str] = {}
    twins = [
        f"{name} and {first[mark]}" for name, mark in marks.items() if first.setdefault(mark, name) != name
    ]
    return f"the same bytes are in {', '.join(twins[:4])}: their rows are counted twice" if twins else ""


def _duplicates(scan: Scan) -> str:
    columns, rows = scan.columns, scan.rows
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
