"""Temperature scaling of a classifier: fit on one split, judge on another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muster.errors import BadData
from muster.kernels.types import Codes, Scores
from muster.sources.arrays import from_arrays
from muster.summaries.temperature import Scaling, scale


def calibrate(
    *,
    fit: tuple[Any, Any],
    judge: tuple[Any, Any],
    classes: Sequence[Any] = (),
    level: float = 0.95,
) -> Scaling:
    """Fit a temperature on ``fit = (truth, scores)`` and judge it on ``judge``, before and after.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.5, 0.5, 0.5], 4000)
    >>> truth = (rng.random(4000)[:, None] > np.cumsum(p, 1)).sum(1)
    >>> sharp = p**3 / (p**3).sum(1, keepdims=True)
    >>> found = calibrate(fit=(truth[:2000], sharp[:2000]), judge=(truth[2000:], sharp[2000:]))
    >>> round(found.temperature), found.value("ece", "before") > 3 * found.value("ece", "after")
    (3, True)
    """
    (fit_scores, fit_truth), names = _coded(*fit, classes)
    (judge_scores, judge_truth), judged = _coded(*judge, classes)
    if names != judged:
        raise BadData(f"the splits have different classes: {', '.join(names)} and {', '.join(judged)}")
    return scale((fit_scores, fit_truth), (judge_scores, judge_truth), names, level=level)


def _coded(truth: Any, scores: Any, classes: Sequence[Any]) -> tuple[tuple[Scores, Codes], tuple[str, ...]]:
    found = from_arrays(truth=truth, scores=scores, classes=classes)
    (seen,) = next(found.blocks())
    if seen.scores is None:
        raise BadData("temperature scaling needs the scores of all classes")
    return (seen.scores, seen.truth), found.classes
