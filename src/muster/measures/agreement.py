"""Agreement of truth and answer beyond what their frequencies give: Matthews and Cohen."""

from __future__ import annotations

import numpy as np

from muster.kernels import confusion, slopes
from muster.kernels.types import Floats
from muster.measures.confusion import count, counts_of, reads, spans
from muster.records import Measure, Tallies


def zero(tallies: Tallies) -> Floats:
    """The chance level of a measure that is corrected for chance."""
    return np.zeros(counts_of(tallies).shape[:-2])


MATTHEWS = Measure(
    name="matthews",
    title="Matthews correlation",
    definition="Correlation of truth and answer over all classes (Gorodkin's R_K). Chance: 0.",
    count=count,
    finish=reads(confusion.matthews),
    better="higher",
    bounds=(-1.0, 1.0),
    undefined="truth or answer is constant",
    chance=zero,
    interval=spans(confusion.matthews, slopes.matthews_error, -1.0),
    method="delta",
)

KAPPA = Measure(
    name="kappa",
    title="Cohen's kappa",
    definition="(agreement - agreement by chance) / (1 - agreement by chance), unweighted. Chance: 0.",
    count=count,
    finish=reads(confusion.kappa),
    better="higher",
    bounds=(-1.0, 1.0),
    undefined="truth and answer are one and the same class",
    chance=zero,
    interval=spans(confusion.kappa, slopes.kappa_error, -1.0),
    method="delta",
)
