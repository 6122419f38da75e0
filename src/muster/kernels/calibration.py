"""Do confidences mean what they say? All from three sums a bin: rows, right ones, confidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, ndtr, ndtri, softmax, xlog1py, xlogy

from muster.kernels.codes import tabulate
from muster.kernels.confusion import ratio
from muster.kernels.types import Codes, Floats, Scores

_SHARPNESS = (np.exp(-5.0), np.exp(5.0))
_STEPS = 100
_PIECE = 1 << 14


def equal_width(confidence: Scores, bins: int) -> NDArray[np.int16]:
    """The bin ``(low, high]`` of each confidence; exactly 0 falls into the first, 1 into the last.

    >>> equal_width(np.array([0.0, 0.2, 0.21, 1.0]), 5).tolist()
    [0, 0, 1, 4]
    """
    edges, found = np.linspace(0, 1, bins + 1)[1:-1], np.empty(confidence.size, np.int16)
    low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
    for start in range(0, confidence.size, _PIECE):
        piece = confidence[start : start + _PIECE]
        bin_ = np.minimum((piece * piece.dtype.type(bins)).astype(np.intp), bins - 1)
        bin_ += piece > high.take(bin_)
        bin_ -= piece <= low.take(bin_)
        found[start : start + _PIECE] = bin_
    return found


def sums(
    at: tuple[Codes, Codes], shape: tuple[int, int], right: Codes, confidence: Scores
) -> tuple[Floats, ...]:
    """Rows, right rows and confidence of every cell and bin; `at` is the cell and the bin of each row."""
    counts = tabulate((*at, right), (*shape, 2))
    return counts.sum(-1), np.ascontiguousarray(counts[..., 1]), tabulate(at, shape, confidence)


def ece(rows: Floats, right: Floats, confidence: Floats) -> Floats:
    """Expected calibration error: mean gap of accuracy and confidence over bins, by rows.

    >>> ece(np.array([10.0, 10.0]), np.array([5.0, 9.0]), np.array([6.0, 9.5])).round(4).item()
    0.075
    """
    return ratio(np.abs(right - confidence).sum(-1), rows.sum(-1))


def mce(rows: Floats, right: Floats, confidence: Floats) -> Floats:
    """Maximum calibration error: the largest gap of a bin that holds rows."""
    gap = ratio(np.abs(right - confidence), rows)
    empty = np.isnan(gap).all(-1)
    return np.where(empty, np.nan, np.where(np.isnan(gap), -np.inf, gap).max(-1))


def ece_if_calibrated(rows: Floats, right: Floats, confidence: Floats) -> Floats:
    """The ECE that a perfectly calibrated model would show with these rows, from noise alone.

    In a bin of n rows of mean confidence c the right ones are binomial. Their mean
    distance from ``n c`` is ``2 k (1 - c) P(X = k)`` with ``k = floor(n c) + 1`` (de Moivre 1730).

    >>> ece_if_calibrated(np.array([2.0]), np.array([1.0]), np.array([1.0])).item()
    0.25
    """
    share = np.clip(np.nan_to_num(ratio(confidence, rows)), 0, 1)
    k = np.minimum(np.floor(rows * share) + 1, rows)
    log = gammaln(rows + 1) - gammaln(k + 1) - gammaln(rows - k + 1)
    log += xlogy(k, share) + xlog1py(rows - k, -share)
    distance = 2 * k * (1 - share) * np.exp(log)
    return ratio(distance.sum(-1), np.where(np.isnan(right).any(-1), np.nan, rows.sum(-1)))


def ece_debiased(rows: Floats, right: Floats, confidence: Floats) -> Floats:
    """ECE less what noise adds to each gap (after Kumar, Liang and Ma 2019); may fall below 0.

    The size of a gap g seen with error s has mean ``E|N(g, s)|``, which is more than ``|g|``.
    """
    gap, hit = ratio(np.abs(right - confidence), rows), ratio(right, rows)
    spread = np.sqrt(ratio(hit * (1 - hit), np.where(rows > 1, rows - 1, np.nan)))
    spread = np.where(rows > 1, spread, 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(spread > 0, gap / spread, np.inf)
    folded = spread * np.sqrt(2 / np.pi) * np.exp(-0.5 * steps**2) + gap * (1 - 2 * ndtr(-steps))
    return ratio(np.nan_to_num((2 * gap - folded) * rows).sum(-1), rows.sum(-1))


def ece_interval(rows: Floats, right: Floats, confidence: Floats, *, level: float) -> tuple[Floats, Floats]:
    """Where the true ECE lies: from the value less noise and error, to the debiased value and error.

    What noise adds lies between what `ece_debiased` takes away and what a calibrated
    model would show, so the ends lean outward: more than `level` of such intervals hold the truth.

    >>> found = ece_interval(np.array([100.0]), np.array([50.0]), np.array([80.0]), level=0.95)
    >>> [end.round(3).item() for end in found]
    [0.17, 0.398]
    """
    hit = ratio(right + 0.5, rows + 1)
    error = ratio(np.sqrt((rows * hit * (1 - hit)).sum(-1)), rows.sum(-1))
    reach, value = float(ndtri(0.5 + level / 2)) * error, ece(rows, right, confidence)
    low = value - ece_if_calibrated(rows, right, confidence) - reach
    high = np.maximum(value, ece_debiased(rows, right, confidence) + reach)
    return np.maximum(low, 0), np.minimum(high, 1)


def equal_mass(sums: tuple[Floats, ...], bins: int) -> tuple[Floats, ...]:
    """Merge fine bins into `bins` groups that hold nearly equally many rows each.

    A fine bin is never split, so equal confidences stay together.

    >>> equal_mass((np.array([4.0, 1, 1, 2]), np.ones(4), np.ones(4)), 2)[0].tolist()
    [4.0, 4.0]
    """
    rows = sums[0]
    flat = [part.reshape(-1, rows.shape[-1]) for part in sums]
    middle = np.cumsum(flat[0], -1) - flat[0] / 2
    share = np.nan_to_num(ratio(middle, flat[0].sum(-1, keepdims=True)))
    group = np.minimum((share * bins).astype(np.intp), bins - 1)
    group += np.arange(group.shape[0])[:, None] * bins
    shape = (*rows.shape[:-1], bins)
    size = group.shape[0] * bins
    return tuple(np.bincount(group.ravel(), part.ravel(), size).astype(float).reshape(shape) for part in flat)


def fit_temperature(scores: Scores, truth: Codes) -> float:
    """The temperature T that makes ``softmax(log(scores) / T)`` likeliest (Guo et al. 2017).

    Above 1 the model was too sure, below 1 not sure enough. Newton's method, kept
    between e^-5 and e^5: a model that is always right would go on to 0.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 4000).T
    >>> truth = (rng.random(4000) > np.cumsum(p, 0)).sum(0)
    >>> round(fit_temperature(cool(p, 0.5), truth), 1)
    2.0
    """
    logits = _logits(scores)
    picked = logits[truth, np.arange(truth.size)]
    low, high, sharp = *_SHARPNESS, 1.0
    for _ in range(_STEPS):
        slope, bend = _slope(logits, picked, sharp)
        low, high = (low, sharp) if slope > 0 else (sharp, high)
        newton = sharp - slope / bend if bend > 0 else high
        following = newton if low < newton < high else float(np.sqrt(low * high))
        if abs(following - sharp) <= 1e-9 * sharp:
            break
        sharp = following
    return 1 / sharp


def cool(scores: Scores, temperature: float) -> Floats:
    """Scores at another temperature; 1 changes nothing.

    >>> cool(np.array([[0.8], [0.2]]), 2.0).round(4).tolist()
    [[0.6667], [0.3333]]
    """
    logits = _logits(scores) / temperature
    return np.asarray(np.exp(logits - logsumexp(logits, axis=0)))


def _logits(scores: Scores) -> Floats:
    return np.asarray(np.log(np.maximum(scores, np.finfo(scores.dtype).tiny).astype(float)))


def _slope(logits: Floats, picked: Floats, sharp: float) -> tuple[float, float]:
    """First and second derivative of the mean log loss in the sharpness 1/T; it is convex."""
    share = softmax(sharp * logits, axis=0)
    mean = (share * logits).sum(0)
    return float((mean - picked).mean()), float(((share * logits**2).sum(0) - mean**2).mean())
