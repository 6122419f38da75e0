"""What chance would do: redraw units and items, or the items of a population where all are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Floats

_NORMAL_FROM = 9.0
_CHUNK = 100_000
Draw = Callable[[NDArray[np.intp] | slice, tuple[int, int], np.random.Generator], Floats]


def kept(values: Floats, errors: Floats) -> float:
    """What part of the spread of values is left when noise is taken from it, from 0 to 1.

    >>> round(kept(np.array([0.6, 0.8, 1.0]), np.full(3, 0.1)), 3)
    0.866
    """
    seen, noise = (values.var(ddof=1), np.mean(errors**2)) if values.size > 1 else (0.0, 0.0)
    return float(np.sqrt(max(0.0, 1 - noise / seen))) if seen > 0 else 0.0


def shrink(values: Floats, errors: Floats, stretch: float = 1.0) -> Floats:
    """Pull values towards their mean until their spread is what is left after noise.

    Seen values vary by truth plus noise. Redrawing items around them would add
    the noise a second time; around the shrunken ones it is counted once.

    >>> shrink(np.array([0.7, 0.9]), np.array([1.0, 1.0])).tolist()
    [0.8, 0.8]
    """
    return np.asarray(values.mean() + stretch * kept(values, errors) * (values - values.mean()))


def shares(share: Floats, rows: Floats) -> Draw:
    """Draws of the share of right answers of each unit: binomial.

    Where ``n p (1 - p)`` is 9 or more the count is a rounded normal with the
    skewness of the binomial (Cornish and Fisher 1938), which is much faster and
    differs less than the noise of a thousand draws.

    >>> draw = shares(np.array([0.0, 1.0]), np.array([5.0, 5.0]))
    >>> draw(slice(None), (1, 2), np.random.default_rng(0)).tolist()
    [[0.0, 1.0]]
    """
    mean, spread = rows * share, np.sqrt(rows * share * (1 - share))
    skew, few = (1 - 2 * share) / 6, spread**2 < _NORMAL_FROM
    whole = rows.astype(np.int64)

    def draw(pick: NDArray[np.intp] | slice, size: tuple[int, int], rng: np.random.Generator) -> Floats:
        z = rng.standard_normal(size)
        bent = z * z
        bent -= 1
        bent *= skew[pick]
        z *= spread[pick]
        z += bent
        z += mean[pick]
        np.rint(z, out=z)
        rare = np.broadcast_to(few[pick], size)
        if rare.any():
            of = np.broadcast_to(np.arange(share.size)[pick], size)[rare]
            z[rare] = rng.binomial(whole[of], share[of])
        z /= rows[pick]
        return np.clip(z, 0, 1, out=z)

    return draw


def normals(centre: Floats, errors: Floats) -> Draw:
    """Draws of a value around each unit's, by its standard error."""

    def draw(pick: NDArray[np.intp] | slice, size: tuple[int, int], rng: np.random.Generator) -> Floats:
        return np.asarray(centre[pick] + errors[pick] * rng.standard_normal(size))

    return draw


def tables(chances: Floats, rows: Floats, finish: Callable[[Floats], Floats]) -> Draw:
    """Draws of a number read off a table ``[units, truth, guess]``; undefined ones become the mean of others.

    >>> chances, rows = np.eye(2)[None] / 2, np.array([8.0])
    >>> draw = tables(chances, rows, lambda counts: counts.trace(axis1=-2, axis2=-1) / 8)
    >>> draw(slice(None), (2, 1), np.random.default_rng(0)).tolist()
    [[1.0], [1.0]]
    """
    flat = chances.reshape(len(chances), -1)
    flat = flat / flat.sum(-1, keepdims=True)
    whole = rows.astype(np.int64)

    def draw(pick: NDArray[np.intp] | slice, size: tuple[int, int], rng: np.random.Generator) -> Floats:
        of = np.broadcast_to(np.arange(len(flat))[pick], size)
        drawn = rng.multinomial(whole[of], flat[of]).reshape(*size, *chances.shape[1:])
        value = finish(drawn.astype(float))
        known = ~np.isnan(value)
        return np.where(known, value, value[known].mean() if known.any() else 0.0)

    return draw


def populations(
    draw: Draw, weight: Floats, draws: int, rng: np.random.Generator, *, units: bool, width: int = 1
) -> Iterator[tuple[Floats, Floats]]:
    """Blocks of redrawn populations: values ``[draws, units]``, sorted, and their weighted means.

    ``units`` resamples the units too; `width` is how many numbers a value is drawn from.
    """
    step = max(1, _CHUNK // max(weight.size * width, 1))
    for start in range(0, draws, step):
        size = (min(step, draws - start), weight.size)
        pick = rng.integers(0, weight.size, size) if units else slice(None)
        drawn = draw(pick, size, rng)
        weigh = np.broadcast_to(weight[pick], size)
        pooled = (drawn * weigh).sum(-1) / weigh.sum(-1)
        drawn.sort(axis=-1)
        yield drawn, pooled
