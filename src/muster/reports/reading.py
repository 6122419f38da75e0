"""A run's folder, read back."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field as Field_
from pydantic import TypeAdapter

from muster.errors import BadData, MusterError
from muster.records import (
    ITEMS,
    MANIFEST,
    ROUNDS,
    Callout,
    Estimate,
    Field,
    Finding,
    Grid,
    Section,
    Status,
    Table,
    Verdict,
    unspell,
)
from muster.records.chart import Chart
from muster.reports.run import Run
from muster.store.manifest import FORMAT
from muster.store.parquet import read_table
from muster.summaries.underserved import Units

CHART: TypeAdapter[Chart] = TypeAdapter(Annotated[Chart, Field_(discriminator="kind")])
NEEDED = ("classes", "measures", "parts", "rows", "data", "notes")


def load(path: str | Path) -> Run:
    """The run that a folder holds."""
    folder = Path(path)
    if not (folder / MANIFEST).is_file():
        raise BadData(f"{folder}: not a run: it has no {MANIFEST}")
    manifest = read_json(folder / MANIFEST)
    given = manifest.get("format") if isinstance(manifest, dict) else None
    if given != FORMAT:
        newer = isinstance(given, int) and given > FORMAT
        hint = "a newer Muster wrote it: install that" if newer else "evaluate its data again"
        raise BadData(f"{folder}: a run of format {given}, and this Muster reads {FORMAT}; {hint}")
    lacking = [name for name in NEEDED if name not in manifest]
    if lacking:
        raise BadData(f"{folder}: a damaged run: its {MANIFEST} lacks {', '.join(lacking)}")
    try:
        return _run(folder, manifest, read_json(folder / "report.json"))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, MusterError):
            raise
        raise BadData(f"{folder}: a damaged run: {type(error).__name__}: {error}") from error


def _run(folder: Path, manifest: Mapping[str, Any], report: Mapping[str, Any]) -> Run:
    asked = tomllib.loads(_text(folder / "run.toml"))
    lacking = [name for name in ("model", "level", "units") if name not in asked.get("study", {})]
    if lacking:
        raise BadData(f"{folder}: a damaged run: its run.toml lacks study.{', study.'.join(lacking)}")
    return Run(
        title=report["title"],
        asked=asked,
        manifest=manifest,
        tallies=unspell(read_table(folder / "tallies.parquet"), manifest["parts"]),
        estimates=read_table(folder / "estimates.parquet"),
        units=Units(read_table(folder / "units.parquet").columns),
        findings=[Finding(**finding) for finding in report["findings"]],
        verdicts=[_verdict(verdict) for verdict in report["verdicts"]],
        sections=[_section(section) for section in report["sections"]],
        items=_maybe(folder / ITEMS),
        rounds=_maybe(folder / ROUNDS),
        events=[json.loads(line) for line in _text(folder / "events.jsonl").splitlines()],
    )


def _maybe(file: Path) -> Table | None:
    return read_table(file) if file.exists() else None


def _verdict(data: Mapping[str, Any]) -> Verdict:
    estimate: dict[str, Any] = {
        name: math.nan if value is None else value for name, value in data["estimate"].items()
    }
    return Verdict(**{**data, "status": Status(data["status"]), "estimate": Estimate(**estimate)})


def _section(data: Mapping[str, Any]) -> Section:
    return Section(
        data["title"],
        data["lead"],
        tuple(Callout(Status(one["status"]), one["text"]) for one in data["callouts"]),
        tuple(_grid(grid) for grid in data["grids"]),
        tuple(data["notes"]),
        tuple(CHART.validate_python(_defined(chart)) for chart in data["charts"]),
        tuple(data["unknown"]),
    )


def _grid(data: Mapping[str, Any]) -> Grid:
    fields = tuple(Field(**field) for field in data["fields"])
    rows = tuple(
        tuple(_cell(value, field) for value, field in zip(row, fields, strict=True)) for row in data["rows"]
    )
    return Grid(data["title"], fields, rows, data["total"], data["shown"], data["searched"])


def _defined(data: Any) -> Any:
    """Charts have no missing parts: null is a number that is undefined."""
    if isinstance(data, Mapping):
        return {name: _defined(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_defined(value) for value in data]
    return math.nan if data is None else data


def _cell(value: Any, field: Field) -> Any:
    if isinstance(value, list):
        return tuple(math.nan if end is None else end for end in value)
    return math.nan if value is None and field.kind == "number" else value


def read_json(file: Path) -> Any:
    """What a file of a run holds."""
    try:
        return json.loads(_text(file))
    except json.JSONDecodeError as error:
        raise BadData(f"{file}: not JSON: {error}") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadData(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadData(f"{file}: not UTF-8: {error.reason} at byte {error.start}") from error
