"""How unlike the class shares of units are. ``counts`` are ``[units, classes]``."""

from __future__ import annotations

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.types import Floats


def shares(counts: Floats) -> Floats:
    """Counts over their sum, along the last axis; ``nan`` of nothing."""
    return ratio(counts, np.broadcast_to(counts.sum(-1, keepdims=True), counts.shape))


def total_variation(counts: Floats) -> Floats:
    """Half the sum of ``|p - q|`` between a unit's shares and those of all units together.

    >>> total_variation(np.array([[4.0, 0.0], [0.0, 4.0]])).tolist()
    [0.5, 0.5]
    """
    return np.asarray(np.abs(shares(counts) - shares(counts.sum(0))).sum(-1) / 2)


def entropy(counts: Floats) -> Floats:
    """``-sum p ln p`` of each unit, in nats: 0 for one class, ``ln K`` when all K are as frequent.

    >>> entropy(np.array([[5.0, 0.0], [2.0, 2.0]])).round(4).tolist()
    [0.0, 0.6931]
    """
    p = shares(counts)
    return np.asarray(-(p * np.log(np.where(p > 0, p, 1.0))).sum(-1) + 0.0)


def power_sizes(items: int, units: int, exponent: float) -> Floats:
    """Sizes proportional to ``rank ** -exponent``, that sum to `items` (not yet whole).

    >>> power_sizes(60_000, 100, 1.0)[[0, 9, 49, 99]].round().astype(int).tolist()
    [11567, 1157, 231, 116]
    """
    weight = np.arange(1, units + 1, dtype=float) ** -exponent
    return np.asarray(items * weight / weight.sum())
