"""The confusion matrix: the one count behind accuracy, recall, F1 and agreement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from muster.kernels import confusion
from muster.kernels.interval import normal
from muster.kernels.slopes import softened
from muster.kernels.types import Floats
from muster.records import Bounds, Finish, Labelled, Measure, Tallies, Tally


def count(seen: Labelled) -> Tallies:
    """How often each class was answered with each; the weight is how often it occurred."""
    counts = confusion.count(seen.cell, seen.truth, seen.guess, seen.cells, seen.classes)
    rows = np.broadcast_to(counts.sum(-1, keepdims=True), counts.shape)
    return {"confusion": Tally(counts.reshape(seen.cells, -1), rows.reshape(seen.cells, -1))}


def counts_of(tallies: Tallies) -> Floats:
    """The counts as ``[cells, truth, guess]``."""
    total = tallies["confusion"].total
    classes = round(total.shape[-1] ** 0.5)
    return total.reshape(*total.shape[:-1], classes, classes)


def reads(kernel: Callable[[Floats], Floats]) -> Finish:
    """A finish that reads the counts."""
    return lambda tallies: kernel(counts_of(tallies))


def spans(
    value: Callable[[Floats], Floats], error: Callable[[Floats], Floats], low: float = 0.0
) -> Callable[[Tallies, float], Bounds]:
    """A normal interval from a value and its standard error, softened where rows are few."""

    def interval(tallies: Tallies, level: float) -> Bounds:
        counts = counts_of(tallies)
        return normal(value(counts), error(softened(counts)), level, (low, 1.0))

    return interval


CONFUSION = Measure(
    name="confusion",
    title="Confusion matrix",
    definition="Share of the rows of each true class that got each answer; an absent class has no row.",
    count=count,
    finish=lambda tallies: tallies["confusion"].mean(),
    better="neither",
    bounds=(0.0, 1.0),
    shape="matrix",
    undefined="the class does not occur",
)
