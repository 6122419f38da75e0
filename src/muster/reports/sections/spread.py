"""Is it unfair, or is it noise? The indices of a population, beside what noise and chance would give."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from muster.records import Estimate, Grid, Section, Table
from muster.records.chart import Chart
from muster.reports.words import number, sized

NOTES = (
    "If all were equal: the mean over populations in which every unit has the pooled value and its own rows.",
    "p: the share of those populations with at least this spread.",
    "At chance: for a model that always names the most frequent class; near it an index says nothing.",
)


def spread_section(
    spreads: Mapping[str, Sequence[Estimate]], histogram: Table, charts: Sequence[Chart] = ()
) -> Section:
    """One table a measure; the histogram is of the first."""
    gap = next(e for e in next(iter(spreads.values())) if e.summary == "gap")
    if math.isnan(gap.value):
        lead = f"There is no spread to speak of: {gap.reason}."
    else:
        lead = f"Best and worst unit differ by {sized(gap)}."
    if not math.isnan(gap.expected):
        lead += f" If all units were equal, noise alone would show {number(gap.expected)} "
        lead += f"(p = {gap.p_value:.2g})."
    first, *_ = spreads
    grids = [_indices(measure, found) for measure, found in spreads.items()]
    bars = ((f"{r['from']:.1f} to {r['up_to']:.1f}", r["units"]) for r in histogram.rows())
    grids.append(Grid.of(f"Units by {first}", {first: "text", "units": "count"}, bars))
    return Section("Is it unfair, or is it noise?", lead, (), tuple(grids), NOTES, tuple(charts))


def _indices(measure: str, found: Sequence[Estimate]) -> Grid:
    rows = [
        (e.summary, e.value, (e.low, e.high), e.expected, e.excess, e.p_value, e.chance, e.reason)
        for e in found
    ]
    return Grid.of(
        f"Spread of {measure} over units",
        {
            "index": "text", "value": "number", "interval": "interval", "if all were equal": "number",
            "excess": "number", "p": "number", "at chance": "number", "undefined because": "text",
        },
        rows,
    )  # fmt: skip
