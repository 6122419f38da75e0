"""Is the model better than one that always names the most frequent class? Row by row, on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.interval import normal
from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Estimate
from muster.summaries.estimates import Units
from muster.summaries.leaving_out import by_units, leave_out

ENOUGH = 30


def over_chance(block: Block, level: float = 0.95, units: Units = "sampled") -> Estimate:
    """Accuracy less that of the most frequent class, paired: both answer the same rows.

    Rows on which one is right and the other wrong are all that counts; half a row is
    added to either side, so that few rows do not look certain. Where units are sampled,
    the interval knows of it.

    >>> from muster.measures import count, lookup
    >>> from muster.records import Labelled, Table
    >>> seen = Labelled(np.zeros(6, int), 1, np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 0]), 2)
    >>> found = over_chance(Block(Table({}), count(seen, lookup(["accuracy"]))))
    >>> round(found.value, 3), found.low < 0 < found.high
    (0.333, True)
    """
    counts = counts_of(block.tallies).sum(0)
    rows, of = counts.sum(), counts.sum(-1)
    facts: dict[str, Any] = {"measure": "accuracy", "summary": "over_chance", "n": int(rows), "level": level}
    if (of > 0).sum() < 2:
        reason = "no rows" if not rows else "only one class occurs: always naming it cannot be beaten"
        return Estimate(value=np.nan, reason=reason, **facts)
    most = int(of.argmax())
    gained, lost = np.trace(counts) - counts[most, most], of[most] - counts[most, most]
    value, both = (gained - lost) / rows, gained + lost + 1
    error = np.sqrt(max(both - (gained - lost) ** 2 / (rows + 1), 0)) / (rows + 1)
    low, high = normal(np.asarray(value), np.asarray(error), level, (-1.0, 1.0))
    if units == "sampled":
        wide = by_units(leave_out(block), lambda tallies: _gain(counts_of(tallies), most), level)
        low, high = np.fmin(low, wide[0]), np.fmax(high, wide[1])
    return Estimate(
        value=float(value),
        low=max(float(np.ravel(low)[0]), -1.0),
        high=min(float(np.ravel(high)[0]), 1.0),
        chance=float(of[most] / rows),
        units=int(block.units.sum()),
        method="paired",
        **facts,
    )


def tells_apart(kappa: Estimate) -> bool:
    """Does the model agree with the truth beyond chance? Of a few rows, kappa's interval says too much."""
    return kappa.low > 0 and kappa.n >= ENOUGH


def _gain(counts: Floats, most: int) -> Floats:
    right = np.trace(counts, axis1=-2, axis2=-1)
    return np.asarray(ratio(right - counts[..., most, :].sum(-1), counts.sum((-1, -2))))
