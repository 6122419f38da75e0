"""Tests of one feature at a time, each client against its own reference: KS, PSI, W1, chi-square.

The client tests its own rows and sends p-values. Calibrated, they are corrected for clients times
features; the rule that Evidently applies is not, and is here to be compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.kernels import shift
from muster.kernels.evidence import predictive_t
from muster.kernels.types import Floats
from muster.records import ALARM, QUIET, UNKNOWN, Answers
from muster.systems.detectors.answer import Answer
from muster.systems.detectors.sketches import Seen

Test: TypeAlias = Literal["ks", "psi", "w1", "chi_square", "evidently"]
BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The reference of each client: sorted values, inner edges of tenths, counts, W1 of its own rounds."""

    values: Floats
    edges: Floats
    counts: Floats
    classes: Floats
    own: Floats


@dataclass(frozen=True, slots=True)
class Columns:
    """One test; ``alpha`` is the chance of a false alarm of the population in a round."""

    test: Test
    alpha: float = 0.01

    def init(self, reference: Seen, rounds: int, classes: int) -> Held:
        """Sort the reference, ``[clients, rounds * items, ...]``, once."""
        values = np.sort(reference.values.transpose(0, 2, 1), -1).astype(float)
        edges = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1], axis=-1).transpose(1, 2, 0)
        own = _own_rounds(reference.values, rounds) if self.test == "w1" else np.zeros(0)
        return Held(values, edges, _binned(values, edges), _classes(reference.truth, classes), own)

    def step(self, held: Held, now: Seen, known: NDArray[np.bool_]) -> tuple[Held, Answer]:
        """One more round; `known` are the clients with a reference that are there."""
        units: Answers = np.where(known, QUIET, UNKNOWN).astype(np.int8)
        if not known.any():
            return held, Answer(UNKNOWN, units)
        at = np.flatnonzero(known)
        if self.test == "evidently":
            units[at[self._evidently(held, now, at)]] = ALARM
            return held, Answer.any_of(units)
        p = self._p(held, now, at)
        units[at[shift.simes(p) * len(at) <= self.alpha]] = ALARM
        whole = shift.simes(p.ravel())
        return held, Answer(ALARM if whole <= self.alpha else QUIET, units, float(whole))

    def _p(self, held: Held, now: Seen, at: NDArray[np.intp]) -> Floats:
        """P-values ``[clients, features]``."""
        n, m = held.values.shape[-1], now.truth.shape[-1]
        if self.test == "chi_square":
            counts = _classes(now.truth[at], held.classes.shape[-1])
            return shift.chi_square(held.classes[at], counts)[1][:, None]
        new = np.sort(now.values[at].transpose(0, 2, 1), -1).astype(float)
        if self.test == "psi":
            index = shift.psi(held.counts[at], _binned(new, held.edges[at]))
            return shift.psi_p(index, n, m, BINS)
        d, w1 = shift.ks_w1(held.values[at], new)
        return shift.ks_p(d, n, m) if self.test == "ks" else predictive_t(w1, held.own[at])

    def _evidently(self, held: Held, now: Seen, at: NDArray[np.intp]) -> NDArray[np.bool_]:
        new = np.sort(now.values[at].transpose(0, 2, 1), -1).astype(float)
        d, w1 = shift.ks_w1(held.values[at], new)
        n, spread = held.values.shape[-1], np.maximum(held.values[at].std(-1), 1e-12)
        drifted = shift.evidently_rule(shift.ks_p(d, n, new.shape[-1]), w1 / spread, n)
        return shift.dataset_drift(drifted)


def _own_rounds(values: NDArray[np.float32], rounds: int) -> Floats:
    """W1 of each round of the reference against the others, ``[clients, features, rounds]``."""
    clients, rows, features = values.shape
    split = values.reshape(clients, rounds, rows // rounds, features).transpose(0, 3, 1, 2).astype(float)
    found = []
    for one in range(rounds):
        others = np.delete(split, one, axis=2).reshape(clients, features, -1)
        found.append(shift.ks_w1(np.sort(others, -1), np.sort(split[:, :, one], -1))[1])
    return np.stack(found, -1)


def _binned(values: Floats, edges: Floats) -> Floats:
    """How many sorted values lie between edges."""
    below = np.stack([(values <= edges[..., k, None]).sum(-1) for k in range(edges.shape[-1])], -1)
    ends = np.concatenate(
        [np.zeros_like(below[..., :1]), below, np.full_like(below[..., :1], values.shape[-1])], -1
    )
    return np.diff(ends, axis=-1).astype(float)


def _classes(codes: NDArray[np.int64], classes: int) -> Floats:
    return np.stack([(codes == k).sum(-1) for k in range(classes)], -1).astype(float)
