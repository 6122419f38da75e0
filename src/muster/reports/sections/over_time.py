"""Since when? A population over time."""

from __future__ import annotations

from collections.abc import Sequence

from muster.records import Grid, Section, Table
from muster.records.chart import Chart
from muster.records.section import Kind
from muster.reports.words import number

FIELDS: dict[str, Kind] = {
    "time": "text", "units": "count", "rows": "count", "per sample": "number", "interval": "interval",
    "per unit": "number", "worst tenth": "number", "gap": "number", "std (ddof 1)": "number",
    "jain": "number",
}  # fmt: skip


def time_section(trend: Table, shown: int, charts: Sequence[Chart] = ()) -> Section:
    """The latest times, latest first, and how it went from the first to the last."""
    first, last = (next(trend.where([i]).rows()) for i in (0, -1))
    lead = f"From {first['time']} to {last['time']}: " + "; ".join(
        f"{name} {number(first[column])} to {number(last[column])}"
        for name, column in (("per sample", "per_sample"), ("worst tenth", "worst_tenth"), ("gap", "gap"))
    )
    rows = (
        (
            str(r["time"]), r["units"], r["n"], r["per_sample"], (r["low"], r["high"]), r["per_unit"],
            r["worst_tenth"], r["gap"], r["std_ddof1"], r["jain"],
        )
        for r in trend.where(slice(None, None, -1)).rows()
    )  # fmt: skip
    grid = Grid.of("Over time", FIELDS, rows, shown=shown)
    return Section("Since when?", f"{lead}.", (), (grid,), charts=tuple(charts))
