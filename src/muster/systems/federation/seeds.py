"""Randomness that depends on where it is used, never on what was drawn before.

A client's shuffle is a function of seed, round, client and item: it does not change with who
else takes part, with how many clients are trained at once, or where a run was resumed.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.uint64]
_STEP, _FIRST, _SECOND = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def generator(seed: int, *where: str | int) -> np.random.Generator:
    """A generator of its own for each place.

    >>> same = [generator(0, "drift", 3).random() for _ in range(2)]
    >>> same[0] == same[1] != generator(0, "drift", 4).random()
    True
    """
    return np.random.default_rng([seed, *(crc32(w.encode()) if isinstance(w, str) else w for w in where)])


def mixed(x: Whole) -> Whole:
    """Sixty-four well mixed bits for each number (splitmix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        x = x + _STEP
        x = (x ^ (x >> np.uint64(30))) * _FIRST
        x = (x ^ (x >> np.uint64(27))) * _SECOND
    return np.asarray(x ^ (x >> np.uint64(31)))


def hashed(seed: int, what: str, *where: NDArray[np.int64] | int) -> Whole:
    """Mixed bits for every combination of places; arrays are broadcast.

    >>> hashed(1, "order", 5, np.arange(3)).shape
    (3,)
    """
    found = mixed(
        np.asarray([seed % (1 << 32)], np.uint64) ^ (np.uint64(crc32(what.encode())) << np.uint64(32))
    )
    for place in where:
        found = mixed(found ^ mixed(np.asarray(place).astype(np.uint64)))
    return found


def uniform(seed: int, what: str, *where: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """Numbers from 0 to 1, one for every combination of places."""
    bits = hashed(seed, what, *where) >> np.uint64(11)
    return np.asarray(bits * (0.5**53))
