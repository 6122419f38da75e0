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


def histograms_of(tallies: Tallies) -> tuple[Floats, Floats]:
    """Negatives and positives of each class by bin of its score: ``[..., classes, bins]``."""
    tally = tallies["score_bins"]
    shape = (*tally.total.shape[:-1], -1, WIDTH)
    return (tally.weight - tally.total).reshape(shape), tally.total.reshape(shape)


def _by_class(kernel: Kernel) -> Finish:
    return lambda tallies: kernel(*histograms_of(tallies))


def _macro(kernel: Kernel) -> Finish:
    return lambda tallies: mean_defined(kernel(*histograms_of(tallies)))


def _exact(stat: str) -> Finish:
    return lambda tallies: mean_defined(tallies[stat].mean())


def _half(counts: Floats) -> Floats:
    return np.full(counts.shape[:-2], 0.5)


def _spans(value: Finish, error: Finish, bound: Finish) -> Span:
    """A normal interval, wider on either side by what the bins can lose."""

    def interval(tallies: Tallies, level: float) -> Bounds:
        low, high = normal(value(tallies), error(tallies), level, (0.0, 1.0))
        lost = bound(tallies)
        return np.maximum(low - lost, 0), np.minimum(high + lost, 1)

    return interval


def _macro_error(kernel: Kernel) -> Finish:
    """The errors of the classes are combined as if correlated by one over the other classes' number.

    With two classes the areas are one and the same; with many they are nearly independent.
    """

    def error(tallies: Tallies) -> Floats:
        errors = kernel(*histograms_of(tallies))
        classes = np.maximum((~np.isnan(errors)).sum(-1), 2)
        return np.asarray(np.sqrt(mean_defined(errors**2) * 2 / classes))

    return error


def _seen_or_least(negatives: Floats, positives: Floats) -> Floats:
    """The error seen, but for units that have none: those are not certain either."""
    seen = ranking.auroc_error_seen(negatives, positives)
    return np.where(seen > 0, seen, ranking.auroc_error_least(negatives, positives))


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
    interval=_spans(_macro(ranking.auroc), _macro_error(ranking.auroc_error), _macro(ranking.auroc_bound)),
    method="DeLong",
    error=_macro_error(_seen_or_least),
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
    interval=_spans(_by_class(ranking.auroc), _by_class(ranking.auroc_error), _by_class(ranking.auroc_bound)),
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
    interval=_spans(
        _macro(ranking.average_precision),
        _macro_error(ranking.average_precision_error),
        _macro(ranking.average_precision_bound),
    ),
    method="Boyd",
    error=_macro_error(ranking.average_precision_error),
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
    interval=_spans(
        _by_class(ranking.average_precision),
        _by_class(ranking.average_precision_error),
        _by_class(ranking.average_precision_bound),
    ),
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
