"""Loops that numba compiles, where the extra ``fast`` is installed; NumPy gives the same values.

Loading numba costs most of a CPU second, so a loop is taken from ``WORTH`` values on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from muster.kernels.types import Codes, Floats, Scores

WORTH = 1 << 24
Loop = Callable[..., None]


def worth(values: int) -> bool:
    """Is there a compiler, and enough to do for it?"""
    return values >= WORTH and find_spec("numba") is not None


def count_bins(
    cell: Codes, scores: Scores, truth: Codes, found: tuple[Floats, Floats], places: tuple[int, int]
) -> None:
    """Add the bin of each score to `found`: all rows, and those of the class, ``[cells, classes, width]``.

    `places` says how the bins lie: bits of the mantissa, and the lowest exponent.
    """
    loop, (rows, own) = _compiled(_count_bins), found
    for k, score in enumerate(scores):
        loop(cell.astype(np.int32, copy=False), score, truth == k, (rows[:, k], own[:, k]), places)


@cache
def _compiled(loop: Loop) -> Loop:
    made: Loop = import_module("numba").njit(cache=True)(loop)
    return made


def _count_bins(cell: Any, scores: Any, positive: Any, found: Any, places: Any) -> None:
    (rows, own), (bits, lowest) = found, places
    last = rows.shape[1] - 1
    half = (last + 1) // 2
    least = np.float32(0.5 ** (127 - lowest))
    for i in range(cell.size):
        upper = scores[i] > 0.5
        tail = max(np.float32(1 - scores[i] if upper else scores[i]), least)
        step = min((np.float32(tail).view(np.int32) >> (23 - bits)) - (lowest << bits), half - 1)
        place = last - step if upper else step
        rows[cell[i], place] += 1
        if positive[i]:
            own[cell[i], place] += 1
