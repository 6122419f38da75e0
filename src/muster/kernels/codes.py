"""Values to codes, the position of each in the sorted list of distinct ones; and codes to counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import md5
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Codes, Floats

_STEP = 1 << 17


def tabulate(codes: Sequence[Codes], shape: Sequence[int], weights: NDArray[Any] | None = None) -> Floats:
    """How many rows have each combination of codes, or the sum of their weights; an array of `shape`.

    A piece of the rows at a time, so that the index stays in the cache.

    >>> tabulate([np.array([0, 1, 1]), np.array([2, 0, 0])], (2, 3)).tolist()
    [[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]
    """
    rows, size = len(codes[0]), int(np.prod(shape, dtype=np.int64))
    step = max(_STEP, size)
    held = np.empty(min(step, rows), np.intp)
    found = np.zeros(size, np.int64 if weights is None else np.float64)
    for start in range(0, rows, step):
        piece = slice(start, start + step)
        index = held[: min(step, rows - start)]
        index[:] = codes[0][piece]
        for code, width in zip(codes[1:], shape[1:], strict=True):
            index *= width
            index += code[piece]
        found += np.bincount(index, None if weights is None else weights[piece], size)
    return found.astype(float).reshape(tuple(shape))


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


def marks(texts: Iterable[str]) -> NDArray[np.int64]:
    """A number of 64 bits for each text, the same on every machine: the end of its MD5.

    >>> marks(["a", "5"]).tolist()
    [7000413967451013937, -3091541425474799657]
    """
    ends = [md5(text.encode(), usedforsecurity=False).digest()[8:] for text in texts]
    return np.frombuffer(b"".join(ends), "<i8").astype(np.int64)


def natural(values: Iterable[Any]) -> list[Any]:
    """The distinct values in order; numbers inside a text count as numbers.

    >>> natural(["round 10", "round 9", "round 9"]), natural([3, 1])
    (['round 9', 'round 10'], [1, 3])
    """
    return sorted(set(values), key=lambda value: _pieces(value) if isinstance(value, str) else value)


def _pieces(text: str) -> list[tuple[bool, int, str]]:
    found = re.split(r"(\d+)", text)
    return [(piece.isdecimal(), int(piece) if piece.isdecimal() else 0, piece) for piece in found]


def _encode_integers(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * values.size + 1024:
        levels, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int32), levels
    shifted = values.astype(np.intp, copy=False)
    if low:
        shifted = shifted - low
    width = high - low + 1
    present = np.bincount(shifted[:_STEP], minlength=width)
    if not present.all():
        present = np.bincount(shifted)
    found = np.flatnonzero(present)
    if found.size == width:
        return shifted, np.arange(low, high + 1).astype(values.dtype)
    position = np.empty(width, np.int32)
    position[found] = np.arange(found.size)
    return position[shifted], (found + low).astype(values.dtype)


def _encode_text(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    listed = values.tolist()
    levels = sorted(set(listed))
    position = {level: i for i, level in enumerate(levels)}
    codes = np.fromiter(map(position.__getitem__, listed), np.int32, len(listed))
    out = np.empty(len(levels), dtype=object)
    out[:] = levels
    return codes, out
