"""Tests of one feature at a time, each client against its own reference: KS, PSI, W1, chi-square.

The client tests its own rows and sends p-values. Calibrated, they are corrected for clients times
features; the rule that Evidently applies is not, and is here to be compared with.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.kernels import shift
from muster.kernels.evidence import predictive_p
from muster.kernels.types import Floats
from muster.records import ALARM, QUIET, UNKNOWN, Answers
from muster.systems.detectors.answer import Answer
from muster.systems.detectors.sketches import Seen

Test: TypeAlias = Literal["ks", "psi", "w1", "chi_square", "evidently"]
BINS, EXPECTED = 10, 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The reference of each client: sorted values, their ranks, counts in groups of bins and of classes.

    ``own`` are distances of each of its rounds from the others, over their mean.
    """

    values: Floats
    ranks: Floats
    edges: Floats
    bins: NDArray[np.int64]
    classes: Floats
    groups: NDArray[np.int64]
    own: Floats
    scale: Floats


@dataclass(frozen=True, eq=False)
class Against:
    """A round beside the reference, of the clients ``at``; what several tests need is worked out once."""

    held: Held
    now: Seen
    at: NDArray[np.intp]

    @cached_property
    def gaps(self) -> tuple[Floats, Floats]:
        """Kolmogorov-Smirnov's D and the Wasserstein distance of each client and feature."""
        return shift.ks_w1(self.held.values[self.at], self._sorted)

    @cached_property
    def moved(self) -> Floats:
        """The Wasserstein distance of ranks: of features of any scale and tail."""
        ranks = _ranks(self.held.values[self.at], self._sorted)
        return shift.ks_w1(self.held.ranks[self.at], ranks)[1]

    @cached_property
    def psi(self) -> Floats:
        """P-value of the stability index, over tenths of the reference that are not too empty.

        Half a row is added to each, so that one that is empty by chance says no more than it should.
        Rows in bins that the reference left empty count by themselves: that all of them are new has
        the chance ``(m / (n + m)) ^ rows``.
        """
        held, edges, bins = self.held.values[self.at], self.held.edges[self.at], self.held.bins[self.at]
        before, after = (_binned(side, edges) for side in (held, self._sorted))
        n, m = held.shape[-1], self._sorted.shape[-1]
        there = np.arange(BINS) <= bins.max(-1, keepdims=True)
        index = shift.psi(*(shift.poured(side, bins) + 0.5 * there for side in (before, after)))
        unseen = np.where(before == 0, after, 0).sum(-1)
        p = np.minimum(shift.psi_p(index, n, m, bins.max(-1) + 1.0), (m / (n + m)) ** unseen)
        return np.asarray(np.minimum(2 * p, 1))

    @cached_property
    def classes(self) -> Floats:
        """P-value of the mix of labels, rare classes counted together."""
        groups = self.held.groups[self.at]
        counts = _classes(self.now.truth[self.at], self.held.classes.shape[-1])
        return shift.chi_square(
            shift.poured(self.held.classes[self.at], groups), shift.poured(counts, groups)
        )[1]

    @cached_property
    def _sorted(self) -> Floats:
        return np.sort(self.now.values[self.at].transpose(0, 2, 1), -1).astype(float)


