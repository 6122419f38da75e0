"""What is watched: fresh items of every client in every round, and the frozen reference of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadConfig
from muster.kernels.mmd import fourier, median_bandwidth
from muster.records import Features
from muster.systems.detectors.sketches import Map, Seen
from muster.systems.federation.concepts import Labels
from muster.systems.federation.drifting import Drifting
from muster.systems.federation.networks import losses
from muster.systems.federation.schedule import Whole
from muster.systems.federation.seeds import generator, uniform
from muster.systems.federation.strategies import Model
from muster.systems.federation.training import Learner

MOST_BYTES = 4 << 30
Drawn = tuple[Features, Labels]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """How much is watched: items a client and round, rounds of reference, and features that are tested."""

    items: int = 200
    reference: int = 10
    columns: int = 32

    def refuse(self, clients: int, features: int) -> None:
        """Say so before the work if the reference would not fit."""
        held = clients * self.reference * self.items * features * 4
        if held > MOST_BYTES:
            raise BadConfig(
                f"watching {clients:,} clients with {self.items} items in {self.reference} rounds of "
                f"reference holds {held / 2**30:.1f} GB of items; take fewer items or rounds, or no detectors"
            )


def draw(data: Drifting, items: int, where: tuple[int, int]) -> Drawn:
    """Items of each client as they are in this round, ``[clients, items]``, drawn with replacement."""
    starts, sizes = data.held.starts[:-1, None], data.held.sizes[:, None]
    chance = uniform(where[0], "watched", where[1], np.arange(len(sizes))[:, None], np.arange(items))
    place = starts + (chance * sizes).astype(np.int64)
    return data.x[place], data.y[place]


def look(learner: Learner, models: list[Model], of: Whole, drawn: Drawn, columns: Whole) -> Seen:
    """What each client's model says of its items; `of` is the model of each client."""
    x, y = drawn
    shape = y.shape
    flat = x.reshape(len(x), -1, x.shape[-1])
    parts = [(own, learner.answer(models[g], flat[own].reshape(-1, x.shape[-1]))) for g, own in _groups(of)]
    found = [np.empty((len(x), flat.shape[1], parts[0][1][i].shape[-1]), np.float32) for i in (0, 1)]
    for own, answers in parts:
        for whole, part in zip(found, answers, strict=True):
            whole[own] = part.reshape(len(own), flat.shape[1], -1)
    logits, embedding = (part.reshape(*shape, -1) for part in found)
    return Seen(
        truth=y,
        guess=logits.argmax(-1),
        loss=losses(logits, y),
        values=x[..., columns],
        embedding=embedding,
    )


def shared_map(reference: Seen, seed: int, features: int) -> Map:
    """Weights of random features: the bandwidth is the median of what clients find on their own items."""
    own = [median_bandwidth(part.reshape(-1, part.shape[-1]), 400) for part in reference.embedding]
    known = [one for one in own if np.isfinite(one)]
    bandwidth = float(np.median(known)) if known else 1.0
    return fourier(reference.embedding.shape[-1], bandwidth, generator(seed, "features"), features)


def most_varied(x: Features, columns: int) -> Whole:
    """The features that vary most over these items: what is tested one at a time.

    >>> most_varied(np.array([[0, 0, 0], [1, 5, 0]], np.float32), 2).tolist()
    [0, 1]
    """
    spread = x.reshape(-1, x.shape[-1]).var(0)
    return np.sort(np.argsort(-spread, kind="stable")[:columns])


def _groups(of: Whole) -> list[tuple[int, NDArray[np.intp]]]:
    return [(group, np.flatnonzero(of == group)) for group in np.unique(of).tolist()]
