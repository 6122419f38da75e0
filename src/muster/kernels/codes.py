"""Values to codes: the position of each value in the sorted list of distinct ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def encode(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes and the sorted distinct values; whole numbers cost a look-up, text a dictionary.

    >>> codes, levels = encode(np.array([7, 5, 9, 5]))
    >>> codes.tolist(), levels.tolist()
    ([1, 0, 2, 0], [5, 7, 9])
    >>> encode(np.array(["b", "a", "b"], dtype=object))[0].tolist()
    [1, 0, 1]
    """
    if values.size == 0:
        return np.zeros(0, np.int32), values
    if values.dtype.kind in "iub":
        return _encode_integers(values)
    if values.dtype.kind in "OUS":
        return _encode_text(values)
    levels, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int32), levels


def _encode_integers(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * values.size + 1024:
        levels, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int32), levels
    shifted = values.astype(np.intp, copy=False)
    if low:
        shifted = shifted - low
    present = np.flatnonzero(np.bincount(shifted))
    if present.size == high - low + 1:
        return shifted, np.arange(low, high + 1).astype(values.dtype)
    position = np.empty(high - low + 1, np.int32)
    position[present] = np.arange(present.size)
    return position[shifted], (present + low).astype(values.dtype)


def _encode_text(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    listed = values.tolist()
    levels = sorted(set(listed))
    position = {level: i for i, level in enumerate(levels)}
    codes = np.fromiter(map(position.__getitem__, listed), np.int32, len(listed))
    out = np.empty(len(levels), dtype=object)
    out[:] = levels
    return codes, out
