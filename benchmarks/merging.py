"""Adding the tallies of a hundred thousand units, against one NumPy addition of as many bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.timing import Figure, cost, cpu
from muster.records import Tally, merge

UNITS, PARTS = 100_000, 100


def run() -> Iterator[Figure]:
    """Both sides write into fresh memory."""
    rng = np.random.default_rng(0)
    sides = [{"bins": Tally(*rng.random((2, UNITS, PARTS)))} for _ in range(2)]
    arrays = [np.stack([side["bins"].total, side["bins"].weight]) for side in sides]
    ours, floor = cpu(lambda: merge(*sides)), cpu(lambda: arrays[0] + arrays[1])
    yield cost(f"merging {UNITS:,} units x {PARTS} parts", ours, "numpy add of the same bytes", floor, 3)