def hold(reference: Seen, rounds: int, classes: int, tests: Collection[Test]) -> Held:
    """The reference, ``[clients, rounds * items, ...]``, sorted once; some tests need its own rounds too."""
    values = np.sort(reference.values.transpose(0, 2, 1), -1).astype(float)
    edges = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1], axis=-1).transpose(1, 2, 0)
    labels, rows = _classes(reference.truth, classes), values.shape[-1]
    least = EXPECTED / max(rows // rounds, 1)
    own, scale = _own_rounds(reference.values, rounds) if "w1" in tests else (np.zeros(0), np.zeros(0))
    return Held(
        values, _ranks(values, values), edges, shift.merged(_binned(values, edges) / rows, least),
        labels, _rare_first(labels / rows, least), own, scale,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Columns:
    """One test; ``alpha`` is the chance of a false alarm of the population in a round."""

    test: Test
    alpha: float = 0.01

    def step(self, seen: Against, known: NDArray[np.bool_]) -> Answer:
        """One round; `known` are the clients with a reference that are there."""
        units: Answers = np.where(known, QUIET, UNKNOWN).astype(np.int8)
        if not seen.at.size:
            return Answer(UNKNOWN, units)
        if self.test == "evidently":
            units[seen.at[self._evidently(seen)]] = ALARM
            return Answer.any_of(units)
        p = self._p(seen)
        units[seen.at[shift.simes(p) * len(p) <= self.alpha]] = ALARM
        whole = shift.simes(p.ravel())
        return Answer(ALARM if whole <= self.alpha else QUIET, units, float(whole))

    def _p(self, seen: Against) -> Floats:
        """P-values ``[clients, features]``."""
        if self.test == "chi_square":
            return seen.classes[:, None]
        if self.test == "psi":
            return seen.psi
        if self.test == "ks":
            return shift.ks_p(seen.gaps[0], seen.held.values.shape[-1], seen.now.truth.shape[-1])
        p = predictive_p(seen.moved / seen.held.scale[seen.at], seen.held.own[seen.at][:, None])
        return np.asarray(np.maximum(p, seen.psi))

    def _evidently(self, seen: Against) -> NDArray[np.bool_]:
        n, m = seen.held.values.shape[-1], seen.now.truth.shape[-1]
        spread = np.maximum(seen.held.values[seen.at].std(-1), 1e-12)
        p = shift.ks_p(seen.gaps[0], n, m)
        return shift.dataset_drift(shift.evidently_rule(p, seen.gaps[1] / spread, n))


def _own_rounds(values: NDArray[np.float32], rounds: int) -> tuple[Floats, Floats]:
    """Distances of each round of the reference from the others, over the mean of those; and that mean.

    The former of all features of a client together, ``[clients, features * rounds]``.
    """
    clients, rows, features = values.shape
    split = values.reshape(clients, rounds, rows // rounds, features).transpose(0, 3, 1, 2).astype(float)
    found = []
    for one in range(rounds):
        others = np.sort(np.delete(split, one, axis=2).reshape(clients, features, -1), -1)
        own = _ranks(others, np.sort(split[:, :, one], -1))
        found.append(shift.ks_w1(_ranks(others, others), own)[1])
    each = np.stack(found, -1)
    usual = max(float(each.mean()), 1e-12)
    others = (each.sum(-1, keepdims=True) - each + usual) / rounds
    return (each / others).reshape(clients, -1), (each.sum(-1) + usual) / (rounds + 1)


def _ranks(reference: Floats, values: Floats) -> Floats:
    """The share of the reference below each value, ties by half; both sorted along the last axis."""
    found = np.empty(values.shape)
    for place in np.ndindex(values.shape[:-1]):
        held, own = reference[place], values[place]
        found[place] = held.searchsorted(own) + held.searchsorted(own, side="right")
    return np.asarray(found / (2 * reference.shape[-1]))


def _rare_first(shares: Floats, least: float) -> NDArray[np.int64]:
    """Groups of classes, the rarest with the rarest."""
    order = np.argsort(shares, -1, kind="stable")
    groups = np.empty(shares.shape, np.int64)
    np.put_along_axis(groups, order, shift.merged(np.take_along_axis(shares, order, -1), least), -1)
    return groups


def _binned(values: Floats, edges: Floats) -> Floats:
    """How many sorted values lie between edges."""
    below = np.stack([(values <= edges[..., k, None]).sum(-1) for k in range(edges.shape[-1])], -1)
    ends = np.concatenate(
        [np.zeros_like(below[..., :1]), below, np.full_like(below[..., :1], values.shape[-1])], -1
    )
    return np.diff(ends, axis=-1).astype(float)


def _classes(codes: NDArray[np.int64], classes: int) -> Floats:
    return np.stack([(codes == k).sum(-1) for k in range(classes)], -1).astype(float)
