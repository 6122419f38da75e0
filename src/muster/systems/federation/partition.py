"""Whose item it is: ways to deal the items of a data set to clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import numpy as np

from muster.errors import BadConfig, BadData
from muster.kernels.codes import encode
from muster.kernels.skew import power_sizes
from muster.records import Column, Samples
from muster.systems.federation.clients import Places
from muster.systems.federation.seeds import generator

Way: TypeAlias = Literal["iid", "dirichlet", "shards", "quantity", "feature", "natural"]
Dealt: TypeAlias = tuple[Places, Column]


def deal(
    samples: Samples,
    way: Way,
    clients: int,
    *,
    alpha: float = 0.5,
    minimum: int = 10,
    seed: int = 0,
) -> Dealt:
    """The client of each item, and the names of the clients.

    `alpha` is the concentration of ``dirichlet`` (small: few classes a client), the number of
    shards a client for ``shards``, and the exponent of ``quantity``. ``feature`` deals by the
    direction in which items vary most; ``natural`` by the units that the data names.

    >>> samples = Samples(name="s", nature="table", x=np.zeros((40, 1), np.float32),
    ...                   y=np.arange(40) % 2, classes=("a", "b"))
    >>> owner, names = deal(samples, "iid", 4, minimum=2)
    >>> np.bincount(owner).tolist(), names[0]
    ([10, 10, 10, 10], 'client-1')
    """
    if way == "natural":
        return _natural(samples)
    if clients < 2:
        raise BadConfig(f"a federation has at least 2 clients, not {clients}")
    if not 0 < alpha < np.inf:
        raise BadConfig(f"alpha must be above 0 and finite, not {alpha:g}: of the {way} partition")
    if clients * max(minimum, 2) > len(samples):
        raise BadData(
            f"{clients} clients with at least {max(minimum, 2)} items each need {clients * max(minimum, 2)}; "
            f"{samples.name} has {len(samples)}"
        )
    owner = WAYS[way](samples, clients, alpha, generator(seed, "partition"))
    owner = topped_up(owner, clients, max(minimum, 2), generator(seed, "top up"))
    width = len(str(clients))
    return owner, np.array([f"client-{c + 1:0{width}d}" for c in range(clients)], object)


def topped_up(owner: Places, clients: int, minimum: int, rng: np.random.Generator) -> Places:
    """Clients below the minimum are given items of those that have most, at random.

    >>> found = topped_up(np.array([0, 0, 0, 0, 1]), 2, 2, np.random.default_rng(0))
    >>> np.bincount(found).tolist()
    [3, 2]
    """
    owner, sizes = owner.copy(), np.bincount(owner, minlength=clients)
    for poor in np.flatnonzero(sizes < minimum):
        while sizes[poor] < minimum:
            rich = int(sizes.argmax())
            given = rng.permutation(np.flatnonzero(owner == rich))
            take = min(minimum - sizes[poor], max(1, (sizes[rich] - minimum) // 2))
            owner[given[:take]] = poor
            sizes[rich] -= take
            sizes[poor] += take
    return owner


def _iid(samples: Samples, clients: int, _: float, rng: np.random.Generator) -> Places:
    return np.asarray(rng.permutation(np.arange(len(samples)) % clients))


def _dirichlet(samples: Samples, clients: int, alpha: float, rng: np.random.Generator) -> Places:
    """Each class is dealt by shares of its own (Hsu et al. 2019)."""
    owner = np.zeros(len(samples), np.int64)
    for k in range(len(samples.classes)):
        items = rng.permutation(np.flatnonzero(samples.y == k))
        edges = np.cumsum(rng.dirichlet(np.full(clients, alpha))) * items.size
        owner[items] = np.minimum(np.searchsorted(edges, np.arange(items.size), side="right"), clients - 1)
    return owner


def _shards(samples: Samples, clients: int, alpha: float, rng: np.random.Generator) -> Places:
    """Items in order of class, cut into equal shards, some to each client (McMahan et al. 2017)."""
    each = max(1, round(alpha))
    order = np.lexsort((rng.random(len(samples)), samples.y))
    shard = np.arange(len(samples)) * clients * each // len(samples)
    owner = np.zeros(len(samples), np.int64)
    owner[order] = rng.permutation(np.arange(clients * each) % clients)[shard]
    return owner


def _quantity(samples: Samples, clients: int, alpha: float, rng: np.random.Generator) -> Places:
    edges = np.cumsum(power_sizes(len(samples), clients, alpha))
    rank = np.minimum(np.searchsorted(edges, np.arange(len(samples)), side="right"), clients - 1)
    return np.asarray(rng.permutation(rank))


def _feature(samples: Samples, clients: int, _: float, rng: np.random.Generator) -> Places:
    """Equal pieces along the first principal direction of the features."""
    x = samples.x - samples.x.mean(0)
    direction = rng.standard_normal(samples.features).astype(np.float32)
    for _step in range(20):
        direction = x.T @ (x @ direction)
        direction /= np.linalg.norm(direction) or 1.0
    owner = np.zeros(len(samples), np.int64)
    owner[np.argsort(x @ direction, kind="stable")] = np.arange(len(samples)) * clients // len(samples)
    return owner


def _natural(samples: Samples) -> Dealt:
    if samples.unit is None:
        raise BadConfig(f"{samples.name} names no units: say which column does, or choose another partition")
    owner, levels = encode(samples.unit)
    if len(levels) < 2:
        raise BadConfig(f"a federation has at least 2 clients; {samples.name} names one: {levels[0]}")
    return owner.astype(np.int64), np.array([*map(str, levels), None], object)[:-1]


WAYS: Mapping[str, Callable[[Samples, int, float, np.random.Generator], Places]] = {
    "iid": _iid, "dirichlet": _dirichlet, "shards": _shards, "quantity": _quantity, "feature": _feature,
}  # fmt: skip
