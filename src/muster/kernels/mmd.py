"""Have many features moved together? Maximum mean discrepancy (Gretton 2012), tested by permutation.

The exact test holds all distances of both samples. The one with random Fourier features
(Rahimi and Recht 2007) needs sums of features alone: those of clients add, and no row leaves
a client.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import strmm

from muster.kernels.types import Floats, Scores

_SLACK = 1e-6
_KEYS, _BLOCK = 1 << 40, 1 << 13
Sums = tuple[Floats, Floats]


def squared_distances(x: Scores, y: Scores | None = None) -> Scores:
    """``|x_i - y_j|^2`` of all pairs, or of the rows of `x` among themselves, ``[n, m]``.

    Both are moved to the mean of `x` first, so that little is lost to rounding far from 0.

    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[0.0, 25.0], [25.0, 0.0]]
    """
    x, y = _real(x), None if y is None else _real(y)
    middle = x.mean(0) if len(x) else 0
    x, y = x - middle, None if y is None else y - middle
    other = x if y is None else y
    found = np.asarray(x @ (-2 * other.T))
    found += np.einsum("ij,ij->i", x, x)[:, None]
    found += np.einsum("ij,ij->i", other, other)
    np.maximum(found, 0, out=found)
    if y is None:
        np.fill_diagonal(found, 0)
    return found


def median_bandwidth(x: Scores, most: int = 1000, rng: np.random.Generator | None = None) -> float:
    """``s = sqrt(median |x_i - x_j|^2 / 2)`` over pairs, for ``k = exp(-d^2 / (2 s^2))``.

    Of the first `most` rows, or of as many drawn by `rng`. Take it from the reference, once: a
    bandwidth that follows the data hides a change of scale. Where most pairs are equal the others
    count; ``nan`` when all are.

    >>> median_bandwidth(np.array([[0.0], [1.0], [2.0]])).__round__(4)
    0.7071
    """
    if len(x) > most:
        x = x[:most] if rng is None else x[rng.choice(len(x), most, replace=False)]
    distances = squared_distances(x)[np.triu_indices(len(x), 1)]
    middle = np.median(distances) if distances.size else 0.0
    least = _SLACK * float(np.einsum("ij,ij->i", x, x).mean()) if len(x) else 0.0
    if middle <= least:
        apart = distances[distances > least]
        middle = np.median(apart) if apart.size else np.nan
    return float(np.sqrt(middle / 2))


def mmd2(x: Scores, y: Scores, bandwidth: float) -> float:
    """Unbiased squared discrepancy: mean kernel within `x`, plus within `y`, minus twice across.

    ``k(a, b) = exp(-|a - b|^2 / (2 s^2))``; 0 on average when both come from one distribution,
    so that it may be negative. ``nan`` with fewer than two rows on a side.

    >>> x = np.array([[0.0], [1.0]])
    >>> round(mmd2(x, x, 1.0), 4), round(mmd2(x, x + 9, 1.0), 4)
    (-0.3935, 1.2131)
    """
    n, m = len(x), len(y)
    if min(n, m) < 2:
        return float("nan")
    within, own = _kernel(squared_distances(x), bandwidth), _kernel(squared_distances(y), bandwidth)
    across = _kernel(squared_distances(x, y), bandwidth)
    sums = [float(kernel.sum(dtype=float)) for kernel in (within, own, across)]
    return (sums[0] - n) / (n * (n - 1)) + (sums[1] - m) / (m * (m - 1)) - 2 * sums[2] / (n * m)


def memberships(n: int, m: int, permutations: int, rng: np.random.Generator) -> Scores:
    """Which rows count as current, ``[permutations + 1, n + m]`` of 0 and 1; the split seen comes first.

    Rows of the reference come before those of current.

    >>> memberships(2, 1, 2, np.random.default_rng(0)).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    rows = n + m
    members = np.zeros((permutations + 1, rows), np.float32)
    members[:, n:] = 1
    if not n or not m:
        return members
    step = max(1, _BLOCK // rows)
    for start in range(1, permutations + 1, step):
        piece = members[start : start + step]
        keys = rng.integers(_KEYS, size=piece.shape)
        keys *= rows
        keys += np.arange(rows)
        piece[:] = keys <= np.partition(keys, m - 1, axis=1)[:, m - 1 : m]
    return members


def permutation_test(
    x: Scores, y: Scores, bandwidth: float, rng: np.random.Generator, *, permutations: int = 199
) -> tuple[float, float]:
    """`mmd2` and its p-value: the share of permutations, with the split seen, that reach it.

    Exact at any size, for a bandwidth set beforehand: at most 5 % of the p-values are 0.05 or less
    when nothing differs. One from the reference rows themselves changes that by little. The
    kernel is computed once and one matrix product serves all permutations, in single precision.
    Holds ``(n + m)^2`` values: from 5000 rows on, take `fourier_test`.

    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(50, 3)), rng.normal(1, size=(50, 3))
    >>> statistic, p = permutation_test(x, y, median_bandwidth(x), rng)
    >>> round(statistic, 2), p
    (0.15, 0.005)
    """
    n, m = len(x), len(y)
    if min(n, m) < 2:
        return float("nan"), float("nan")
    found = splits(x, y, bandwidth, memberships(n, m, permutations, rng))
    return float(found[0]), float(p_of_splits(found))


def splits(x: Scores, y: Scores, bandwidth: float, members: Scores) -> Floats:
    """`mmd2` of each split in `members`, the one seen first: those of clients add.

    >>> x = np.array([[0.0], [1.0]])
    >>> splits(x, x + 9, 1.0, np.array([[0, 0, 1, 1], [0, 1, 1, 0]], np.float32)).round(4).tolist()
    [1.2131, -0.6065]
    """
    return _splits(_kernel(squared_distances(_both(*_near(x, y))), bandwidth), members)


def p_of_splits(statistics: Floats) -> Floats:
    """The share of splits that reach the first, which is the one seen and counts too.

    >>> float(p_of_splits(np.array([2.0, 1.0, 3.0, 0.0])))
    0.5
    """
    return _share(statistics)


def fourier(
    dimensions: int, bandwidth: float, rng: np.random.Generator, features: int = 256
) -> tuple[Scores, Scores]:
    """Weights ``[dimensions, features]`` and phases of random features of the kernel of that bandwidth.

    All clients must have the same: made once, from one seed.

    >>> weights, phases = fourier(3, 1.5, np.random.default_rng(0))
    >>> weights.shape, phases.shape
    ((3, 256), (256,))
    """
    weights = rng.standard_normal((dimensions, features)) / bandwidth
    return weights.astype(np.float32), rng.uniform(0, 2 * np.pi, features).astype(np.float32)


def features_of(x: Scores, weights: Scores, phases: Scores) -> Scores:
    """``sqrt(2 / D) cos(x W + b)``: the product of two rows is about their kernel, off by ``1 / sqrt(D)``.

    In single precision: take the mean of the reference off data that lies far from 0.

    >>> weights, phases = fourier(2, 1.0, np.random.default_rng(0), 4096)
    >>> near, far = features_of(np.array([[0.0, 0.0], [1.0, 0.0]]), weights, phases)
    >>> round(float(near @ far), 1), round(float(np.exp(-0.5)), 1)
    (0.6, 0.6)
    """
    found = x.astype(np.float32, copy=False) @ weights
    found += phases
    np.cos(found, out=found)
    found *= np.float32(np.sqrt(2 / phases.size))
    return np.asarray(found)


def permuted_sums(reference_features: Scores, current_features: Scores, members: Scores) -> Sums:
    """Sums of the features counted as current, ``[permutations + 1, D]``, and of all, ``[D]``.

    What a client sends: sums of clients add, each with rows permuted among its own, and `p_of_sums`
    finishes them. `members` is that of `memberships`, drawn by each client for itself; clients
    of equal size may be given along leading axes, ``[clients, n, D]``, and may share theirs.

    >>> sums, total = permuted_sums(np.eye(2), 2 * np.eye(2), np.array([[0, 0, 1, 1], [1, 1, 0, 0]]))
    >>> sums.tolist(), total.tolist()
    ([[2.0, 2.0], [1.0, 1.0]], [3.0, 3.0])
    """
    both = _both(reference_features, current_features)
    return (members @ both).astype(float), both.sum(-2, dtype=float)


def centred(sums: Floats, total: Floats, n: int, m: int) -> Sums:
    """The sums less what is expected of them, ``m / (n + m)`` of the total, and a total of 0.

    For clients that differ in their share of current rows: else the test compares the mix of
    clients too, which permuting within each does not move, and sees less.

    >>> sums, total = centred(np.array([[2.0], [1.0]]), np.array([3.0]), 2, 2)
    >>> sums.tolist(), total.tolist()
    ([[0.5], [-0.5]], [0.0])
    """
    return sums - (m / (n + m)) * total[..., None, :], np.zeros_like(total)


def p_of_sums(current_sums: Floats, total: Floats, n: int, m: int) -> tuple[Floats, Floats]:
    """``|mean of current - mean of reference|^2`` of each split, the one seen first, and its p-value.

    `n` rows of reference and `m` of current, over all clients whose sums were added.

    >>> statistics, p = p_of_sums(np.array([[4.0], [2.0], [3.0]]), np.array([6.0]), 2, 2)
    >>> statistics.tolist(), round(float(p), 3)
    ([1.0, 1.0, 0.0], 0.667)
    """
    if not n or not m:
        return np.full(current_sums.shape[:-1], np.nan), np.full(current_sums.shape[:-2], np.nan)
    apart = current_sums * (1 / n + 1 / m)
    apart -= total[..., None, :] / n
    statistics = np.asarray(np.einsum("...i,...i->...", apart, apart))
    return statistics, _share(statistics)


def fourier_test(
    x: Scores,
    y: Scores,
    bandwidth: float,
    rng: np.random.Generator,
    *,
    features: int = 256,
    permutations: int = 199,
) -> tuple[float, float]:
    """The permutation test on random features: cost and memory grow with rows, not with their square.

    As exact as the other; a little less powerful. The statistic is that of the biased estimate.

    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(50, 3)), rng.normal(1, size=(50, 3))
    >>> fourier_test(x, y, median_bandwidth(x), rng)[1]
    0.005
    """
    n, m = len(x), len(y)
    mapped = fourier(x.shape[1], bandwidth, rng, features)
    seen, new = (features_of(side, *mapped) for side in _near(x, y))
    statistics, p = p_of_sums(*permuted_sums(seen, new, memberships(n, m, permutations, rng)), n, m)
    return float(statistics[0]), float(p)


def _kernel(distances: Scores, bandwidth: float) -> Scores:
    """In place."""
    distances *= distances.dtype.type(-0.5 / bandwidth**2)
    return np.asarray(np.exp(distances, out=distances))


def _splits(kernel: Scores, members: Scores) -> Floats:
    """The statistic of each split; a constant taken off all pairs changes none, and rounding is less."""
    rows = len(kernel)
    kernel -= (kernel.sum(dtype=float) - rows) / (rows * (rows - 1))
    np.fill_diagonal(kernel, 0)
    each = kernel.sum(1, dtype=float)
    m = members[0].sum(dtype=float)
    n = rows - m
    upper = strmm(1.0, kernel.T, members.T)
    within = 2 * np.einsum("ib,ib->b", upper, members.T, dtype=float)
    touching = members @ each
    across = touching - within
    other = each.sum() - 2 * across - within
    return np.asarray(within / (m * (m - 1)) + other / (n * (n - 1)) - 2 * across / (n * m))


def _share(statistics: Floats) -> Floats:
    """How many splits reach the first one, which counts too; equal but for rounding is equal."""
    seen, slack = statistics[..., :1], _SLACK * np.abs(statistics).max(-1, keepdims=True)
    p = (statistics >= seen - slack).sum(-1) / statistics.shape[-1]
    return np.where(np.isnan(seen[..., 0]), np.nan, p)


def _near(x: Scores, y: Scores) -> Sums:
    """Both around 0, before they lose digits."""
    middle = x.mean(0) if len(x) else 0
    return x - middle, y - middle


def _both(x: Scores, y: Scores) -> Scores:
    return np.concatenate([x.astype(np.float32, copy=False), y.astype(np.float32, copy=False)], -2)


def _real(x: Scores) -> Scores:
    return x if x.dtype in (np.float32, np.float64) else x.astype(float)
