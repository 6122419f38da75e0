"""Accuracy: the share of right answers; and the same with every class weighing alike."""

from __future__ import annotations

import numpy as np

from muster.kernels import confusion, slopes
from muster.kernels.interval import wilson
from muster.kernels.types import Floats
from muster.measures.confusion import count, counts_of, reads, spans
from muster.records import Bounds, Measure, Tallies


def right_and_rows(tallies: Tallies) -> tuple[Floats, Floats]:
    """How many answers are right, of how many."""
    counts = counts_of(tallies)
    return np.trace(counts, axis1=-2, axis2=-1), counts.sum((-1, -2))


def interval(tallies: Tallies, level: float) -> Bounds:
    """Wilson's interval of the share of right answers."""
    return wilson(*right_and_rows(tallies), level)


ACCURACY = Measure(
    name="accuracy",
    title="Accuracy",
    definition="Right answers over rows. Chance: always naming the most frequent class.",
    count=count,
    finish=reads(confusion.accuracy),
    better="higher",
    bounds=(0.0, 1.0),
    chance=reads(confusion.majority),
    interval=interval,
    method="Wilson",
)

BALANCED_ACCURACY = Measure(
    name="balanced_accuracy",
    title="Balanced accuracy",
    definition="Mean recall over the classes that occur. Chance: one over their number.",
    count=count,
    finish=reads(lambda counts: confusion.mean_defined(confusion.recall(counts))),
    better="higher",
    bounds=(0.0, 1.0),
    chance=reads(confusion.evenly),
    interval=spans(
        lambda counts: confusion.mean_defined(confusion.recall(counts)), slopes.balanced_accuracy_error
    ),
    method="delta",
)
