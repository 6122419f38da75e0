"""Sections as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from muster.records import Callout, Grid, Section
from muster.reports.words import cell

NUMERIC = {"number", "count", "interval"}


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
    """Text that may hold anything, as Markdown that shows it and does nothing else."""
    flat = " ".join(text.split())
    for sign in ("\\", "|", "<", ">", "`", "*", "_", "[", "]"):
        flat = flat.replace(sign, f"\\{sign}")
    return flat


def _section(section: Section) -> str:
    parts = [f"## {escape(section.title)}", section.lead, *map(_callout, section.callouts)]
    parts += [*map(_grid, section.grids), "\n".join(f"- {note}" for note in section.notes)]
    return "\n\n".join(part for part in parts if part)


def _callout(callout: Callout) -> str:
    return f"> **{callout.status.value}** {callout.text}"


def _grid(grid: Grid) -> str:
    names = [field.name for field in grid.fields]
    rules = ["---:" if field.kind in NUMERIC else "---" for field in grid.fields]
    rows = [
        [escape(cell(value, field)) for value, field in zip(row, grid.fields, strict=True)]
        for row in grid.rows
    ]
    lines = [f"| {' | '.join(line)} |" for line in [names, rules, *rows]]
    more = [f"\n{grid.left_out:,} more rows are in the run's tables."] if grid.left_out else []
    return "\n".join([f"**{grid.title}**\n", *lines, *more])
