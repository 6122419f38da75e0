"""The catalogue: a plain mapping from names to measures. Nothing registers itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from muster.errors import UnknownName
from muster.kernels.ranking import bins_of
from muster.measures import calibration, ranking
from muster.measures.accuracy import ACCURACY, BALANCED_ACCURACY
from muster.measures.agreement import KAPPA, MATTHEWS
from muster.measures.calibration import ECE, ECE_CLASS, ECE_DEBIASED, ECE_MASS, MCE, RELIABILITY
from muster.measures.confidence import CONFIDENCE_MEAN, CONFIDENCE_STD
from muster.measures.confusion import CONFUSION
from muster.measures.f1 import F1, MACRO_F1, MICRO_F1, PRECISION, RECALL, WEIGHTED_F1
from muster.measures.loss import BRIER, LOG_LOSS
from muster.measures.ranking import (
    AUROC,
    AUROC_CLASS,
    AUROC_EXACT,
    AVERAGE_PRECISION,
    AVERAGE_PRECISION_CLASS,
    AVERAGE_PRECISION_EXACT,
)
from muster.measures.top_k import top_k
from muster.records import Labelled, Measure, Tallies, Tally

__all__ = ["CATALOG", "count", "lookup", "width"]

CATALOG: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        ACCURACY,
        BALANCED_ACCURACY,
        top_k(2),
        top_k(3),
        top_k(5),
        MACRO_F1,
        MICRO_F1,
        WEIGHTED_F1,
        MATTHEWS,
        KAPPA,
        AUROC,
        AVERAGE_PRECISION,
        LOG_LOSS,
        BRIER,
        ECE,
        ECE_DEBIASED,
        ECE_MASS,
        ECE_CLASS,
        MCE,
        CONFIDENCE_MEAN,
        CONFIDENCE_STD,
        PRECISION,
        RECALL,
        F1,
        AUROC_CLASS,
        AVERAGE_PRECISION_CLASS,
        CONFUSION,
        RELIABILITY,
        AUROC_EXACT,
        AVERAGE_PRECISION_EXACT,
    )
}


WIDTHS: Mapping[Callable[[Labelled], Tallies], Callable[[int], int]] = {
    CONFUSION.count: lambda classes: classes**2,
    AUROC.count: lambda classes: classes * ranking.WIDTH,
    AUROC_EXACT.count: lambda classes: 2 * classes,
    ECE.count: lambda _: 2 * calibration.BINS,
    ECE_MASS.count: lambda _: 2 * bins_of(calibration.FINE),
    ECE_CLASS.count: lambda classes: 2 * calibration.BINS * classes,
}


def width(measure: Measure, classes: int) -> int:
    """How many sums a cell has for this measure.

    >>> width(CATALOG["accuracy"], 10), width(CATALOG["auroc"], 10), width(CATALOG["brier"], 10)
    (100, 1600, 2)
    """
    of: Callable[[int], int] | None = WIDTHS.get(measure.count)
    return of(classes) if of else 2


def lookup(names: Iterable[str]) -> list[Measure]:
    """The measures of these names.

    >>> lookup(["acuracy"])
    Traceback (most recent call last):
    ...
    muster.errors.UnknownName: no measure 'acuracy'; did you mean 'accuracy'?; known: ...
    """
    for name in names:
        if name not in CATALOG:
            raise UnknownName("measure", name, CATALOG)
    return [CATALOG[name] for name in names]


def count(seen: Labelled, measures: Iterable[Measure]) -> dict[str, Tally]:
    """Every tally these measures need, each counted once.

    >>> import numpy as np
    >>> seen = Labelled(np.zeros(2, int), 1, np.array([0, 1]), np.array([0, 0]), 2)
    >>> tallies = count(seen, lookup(["accuracy", "kappa"]))
    >>> list(tallies), CATALOG["accuracy"].finish(tallies)
    (['confusion'], array([0.5]))
    """
    found: dict[str, Tally] = {}
    for counted in dict.fromkeys(measure.count for measure in measures):
        tallies: Tallies = counted(seen)
        found.update(tallies)
    return found
