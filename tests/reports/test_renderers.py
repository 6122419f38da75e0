"""Sections as text: what is shown is what the section holds, and nothing in it breaks the page."""

from __future__ import annotations

import csv
import io
import math
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from muster.records import Callout, Estimate, Grid, Section, Status, Verdict
from muster.reports import junit, markdown, terminal
from muster.reports.tables import grid_csv, grid_latex

HOSTILE = "unit | <script>alert(1)</script> [x](http://y) *b* `c`\nnew line"


def _section(*rows: tuple[object, ...], shown: int = 9) -> Section:
    grid = Grid.of(
        "Units",
        {"unit": "text", "rows": "count", "value": "number", "interval": "interval", "said": "status"},
        rows,  # type: ignore[arg-type]
        shown=shown,
    )
    return Section("For whom?", "Lead.", (Callout(Status.BREACH, HOSTILE),), (grid,), ("a note",))


def _terminal(section: Section, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    terminal.show("Run", [section], console)
    return console.file.getvalue()


def test_markdown_shows_every_cell_and_says_what_is_left_out() -> None:
    text = markdown.render(
        "Run", [_section(("a", 1200, 0.5, (0.25, 0.75), "breach"), ("b", 1, 0.1, (0, 1), "ok"), shown=1)]
    )

    assert "| unit | rows | value | interval | said |\n| --- | ---: | ---: | ---: | --- |\n" in text
    assert "| a | 1,200 | 0.5000 | [0.2500, 0.7500] | breach |" in text
    assert "1 more rows are in the run's tables." in text
    assert "> **breach** unit" in text


def test_markdown_shows_hostile_text_and_does_nothing_else() -> None:
    text = markdown.render(HOSTILE, [_section((HOSTILE, 1, 0.5, (0.0, 1.0), "ok"))])

    assert "<script>" not in text.replace("\\<script>", "")
    assert "](http" not in text.replace("]\\(http", "")
    assert len({line.count(" | ") for line in text.splitlines() if line.startswith("| ")}) == 1


def test_what_is_undefined_is_a_dash() -> None:
    text = markdown.render("Run", [_section(("a", math.nan, math.nan, (math.nan, 1.0), "unknown"))])

    assert "| a | - | - | - | unknown |" in text


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_terminal_of_any_width_breaks_no_number(width: int) -> None:
    text = _terminal(_section(("client-1", 1200, 0.5, (0.25, 0.75), "breach")), width)

    assert max(map(len, text.splitlines())) <= width
    assert ("0.5000" in text) or ("no room for" in text and "value" in text)
    assert ("✗ breach" in text) or "said" in text


def test_markup_of_rich_is_text() -> None:
    assert "[red]a[/red]" in _terminal(_section(("[red]a[/red]", 1, 0.5, (0.0, 1.0), "ok")), 120)


def test_junit_is_xml_whatever_the_names() -> None:
    estimate = Estimate(measure="accuracy", summary="x", value=0.5)
    facts = {"subject": "gate", "measure": "accuracy", "summary": "x", "estimate": estimate}
    verdicts = [
        Verdict(**facts, band=HOSTILE, status=status, why="a\x07b<")
        for status in (Status.OK, Status.BREACH, Status.UNKNOWN)
    ]
    suite = ET.fromstring(junit.render("ru\x07n & <b>", verdicts))

    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [child.tag for case in suite for child in case] == ["failure", "skipped"]
    assert suite[1][0].get("message") == "a\ufffdb<"


def test_csv_and_latex_hold_hostile_text_as_text() -> None:
    grid = _section((HOSTILE, 2, math.nan, (0.1, 0.2), "ok")).grids[0]
    (heads, row) = csv.reader(io.StringIO(grid_csv(grid)))

    assert heads == ["unit", "rows", "value", "interval low", "interval high", "said"]
    assert row == [HOSTILE, "2", "", "0.1", "0.2", "ok"]
    assert r"50\% \& \_ \textbackslash{}" in grid_latex(Grid.of("a", {"x": "text"}, [("50% & _ \\",)]))
