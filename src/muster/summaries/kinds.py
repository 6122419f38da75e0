"""The kinds of evaluation: local, per sample, per unit, on a shared test set, on hold-out units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from muster.errors import BadConfig, nearest
from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Estimate, Measure, Table, stack
from muster.summaries.estimates import Units, finish, finish_pooled, spelled
from muster.summaries.trend import moments


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """Entries by what their unit is for. Members are all that are neither hold-out nor shared."""

    members: Block
    holdout: Block
    shared: Block


def roles(block: Block, holdout: Sequence[str | int] = (), shared: Sequence[str | int] = ()) -> Roles:
    """Units never trained on, units that hold a test set shared by all, and the members."""
    names = np.array([str(unit) for unit in block.keys["unit"].tolist()], dtype=object)
    known = set(names.tolist())
    held, common = ([str(name) for name in part] for part in (holdout, shared))
    for name in (*held, *common):
        if name not in known:
            raise BadConfig(f"no unit {name!r}{nearest(name, known)}, asked for as hold-out or shared")
    both = set(held) & set(common)
    if both:
        raise BadConfig(f"{', '.join(sorted(both))} cannot be a hold-out and shared")
    out, alike = (np.isin(names, part) for part in (held, common))
    if (out | alike).all():
        raise BadConfig("every unit is a hold-out or shared: no member is left")
    return Roles(*(block.where(rows) for rows in (~out & ~alike, out, alike)))


def kinds(
    of: Roles,
    measures: Sequence[Measure],
    classes: Sequence[str],
    level: float = 0.95,
    units: Units = "sampled",
) -> list[Table]:
    """Every kind of evaluation under its name, at every time."""
    single = [measure for measure in measures if measure.shape == "unit"]

    def whole(block: Block, summary: str) -> Table:
        return finish_pooled(block, measures, classes, summary=summary, level=level, units=units)

    found = [
        finish(of.members, single, classes, summary="unit", level=level),
        whole(of.members, "per_sample"),
        per_unit_mean(of.members, single, summary="per_unit", level=level),
    ]
    if len(of.shared):
        found.append(whole(of.shared, "global"))
    if len(of.holdout):
        found += [
            whole(of.holdout, "holdout_per_sample"),
            finish(of.holdout, single, classes, summary="holdout_unit", level=level),
            per_unit_mean(of.holdout, single, summary="holdout_per_unit", level=level),
        ]
    return found


def per_unit_mean(block: Block, measures: Sequence[Measure], *, summary: str, level: float = 0.95) -> Table:
    """For every time, the mean of the finished values over units where they are defined.

    The interval is Student's over units: it is for the mean of the population
    that the units were drawn from. It is never narrower than the noise of the items makes it.
    """
    model = str(block.keys["model"][0])
    tables = []
    for moment, now in moments(block):
        rows = counts_of(now.tallies).sum((-1, -2))
        found = [_mean(measure, now, rows, summary, level) for measure in measures]
        tables.append(spelled(found, model=model, time=moment))
    return stack(tables)


def _mean(measure: Measure, block: Block, rows: Floats, summary: str, level: float) -> Estimate:
    values = measure.finish(block.tallies)
    known = ~np.isnan(values)
    units, n = int(known.sum()), int(rows[known].sum())
    facts: dict[str, Any] = {
        "measure": measure.name,
        "summary": summary,
        "n": n,
        "units": units,
        "level": level,
    }
    if not units:
        return Estimate(value=np.nan, reason=f"undefined for every unit: {measure.undefined}", **facts)
    value = float(values[known].mean())
    if units == 1:
        return Estimate(value=value, method="no interval", **facts)
    reach = stdtrit(units - 1, 0.5 + level / 2) * values[known].std(ddof=1) / np.sqrt(units)
    reach = max(float(reach), _noise(measure, block, values, level))
    low, high = np.clip((value - reach, value + reach), *measure.bounds)
    return Estimate(value=value, low=float(low), high=float(high), method="Student over units", **facts)


def _noise(measure: Measure, block: Block, values: Floats, level: float) -> float:
    """How far the mean may be off because the items of each unit are few."""
    if measure.interval is None:
        return 0.0
    low, high = measure.interval(block.tallies, level)
    reach = np.fmax(high - values, values - low)
    return float(np.sqrt(np.nansum(reach**2)) / max((~np.isnan(values)).sum(), 1))
