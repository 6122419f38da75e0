"""Two sorted samples walked through side by side; numba compiles the walk where there is enough to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from muster.kernels.types import Floats, Scores

WORTH = 1 << 24
_LOADED = 1 << 14
_BLOCK = 1 << 15
Scan = Callable[..., None]


def worth(values: int) -> bool:
    """Is there a compiler, and enough to do for it? Much less is enough once it is loaded."""
    if "numba" in sys.modules:
        return values >= min(_LOADED, WORTH)
    return values >= WORTH and find_spec("numba") is not None


def gaps(reference: Scores, current: Scores) -> tuple[Floats, Floats]:
    """The widest gap between two distribution functions and the area between them, row by row.

    Both are sorted, ``[own, n]`` and ``[rows, m]``: rows of `current` go round the rows of `reference`.
    Both ways to walk give the same bits, so it does not matter who has loaded the compiler.

    >>> widest, area = gaps(np.array([[0.0, 1.0]]), np.array([[0.0, 3.0]]))
    >>> widest.tolist(), area.tolist()
    ([0.5], [1.0])
    """
    found = np.empty((2, len(current)))
    if worth(current.size + len(current) * reference.shape[1]):
        _compiled(_walk)(reference, current, found[0], found[1])
    else:
        _sort(reference, current, found)
    found /= reference.shape[1] * current.shape[1]
    return found[0], found[1]


@cache
def _compiled(scan: Scan) -> Scan:
    made: Scan = import_module("numba").njit(cache=True)(scan)
    return made


def _walk(reference: Any, current: Any, widest: Any, area: Any) -> None:
    """A gap holds from one value to the next: whole numbers, rows of one side times the size of the other."""
    n, m = reference.shape[1], current.shape[1]
    for row in range(current.shape[0]):
        ref, cur = reference[row % reference.shape[0]], current[row]
        i, gap, most, under = 0, 0.0, 0.0, 0.0
        last = np.float64(min(ref[0], cur[0]))
        for k in range(m + 1):
            while i < n and (k == m or ref[i] <= cur[k]):
                value = np.float64(ref[i])
                under += abs(gap) * (value - last)
                if value > last:
                    most = max(most, abs(gap))
                last = value
                gap += m
                i += 1
            if k < m:
                value = np.float64(cur[k])
                under += abs(gap) * (value - last)
                if value > last:
                    most = max(most, abs(gap))
                last = value
                gap -= n
        widest[row], area[row] = most, under


def _sort(reference: Scores, current: Scores, found: Floats) -> None:
    """The same bits by sorting both together; a stable sort finds two sorted runs and merges them."""
    n, m = reference.shape[1], current.shape[1]
    step = max(1, _BLOCK // (n + m))
    for start in range(0, len(current), step):
        piece = current[start : start + step]
        own = np.arange(start, start + len(piece)) % len(reference)
        both = np.concatenate([reference[own], piece], -1)
        order = np.argsort(both, -1, kind="stable")
        values = np.take_along_axis(both, order, -1).astype(float, copy=False)
        gap = np.abs(np.cumsum(np.where(order < n, float(m), float(-n)), -1))[:, :-1]
        width = np.diff(values)
        found[0, start : start + step] = np.where(width > 0, gap, 0).max(-1)
        found[1, start : start + step] = np.cumsum(gap * width, -1)[:, -1]
