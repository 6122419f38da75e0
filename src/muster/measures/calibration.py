"""Calibration: does a confidence of 0.8 mean right 8 times in 10?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from muster.kernels import calibration, ranking
from muster.kernels.confusion import mean_defined
from muster.kernels.types import Floats
from muster.records import Bounds, Finish, Labelled, Measure, Tallies, Tally

BINS = 15
FINE = 4
LESS_NOISE = "normal, less noise"
Sums = tuple[Floats, ...]


def _pack(stat: str, sums: Sums) -> Tallies:
    rows, right, confidence = sums
    return {f"{stat}.right": Tally(right, rows), f"{stat}.confidence": Tally(confidence, rows)}


def sums_of(tallies: Tallies, stat: str) -> Sums:
    """Rows, right ones and confidence, by bin."""
    return (
        tallies[f"{stat}.right"].weight,
        tallies[f"{stat}.right"].total,
        tallies[f"{stat}.confidence"].total,
    )


def count_width(seen: Labelled) -> Tallies:
    """Sums in bins of equal width."""
    if seen.confidence is None:
        raise ValueError("ECE needs scores, or a confidence column")
    bins = calibration.equal_width(seen.confidence, BINS)
    return _pack(
        "width", calibration.sums((seen.cell, bins), (seen.cells, BINS), seen.right, seen.confidence)
    )


def count_fine(seen: Labelled) -> Tallies:
    """Sums in fine fixed bins, from which bins of equal mass are merged."""
    if seen.confidence is None:
        raise ValueError("ECE needs scores, or a confidence column")
    bins, width = ranking.place(seen.confidence, FINE), ranking.bins_of(FINE)
    return _pack(
        "fine", calibration.sums((seen.cell, bins), (seen.cells, width), seen.right, seen.confidence)
    )


def count_classes(seen: Labelled) -> Tallies:
    """Sums of every class's score in bins of equal width."""
    if seen.scores is None:
        raise ValueError("class-wise ECE needs scores")
    shape = (seen.cells, BINS)
    found = [
        calibration.sums((seen.cell, calibration.equal_width(score, BINS)), shape, seen.truth == k, score)
        for k, score in enumerate(seen.scores)
    ]
    return _pack("classwise", tuple(np.concatenate([one[i] for one in found], -1) for i in range(3)))


def _wide(tallies: Tallies) -> Sums:
    return sums_of(tallies, "width")


def _heavy(tallies: Tallies) -> Sums:
    return calibration.equal_mass(sums_of(tallies, "fine"), BINS)


def _width(kernel: Callable[..., Floats]) -> Finish:
    return lambda tallies: kernel(*_wide(tallies))


def _mass(kernel: Callable[..., Floats]) -> Finish:
    return lambda tallies: kernel(*_heavy(tallies))


def _spans(of: Callable[[Tallies], Sums]) -> Callable[[Tallies, float], Bounds]:
    return lambda tallies, level: calibration.ece_interval(*of(tallies), level=level)


def _down_to_debiased(tallies: Tallies, level: float) -> Bounds:
    """The same interval; the debiased value may lie below 0."""
    low, high = calibration.ece_interval(*_wide(tallies), level=level)
    return np.minimum(low, calibration.ece_debiased(*_wide(tallies))), high


def _mean_of_spans(tallies: Tallies, level: float) -> Bounds:
    """The mean of the intervals of the classes: as wide as if all erred together."""
    low, high = calibration.ece_interval(*_split(tallies), level=level)
    return mean_defined(low), mean_defined(high)


def _split(tallies: Tallies) -> Sums:
    return tuple(part.reshape(*part.shape[:-1], -1, BINS) for part in sums_of(tallies, "classwise"))


def _by_class(kernel: Callable[..., Floats]) -> Finish:
    return lambda tallies: mean_defined(kernel(*_split(tallies)))


ECE = Measure(
    name="ece",
    title="ECE",
    definition=f"Mean gap of accuracy and confidence over {BINS} bins of equal width, by rows. "
    "Expected: what a perfectly calibrated model would show with these rows.",
    count=count_width,
    finish=_width(calibration.ece),
    better="lower",
    bounds=(0.0, 1.0),
    needs="confidence",
    expected=_width(calibration.ece_if_calibrated),
    interval=_spans(_wide),
    method=LESS_NOISE,
)
ECE_DEBIASED = Measure(
    name="ece_debiased",
    title="ECE, debiased",
    definition="ECE less what noise adds to the gap of each bin (Kumar, Liang and Ma 2019). Where noise is "
    "all there is, 6 tenths of it are left: see what is expected of ECE.",
    count=count_width,
    finish=_width(calibration.ece_debiased),
    better="lower",
    bounds=(-1.0, 1.0),
    needs="confidence",
    interval=_down_to_debiased,
    method=LESS_NOISE,
)
ECE_MASS = Measure(
    name="ece_mass",
    title="ECE, equal mass",
    definition=f"ECE over {BINS} bins of nearly equally many rows, merged from "
    f"{ranking.bins_of(FINE)} fixed fine bins.",
    count=count_fine,
    finish=_mass(calibration.ece),
    better="lower",
    bounds=(0.0, 1.0),
    needs="confidence",
    expected=_mass(calibration.ece_if_calibrated),
    interval=_spans(_heavy),
    method=LESS_NOISE,
)
ECE_CLASS = Measure(
    name="ece_class",
    title="ECE, class-wise",
    definition=f"Mean over classes of the gap of class share and score, {BINS} bins of equal width each.",
    count=count_classes,
    finish=_by_class(calibration.ece),
    better="lower",
    bounds=(0.0, 1.0),
    needs="scores",
    expected=_by_class(calibration.ece_if_calibrated),
    interval=_mean_of_spans,
    method=LESS_NOISE,
)
MCE = Measure(
    name="mce",
    title="MCE",
    definition=f"Largest gap of accuracy and confidence among {BINS} bins of equal width that hold rows.",
    count=count_width,
    finish=_width(calibration.mce),
    better="lower",
    bounds=(0.0, 1.0),
    needs="confidence",
)
RELIABILITY = Measure(
    name="reliability",
    title="Reliability curve",
    definition=f"Accuracy in each of {BINS} bins of confidence of equal width.",
    count=count_width,
    finish=lambda tallies: tallies["width.right"].mean(),
    better="neither",
    bounds=(0.0, 1.0),
    needs="confidence",
    shape="curve",
    undefined="the bin is empty",
)
