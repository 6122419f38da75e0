"""Ranking quality from histograms that add, with a proven bound on what binning loses.

Bins are steps of the floating-point number itself: ``2**bits`` to an octave of
`p` below one half and of ``1 - p`` above it. So scores near 0 and near 1, where
confident models live, are told apart as well as those in the middle, and the
edges are the same for everybody, which is what lets the counts add.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muster.kernels import loops
from muster.kernels.answers import of
from muster.kernels.codes import tabulate
from muster.kernels.confusion import ratio
from muster.kernels.types import Codes, Floats, Scores

OCTAVES = 20
_LOWEST = 127 - OCTAVES - 1
_MANTISSA = 23


def ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs.

    >>> ranks(np.array([0.2, 0.9, 0.2])).tolist()
    [1.5, 3.0, 1.5]
    """
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(size) - (size - 1) / 2)[group], dtype=float)


def bins_of(bits: int) -> int:
    """How many bins `place` gives.

    >>> bins_of(2)
    160
    """
    return 2 * OCTAVES << bits


def place(scores: Scores, bits: int = 2) -> NDArray[np.int32]:
    """The bin of each score in [0, 1]; a higher score never has a lower bin.

    >>> place(np.array([0.0, 1e-9, 0.3, 0.5, 0.7, 1.0])).tolist()
    [0, 0, 76, 79, 83, 159]
    """
    upper = scores > 0.5
    tail = np.where(upper, 1 - scores, scores).astype(np.float32)
    np.maximum(tail, np.float32(0.5 ** (OCTAVES + 1)), out=tail)
    step = tail.view(np.int32)
    step >>= _MANTISSA - bits
    step -= _LOWEST << bits
    last = bins_of(bits) - 1
    half = (last + 1) // 2
    np.minimum(step, half - 1, out=step)
    np.subtract(last, step, out=step, where=upper)
    return step


def histograms(cell: Codes, scores: Scores, truth: Codes, cells: int, bits: int = 2) -> tuple[Floats, Floats]:
    """All rows, and the rows of the class, by bin of the score of each class: ``[cells, classes, width]``.

    >>> one, scores = np.zeros(2, int), np.array([[0.1, 0.9], [0.9, 0.1]])
    >>> rows, positives = histograms(one, scores, np.array([0, 0]), 1)
    >>> rows.sum(-1).tolist(), positives.sum(-1).tolist()
    ([[2.0, 2.0]], [[2.0, 0.0]])
    """
    width = bins_of(bits)
    if loops.worth(scores.size):
        found = np.zeros((2, cells, len(scores), width))
        loops.count_bins(cell, scores, truth, (found[0], found[1]), (bits, _LOWEST))
        return found[0], found[1]
    rows = [tabulate((cell, place(score, bits)), (cells, width)) for score in scores]
    own = place(of(scores, truth), bits)
    return np.stack(rows, 1), tabulate((cell, truth, own), (cells, len(scores), width))


def auroc(negatives: Floats, positives: Floats) -> Floats:
    """Chance that a positive outranks a negative, ties by half; bins ascend on the last axis.

    >>> auroc(np.array([2.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0])).item()
    0.9444444444444444
    """
    below = np.cumsum(negatives, -1) - 0.5 * negatives
    return ratio((positives * below).sum(-1), negatives.sum(-1) * positives.sum(-1))


def roc(negatives: Floats, positives: Floats) -> tuple[Floats, Floats]:
    """False and true positive rates at every edge of the bins, from the highest score down.

    >>> fpr, tpr = roc(np.array([2.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0]))
    >>> fpr.round(2).tolist(), tpr.round(2).tolist()
    ([0.0, 0.0, 0.33, 1.0], [0.0, 0.67, 1.0, 1.0])
    """
    found = []
    for counts in (negatives, positives):
        above = np.cumsum(counts[..., ::-1], -1)
        start = np.zeros((*counts.shape[:-1], 1))
        found.append(ratio(np.concatenate([start, above], -1), counts.sum(-1, keepdims=True)))
    return found[0], found[1]


def auroc_bound(negatives: Floats, positives: Floats) -> Floats:
    """The binned AUROC differs from the exact one by at most this: half the pairs that share a bin."""
    return ratio(0.5 * (negatives * positives).sum(-1), negatives.sum(-1) * positives.sum(-1))


def auroc_error(negatives: Floats, positives: Floats) -> Floats:
    """Standard error after DeLong, DeLong and Clarke-Pearson (1988), on bins, and at least the least."""
    least = auroc_error_least(negatives, positives)
    return np.sqrt(np.maximum(auroc_error_seen(negatives, positives) ** 2, least**2))


