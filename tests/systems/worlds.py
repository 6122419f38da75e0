"""Small worlds: items whose law is known, dealt to clients; what the tests of systems are fed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.kernels.mmd import fourier
from muster.records import Samples
from muster.systems.detectors.combined import Reference
from muster.systems.detectors.sketches import Map, Seen, Sketch, outer, sketch
from muster.systems.federation.clients import Clients, split
from muster.systems.federation.drifting import Drifting
from muster.systems.federation.partition import deal
from muster.systems.federation.scenario import Scenario


def blobs(
    items: int = 600, *, classes: int = 3, features: int = 8, nature: Any = "table", seed: int = 0
) -> Samples:
    """One normal cloud a class, well apart; images lie between 0 and 1, text in rows of length 1."""
    rng = np.random.default_rng([seed, 11])
    y = rng.permutation(np.arange(items) % classes)
    x = rng.normal(0, 2.0, (classes, features))[y] + rng.normal(size=(items, features))
    shape = None
    if nature == "image":
        side = round(features**0.5)
        shape, x = (side, side), np.clip(0.5 + x / 10, 0, 1)
    if nature == "text":
        x = np.maximum(np.rint(x), 0) + 1e-3
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    return Samples(
        name="blobs", nature=nature, x=x.astype(np.float32), y=y.astype(np.int64), shape=shape,
        classes=tuple(f"class-{k}" for k in range(classes)),
    )  # fmt: skip


def population(samples: Samples, clients: int = 5, *, minimum: int = 2, seed: int = 0) -> Clients:
    """Clients of unequal sizes and mixes."""
    return split(samples, *deal(samples, "dirichlet", clients, alpha=1.0, minimum=minimum, seed=seed))


def calm(rounds: int, clients: int) -> Scenario:
    """No drift."""
    return Scenario((), np.zeros((rounds, clients), np.int64), np.zeros((rounds, clients)))


def still(clients: Clients, seed: int = 0) -> Drifting:
    """The train items of a federation without drift."""
    return Drifting.of(clients, clients.train, calm(1, len(clients)), seed)


class World:
    """Items of a known law for detectors: normal embeddings, fixed mixes, errors, losses.

    ``unequal`` clients differ in place, spread, mix, error and loss.
    """

    CLASSES, WIDTH, FEATURES = 10, 16, 64

    def __init__(
        self,
        seed: int,
        *,
        clients: int = 10,
        items: int = 200,
        error: float = 0.1,
        loss: str = "normal",
        unequal: bool = False,
    ) -> None:
        self.rng = rng = np.random.default_rng([seed, 5])
        self.shape, self.kind = (clients, items), loss
        self.by: Map = fourier(self.WIDTH, float(np.sqrt(self.WIDTH)), rng, self.FEATURES)
        much = float(unequal)
        self.place = (0.5 + much) * rng.normal(size=(clients, 1, self.WIDTH))
        self.spread = np.exp(0.7 * much * rng.normal(size=(clients, 1, 1)))
        self.mix = rng.dirichlet(np.full(self.CLASSES, 0.5 if unequal else 5.0), clients)
        self.error = np.clip(error * np.exp((0.2 + 0.8 * much) * rng.normal(size=(clients, 1))), 0, 0.9)
        self.level = np.exp((0.1 + 0.7 * much) * rng.normal(size=(clients, 1)))

    def seen(self, *, moved: Any = 0.0, missed: Any = 0.0, guessed: Any = 0.0, tilted: Any = 0.0) -> Seen:
        """One round. Each shift may be one number, or one a client: of the embeddings (in standard
        deviations), of the error and loss, of the share of answers that are class 0, of the labels
        that are class 0."""
        rng, (clients, items) = self.rng, self.shape
        moved, missed, guessed, tilted = (
            np.broadcast_to(np.asarray(v, float), clients)[:, None] for v in (moved, missed, guessed, tilted)
        )
        embedding = self.place + self.spread * rng.normal(size=(clients, items, self.WIDTH))
        embedding += moved[..., None] * self.spread
        truth = (rng.random((clients, items, 1)) > np.cumsum(self.mix, 1)[:, None, :-1]).sum(-1)
        truth = np.where(rng.random((clients, items)) < tilted, 0, truth)
        wrong = rng.random((clients, items)) < self.error + missed
        guess = np.where(wrong, (truth + 1) % self.CLASSES, truth)
        guess = np.where(rng.random((clients, items)) < guessed, 0, guess)
        return Seen(
            truth=truth, guess=guess, loss=self.level * (1 + 2 * missed) * self._loss(wrong),
            values=embedding.astype(np.float32), embedding=embedding.astype(np.float32),
        )  # fmt: skip

    def _loss(self, wrong: NDArray[np.bool_]) -> NDArray[np.float64]:
        if self.kind == "normal":
            return np.abs(1 + 0.5 * self.rng.normal(size=wrong.shape))
        if self.kind == "sure":
            return self.rng.exponential(np.where(wrong, 3.0, 0.02))
        return np.exp(2 * self.rng.normal(size=wrong.shape))

    def sent(self, **moves: Any) -> Sketch:
        """What clients send of one round."""
        return sketch(self.seen(**moves), self.CLASSES, self.by)

    def reference(self, rounds: int = 10) -> Reference:
        """Rounds without drift."""
        seen = [self.seen() for _ in range(rounds)]
        parts = [sketch(one, self.CLASSES, self.by) for one in seen]
        stacked = {f.name: np.stack([getattr(part, f.name) for part in parts]) for f in fields(Sketch)}
        return Reference(Sketch(**stacked), sum(outer(one, self.by) for one in seen))


def joined(rounds: list[Seen]) -> Seen:
    """Rounds one after another, as one reference ``[clients, rounds * items, ...]``."""
    return Seen(**{f.name: np.concatenate([getattr(one, f.name) for one in rounds], 1) for f in fields(Seen)})
