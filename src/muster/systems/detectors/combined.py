"""The combined detector: four views against a frozen reference, calibrated on it, added up over rounds.

The views are the embeddings, the mix of answers, the loss and error (upwards alone), and the mix
of labels. No view sees all kinds of drift: embeddings do not move when labels are renamed, the
loss does not when features move aside of the classes. Each view is scored as the reference rounds
are scored when one of them is left out, which takes the jitter between rounds for what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muster.kernels.evidence import accumulated, evidence, predictive_p, predictive_t, shown, tail
from muster.kernels.shift import simes
from muster.kernels.types import Floats
from muster.records import ALARM, QUIET, UNKNOWN
from muster.systems.detectors.answer import Answer
from muster.systems.detectors.sketches import Sketch

LEAST_ROUNDS, LEAST_ROWS, PRIOR, TOP, RARE = 5, 50, 20, 3, 0.02
STILL, ENOUGH = 1e-7, 8


class Reference(NamedTuple):
    """Sketches of the reference rounds, ``[rounds, clients]``, and each client's products of features."""

    sketch: Sketch
    products: Floats


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Evidence so far: of the population, and of each client."""

    reference: Reference
    whole: float
    units: Floats


class Scores(NamedTuple):
    """One view of a round: p-values of the population, and of each client."""

    whole: Floats
    units: Floats


@dataclass(frozen=True, slots=True)
class Combined:
    """Alarm while the evidence is at least ``1 / alpha``; ``memory`` is how many times that it may hold.

    Clients are named only while the population has an alarm: their evidence alone fades slowly.

    ``views`` may leave out those that need labels: then drift of what is called what is not seen.
    """

    alpha: float = 0.005
    memory: float = 30.0
    views: tuple[str, ...] = ("embedding", "guess", "loss", "truth")

    def init(self, reference: Reference) -> State:
        """No evidence yet."""
        return State(reference, 0.0, np.zeros(reference.sketch.rows.shape[1]))

    def step(self, state: State, now: Sketch) -> tuple[State, Answer]:
        """One more round."""
        held = state.reference.sketch
        ready = (held.rows >= LEAST_ROWS).sum(0) >= max(LEAST_ROUNDS, len(held.rows))
        known = ready & (now.rows >= LEAST_ROWS) & now.finite
        units = np.where(known, QUIET, UNKNOWN).astype(np.int8)
        if known.sum() < 2 or known.sum() < 0.5 * len(known):
            return state, Answer(UNKNOWN, units, state.whole)
        seen = list(self._views(state.reference, now, np.flatnonzero(known)).values())
        most = self.memory / self.alpha
        whole = accumulated(np.array(state.whole), np.mean([evidence(v.whole) for v in seen], 0), most)
        own = state.units.copy()
        own[known] = accumulated(own[known], np.mean([evidence(v.units) for v in seen], 0), most * len(known))
        said = ALARM if whole >= 1 / self.alpha else QUIET
        if said == ALARM:
            units[known & shown(np.where(known, own, np.nan), self.alpha)] = ALARM
        return replace(state, whole=float(whole), units=own), Answer(said, units, float(whole))

    def _views(self, reference: Reference, now: Sketch, at: NDArray[np.intp]) -> dict[str, Scores]:
        held, new = reference.sketch.where((slice(None), at)), now.where(at)
        made = {
            "embedding": lambda: quadratic(*_whitened(held, new, reference.products[at])),
            "guess": lambda: quadratic(*_mix(held, new, "guess")),
            "loss": lambda: upwards(held, new),
            "truth": lambda: quadratic(*_mix(held, new, "truth")),
        }
        return {name: made[name]() for name in self.views}


def quadratic(held: Floats, new: Floats) -> Scores:
    """Squared distances from the reference, of values ``[rounds, clients, parts]`` of about unit variance.

    Of the mean over clients (all move together), summed over clients, and of the few that move most.
    """
    rounds, clients = held.shape[:2]
    apart, left = new - held.mean(0), held - (held.sum(0) - held) / (rounds - 1)
    wider, wide = 1 + 1 / rounds, 1 + 1 / (rounds - 1)
    own, own_left = (apart**2).sum(-1) / wider, (left**2).sum(-1) / wide
    together = (apart.mean(0) ** 2).sum() * clients / wider
    units = predictive_p(own, own_left.ravel())
    as_one = np.maximum(
        predictive_p(together, (left.mean(1) ** 2).sum(-1) * clients / wide),
        predictive_p(together, own_left.ravel()),
    )
    summed = np.maximum(
        predictive_p(own.sum(), own_left.sum(1)), _of_sum(own.sum(), own_left.ravel(), clients)
    )
    return Scores(simes(np.stack([as_one, summed, simes(units)])), units)


def _of_sum(score: Floats, reference: Floats, clients: int) -> Floats:
    """How likely a sum over clients is as high, if clients are independent: from single ones, of which
    there are many more than there are rounds.
    """
    spread = reference.std(ddof=1) * np.sqrt(clients * (1 + clients / reference.size))
    return tail((score - clients * reference.mean()) / max(float(spread), 1e-12), reference.size - 1)


def upwards(held: Sketch, new: Sketch) -> Scores:
    """Loss and error, if they rise: summed over clients, and of the three clients that rise most.

    They rise and fall together: their mean counts as if they were one.
    """
    z, left = _rise(held.loss / held.rows, new.loss / new.rows, _within(held))
    share = (held.wrong.sum(0) + 1) / (held.rows.sum(0) + 2)
    z_wrong, left_wrong = _rise(held.wrong / held.rows, new.wrong / new.rows, share * (1 - share) / new.rows)
    z, left = (z + z_wrong) / 2, (left + left_wrong) / 2
    clients = z.size
    whole, whole_left = z.sum() / np.sqrt(clients), left.sum(1) / np.sqrt(clients)
    all_of_them = tail(whole / max(1.0, float(whole_left.std(ddof=1))), 30)
    few = [np.sort(side, -1)[..., -TOP:].sum(-1) for side in (z, left)]
    units = tail(z / max(1.0, float(left.std(ddof=1))), 30)
    return Scores(simes(np.stack([all_of_them, predictive_t(few[0], few[1])])), units)


def _rise(held: Floats, new: Floats, sampled: Floats) -> tuple[Floats, Floats]:
    """Standardised rise of each client, and that of each reference round against the others.

    Variances are drawn towards their mean, and are not less than what drawing items alone gives.
    """
    rounds = len(held)
    variance = held.var(0, ddof=1)
    variance = (variance * (rounds - 1) + PRIOR * variance.mean()) / (rounds - 1 + PRIOR)
    error = np.sqrt(np.maximum(variance, sampled) + 1e-12)
    left = held - (held.sum(0) - held) / (rounds - 1)
    return (new - held.mean(0)) / (error * np.sqrt(1 + 1 / rounds)), left / (
        error * np.sqrt(1 + 1 / (rounds - 1))
    )


def _within(held: Sketch) -> Floats:
    """What drawing items alone makes of the variance of a client's mean loss."""
    mean = held.loss / held.rows
    return np.asarray(
        (np.maximum(held.loss_squares / held.rows - mean**2, 0) / np.maximum(held.rows - 1, 1)).mean(0)
    )


