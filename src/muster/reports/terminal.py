"""Sections for a terminal, through rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Literal

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from muster.records import Field, Grid, Section, Status
from muster.reports.words import NUMERIC, SIGNS, cell

STYLES = {Status.BREACH: "bold red", Status.WATCH: "yellow", Status.UNKNOWN: "cyan", Status.OK: "green"}
LEAST_TEXT, GAP = 12, 3


def show(title: str, sections: Iterable[Section], console: Console) -> None:
    """Print a run. Status is a sign and a word, and only then a colour."""
    console.print(Text(title, style="bold"))
    for section in sections:
        console.print()
        console.rule(Text(section.title), align="left", style="dim")
        console.print(Text(section.lead))
        for part in _parts(section, console.width):
            console.print(part)


def said(status: Status) -> Text:
    """A status as sign and word."""
    return Text(f"{SIGNS[status]} {status.value}", style=STYLES[status])


def _parts(section: Section, width: int) -> Iterable[RenderableType]:
    for callout in section.callouts:
        yield Text.assemble(said(callout.status), "  ", callout.text)
    for grid in section.grids:
        yield _grid(grid, width)
    for note in (*section.notes, *(f"Not known: {what}" for what in section.unknown)):
        yield Text(f"- {note}", style="dim")


def _grid(grid: Grid, width: int) -> RichTable:
    """As many columns as the terminal has room for; what is left out is said."""
    rows = grid.rows[: grid.shown]
    texts = [[cell(value, field) for value, field in zip(row, grid.fields, strict=True)] for row in rows]
    columns = [[row[i] for row in texts] for i in range(len(grid.fields))]
    spans = [_span(field, column) for field, column in zip(grid.fields, columns, strict=True)]
    wide = widths(spans, width - 2)
    table = RichTable(title=Text(grid.title, style="italic"), header_style="bold", box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    for field, given in zip(grid.fields, wide, strict=False):
        side: Literal["right", "left"] = "right" if field.kind in NUMERIC else "left"
        table.add_column(field.name, justify=side, overflow="fold", width=given)
    for row, text in zip(rows, texts, strict=True):
        table.add_row(*(_cell(row[i], grid.fields[i].kind, text[i]) for i in range(len(wide))))
    table.caption = "; ".join(_left_out(grid, len(wide))) or None
    return table


def _span(field: Field, texts: Sequence[str]) -> tuple[int, int]:
    """The least and the best width of a column: numbers are never broken, words only long ones."""
    best = max(len(text) for text in (field.name, *texts))
    if field.kind in NUMERIC:
        return max(len(text) for text in (*field.name.split(), *texts)), best
    return min(best, LEAST_TEXT), best + (2 if field.kind == "status" else 0)


def widths(spans: Sequence[tuple[int, int]], room: int) -> list[int]:
    """The widths of the columns that fit; room to spare goes to those that want least, first.

    >>> widths([(6, 6), (4, 10), (12, 80)], 60), widths([(12, 20), (16, 16), (16, 16)], 40)
    ([6, 10, 35], [18, 16])
    """
    fit = max(1, sum(used <= room for used in accumulate(least + GAP for least, _ in spans)))
    found = [least for least, _ in spans[:fit]]
    spare = room - sum(found) - GAP * fit
    for i in sorted(range(fit), key=lambda i: spans[i][1] - spans[i][0]):
        more = max(0, min(spare, spans[i][1] - spans[i][0]))
        found[i] += more
        spare -= more
    return found


def _left_out(grid: Grid, shown: int) -> Iterable[str]:
    if grid.left_out:
        yield f"{grid.left_out:,} more rows are in the run's tables"
    if shown < len(grid.fields):
        yield f"no room for: {', '.join(field.name for field in grid.fields[shown:])}"


def _cell(value: object, kind: str, text: str) -> Text:
    known = {status.value for status in Status}
    return said(Status(str(value))) if kind == "status" and value in known else Text(text)
