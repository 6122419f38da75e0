"""Sections as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from muster.records import Callout, Grid, Section
from muster.reports.words import NUMERIC, cell

MARKS = re.compile(r"[\\|<`*~]|(?<!\w)_|_(?!\w)|(?<=\])\(")


def render(title: str, sections: Iterable[Section], *, pictures: bool = False) -> str:
    """One document; with `pictures`, those of the folder ``figures`` beside it.

    >>> print(render("Run", [Section("Is it good?", "Yes.")]))
    # Run
    <BLANKLINE>
    ## Is it good?
    <BLANKLINE>
    Yes.
    <BLANKLINE>
    """
    return (
        "\n\n".join([f"# {escape(title)}", *(_section(section, pictures=pictures) for section in sections)])
        + "\n"
    )


def escape(text: str) -> str:
    """Text that may hold anything, as Markdown that shows it and does nothing else.

    >>> print(escape("client_3 <b> [x](y)"))
    client_3 \\<b> [x]\\(y)
    """
    return MARKS.sub(r"\\\g<0>", " ".join(text.split()))


def _section(section: Section, *, pictures: bool) -> str:
    parts = [f"## {escape(section.title)}", escape(section.lead), *map(_callout, section.callouts)]
    parts += [f"![{escape(c.title)}](figures/{c.name}.svg)" for c in section.charts if pictures]
    notes = [*section.notes, *(f"Not known: {what}" for what in section.unknown)]
    parts += [*map(_grid, section.grids), "\n".join(f"- {escape(note)}" for note in notes)]
    return "\n\n".join(part for part in parts if part)


def _callout(callout: Callout) -> str:
    return f"> **{callout.status.value}** {escape(callout.text)}"


def _grid(grid: Grid) -> str:
    names = [escape(field.name) for field in grid.fields]
    rules = ["---:" if field.kind in NUMERIC else "---" for field in grid.fields]
    rows = [
        [escape(cell(value, field)) for value, field in zip(row, grid.fields, strict=True)]
        for row in grid.rows[: grid.shown]
    ]
    lines = [f"| {' | '.join(line)} |" for line in [names, rules, *rows]]
    more = [f"\n{grid.left_out:,} more rows are in the run's tables."] if grid.left_out else []
    return "\n".join([f"**{escape(grid.title)}**\n", *lines, *more])
