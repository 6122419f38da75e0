"""Sections as one page that works offline: pictures first, live on scroll, light and dark, on paper."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, select_autoescape

from muster.records import Field, Grid, Section, Status
from muster.records.chart import Chart
from muster.reports.charts import inline, specification, style
from muster.reports.charts.live import bundle
from muster.reports.charts.numbers import numbers
from muster.reports.charts.theme import LIGHT
from muster.reports.words import NUMERIC, SIGNS, cell

FULL = {"worst-units": "units"}


def render(title: str, sections: Sequence[Section], status: Status, counts: str, footer: str) -> str:
    """The page; nothing in it is fetched from elsewhere."""
    charts = {chart.name: chart for section in sections for chart in section.charts}
    page = _environment().get_template("page.html")
    return page.render(
        title=title,
        status=status.value,
        counts=counts,
        footer=footer,
        signs={each.value: sign for each, sign in SIGNS.items()},
        sections=[_section(section) for section in sections],
        style=style(),
        css=_text("page.css"),
        js=_text("page.js"),
        colours=_json(LIGHT),
        specs=_json({name: specification(chart) for name, chart in charts.items()}),
        bundle=bundle() if charts else "",
    )


def _environment() -> Environment:
    """Everything is escaped but what is made here."""
    return Environment(
        loader=FunctionLoader(_text),
        autoescape=select_autoescape(["html"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _text(name: str) -> str:
    return files("muster.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _json(data: Any) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")


def _section(section: Section) -> dict[str, Any]:
    return {
        "id": re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-"),
        "title": section.title,
        "lead": section.lead,
        "callouts": [{"status": c.status.value, "text": c.text} for c in section.callouts],
        "charts": [_chart(chart) for chart in section.charts],
        "grids": [_grid(grid) for grid in section.grids],
        "notes": section.notes,
        "unknown": section.unknown,
    }


def _chart(chart: Chart) -> Mapping[str, Any]:
    table = _grid(numbers(chart))
    return {"name": chart.name, "description": chart.description, "svg": inline(chart), "numbers": table}


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "name": grid.name,
        "file": FULL.get(grid.name, grid.name),
        "title": grid.title,
        "searched": grid.searched,
        "fields": [{"name": f.name, "right": f.kind in NUMERIC} for f in grid.fields],
        "rows": [_row(row, grid.fields) for row in grid.rows],
        "more": grid.total - len(grid.rows),
    }


def _row(row: Iterable[Any], fields: Iterable[Field]) -> list[dict[str, Any]]:
    known = {status.value for status in Status}
    return [
        {
            "text": cell(value, field),
            "right": field.kind in NUMERIC,
            "status": value if field.kind == "status" and value in known else "",
            "value": _sortable(value, field),
        }
        for value, field in zip(row, fields, strict=True)
    ]


def _sortable(value: Any, field: Field) -> Any:
    """The number that a cell is sorted by; "" where it is undefined, None where it is text."""
    if field.kind not in NUMERIC:
        return None
    number = value[0] if isinstance(value, tuple) else value
    return "" if number is None or math.isnan(number) else number
