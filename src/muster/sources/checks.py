"""Are the scores probabilities? If not: which row, which unit, and how many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Scores

TOLERANCE = 1e-2
_STEP = 1 << 14


def faults(scores: Scores, *, unnormalised: bool) -> tuple[NDArray[np.intp], Scores]:
    """Rows whose scores are not probabilities, and the sum of every row.

    >>> faults(np.array([[0.5, 0.5, np.nan], [0.5, 0.2, 0.5]]), unnormalised=False)[0].tolist()
    [1, 2]
    """
    low, high = _span(len(scores), unnormalised=unnormalised)
    total: Scores = np.empty(scores.shape[1], np.float64 if scores.dtype == np.float64 else np.float32)
    bad = [np.zeros(0, np.intp)]
    for start in range(0, total.size, _STEP):
        piece, sums = scores[:, start : start + _STEP], total[start : start + _STEP]
        piece.sum(0, dtype=total.dtype, out=sums)
        if not (piece.min() >= 0 and sums.min() >= low and sums.max() <= high):
            bad.append(start + np.flatnonzero(~((piece.min(0) >= 0) & (sums >= low) & (sums <= high))))
    return np.concatenate(bad), total


def _span(classes: int, *, unnormalised: bool) -> tuple[float, float]:
    """From where to where the sum of a row may be."""
    if unnormalised and classes > 1:
        return float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    return (1 - TOLERANCE, 1 + TOLERANCE) if classes > 1 else (0.0, 1.0)


def describe(scores: Scores) -> str:
    """What is wrong with the scores of one row.

    >>> describe(np.array([0.7, 0.7]))
    'the scores sum to 1.4, not 1'
    """
    if np.isnan(scores).any():
        return "a score is not a number"
    if (scores < 0).any():
        return f"a score is negative ({scores.min():.4g}); are these logits? apply softmax first"
    if scores.size == 1:
        return f"the score is {scores[0]:.4g}, above 1"
    return f"the scores sum to {scores.sum():.6g}, not 1"
