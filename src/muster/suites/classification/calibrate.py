"""Temperature scaling of a classifier: fit on one split, judge on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from muster.errors import BadData
from muster.kernels.types import Codes, Scores
from muster.sources.given import read
from muster.sources.predictions import Predictions
from muster.summaries.temperature import Scaling, scale


def calibrate(
    *,
    fit: Any,
    judge: Any,
    truth: str = "truth",
    scores: Any = None,
    classes: Sequence[Any] = (),
    allow_unnormalised: bool = False,
    level: float = 0.95,
) -> Scaling:
    """Fit a temperature on one split and judge it on another, before and after.

    A split is a pair of arrays ``(truth, scores)``; or anything that `evaluate`
    reads, of which `truth` and `scores` name the columns.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.5, 0.5, 0.5], 4000)
    >>> truth = (rng.random(4000)[:, None] > np.cumsum(p, 1)).sum(1)
    >>> sharp = p**3 / (p**3).sum(1, keepdims=True)
    >>> found = calibrate(fit=(truth[:2000], sharp[:2000]), judge=(truth[2000:], sharp[2000:]))
    >>> round(found.temperature), found.value("ece", "before") > 3 * found.value("ece", "after")
    (3, True)
    """
    splits = []
    for split in (fit, judge):
        arrays = isinstance(split, tuple) and len(split) == 2
        parts = dict(zip(("truth", "scores"), split if arrays else (truth, scores), strict=True))
        given = None if arrays else split
        splits.append(read(given, parts, classes=classes, unnormalised=allow_unnormalised))
    first, second = splits
    if first.classes != second.classes:
        raise BadData(
            f"the splits have different classes: {', '.join(first.classes)} and {', '.join(second.classes)}"
        )
    found = scale(_rows(first), _rows(second), first.classes, level=level)
    notes = [note for note in dict.fromkeys((first.note, second.note)) if note]
    if first.fingerprint() == second.fingerprint():
        notes.append("the temperature is judged on the rows it was fitted on")
    return replace(found, notes=(*found.notes, *notes))


def _rows(found: Predictions) -> tuple[Scores, Codes]:
    """All rows at once: fitting looks at them many times."""
    if "scores" not in found.has:
        raise BadData("temperature scaling needs the scores of all classes")
    blocks = [(np.array(seen.scores), np.array(seen.truth)) for seen, *_ in found.blocks()]
    scores, truth = zip(*blocks, strict=True)
    return np.concatenate(scores, 1), np.concatenate(truth)