def _whitened(held: Sketch, new: Sketch, products: Floats) -> tuple[Floats, Floats]:
    """Means of features in coordinates in which a client's items have variance 1, times root n.

    The directions are those in which items of all clients vary; the variance along them is each client's.
    """
    rows, sums = held.rows.sum(0)[:, None, None], held.moved.sum(0)
    spread = products / rows - sums[:, :, None] * sums[:, None] / rows**2
    size, direction = np.linalg.eigh(spread.mean(0))
    kept = size > max(float(size.sum()) * 1e-3, STILL)
    by = direction[:, kept]
    own = np.einsum("fk,cfg,gk->ck", by, spread, by)
    scale = np.sqrt((np.maximum(own, 0) + size[kept]) / 2)
    return tuple(s.moved @ by / scale / np.sqrt(s.rows)[..., None] for s in (held, new))


def _mix(held: Sketch, new: Sketch, which: str) -> tuple[Floats, Floats]:
    """Shares of classes, each over the root of its share in the client's reference, times root n."""
    own = getattr(held, which).sum(0)
    least = np.maximum(RARE, ENOUGH / new.rows)[:, None]
    by = np.sqrt(np.maximum(own / own.sum(-1, keepdims=True), least))
    return tuple(getattr(s, which) / by / np.sqrt(s.rows)[..., None] for s in (held, new))
