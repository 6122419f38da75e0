"""How sure the model says it is: mean and standard deviation of the confidence."""

from __future__ import annotations

import numpy as np

from muster.measures.loss import first_moment, mean_interval, moments
from muster.records import Labelled, Measure, Tallies


def count(seen: Labelled) -> Tallies:
    """Sums of the confidence and of its square."""
    if seen.confidence is None:
        raise ValueError("confidence needs scores, or a confidence column")
    return {"confidence": moments(seen, seen.confidence.astype(float))}


CONFIDENCE_MEAN = Measure(
    name="confidence_mean",
    title="Mean confidence",
    definition="Mean score of the answer given.",
    count=count,
    finish=first_moment("confidence"),
    better="neither",
    bounds=(0.0, 1.0),
    needs="confidence",
    interval=mean_interval("confidence", (0.0, 1.0)),
    method="Student",
)

CONFIDENCE_STD = Measure(
    name="confidence_std",
    title="Spread of confidence",
    definition="Standard deviation (ddof 0) of the score of the answer given.",
    count=count,
    finish=lambda tallies: np.sqrt(
        np.maximum(tallies["confidence"].mean()[..., 1] - tallies["confidence"].mean()[..., 0] ** 2, 0)
    ),
    better="neither",
    bounds=(0.0, 0.5),
    needs="confidence",
)
