"""Log loss and Brier score: what a confident mistake costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from muster.kernels import proper
from muster.kernels.codes import tabulate
from muster.kernels.confusion import shares
from muster.kernels.interval import student
from muster.kernels.types import Codes, Floats, Scores
from muster.measures.confusion import reads
from muster.records import Bounds, Finish, Labelled, Measure, Tallies, Tally


def moments(seen: Labelled, values: Floats) -> Tally:
    """Sums of values and of their squares: a mean that knows how sure it is."""
    at, shape = (seen.cell,), (seen.cells,)
    rows = tabulate(at, shape)
    sums = [tabulate(at, shape, weights) for weights in (values, values * values)]
    return Tally(np.stack(sums, -1), np.stack([rows, rows], -1))


def first_moment(stat: str) -> Finish:
    """A finish that reads the mean."""
    return lambda tallies: tallies[stat].mean()[..., 0]


def mean_interval(stat: str, bounds: tuple[float, float]) -> Callable[[Tallies, float], Bounds]:
    """Student's interval of the mean, within bounds."""

    def interval(tallies: Tallies, level: float) -> Bounds:
        total, weight = tallies[stat].total, tallies[stat].weight
        low, high = student(total[..., 0], total[..., 1], weight[..., 0], level)
        return np.clip(low, *bounds), np.clip(high, *bounds)

    return interval


def _of_scores(stat: str, rule: Callable[[Scores, Codes], Floats]) -> Callable[[Labelled], Tallies]:
    def count(seen: Labelled) -> Tallies:
        if seen.scores is None:
            raise ValueError(f"{stat} needs scores")
        return {stat: moments(seen, rule(seen.scores, seen.truth))}

    return count


def _entropy(counts: Floats) -> Floats:
    share = shares(counts)
    return np.asarray((share * np.log(1 / np.where(share > 0, share, 1))).sum(-1))


LOG_LOSS = Measure(
    name="log_loss",
    title="Log loss",
    definition="Mean of -ln(score of the true class), a score of 0 taken as 2.2e-16. "
    "Chance: scores equal to how often each class occurs.",
    count=_of_scores("log_loss", proper.log_loss),
    finish=first_moment("log_loss"),
    better="lower",
    bounds=(0.0, float("inf")),
    needs="scores",
    chance=reads(_entropy),
    interval=mean_interval("log_loss", (0.0, float("inf"))),
    method="Student",
)

BRIER = Measure(
    name="brier",
    title="Brier score",
    definition="Mean squared distance of the scores from the truth, summed over classes: 0 to 2.",
    count=_of_scores("brier", proper.brier),
    finish=first_moment("brier"),
    better="lower",
    bounds=(0.0, 2.0),
    needs="scores",
    chance=reads(lambda counts: np.asarray(1 - (shares(counts) ** 2).sum(-1))),
    interval=mean_interval("brier", (0.0, 2.0)),
    method="Student",
)
