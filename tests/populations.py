"""Predictions of made-up populations: what the tests of many rooms are fed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.records import Labelled


def rows_of(
    rng: np.random.Generator,
    *,
    rows: int = 200,
    units: int = 5,
    classes: int = 3,
    moments: int = 1,
    sharpness: float = 1.0,
) -> dict[str, NDArray[Any]]:
    """Calibrated predictions as columns: unit, time, group, truth, guess and scores ``[rows, classes]``.

    Truth is drawn from the scores, so they are perfectly calibrated at sharpness 1; a
    higher sharpness makes the model too sure.
    """
    chances = rng.dirichlet(np.full(classes, 0.5), rows)
    truth = (rng.random(rows)[:, None] > np.cumsum(chances, 1)[:, :-1]).sum(1)
    scores = chances**sharpness
    scores /= scores.sum(1, keepdims=True)
    return {
        "unit": np.array([f"unit-{i}" for i in rng.integers(0, units, rows)], dtype=object),
        "time": rng.integers(0, moments, rows),
        "group": np.array(["old", "young"], dtype=object)[rng.integers(0, 2, rows)],
        "truth": truth,
        "guess": scores.argmax(1),
        "scores": scores,
    }


def labelled(
    rng: np.random.Generator, *, rows: int = 60, cells: int = 4, classes: int = 3, coarse: int = 0
) -> Labelled:
    """Observations for measures; ``coarse`` rounds scores to so many steps, which makes ties."""
    scores = rng.dirichlet(np.full(classes, 0.7), rows).T
    if coarse:
        scores = np.rint(scores * coarse) / coarse
        scores = scores / np.maximum(scores.sum(0), 1e-12)
    return Labelled(
        cell=rng.integers(0, cells, rows),
        cells=cells,
        truth=rng.integers(0, classes, rows),
        guess=scores.argmax(0),
        classes=classes,
        scores=scores,
        confidence=scores.max(0),
    )


def part(seen: Labelled, rows: NDArray[Any]) -> Labelled:
    """The same cells and classes, fewer rows, in the order of `rows`."""
    return Labelled(
        cell=seen.cell[rows],
        cells=seen.cells,
        truth=seen.truth[rows],
        guess=seen.guess[rows],
        classes=seen.classes,
        scores=None if seen.scores is None else seen.scores[:, rows],
        confidence=None if seen.confidence is None else seen.confidence[rows],
    )
