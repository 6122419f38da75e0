"""AUROC and average precision, one class against the rest.

The binned forms add over units, with a bound on what the bins lose. The exact
forms compare rows inside a unit only: adding them averages over the pairs (or
positives) of the units and compares nobody across units.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from muster.kernels import confusion, ranking
from muster.kernels.confusion import mean_defined
from muster.kernels.interval import normal
from muster.kernels.types import Floats
from muster.measures.confusion import reads
from muster.records import Bounds, Finish, Labelled, Measure, Tallies, Tally

BITS = 2
WIDTH = ranking.bins_of(BITS)
Kernel = Callable[[Floats, Floats], Floats]
Span = Callable[[Tallies, float], Bounds]


def count(seen: Labelled) -> Tallies:
    """Positives, of all rows, by class and bin of the class's score."""
    if seen.scores is None:
        raise ValueError("AUROC and average precision need scores")
    rows, positives = ranking.histograms(seen.cell, seen.scores, seen.truth, seen.cells, BITS)
    return {"score_bins": Tally(positives.reshape(seen.cells, -1), rows.reshape(seen.cells, -1))}


def count_exact(seen: Labelled) -> Tallies:
    """Pairs won and summed precision by class, inside each cell."""
    if seen.scores is None:
        raise ValueError("AUROC and average precision need scores")
    found = [
        ranking.exact(seen.cell, score, seen.truth == k, seen.cells) for k, score in enumerate(seen.scores)
    ]
    won, pairs, precision, positives = (
        np.stack([one[name] for one in found], -1) for name in ("won", "pairs", "precision", "positives")
    )
    return {"pairs": Tally(won, pairs), "precision_at_positives": Tally(precision, positives)}


def _split(tallies: Tallies) -> tuple[Floats, Floats]:
    tally = tallies["score_bins"]
    shape = (*tally.total.shape[:-1], -1, WIDTH)
    return (tally.weight - tally.total).reshape(shape), tally.total.reshape(shape)


def _by_class(kernel: Kernel) -> Finish:
    return lambda tallies: kernel(*_split(tallies))


def _macro(kernel: Kernel) -> Finish:
    return lambda tallies: mean_defined(kernel(*_split(tallies)))


def _exact(stat: str) -> Finish:
    return lambda tallies: mean_defined(tallies[stat].mean())


def _half(counts: Floats) -> Floats:
    return np.full(counts.shape[:-2], 0.5)


def _spans(value: Kernel, error: Kernel) -> Span:
    def interval(tallies: Tallies, level: float) -> Bounds:
        parts = _split(tallies)
        return normal(value(*parts), error(*parts), level, (0.0, 1.0))

    return interval


def _macro_spans(value: Kernel, error: Kernel) -> Span:
    """The errors of the classes are combined as if correlated by one over the other classes' number.

    With two classes the areas are one and the same; with many they are nearly independent.
    """

    def interval(tallies: Tallies, level: float) -> Bounds:
        parts = _split(tallies)
        errors = error(*parts)
        classes = np.maximum((~np.isnan(errors)).sum(-1), 2)
        whole = np.sqrt(mean_defined(errors**2) * 2 / classes)
        return normal(mean_defined(value(*parts)), whole, level, (0.0, 1.0))

    return interval


ONE_SIDED = "no class has both rows of it and rows of others"

AUROC = Measure(
    name="auroc",
    title="AUROC",
    definition="Chance that a row of a class scores higher on it than a row of another, ties by half; "
    f"mean over classes, from {WIDTH} fixed bins. Chance: 0.5.",
    count=count,
    finish=_macro(ranking.auroc),
    better="higher",
    bounds=(0.0, 1.0),
    needs="scores",
    undefined=ONE_SIDED,
    chance=reads(_half),
    interval=_macro_spans(ranking.auroc, ranking.auroc_error),
    method="DeLong",
    bound=_macro(ranking.auroc_bound),
)
AUROC_CLASS = Measure(
    name="auroc_class",
    title="AUROC by class",
    definition=f"AUROC of each class against the rest, from {WIDTH} fixed bins. Chance: 0.5.",
    count=count,
    finish=_by_class(ranking.auroc),
    better="higher",
    bounds=(0.0, 1.0),
    needs="scores",
    shape="class",
    undefined="the class, or every other class, does not occur",
    chance=reads(_half),
    interval=_spans(ranking.auroc, ranking.auroc_error),
    method="DeLong",
    bound=_by_class(ranking.auroc_bound),
)
AVERAGE_PRECISION = Measure(
    name="average_precision",
    title="Average precision",
    definition="Mean precision at the rows of a class, ranked by its score; mean over classes that occur, "
    f"from {WIDTH} fixed bins. Chance: one over the number of classes that occur.",
    count=count,
    finish=_macro(ranking.average_precision),
    better="higher",
    bounds=(0.0, 1.0),
    needs="scores",
    chance=reads(confusion.evenly),
    interval=_macro_spans(ranking.average_precision, ranking.average_precision_error),
    method="Boyd",
    bound=_macro(ranking.average_precision_bound),
)
AVERAGE_PRECISION_CLASS = Measure(
    name="average_precision_class",
    title="Average precision by class",
    definition=f"Average precision of each class against the rest, from {WIDTH} fixed bins. "
    "Chance: how often the class occurs.",
    count=count,
    finish=_by_class(ranking.average_precision),
    better="higher",
    bounds=(0.0, 1.0),
    needs="scores",
    shape="class",
    undefined="the class does not occur",
    chance=reads(confusion.shares),
    interval=_spans(ranking.average_precision, ranking.average_precision_error),
    method="Boyd",
    bound=_by_class(ranking.average_precision_bound),
)
AUROC_EXACT = Measure(
    name="auroc_exact",
    title="AUROC, exact within units",
    definition="AUROC from every pair of rows inside a unit; no pairs of different units are compared. "
    "Chance: 0.5.",
    count=count_exact,
    finish=_exact("pairs"),
    better="higher",
    bounds=(0.0, 1.0),
    needs="scores",
    undefined=ONE_SIDED,
    chance=reads(_half),
    adds=False,
)
AVERAGE_PRECISION_EXACT = Measure(
    name="average_precision_exact",
    title="Average precision, exact within units",
    definition="Average precision inside a unit, every score a threshold; pooled, the mean over positives.",
    count=count_exact,
    finish=_exact("precision_at_positives"),
    better="higher",
    bounds=(0.0, 1.0),
    needs="scores",
    adds=False,
)
