"""For whom is it not? The units that fare worst, and what may be said of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from muster.records import Estimate, Grid
from muster.records.section import HELD
from muster.reports.words import interval, number
from muster.summaries.underserved import Units


def units_lead(units: Units, indices: Sequence[Estimate], share: float) -> str:
    """How many units are under-served, said with and without regard to noise."""
    under = next(e for e in indices if e.summary == "under")
    count = {name: int((units["finding"] == name).sum()) for name in set(units["finding"].tolist())}
    lead = (
        f"{count.get('under-served', 0)} of {len(units):,} units are under-served: below {share:g} of "
        f"the mean over the others beyond noise, corrected for looking at all. "
        f"{count.get('low, unproven', 0)} are as low with too few rows to tell, "
        f"{count.get('below the mean', 0)} more are below the mean."
    )
    if count.get("no rows"):
        lead += f" {count['no rows']} have no rows."
    if not math.isnan(under.expected):
        lead += (
            f" Counted without regard to noise, {number(under.value, 0)} lie below {share:g} of the mean; "
            f"equal units would show {number(under.expected, 1)}."
        )
    return lead


def units_grid(units: Units, shown: int) -> Grid:
    """The worst units first."""
    rows = (
        (str(r["unit"]), r["n"], r["accuracy"], (r["low"], r["high"]), r["p_under_share"], r["finding"])
        for r in units.worst(HELD).rows()
    )
    return Grid.of(
        "Worst units",
        {
            "unit": "text", "rows": "count", "accuracy": "number", "interval": "interval",
            "p (Holm)": "number", "finding": "text",
        },
        rows,
        shown=shown,
        total=len(units),
        searched=True,
    )  # fmt: skip


def size_note(estimate: Estimate) -> str:
    """Whether larger units fare better, in a sentence."""
    kind = "Pearson" if estimate.summary == "size_pearson" else "Spearman"
    said = f"Correlation of rows and {estimate.measure} ({kind})"
    if math.isnan(estimate.value):
        return f"{said}: undefined, {estimate.reason}."
    span = interval(estimate.low, estimate.high)
    found = f"{said}: {estimate.value:.2f} {span} over {estimate.units:,} units"
    if math.isnan(estimate.expected):
        return f"{found}."
    return f"{found}; {estimate.expected:.2f} if all were equal (p = {estimate.p_value:.2g})."
