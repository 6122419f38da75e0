"""Intervals in closed form, for arrays of units at once."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from muster.kernels.confusion import ratio
from muster.kernels.types import Floats

Pair = tuple[Floats, Floats]


def quantile(level: float) -> float:
    """How many standard errors a two-sided interval of this level reaches.

    >>> round(quantile(0.95), 3)
    1.96
    """
    return float(ndtri(0.5 + level / 2))


def wilson(right: Floats, rows: Floats, level: float = 0.95) -> Pair:
    """Score interval of a share (Wilson 1927): sound at 0, at 1 and for few rows.

    >>> [round(float(x), 4) for x in wilson(np.array(8.0), np.array(10.0))]
    [0.4902, 0.9433]
    """
    z2 = quantile(level) ** 2
    share, wider = ratio(right, rows), rows + z2
    middle = (right + z2 / 2) / wider
    reach = np.sqrt(z2 * (share * (1 - share) * rows + z2 / 4)) / wider
    unseen = np.where(rows > 0, 0.0, np.nan)
    return np.maximum(middle - reach, 0) + unseen, np.minimum(middle + reach, 1) + unseen


def normal(value: Floats, error: Floats, level: float, bounds: tuple[float, float]) -> Pair:
    """Value plus and minus its standard errors, kept within the bounds of the measure."""
    reach = quantile(level) * error
    return np.clip(value - reach, *bounds), np.clip(value + reach, *bounds)


def student(total: Floats, squares: Floats, rows: Floats, level: float) -> Pair:
    """Interval of a mean from sums of values and of squares; undefined for one row.

    >>> low, high = student(np.array(6.0), np.array(14.0), np.array(3.0), 0.95)
    >>> round(float(low), 3), round(float(high), 3)
    (-0.484, 4.484)
    """
    mean = ratio(total, rows)
    freedom = np.where(rows > 1, rows - 1, np.nan)
    error = np.sqrt(np.maximum(ratio(squares - rows * mean**2, freedom * rows), 0))
    reach = stdtrit(freedom, 0.5 + level / 2) * error
    return mean - reach, mean + reach


def correlation(r: float, pairs: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of a correlation by Fisher's z; undefined below four pairs.

    >>> tuple(round(x, 3) for x in correlation(0.5, 30))
    (0.17, 0.729)
    """
    if pairs < 4 or not abs(r) < 1:
        return float("nan"), float("nan")
    reach = quantile(level) / np.sqrt(pairs - 3)
    return float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach))
