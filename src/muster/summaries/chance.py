"""Is the model better than one that always names the most frequent class? Row by row, on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from muster.kernels.interval import normal
from muster.measures.confusion import counts_of
from muster.records import Block, Estimate


def over_chance(block: Block, level: float = 0.95) -> Estimate:
    """Accuracy less that of the most frequent class, paired: both answer the same rows.

    Rows on which one is right and the other wrong are all that counts; half a row is
    added to either side, so that few rows do not look certain.

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
    return Estimate(
        value=float(value),
        low=float(low),
        high=float(high),
        chance=float(of[most] / rows),
        units=int(block.units.sum()),
        method="paired",
        **facts,
    )
