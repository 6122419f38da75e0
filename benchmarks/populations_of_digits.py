"""Federations of any size: clients with some forty digits each, drawn with replacement."""

from __future__ import annotations

import numpy as np

from muster.records import Samples
from muster.systems.federation.clients import Clients, split
from muster.systems.federation.drifting import Drifting
from muster.systems.federation.scenario import Scenario

ITEMS = 40


def clients_of(many: int, seed: int = 0) -> Clients:
    """Log-normal sizes around forty, a third of the items to test on."""
    from muster.sources.datasets import dataset

    digits, rng = dataset("digits"), np.random.default_rng(seed)
    sizes = sizes_of(many, rng)
    place = rng.integers(0, len(digits), sizes.sum())
    samples = Samples(
        name="digits", nature="image", x=digits.x[place], y=digits.y[place], classes=digits.classes,
        shape=digits.shape,
    )  # fmt: skip
    names = np.array([*map(str, range(many)), None], object)[:-1]
    return split(samples, np.repeat(np.arange(many), sizes), names, seed=seed)


def sizes_of(many: int, rng: np.random.Generator) -> np.ndarray:
    """How many items each client has."""
    return np.clip(np.exp(rng.normal(np.log(ITEMS * 1.4), 0.5, many)), 12, 200).astype(int)


def made_up(many: int, seed: int = 0) -> Clients:
    """The same sizes, and images of noise: for machines that have NumPy and PyTorch alone."""
    rng = np.random.default_rng(seed)
    sizes = sizes_of(many, rng)
    samples = Samples(
        name="noise", nature="image", x=rng.random((sizes.sum(), 64), np.float32),
        y=rng.integers(0, 10, sizes.sum()), classes=tuple("0123456789"), shape=(8, 8),
    )  # fmt: skip
    names = np.array([*map(str, range(many)), None], object)[:-1]
    return split(samples, np.repeat(np.arange(many), sizes), names, seed=seed)


def calm(clients: Clients, rounds: int = 1) -> tuple[Drifting, Drifting]:
    """Their train and test items, without drift."""
    none = Scenario((), np.zeros((rounds, len(clients)), np.int64), np.zeros((rounds, len(clients))))
    return Drifting.of(clients, clients.train, none, 0), Drifting.of(clients, clients.test, none, 0)
