"""Maximum mean discrepancy of embeddings: the server's test, from sums that clients send.

The reference of each client is embedded again with the model of the round: an encoder that is
being trained would else drift away from its own past. Each client permutes its own rows and sends
the sums of random features of each split; added over clients they are the sums of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muster.kernels import mmd
from muster.kernels.types import Floats
from muster.records import ALARM, QUIET, UNKNOWN, Answers
from muster.systems.detectors.answer import Answer
from muster.systems.detectors.sketches import Map, Seen

FEATURES = 256


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """``alpha`` is the chance of a false alarm in a round, of the population and of each client alone.

    ``exact`` compares all pairs of rows of each client instead: for audits of few rows.
    """

    alpha: float = 0.01
    permutations: int = 199
    exact: bool = False

    def step(
        self, by: Map, reference: Seen, now: Seen, known: NDArray[np.bool_], rng: np.random.Generator
    ) -> Answer:
        """One round: the reference of each client and its items of now, by the model of this round."""
        units: Answers = np.where(known, QUIET, UNKNOWN).astype(np.int8)
        at = np.flatnonzero(known)
        if not at.size:
            return Answer(UNKNOWN, units)
        before, after = reference.embedding[at], now.embedding[at]
        own, whole = (
            self._exactly(before, after, rng) if self.exact else self._by_sums(by, before, after, rng)
        )
        units[at] = np.where(np.isnan(own), UNKNOWN, np.where(own <= self.alpha, ALARM, QUIET))
        if np.isnan(whole):
            return Answer(UNKNOWN, units)
        return Answer(ALARM if whole <= self.alpha else QUIET, units, whole)

    def _by_sums(
        self, by: Map, before: NDArray[np.float32], after: NDArray[np.float32], rng: np.random.Generator
    ) -> tuple[Floats, float]:
        n, m, clients = before.shape[1], after.shape[1], len(before)
        sums, total = np.zeros((self.permutations + 1, by[1].size)), np.zeros(by[1].size)
        own = np.empty(clients)
        for c in range(clients):
            members = mmd.memberships(n, m, self.permutations, rng)
            seen, new = mmd.features_of(before[c], *by), mmd.features_of(after[c], *by)
            sent = mmd.permuted_sums(seen, new, members)
            own[c] = mmd.p_of_sums(*sent, n, m)[1]
            sums, total = sums + sent[0], total + sent[1]
        return own, float(mmd.p_of_sums(sums, total, n * clients, m * clients)[1])

    def _exactly(
        self, before: NDArray[np.float32], after: NDArray[np.float32], rng: np.random.Generator
    ) -> tuple[Floats, float]:
        """The statistics of clients, each with its own permutations, add up to that of all."""
        found = np.stack(
            [
                mmd.splits(
                    a, b, mmd.median_bandwidth(a), mmd.memberships(len(a), len(b), self.permutations, rng)
                )
                for a, b in zip(before, after, strict=True)
            ]
        )
        return mmd.p_of_splits(found), float(mmd.p_of_splits(found.sum(0)))
