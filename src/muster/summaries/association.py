"""Do larger units fare better? Correlation of size and value, with its interval."""

from __future__ import annotations

import numpy as np

from muster.kernels.interval import correlation
from muster.kernels.ranking import ranks
from muster.kernels.types import Floats
from muster.records import Estimate


def with_size(measure: str, values: Floats, rows: Floats, level: float = 0.95) -> list[Estimate]:
    """Pearson's and Spearman's correlation of rows and values over units.

    >>> import numpy as np
    >>> found = with_size("accuracy", np.array([0.5, 0.6, 0.7, 0.8, 0.8]), np.array([10.0, 20, 30, 40, 60]))
    >>> [round(estimate.value, 3) for estimate in found]
    [0.917, 0.975]
    """
    known = ~np.isnan(values)
    x, y = rows[known], values[known]
    return [
        _one(measure, "size_pearson", x, y, level),
        _one(measure, "size_spearman", ranks(x), ranks(y), level),
    ]


def _one(measure: str, name: str, x: Floats, y: Floats, level: float) -> Estimate:
    units, n = int(x.size), int(x.sum())
    if units < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        reason = "fewer than three units" if units < 3 else "all units have the same size or the same value"
        return Estimate(measure=measure, summary=name, value=np.nan, n=n, units=units, reason=reason)
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    low, high = correlation(r, units, level)
    return Estimate(
        measure=measure,
        summary=name,
        value=r,
        low=low,
        high=high,
        expected=0.0,
        n=n,
        units=units,
        method="Fisher z",
    )
