"""Two sides of the same items or units: is one better, and how likely is that by chance?"""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, ndtr

from muster.kernels.interval import wilson
from muster.kernels.ranking import ranks
from muster.kernels.types import Floats

_EXACT = 25
Pair = tuple[Floats, Floats]


def mcnemar(only_a: Floats, only_b: Floats) -> Floats:
    """Exact two-sided p-value that both sides are right equally often (McNemar 1947).

    Items on which one is right and the other wrong are all that counts.

    >>> mcnemar(np.array([1.0, 0.0]), np.array([8.0, 0.0])).round(4).tolist()
    [0.0391, 1.0]
    """
    fewer, both = np.minimum(only_a, only_b), only_a + only_b
    return np.where(
        both > 0, np.minimum(2 * bdtr(fewer, np.maximum(both, 1).astype(np.int64), 0.5), 1.0), 1.0
    )


def wilcoxon(differences: Floats) -> float:
    """Two-sided p-value of the signed-rank test (Wilcoxon 1945); differences of 0 are left out.

    Exact up to 25 differences without ties, else normal with the correction for ties.

    >>> round(wilcoxon(np.array([0.1, 0.2, 0.3, 0.4, -0.05])), 4)
    0.125
    """
    kept = differences[~np.isnan(differences) & (differences != 0)]
    if not kept.size:
        return 1.0
    rank = ranks(np.abs(kept))
    plus, whole = float(rank[kept > 0].sum()), kept.size * (kept.size + 1) / 2
    least = min(plus, whole - plus)
    _, sizes = np.unique(np.abs(kept), return_counts=True)
    if kept.size <= _EXACT and sizes.max() == 1:
        ways = np.ones(1)
        for one in range(1, kept.size + 1):
            ways = np.pad(ways, (0, one)) + np.pad(ways, (one, 0))
        return float(min(2 * ways[: int(least) + 1].sum() / ways.sum(), 1.0))
    variance = whole * (2 * kept.size + 1) / 12 - (sizes**3 - sizes).sum() / 48
    return float(min(2 * ndtr((least - whole / 2) / np.sqrt(variance)), 1.0))


def difference_paired(only_a: Floats, only_b: Floats, rows: Floats, z: float) -> Pair:
    """Interval of the difference of two shares of the same rows; half a row is added to either side.

    >>> low, high = difference_paired(np.array(0.0), np.array(0.0), np.array(20.0), 1.96)
    >>> round(float(low), 3), round(float(high), 3)
    (-0.093, 0.093)
    """
    value = (only_b - only_a) / np.maximum(rows, 1)
    error = np.sqrt(np.maximum(only_a + only_b + 1 - (only_b - only_a) ** 2 / (rows + 1), 0)) / (rows + 1)
    return np.maximum(value - z * error, -1), np.minimum(value + z * error, 1)


def difference_apart(
    right_a: Floats, rows_a: Floats, right_b: Floats, rows_b: Floats, *, level: float
) -> Pair:
    """Interval of the difference of two shares of different rows (Newcombe 1998).

    >>> low, high = difference_apart(*(np.array(float(x)) for x in (56, 70, 48, 80)), level=0.95)
    >>> round(float(low), 4), round(float(high), 4)
    (-0.3339, -0.0524)
    """
    a, b = right_a / np.maximum(rows_a, 1), right_b / np.maximum(rows_b, 1)
    (low_a, high_a), (low_b, high_b) = wilson(right_a, rows_a, level), wilson(right_b, rows_b, level)
    down, up = np.hypot(high_a - a, b - low_b), np.hypot(a - low_a, high_b - b)
    return b - a - down, b - a + up


def two_sided(drawn: Floats) -> float:
    """P-value that a difference is 0, from draws of it: twice the smaller share beyond 0.

    >>> two_sided(np.array([0.1, 0.2, 0.3]))
    0.5
    """
    known = drawn[~np.isnan(drawn)]
    beyond = min((known <= 0).sum(), (known >= 0).sum())
    return float(min(2 * (1 + beyond) / (1 + known.size), 1.0))
