"""Precision, recall and F1: by class, and macro, micro and weighted over the classes."""

from __future__ import annotations

import numpy as np

from muster.kernels import confusion, slopes
from muster.kernels.interval import wilson
from muster.kernels.types import Floats
from muster.measures.accuracy import interval as accuracy_interval
from muster.measures.confusion import count, counts_of, reads, spans
from muster.records import Measure


def of_majority(counts: Floats) -> Floats:
    """F1 of the most frequent class where it is always the answer."""
    share = confusion.majority(counts)
    return 2 * share / (1 + share)


def macro_of_majority(counts: Floats) -> Floats:
    """The mean over the classes that occur, where the most frequent is always the answer."""
    return of_majority(counts) * confusion.evenly(counts)


PRECISION = Measure(
    name="precision",
    title="Precision by class",
    definition="Of the rows answered with the class, the share that is of it. "
    "Chance: how often the class occurs.",
    count=count,
    finish=reads(confusion.precision),
    better="higher",
    bounds=(0.0, 1.0),
    shape="class",
    undefined="the class is never the answer",
    chance=reads(confusion.shares),
    interval=lambda tallies, level: wilson(
        np.diagonal(counts_of(tallies), axis1=-2, axis2=-1), counts_of(tallies).sum(-2), level
    ),
    method="Wilson",
)

RECALL = Measure(
    name="recall",
    title="Recall by class",
    definition="Of the rows of the class, the share answered with it. Also called per-class accuracy.",
    count=count,
    finish=reads(confusion.recall),
    better="higher",
    bounds=(0.0, 1.0),
    shape="class",
    undefined="the class does not occur",
    interval=lambda tallies, level: wilson(
        np.diagonal(counts_of(tallies), axis1=-2, axis2=-1), counts_of(tallies).sum(-1), level
    ),
    method="Wilson",
)

F1 = Measure(
    name="f1",
    title="F1 by class",
    definition="2 tp / (2 tp + fp + fn): harmonic mean of precision and recall.",
    count=count,
    finish=reads(confusion.f1),
    better="higher",
    bounds=(0.0, 1.0),
    shape="class",
    undefined="the class neither occurs nor is the answer",
    interval=spans(confusion.f1, slopes.f1_errors),
    method="delta",
)

MACRO_F1 = Measure(
    name="macro_f1",
    title="Macro F1",
    definition="Mean F1 over the classes that occur or are the answer; others are left out, not taken as 0. "
    "Chance: always naming the most frequent class.",
    count=count,
    finish=reads(lambda counts: confusion.mean_defined(confusion.f1(counts))),
    better="higher",
    bounds=(0.0, 1.0),
    chance=reads(macro_of_majority),
    interval=spans(lambda counts: confusion.mean_defined(confusion.f1(counts)), slopes.macro_f1_error),
    method="delta",
)

MICRO_F1 = Measure(
    name="micro_f1",
    title="Micro F1",
    definition="F1 from the counts of all classes together; with one answer a row it equals accuracy. "
    "Chance: always naming the most frequent class.",
    count=count,
    finish=reads(confusion.accuracy),
    better="higher",
    bounds=(0.0, 1.0),
    chance=reads(confusion.majority),
    interval=accuracy_interval,
    method="Wilson",
)

WEIGHTED_F1 = Measure(
    name="weighted_f1",
    title="Weighted F1",
    definition="F1 of the classes, weighed by how often each occurs. "
    "Chance: always naming the most frequent class.",
    count=count,
    finish=reads(confusion.weighted_f1),
    better="higher",
    bounds=(0.0, 1.0),
    chance=reads(lambda counts: confusion.majority(counts) * of_majority(counts)),
    interval=spans(confusion.weighted_f1, slopes.weighted_f1_error),
    method="delta",
)