def auroc_error_seen(negatives: Floats, positives: Floats) -> Floats:
    """The same, which is 0 where all positives rank first."""
    n, p = negatives.sum(-1, keepdims=True), positives.sum(-1, keepdims=True)
    area = auroc(negatives, positives)[..., None]
    of_positive = ratio(np.cumsum(negatives, -1) - 0.5 * negatives, n)
    of_negative = ratio(p - np.cumsum(positives, -1) + 0.5 * positives, p)
    by_positives = ratio((positives * (of_positive - area) ** 2).sum(-1), (p * (p - 1))[..., 0])
    by_negatives = ratio((negatives * (of_negative - area) ** 2).sum(-1), (n * (n - 1))[..., 0])
    return np.sqrt(np.nan_to_num(by_positives + by_negatives)) + 0 * area[..., 0]


def auroc_error_least(negatives: Floats, positives: Floats) -> Floats:
    """That of Hanley and McNeil (1982) with a pair more on either side: few rows are never certain."""
    n, p = negatives.sum(-1), positives.sum(-1)
    few = np.minimum(n, p)
    a = ratio(auroc(negatives, positives) * few + 1, few + 2)
    twice, both = a / (2 - a) - a**2, 2 * a**2 / (1 + a) - a**2
    return np.sqrt(ratio(a * (1 - a) + (p - 1) * twice + (n - 1) * both, n * p))


def average_precision(negatives: Floats, positives: Floats) -> Floats:
    """Mean precision at each positive, a bin being one threshold; no interpolation.

    >>> average_precision(np.array([1.0, 1.0]), np.array([0.0, 1.0])).item()
    0.5
    """
    tp, fp = _from_the_top(positives), _from_the_top(negatives)
    return ratio((positives * np.nan_to_num(ratio(tp, tp + fp))).sum(-1), positives.sum(-1))


def average_precision_error(negatives: Floats, positives: Floats) -> Floats:
    """Standard error as if each positive were a draw of its own (Boyd, Eng and Page 2013).

    Two positives more, one met at once and one never, so that few do not look certain.

    >>> average_precision_error(np.array([4.0, 0.0]), np.array([0.0, 6.0])).round(4).item()
    0.135
    """
    found = positives.sum(-1)
    value = ratio(average_precision(negatives, positives) * found + 1, found + 2)
    return np.sqrt(ratio(value * (1 - value), found))


def average_precision_bound(negatives: Floats, positives: Floats) -> Floats:
    """How far the binned value can be from the exact one, whatever the order inside a bin.

    A positive of a bin is met with at best no negative of its bin before it,
    at worst all of them.
    """
    tp, fp = _from_the_top(positives), _from_the_top(negatives)
    best = ratio(tp, tp + fp - negatives)
    worst = ratio(tp - positives + 1, tp - positives + 1 + fp)
    value = ratio(tp, tp + fp)
    held = positives > 0
    up = np.where(held, positives * (best - value), 0.0).sum(-1)
    down = np.where(held, positives * (value - worst), 0.0).sum(-1)
    return ratio(np.maximum(up, down), positives.sum(-1))


def exact(cell: Codes, scores: Scores, positive: NDArray[np.bool_], cells: int) -> dict[str, Floats]:
    """Inside each cell: pairs won (ties by half), all pairs, summed precision, and positives.

    One sort of 64-bit keys that hold cell, score and label. AUROC is ``won / pairs``,
    average precision ``precision / positives``.

    >>> found = exact(np.zeros(4, int), np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]) > 0, 1)
    >>> {name: value.round(4).tolist() for name, value in found.items()}
    {'won': [3.0], 'pairs': [4.0], 'precision': [1.6667], 'positives': [2.0]}
    """
    _, rank = np.unique(scores, return_inverse=True)
    key = cell.astype(np.uint64) << np.uint64(33)
    key |= rank.astype(np.uint64) << np.uint64(1)
    key |= positive.astype(np.uint64)
    key.sort()
    first = np.flatnonzero(np.diff(key >> np.uint64(1), prepend=np.uint64(2**63)))
    of = (key[first] >> np.uint64(33)).astype(np.intp)
    tp = np.add.reduceat((key & np.uint64(1)).astype(float), first) if first.size else np.zeros(0)
    fp = np.diff(first, append=key.size) - tp
    positives, negatives = _summed(of, tp, cells), _summed(of, fp, cells)
    lower_tp, lower_fp = _within(tp, of, positives), _within(fp, of, negatives)
    upper_tp, upper_fp = positives[of] - lower_tp, negatives[of] - lower_fp
    return {
        "won": _summed(of, tp * (lower_fp + 0.5 * fp), cells),
        "pairs": positives * negatives,
        "precision": _summed(of, tp * upper_tp / (upper_tp + upper_fp), cells),
        "positives": positives,
    }


def _summed(of: Codes, values: Floats, cells: int) -> Floats:
    return np.bincount(of, values, cells).astype(float)


def _within(counts: Floats, of: Codes, totals: Floats) -> Floats:
    """What lies before each group inside its own cell."""
    return np.asarray(np.cumsum(counts) - counts - (np.cumsum(totals) - totals)[of])


def _from_the_top(counts: Floats) -> Floats:
    return np.cumsum(counts[..., ::-1], -1)[..., ::-1]
