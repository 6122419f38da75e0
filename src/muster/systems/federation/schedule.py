"""Which items a client sees in which step: shuffles that depend on seed, round and client alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muster.records import Features
from muster.systems.federation.seeds import hashed

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Batches:
    """Local training of some clients, sorted by steps, most first.

    ``items`` is ``[clients, steps, batch]``, places in the flat arrays of items; ``there`` is 0
    where a client's last batch of an epoch is not full.
    """

    client: Whole
    items: Whole
    there: Features
    steps: Whole

    def active(self, step: int) -> int:
        """How many clients, from the first on, still have work in this step."""
        return int(np.searchsorted(-self.steps, -step, side="left"))


def batches(
    starts: Whole,
    client: Whole,
    *,
    batch: int,
    epochs: int,
    where: tuple[int, int],
    done: NDArray[np.float64] | None = None,
) -> Batches:
    """The batches of these clients; `where` is seed and round, `done` the share of its steps each does.

    >>> made = batches(np.array([0, 5, 8]), np.array([0, 1]), batch=2, epochs=1, where=(0, 1))
    >>> made.steps.tolist(), sorted(made.items[0][made.there[0] > 0].tolist())
    ([3, 2], [0, 1, 2, 3, 4])
    """
    held = np.diff(starts)
    sizes, batch = held[client], min(batch, int(held.max()))
    each = -(-sizes // batch)
    steps = each * epochs
    if done is not None:
        steps = np.maximum(np.ceil(steps * done), 1).astype(np.int64)
    order = np.argsort(-steps, kind="stable")
    client, sizes, each, steps = client[order], sizes[order], each[order], steps[order]
    wide = int(each.max()) * batch
    shuffled = np.stack([_order(sizes, client, wide, (*where, epoch)) for epoch in range(epochs)], 1)
    shuffled = shuffled.reshape(len(client), epochs, -1, batch)
    step = np.minimum(np.arange(int(steps.max())), steps[:, None] - 1)
    rows, (epoch, turn) = np.arange(len(client))[:, None], np.divmod(step, each[:, None])
    place = shuffled[rows, epoch, turn]
    there = place < sizes[:, None, None]
    items = np.where(there, place, 0) + starts[client][:, None, None]
    return Batches(client, items, there.astype(np.float32), steps)


def _order(sizes: Whole, client: Whole, wide: int, where: tuple[int, ...]) -> Whole:
    """A shuffle of each client's items, then numbers beyond them."""
    at = np.arange(wide)
    keys = hashed(where[0], "order", *where[1:], client[:, None], at) >> np.uint64(1)
    keys[at >= sizes[:, None]] = np.uint64(1) << np.uint64(63)
    return np.argsort(keys, axis=1, kind="stable")
