"""Proper scoring rules, row by row. ``scores`` is class-major: ``[classes, rows]``."""

from __future__ import annotations

import numpy as np

from muster.kernels.answers import of
from muster.kernels.types import Codes, Floats, Scores

LEAST = float(np.finfo(np.float64).eps)


def log_loss(scores: Scores, truth: Codes) -> Floats:
    """Minus the logarithm (natural) of the score of the true class.

    A score of 0 is taken as 2.2e-16, as scikit-learn does for numbers of double width: the
    loss is large, not infinite.

    >>> log_loss(np.array([[0.5, 0.0], [0.5, 1.0]]), np.array([0, 1])).round(4).tolist()
    [0.6931, 0.0]
    """
    picked = of(scores, truth)
    np.maximum(picked, LEAST, out=picked)
    found = np.log(picked, dtype=float)
    return np.subtract(0.0, found, out=found)


def brier(scores: Scores, truth: Codes) -> Floats:
    """Squared distance of the scores from certainty in the true class: 0 to 2.

    >>> brier(np.array([[0.5, 0.0], [0.5, 1.0]]), np.array([0, 1])).tolist()
    [0.5, 0.0]
    """
    squares = np.zeros(truth.size)
    for score in scores:
        squares += np.square(score, dtype=float)
    return np.maximum(squares - 2.0 * of(scores, truth) + 1.0, 0.0)
