"""How evenly a population fares in every round: all indices of all rounds at once, nothing redrawn."""

from __future__ import annotations

import numpy as np

from muster.kernels import inequality
from muster.records import Rounds, Table

SHARE = 0.8


def over_rounds(log: Rounds, share: float = SHARE) -> Table:
    """One row a round: ``pooled`` over rows, and every index of the units that were there.

    >>> log = Rounds(rounds=np.array([1, 2]), units=np.array(["a", "b"], object),
    ...              values=np.array([[0.5, 0.9], [0.8, np.nan]]), rows=np.array([[10.0, 30.0], [10.0, 0.0]]))
    >>> table = over_rounds(log)
    >>> table["pooled"].tolist(), table["gap"].tolist(), table["units"].tolist()
    ([0.8, 0.8], [0.4, 0.0], [2, 1])
    """
    values = np.where(log.rows > 0, log.values, np.nan)
    there = (~np.isnan(values)).sum(1)
    ordered, pooled = np.sort(values, 1), log.pooled
    names = (*inequality.SPREADS, "under", "max_deviation", "max_shortfall")
    found = {name: np.full(len(there), np.nan) for name in names}
    for count in np.unique(there[there > 0]).tolist():
        rows = there == count
        for name, value in inequality.indices(ordered[rows, :count], pooled[rows], share).items():
            found[name][rows] = value
    return Table.of({"round": log.rounds, "units": there, "pooled": pooled, **found})
