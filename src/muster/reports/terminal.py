"""Sections for a terminal, through rich."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from muster.records import Grid, Section, Status
from muster.reports.markdown import NUMERIC
from muster.reports.words import cell

STYLES = {Status.BREACH: "bold red", Status.WATCH: "yellow", Status.UNKNOWN: "cyan", Status.OK: "green"}
SIGNS = {Status.BREACH: "✗", Status.WATCH: "!", Status.UNKNOWN: "?", Status.OK: "✓"}


def show(title: str, sections: Iterable[Section], console: Console) -> None:
    """Print a run. Status is a sign and a word, and only then a colour."""
    console.print(Text(title, style="bold"))
    for section in sections:
        console.print()
        console.rule(Text(section.title), align="left", style="dim")
        console.print(Text(section.lead))
        for part in _parts(section):
            console.print(part)


def said(status: Status) -> Text:
    """A status as sign and word."""
    return Text(f"{SIGNS[status]} {status.value}", style=STYLES[status])


def _parts(section: Section) -> Iterable[RenderableType]:
    for callout in section.callouts:
        yield Text.assemble(said(callout.status), "  ", callout.text)
    for grid in section.grids:
        yield _grid(grid)
    for note in section.notes:
        yield Text(f"- {note}", style="dim")


def _grid(grid: Grid) -> RichTable:
    title = Text(grid.title, style="italic")
    table = RichTable(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    for field in grid.fields:
        exact = field.kind in NUMERIC
        table.add_column(field.name, justify="right" if exact else "left", overflow="fold", no_wrap=exact)
    for row in grid.rows:
        table.add_row(
            *(
                _cell(value, field.kind, cell(value, field))
                for value, field in zip(row, grid.fields, strict=True)
            )
        )
    if grid.left_out:
        table.caption_justify = "left"
        table.caption = f"{grid.left_out:,} more rows are in the run's tables"
    return table


def _cell(value: object, kind: str, text: str) -> Text:
    known = {status.value for status in Status}
    return said(Status(str(value))) if kind == "status" and value in known else Text(text)
