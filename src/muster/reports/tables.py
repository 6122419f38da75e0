"""Tables as files: CSV for other programs, LaTeX for papers."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

from muster.records import Grid, Table
from muster.reports.words import NUMERIC, cell

LATEX = str.maketrans(
    {
        "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
    }
)  # fmt: skip


def grid_csv(grid: Grid) -> str:
    """All rows that the grid holds; an interval is two columns, an undefined number is empty.

    >>> print(grid_csv(Grid.of("Units", {"unit": "text", "span": "interval"}, [("a", (0.1, 0.2))])))
    unit,span low,span high
    a,0.1,0.2
    <BLANKLINE>
    """
    heads = [
        name
        for field in grid.fields
        for name in (
            (f"{field.name} low", f"{field.name} high") if field.kind == "interval" else (field.name,)
        )
    ]
    rows = (
        [part for value in row for part in (value if isinstance(value, tuple) else (value,))]
        for row in grid.rows
    )
    return _csv(heads, rows)


def table_csv(table: Table) -> str:
    """Every row of a table."""
    return _csv(table.columns, (row.values() for row in table.rows()))


def grid_latex(grid: Grid) -> str:
    """A table in the style of booktabs, as text shows it."""
    sides = "".join("r" if field.kind in NUMERIC else "l" for field in grid.fields)
    lines = [[field.name for field in grid.fields]]
    lines += [[cell(v, f) for v, f in zip(row, grid.fields, strict=True)] for row in grid.rows[: grid.shown]]
    head, *body = (" & ".join(text.translate(LATEX) for text in line) + r" \\" for line in lines)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _csv(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow("" if isinstance(v, float) and math.isnan(v) else v for v in row)
    return out.getvalue()
