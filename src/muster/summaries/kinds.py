"""The kinds of evaluation: local, per sample, per unit, on a shared test set, on hold-out units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from muster.errors import BadConfig, nearest
from muster.kernels.codes import natural
from muster.records import Block, Estimate, Measure, Table, stack
from muster.summaries.estimates import Units, finish, finish_pooled, spelled


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

    def each(block: Block, summary: str) -> Table:
        return finish(block, single, classes, summary=summary, level=level)

    own = each(of.members, "unit")
    found = [own, whole(of.members, "per_sample"), per_unit_mean(own, single, "per_unit", level)]
    if len(of.shared):
        found.append(whole(of.shared, "global"))
    if len(of.holdout):
        own = each(of.holdout, "holdout_unit")
        mean = per_unit_mean(own, single, "holdout_per_unit", level)
        found += [whole(of.holdout, "holdout_per_sample"), own, mean]
    return found


def per_unit_mean(units: Table, measures: Sequence[Measure], summary: str, level: float = 0.95) -> Table:
    """For every time, the mean of the finished values over units where they are defined.

    `units` is the table of those values, all entries of the first measure first. The interval
    is Student's over units: it is for the mean of the population that the units were drawn
    from. It is never narrower than the noise of the items makes it.
    """
    entries = len(units) // len(measures)
    model, times = str(units["model"][0]), units["time"][:entries]
    tables = []
    for moment in natural(times.tolist()):
        now = np.flatnonzero(times == moment)
        found = [
            _mean(measure, units.where(now + i * entries), summary, level)
            for i, measure in enumerate(measures)
        ]
        tables.append(spelled(found, model=model, time=moment))
    return stack(tables)


def _mean(measure: Measure, units: Table, summary: str, level: float) -> Estimate:
    known = units.where(~np.isnan(units["value"]))
    values, many = known["value"], len(known)
    facts: dict[str, Any] = {
        "measure": measure.name,
        "summary": summary,
        "n": int(known["n"].sum()),
        "units": many,
        "level": level,
    }
    if not many:
        return Estimate(value=np.nan, reason=f"undefined for every unit: {measure.undefined}", **facts)
    value = float(values.mean())
    if many == 1:
        return Estimate(value=value, method="no interval", **facts)
    spread = stdtrit(many - 1, 0.5 + level / 2) * values.std(ddof=1) / np.sqrt(many)
    items = np.fmax(known["high"] - values, values - known["low"])
    reach = max(float(spread), float(np.sqrt(np.nansum(items**2))) / many)
    low, high = np.clip((value - reach, value + reach), *measure.bounds)
    return Estimate(value=value, low=float(low), high=float(high), method="Student over units", **facts)
