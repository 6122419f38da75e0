"""Tests of drift, against SciPy feature by feature and against the way of alibi-detect 0.13 on one thread.

alibi-detect is no dependency: what is timed is its algorithm, written anew on torch. Side by side the
real ``MMDDrift.predict`` gave the same statistic and took 0.9 to 1.3 times the CPU time of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import numpy as np
import torch
from scipy import stats

from benchmarks.timing import Figure, cpu, faster
from muster.kernels import mmd, shift

CLIENTS, FEATURES, REFERENCE, CURRENT = 10, 16, 2000, 200
CELLS = [(200, 16, 199), (200, 64, 99), (500, 16, 199), (1000, 16, 199), (1000, 64, 99)]
ALIBI = "alibi-detect's way, torch, one thread"


def run() -> Iterator[Figure]:
    """The statistics of both sides are the same."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield from _features(np.random.default_rng(0))
    for rows, dimensions, permutations in CELLS:
        yield from _discrepancy(rows, dimensions, permutations)
    torch.set_num_threads(threads)


def _features(rng: np.random.Generator) -> Iterator[Figure]:
    """References are sorted once; the rows of a round are sorted each time."""
    import_module("numba")
    reference = np.sort(rng.normal(size=(CLIENTS, FEATURES, REFERENCE)), -1)
    current = rng.normal(0.1, 1, (CLIENTS, FEATURES, CURRENT))
    pairs = list(zip(reference.reshape(-1, REFERENCE), current.reshape(-1, CURRENT), strict=True))

    def ours() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        d, w1 = shift.ks_w1(reference, np.sort(current, -1))
        return d, w1, shift.ks_p(d, REFERENCE, CURRENT)

    d, w1, _ = (found.ravel() for found in ours())
    np.testing.assert_allclose(d, [stats.ks_2samp(*pair).statistic for pair in pairs], atol=1e-12)
    np.testing.assert_allclose(w1, [stats.wasserstein_distance(*pair) for pair in pairs], atol=1e-12)
    what, spent = f"KS and W1, {CLIENTS} clients x {FEATURES} features", cpu(ours, 25)
    ks = cpu(lambda: [stats.ks_2samp(*pair) for pair in pairs])
    distances = cpu(lambda: [stats.wasserstein_distance(*pair) for pair in pairs])
    yield faster(what, spent, "scipy ks_2samp in a loop", ks, 50)
    yield faster(what, spent, "scipy ks_2samp and wasserstein_distance", ks + distances)


def _discrepancy(rows: int, dimensions: int, permutations: int) -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(place, 1, (rows, dimensions)).astype(np.float32) for place in (0, 0.3))
    bandwidth = mmd.median_bandwidth(x)
    peer = _Alibi(x, bandwidth, permutations)

    def exact() -> tuple[float, float]:
        return mmd.permutation_test(x, y, bandwidth, rng, permutations=permutations)

    def fourier() -> tuple[float, float]:
        return mmd.fourier_test(x, y, bandwidth, rng, permutations=permutations)

    (statistic, p), (theirs, peer_p) = exact(), peer.score(y)
    np.testing.assert_allclose(statistic, theirs, atol=2e-6)
    assert p == fourier()[1] == 1 / (permutations + 1)
    assert peer_p == 0, "the peer leaves out the split seen"
    spent, size = cpu(lambda: peer.score(y), 1 if rows > 500 else 3), f"{rows} rows, d={dimensions}"
    yield faster(f"exact MMD, {size}, B={permutations}", cpu(exact, 15), ALIBI, spent, 20)
    yield faster(f"MMD by 256 features, {size}, B={permutations}", cpu(fourier, 15), ALIBI, spent, 20)


class _Alibi:
    """Kernel of the reference at the start, of the rest at each call; the matrix reordered a permutation."""

    def __init__(self, reference: np.ndarray, bandwidth: float, permutations: int) -> None:
        self.reference, self.permutations = torch.from_numpy(reference), permutations
        self.gamma = 1 / (2 * bandwidth**2)
        self.own = self.kernel(self.reference, self.reference)

    def kernel(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """As one product of matrices."""
        squares = x.square().sum(1)[:, None] + y.square().sum(1)
        return torch.exp(-self.gamma * torch.addmm(squares, x, y.T, alpha=-2).clamp_min_(0))

    def score(self, current: np.ndarray) -> tuple[float, float]:
        """The statistic, and the share of permutations that reach it."""
        new = torch.from_numpy(current)
        across = self.kernel(self.reference, new)
        upper, lower = torch.cat([self.own, across], 1), torch.cat([across.T, self.kernel(new, new)], 1)
        whole = torch.cat([upper, lower], 0)
        whole = whole - torch.diag(whole.diag())
        seen = self.statistic(whole, len(new))
        drawn = [self.statistic(self.reordered(whole), len(new)) for _ in range(self.permutations)]
        return float(seen), float((seen <= torch.stack(drawn)).float().mean())

    @staticmethod
    def reordered(whole: torch.Tensor) -> torch.Tensor:
        """Rows, then columns: two copies."""
        order = torch.randperm(len(whole))
        return whole[order][:, order]

    @staticmethod
    def statistic(whole: torch.Tensor, m: int) -> torch.Tensor:
        """Means of the blocks."""
        n = len(whole) - m
        within, own, across = whole[:-m, :-m], whole[-m:, -m:], whole[-m:, :-m]
        return within.sum() / (n * (n - 1)) + own.sum() / (m * (m - 1)) - 2 * across.mean()
