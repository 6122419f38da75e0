"""Who holds what: every client has items of its own to learn from, and others to be tested on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadConfig, BadData
from muster.kernels import skew
from muster.kernels.types import Floats
from muster.records import Column, Samples, Table
from muster.systems.federation.seeds import generator

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Items of many clients, one after another: client c holds ``items[starts[c]:starts[c + 1]]``."""

    items: Places
    starts: Places

    @property
    def sizes(self) -> Places:
        """How many items each client holds."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Places:
        """The client of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Clients:
    """``train`` and ``test`` hold places in ``samples``; no item is in both."""

    samples: Samples
    names: Column
    train: Held
    test: Held

    def __len__(self) -> int:
        return len(self.names)

    @property
    def counts(self) -> Floats:
        """How many items of each class each client holds, ``[clients, classes]``."""
        classes = len(self.samples.classes)
        return sum(
            np.bincount(part.owner * classes + self.samples.y[part.items], minlength=len(self) * classes)
            .reshape(len(self), classes)
            .astype(float)
            for part in (self.train, self.test)
        )  # type: ignore[return-value]


def split(
    samples: Samples, owner: Places, names: Column, *, test_share: float = 0.3, seed: int = 0
) -> Clients:
    """Give every client its own train and test items; `owner` is the client of each item, -1 of nobody.

    >>> samples = Samples(name="s", nature="table", x=np.zeros((8, 1), np.float32),
    ...                   y=np.arange(8) % 2, classes=("a", "b"))
    >>> made = split(samples, np.arange(8) // 4, np.array(["p", "q"], object))
    >>> made.train.sizes.tolist(), made.test.sizes.tolist()
    ([3, 3], [1, 1])
    """
    if not 0 < test_share < 1:
        raise BadConfig(f"test_share must lie between 0 and 1, not {test_share:g}")
    sizes = np.bincount(owner[owner >= 0], minlength=len(names))
    few = [f"{name} ({size})" for name, size in zip(names, sizes, strict=True) if size < 2]
    if few:
        raise BadData(
            f"{len(few)} of {len(names)} clients hold fewer than 2 items, one to learn from and one to be "
            f"tested on: {', '.join(few[:5])}; take fewer clients, a larger minimum, or a milder partition"
        )
    order = np.lexsort((generator(seed, "split").random(len(owner)), owner))
    order = order[owner[order] >= 0]
    rank = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    tested = np.clip(np.rint(sizes * test_share), 1, sizes - 1).astype(np.int64)
    is_test = rank < np.repeat(tested, sizes)
    return Clients(
        samples=samples,
        names=names,
        train=Held(order[~is_test], np.append(0, np.cumsum(sizes - tested))),
        test=Held(order[is_test], np.append(0, np.cumsum(tested))),
    )


def heterogeneity(clients: Clients) -> Table:
    """How unlike the clients are, as achieved: one row a client.

    ``tv`` is the total variation between its class shares and those of all, ``entropy`` in nats.
    """
    counts = clients.counts
    return Table.of(
        {
            "client": clients.names,
            "train": clients.train.sizes,
            "test": clients.test.sizes,
            "classes": (counts > 0).sum(1),
            "tv": skew.total_variation(counts),
            "entropy": skew.entropy(counts),
        }
    )
