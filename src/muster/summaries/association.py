"""Do larger units fare better? Correlation of size and accuracy, with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from muster.kernels.interval import correlation
from muster.kernels.ranking import ranks
from muster.kernels.resample import shares
from muster.kernels.types import Floats
from muster.records import Estimate

DRAWN = 4_000_000


def with_size(
    right: Floats, rows: Floats, *, level: float = 0.95, draws: int = 500, seed: int = 0
) -> list[Estimate]:
    """Pearson's and Spearman's correlation of rows and accuracy over units.

    ``expected`` is that of units which are all equal: it is not 0, for the accuracy
    of few rows is skewed. The p-value is the share of such populations that show as much.

    >>> import numpy as np
    >>> rows = np.array([10.0, 20, 30, 40, 60])
    >>> found = with_size(rows * [0.5, 0.6, 0.7, 0.8, 0.8], rows)
    >>> [round(estimate.value, 3) for estimate in found]
    [0.917, 0.975]
    """
    right, rows = right[rows > 0], rows[rows > 0]
    times = min(draws, max(DRAWN // max(rows.size, 1), 19))
    equal = np.zeros((0, rows.size))
    if draws and rows.size:
        draw = shares(np.full(rows.size, right.sum() / rows.sum()), rows)
        equal = draw((times, rows.size), np.random.default_rng(seed))
    kinds: dict[str, Callable[[Floats], Floats]] = {"size_pearson": np.asarray, "size_spearman": ranks}
    found = [right / rows, *equal]
    return [
        _one(name, scale(rows), [scale(x) for x in found], level, int(rows.sum()))
        for name, scale in kinds.items()
    ]


def _one(name: str, size: Floats, values: Sequence[Floats], level: float, n: int) -> Estimate:
    """`values` are those seen, then those of populations whose units are all equal."""
    seen, *equal = values
    units = int(size.size)
    if units < 3 or np.ptp(size) == 0 or np.ptp(seen) == 0:
        reason = "fewer than three units" if units < 3 else "all units have the same size or the same value"
        return Estimate(measure="accuracy", summary=name, value=np.nan, n=n, units=units, reason=reason)
    r = _correlation(size, seen)
    low, high = correlation(r, units, level)
    drawn = np.array([_correlation(size, row) for row in equal if np.ptp(row) > 0])
    return Estimate(
        measure="accuracy",
        summary=name,
        value=r,
        low=low,
        high=high,
        level=level,
        expected=float(drawn.mean()) if drawn.size else np.nan,
        p_value=float((1 + (drawn >= r - 1e-9).sum()) / (1 + drawn.size)) if drawn.size else np.nan,
        n=n,
        units=units,
        method="Fisher z",
    )


def _correlation(x: Floats, y: Floats) -> float:
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
