"""Sections as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from muster.records import Callout, Grid, Section
from muster.reports.words import cell

NUMERIC = {"number", "count", "interval"}
MARKS = re.compile(r"[\\|<`*~]|(?<!\w)_|_(?!\w)|(?<=\])\(")


def render(title: str, sections: Iterable[Section]) -> str:
    """One document.

    >>> print(render("Run", [Section("Is it good?", "Yes.")]))
    # Run
    <BLANKLINE>
    ## Is it good?
    <BLANKLINE>
    Yes.
    <BLANKLINE>
    """
    return "\n\n".join([f"# {escape(title)}", *map(_section, sections)]) + "\n"


def escape(text: str) -> str:
    """Text that may hold anything, as Markdown that shows it and does nothing else.

    >>> print(escape("client_3 <b> [x](y)"))
    client_3 \\<b> [x]\\(y)
    """
    return MARKS.sub(r"\\\g<0>", " ".join(text.split()))


def _section(section: Section) -> str:
    parts = [f"## {escape(section.title)}", escape(section.lead), *map(_callout, section.callouts)]
    parts += [*map(_grid, section.grids), "\n".join(f"- {escape(note)}" for note in section.notes)]
    return "\n\n".join(part for part in parts if part)


def _callout(callout: Callout) -> str:
    return f"> **{callout.status.value}** {escape(callout.text)}"


def _grid(grid: Grid) -> str:
    names = [escape(field.name) for field in grid.fields]
    rules = ["---:" if field.kind in NUMERIC else "---" for field in grid.fields]
    rows = [
        [escape(cell(value, field)) for value, field in zip(row, grid.fields, strict=True)]
        for row in grid.rows
    ]
    lines = [f"| {' | '.join(line)} |" for line in [names, rules, *rows]]
    more = [f"\n{grid.left_out:,} more rows are in the run's tables."] if grid.left_out else []
    return "\n".join([f"**{escape(grid.title)}**\n", *lines, *more])
