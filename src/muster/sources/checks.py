"""Are the scores probabilities? If not: which row, which unit, and how many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Floats, Scores

TOLERANCE = 1e-2


def faults(scores: Scores, *, unnormalised: bool) -> tuple[NDArray[np.intp], Floats]:
    """Rows whose scores are not probabilities, and the sum of every row.

    >>> faults(np.array([[0.5, 0.5, np.nan], [0.5, 0.2, 0.5]]), unnormalised=False)[0].tolist()
    [1, 2]
    """
    total = scores.sum(0, dtype=np.float64 if scores.dtype == np.float64 else np.float32)
    bad = ~(scores.min(0) >= 0)
    if unnormalised:
        bad |= ~((total > 0) & np.isfinite(total))
    elif len(scores) > 1:
        bad |= ~(np.abs(total - 1) <= TOLERANCE)
    else:
        bad |= ~(total <= 1)
    return np.flatnonzero(bad), total


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
