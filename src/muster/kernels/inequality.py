"""How unevenly a population fares: one value a unit in, one number out.

All take values in **ascending order** along the last axis (``np.sort`` first):
sorted once, a thousand bootstrap draws are read by every index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.types import Floats


def mean(x: Floats) -> Floats:
    """Plain mean over units: each counts the same."""
    return ratio(x.sum(-1), np.asarray(float(x.shape[-1])))


def jain(x: Floats) -> Floats:
    """``(sum x)^2 / (n sum x^2)`` (Jain 1984): 1 when all fare alike, 1/n when one has all.

    >>> jain(np.array([0.2, 0.5, 0.9])).round(6).item()
    0.775758
    """
    return ratio(x.sum(-1) ** 2, x.shape[-1] * (x**2).sum(-1))


def gini(x: Floats) -> Floats:
    """Mean absolute difference over twice the mean: 0 when all fare alike, at most (n-1)/n.

    >>> gini(np.array([0.1, 0.5, 0.9])).round(6).item()
    0.355556
    """
    n = x.shape[-1]
    lean = 2 * np.arange(1, n + 1) - n - 1
    return ratio((x * lean).sum(-1), n * x.sum(-1))


def gini_error(x: Floats) -> Floats:
    """Gini of ``1 - x``: of the errors, where `x` is a share of right answers.

    >>> gini_error(np.array([0.9, 0.97, 0.98, 0.99])).round(3).item()
    0.437
    """
    return gini(1 - x[..., ::-1])


def gap(x: Floats) -> Floats:
    """Best minus worst. Grows with the number of units and with noise.

    >>> gap(np.array([0.5, 0.75, 0.9])).item()
    0.4
    """
    return x[..., -1] - x[..., 0] if x.shape[-1] else _nothing(x)


def variance_ddof0(x: Floats) -> Floats:
    """Mean squared distance from the mean, over n."""
    return np.maximum(x.var(-1), 0.0) if x.shape[-1] else _nothing(x)


def variance_ddof1(x: Floats) -> Floats:
    """Mean squared distance from the mean, over n - 1; undefined for one unit.

    >>> variance_ddof1(np.array([0.83, 0.84, 0.85, 0.86, 0.87])).round(8).item()
    0.00025
    """
    return x.var(-1, ddof=1) if x.shape[-1] > 1 else _nothing(x)


def std_ddof0(x: Floats) -> Floats:
    """Root of the variance over n."""
    return np.sqrt(variance_ddof0(x))


def std_ddof1(x: Floats) -> Floats:
    """Root of the variance over n - 1."""
    return np.sqrt(variance_ddof1(x))


def cov(x: Floats) -> Floats:
    """Coefficient of variation: standard deviation (ddof 0) over the mean."""
    return ratio(std_ddof0(x), mean(x))


def minimum(x: Floats) -> Floats:
    """The worst unit, where more is better."""
    return x[..., 0] if x.shape[-1] else _nothing(x)


def maximum(x: Floats) -> Floats:
    """The best unit, where more is better."""
    return x[..., -1] if x.shape[-1] else _nothing(x)


def median(x: Floats) -> Floats:
    """The unit in the middle."""
    return percentile(x, 50)


def p10(x: Floats) -> Floats:
    """The 10th percentile (linear interpolation): one tenth of the units lie below.

    >>> p10(np.linspace(0.5, 0.95, 20)).round(3).item()
    0.545
    """
    return percentile(x, 10)


def worst_tenth(x: Floats) -> Floats:
    """Mean of the lowest tenth of the units, at least one.

    >>> worst_tenth(np.linspace(0.5, 0.95, 20)).round(3).item()
    0.512
    """
    return x[..., : max(1, x.shape[-1] // 10)].mean(-1) if x.shape[-1] else _nothing(x)


def lorenz(x: Floats, points: int = 101) -> tuple[Floats, Floats]:
    """Share of the units, worst first, and the share of the sum that they have (Lorenz 1905).

    >>> units, held = lorenz(np.array([1.0, 3.0]), 3)
    >>> units.tolist(), held.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.25, 1.0])
    """
    at = np.linspace(0, 1, points)
    held = np.append(0.0, ratio(np.cumsum(x), np.asarray(x.sum())))
    return at, np.interp(at, np.linspace(0, 1, held.size), held)


def max_deviation(x: Floats, level: Floats) -> Floats:
    """Equalized accuracy: the farthest any unit lies from `level`, on either side.

    >>> max_deviation(np.array([0.75, 0.85]), np.array(0.8)).round(3).item()
    0.05
    """
    return np.maximum(maximum(x) - level, level - minimum(x))


def max_shortfall(x: Floats, level: Floats) -> Floats:
    """The same on one side: how far the worst unit lies below `level`."""
    return np.maximum(level - minimum(x), 0.0)


def percentile(x: Floats, q: float) -> Floats:
    """Linear interpolation between neighbours, as NumPy's default."""
    if not x.shape[-1]:
        return _nothing(x)
    at = q / 100 * (x.shape[-1] - 1)
    low = int(at)
    high = min(low + 1, x.shape[-1] - 1)
    return np.asarray(x[..., low] + (at - low) * (x[..., high] - x[..., low]))


def under(x: Floats, share: float) -> Floats:
    """How many units lie below `share` of the mean over units."""
    return np.asarray((x < share * mean(x)[..., None]).sum(-1), float)


def indices(x: Floats, level: Floats, share: float) -> dict[str, Floats]:
    """Every index by name; `level` is the pooled value, ``under`` counts units below `share` of the mean."""
    found = {name: index(x) for name, index in SPREADS.items()}
    found["under"] = under(x, share)
    found["max_deviation"] = max_deviation(x, level)
    found["max_shortfall"] = max_shortfall(x, level)
    return found


SPREADS: Mapping[str, Callable[[Floats], Floats]] = {
    "mean": mean,
    "min": minimum,
    "p10": p10,
    "worst_tenth": worst_tenth,
    "median": median,
    "max": maximum,
    "gap": gap,
    "variance_ddof0": variance_ddof0,
    "variance_ddof1": variance_ddof1,
    "std_ddof0": std_ddof0,
    "std_ddof1": std_ddof1,
    "cov": cov,
    "jain": jain,
    "gini": gini,
    "gini_error": gini_error,
}


def _nothing(x: Floats) -> Floats:
    return np.full(x.shape[:-1], np.nan)
