"""Confusion counts of many cells at once, and what is read off them.

``counts[..., t, g]`` is how often class `t` was answered with `g`. A class that
does not occur is undefined (``nan``), not 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muster.kernels.codes import tabulate
from muster.kernels.types import Codes, Floats


def count(cell: Codes, truth: Codes, guess: Codes, cells: int, classes: int) -> Floats:
    """One pass over the rows: ``[cells, classes, classes]``.

    >>> count(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 0, 1]), 2, 2)[0].tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    return tabulate((cell, truth, guess), (cells, classes, classes))


def ratio(top: Floats, bottom: Floats, otherwise: float = np.nan) -> Floats:
    """Division that leaves 0/0 undefined, or what it is said to be.

    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    top, bottom = np.broadcast_arrays(top, bottom)
    out: Floats = np.full(top.shape, otherwise)
    np.divide(top, bottom, out=out, where=bottom != 0)
    return out


def mean_defined(values: Floats) -> Floats:
    """Mean over the last axis of what is defined; ``nan`` where nothing is.

    >>> mean_defined(np.array([[0.5, np.nan], [np.nan, np.nan]])).tolist()
    [0.5, nan]
    """
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0.0).sum(-1), known.sum(-1).astype(float))


def accuracy(counts: Floats) -> Floats:
    """Share of right answers."""
    return ratio(_hits(counts).sum(-1), counts.sum((-1, -2)))


def recall(counts: Floats) -> Floats:
    """Per class: found, of those that are there."""
    return ratio(_hits(counts), counts.sum(-1))


def precision(counts: Floats) -> Floats:
    """Per class: right, of those that were named."""
    return ratio(_hits(counts), counts.sum(-2))


def f1(counts: Floats) -> Floats:
    """Per class: harmonic mean of precision and recall, ``2 tp / (2 tp + fp + fn)``."""
    return ratio(2 * _hits(counts), counts.sum(-1) + counts.sum(-2))


def weighted_f1(counts: Floats) -> Floats:
    """F1 of the classes, weighed by how often each occurs."""
    rows = counts.sum(-1)
    return ratio(np.where(rows > 0, np.nan_to_num(f1(counts)) * rows, 0.0).sum(-1), rows.sum(-1))


def matthews(counts: Floats) -> Floats:
    """Correlation of truth and answer (Gorodkin 2004); undefined when either is constant.

    >>> matthews(np.array([[4.0, 1.0], [1.0, 4.0]])).round(3).item()
    0.6
    """
    rows, columns, n = counts.sum(-1), counts.sum(-2), counts.sum((-1, -2))
    covariance = _hits(counts).sum(-1) * n - (rows * columns).sum(-1)
    spread = (n**2 - (rows**2).sum(-1)) * (n**2 - (columns**2).sum(-1))
    return ratio(covariance, np.sqrt(spread))


def kappa(counts: Floats) -> Floats:
    """Agreement beyond what the margins give (Cohen 1960).

    >>> kappa(np.array([[20.0, 5.0], [10.0, 15.0]])).round(3).item()
    0.4
    """
    rows, columns, n = counts.sum(-1), counts.sum(-2), counts.sum((-1, -2))
    by_chance = ratio((rows * columns).sum(-1), n**2)
    return ratio(accuracy(counts) - by_chance, 1 - by_chance)


def shares(counts: Floats) -> Floats:
    """Per class: how often it occurs, of all rows."""
    rows = counts.sum(-1)
    return ratio(rows, rows.sum(-1, keepdims=True))


def majority(counts: Floats, k: int = 1) -> Floats:
    """Accuracy of always naming the most frequent class, or the `k` most frequent.

    >>> majority(np.array([[[2.0, 1.0], [1.0, 0.0]]])).tolist()
    [0.75]
    """
    rows = np.sort(counts.sum(-1), -1)
    return ratio(rows[..., -k:].sum(-1), rows.sum(-1))


def evenly(counts: Floats) -> Floats:
    """One over the number of classes that occur."""
    classes = (counts.sum(-1) > 0).sum(-1).astype(float)
    return ratio(np.ones_like(classes), classes)


def _hits(counts: Floats) -> NDArray[np.float64]:
    return np.diagonal(counts, axis1=-2, axis2=-1)
