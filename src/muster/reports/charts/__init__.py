"""Drawings of chart records: SVG for a page, SVG, PNG and PDF for a paper; no browser, no network."""

from __future__ import annotations

import html
import json
from typing import Any

import vl_convert

from muster.records.chart import Chart
from muster.reports.charts.draw import drawing
from muster.reports.charts.theme import LIGHT, config, style, variables
from muster.store.folder import plain

__all__ = ["inline", "pdf", "png", "specification", "style", "svg"]

OFFLINE: dict[str, Any] = {"allowed_base_urls": []}


def specification(chart: Chart) -> dict[str, Any]:
    """The drawing as Vega-Lite, checked against its schema; an undefined number is null, and not drawn."""
    made: dict[str, Any] = plain(drawing(chart).to_dict())
    return {**made, "config": config()}


def svg(chart: Chart) -> str:
    """A picture that stands alone, on white."""
    return _labelled(chart, vl_convert.vegalite_to_svg(_on_white(chart), **OFFLINE))


def inline(chart: Chart) -> str:
    """A picture for a page: no background, and the page's own colours."""
    return variables(
        _labelled(chart, vl_convert.vegalite_to_svg(json.dumps(specification(chart)), **OFFLINE))
    )


def png(chart: Chart, scale: float = 2.0) -> bytes:
    """A picture in pixels, on white."""
    return bytes(vl_convert.vegalite_to_png(_on_white(chart), scale=scale, **OFFLINE))


def pdf(chart: Chart) -> bytes:
    """A page of its own for a paper."""
    return bytes(vl_convert.vegalite_to_pdf(_on_white(chart), **OFFLINE))


def _on_white(chart: Chart) -> str:
    made = specification(chart)
    return json.dumps({**made, "config": {**made["config"], "background": LIGHT["surface"]}})


def _labelled(chart: Chart, drawn: str) -> str:
    """Say at the root what the picture shows: a screen reader reads it first."""
    said = html.escape(f"{chart.title}. {chart.description}", quote=True)
    return drawn.replace("<svg ", f'<svg role="graphics-document" aria-label="{said}" ', 1)
