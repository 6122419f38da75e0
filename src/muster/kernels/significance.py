"""How likely is it by chance? P-values for arrays of units at once, and their correction for many looks."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, chdtrc, gammaln

from muster.kernels.confusion import ratio
from muster.kernels.resample import shares
from muster.kernels.types import Floats

_EXPECTED, _DRAWN, _TAIL = 5.0, 20_000_000, 40.0


def holm(p: Floats) -> Floats:
    """P-values corrected for looking at many (Holm 1979); ``nan`` stays and does not count.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    out = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(order.size, 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out


def below(right: Floats, rows: Floats, share: Floats | float) -> Floats:
    """Exact binomial p-value that a unit's true share is at least `share`, given how few are right.

    >>> below(np.array([2.0]), np.array([10.0]), 0.5).round(4).tolist()
    [0.0547]
    """
    p = bdtr(right, np.maximum(rows, 1).astype(np.int64), np.clip(share, 0, 1))
    return np.where((rows > 0) & ~np.isnan(share), p, np.nan)


def fewer(right: float, rows: float, others_right: float, others_rows: float) -> float:
    """Exact one-sided p-value that the first share is not below the second (Fisher 1935).

    >>> round(fewer(1, 4, 9, 10), 4)
    0.041
    """
    if not rows or not others_rows:
        return float("nan")
    whole, hits = rows + others_rows, right + others_right
    reach = np.ceil(_TAIL * (np.sqrt(rows * others_rows * hits * (whole - hits)) / whole**1.5 + 1))
    below = right * whole <= rows * hits
    start, end = (right - reach, right) if below else (right + 1, right + reach)
    k = np.arange(max(start, 0, rows + hits - whole), min(end, rows, hits) + 1)
    log = _choose(hits, k) + _choose(whole - hits, rows - k) - _choose(whole, rows)
    tail = min(float(np.exp(log).sum()), 1.0)
    return tail if below else 1 - tail


def homogeneity(right: Floats, rows: Floats, draws: int = 999, seed: int = 0) -> tuple[float, float]:
    """Chi-square statistic and p-value of "all units have one share".

    Where a unit has too few rows for the chi-square distribution to hold, the p-value
    is that of populations drawn with one share for all.

    >>> statistic, p = homogeneity(np.array([80.0, 60.0]), np.array([100.0, 100.0]))
    >>> round(statistic, 3), round(p, 4)
    (9.524, 0.002)
    """
    right, rows = right[rows > 0], rows[rows > 0]
    share = right.sum() / rows.sum() if rows.size else np.nan
    if rows.size < 2 or not 0 < share < 1:
        return float("nan"), float("nan")
    statistic = float(_chi_square(right, rows))
    if rows.min() * min(share, 1 - share) >= _EXPECTED:
        return statistic, float(chdtrc(rows.size - 1, statistic))
    times = int(np.clip(_DRAWN // rows.size, 99, draws))
    draw = shares(np.full(rows.size, share), rows)
    drawn = draw((times, rows.size), np.random.default_rng(seed))
    worse = (_chi_square(drawn * rows, rows) >= statistic * (1 - 1e-9)).sum()
    return statistic, float((1 + worse) / (1 + times))


def _chi_square(right: Floats, rows: Floats) -> Floats:
    share = (right.sum(-1) / rows.sum())[..., None]
    return np.asarray(ratio((right - rows * share) ** 2, rows * share * (1 - share)).sum(-1))


def _choose(n: float, k: Floats | float) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
