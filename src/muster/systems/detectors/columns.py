"""Tests of one feature at a time, each client against its own reference: KS, PSI, W1, chi-square.

The client tests its own rows and sends p-values. Calibrated, they are corrected for clients times
features; the rule that Evidently applies is not, and is here to be compared with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The reference of each client: sorted values, inner edges of tenths, classes, scores of its rounds."""

    values: Floats
    edges: Floats
    classes: Floats
    own: Mapping[Test, Floats]


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
    def psi(self) -> Floats:
        """Population stability index over tenths of the reference."""
        edges = self.held.edges[self.at]
        return shift.psi(_binned(self.held.values[self.at], edges), _binned(self._sorted, edges))

    @cached_property
    def _sorted(self) -> Floats:
        return np.sort(self.now.values[self.at].transpose(0, 2, 1), -1).astype(float)


def hold(reference: Seen, rounds: int, classes: int, tests: Collection[Test]) -> Held:
    """The reference, ``[clients, rounds * items, ...]``, sorted once; some tests need its own rounds too."""
    values = np.sort(reference.values.transpose(0, 2, 1), -1).astype(float)
    edges = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1], axis=-1).transpose(1, 2, 0)
    wanted = [test for test in ("w1", "psi") if test in tests]
    own = _own_rounds(reference.values, edges, rounds) if wanted else {}
    return Held(values, edges, _classes(reference.truth, classes), own)


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
        n, m = seen.held.values.shape[-1], seen.now.truth.shape[-1]
        if self.test == "chi_square":
            counts = _classes(seen.now.truth[seen.at], seen.held.classes.shape[-1])
            return shift.chi_square(seen.held.classes[seen.at], counts)[1][:, None]
        if self.test == "ks":
            return shift.ks_p(seen.gaps[0], n, m)
        score = seen.psi if self.test == "psi" else seen.gaps[1]
        return predictive_p(score, seen.held.own[self.test][seen.at])

    def _evidently(self, seen: Against) -> NDArray[np.bool_]:
        n, m = seen.held.values.shape[-1], seen.now.truth.shape[-1]
        spread = np.maximum(seen.held.values[seen.at].std(-1), 1e-12)
        p = shift.ks_p(seen.gaps[0], n, m)
        return shift.dataset_drift(shift.evidently_rule(p, seen.gaps[1] / spread, n))


def _own_rounds(values: NDArray[np.float32], edges: Floats, rounds: int) -> dict[Test, Floats]:
    """Scores of each round of the reference against the others, ``[clients, features, rounds]``."""
    clients, rows, features = values.shape
    split = values.reshape(clients, rounds, rows // rounds, features).transpose(0, 3, 1, 2).astype(float)
    distance, index = [], []
    for one in range(rounds):
        others = np.sort(np.delete(split, one, axis=2).reshape(clients, features, -1), -1)
        own = np.sort(split[:, :, one], -1)
        distance.append(shift.ks_w1(others, own)[1])
        index.append(shift.psi(_binned(others, edges), _binned(own, edges)))
    return {"w1": np.stack(distance, -1), "psi": np.stack(index, -1)}


def _binned(values: Floats, edges: Floats) -> Floats:
    """How many sorted values lie between edges."""
    below = np.stack([(values <= edges[..., k, None]).sum(-1) for k in range(edges.shape[-1])], -1)
    ends = np.concatenate(
        [np.zeros_like(below[..., :1]), below, np.full_like(below[..., :1], values.shape[-1])], -1
    )
    return np.diff(ends, axis=-1).astype(float)


def _classes(codes: NDArray[np.int64], classes: int) -> Floats:
    return np.stack([(codes == k).sum(-1) for k in range(classes)], -1).astype(float)
