"""The mean over units: every unit weighs the same, however few rows it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from muster.measures.confusion import counts_of
from muster.records import Block, Estimate, Measure, Table, stack
from muster.summaries.estimates import spelled


def per_unit_mean(block: Block, measures: Sequence[Measure], *, summary: str, level: float = 0.95) -> Table:
    """For every time, the mean of the finished values over units where they are defined.

    The interval is Student's over units: it is for the mean of the population
    that the units were drawn from.
    """
    tables = []
    model = str(block.keys["model"][0])
    for time in sorted(set(block.keys["time"].tolist())):
        now = block.where(block.keys["time"] == time)
        rows = counts_of(now.tallies).sum((-1, -2))
        found = [_mean(measure, measure.finish(now.tallies), rows, summary, level) for measure in measures]
        tables.append(spelled(found, model=model, time=time))
    return stack(tables)


def _mean(measure: Measure, values: Any, rows: Any, summary: str, level: float) -> Estimate:
    known = ~np.isnan(values)
    units, n = int(known.sum()), int(rows[known].sum())
    if not units:
        reason = f"undefined for every unit: {measure.undefined}"
        return Estimate(measure=measure.name, summary=summary, value=np.nan, n=n, reason=reason)
    value = float(values[known].mean())
    reach = np.nan
    if units > 1:
        reach = float(stdtrit(units - 1, 0.5 + level / 2) * values[known].std(ddof=1) / np.sqrt(units))
    return Estimate(
        measure=measure.name,
        summary=summary,
        value=value,
        low=float(max(value - reach, measure.bounds[0])) if units > 1 else np.nan,
        high=float(min(value + reach, measure.bounds[1])) if units > 1 else np.nan,
        level=level,
        n=n,
        units=units,
        method="Student over units" if units > 1 else "no interval",
    )
