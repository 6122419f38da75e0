"""What the truth behind noisy values may be, and what chance would do where all units are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.types import Floats

_NORMAL_FROM = 9.0
_CHUNK = 100_000
Draw = Callable[[tuple[int, int], np.random.Generator], Floats]
Drawn = tuple[Floats, Floats]


def shares(share: Floats, rows: Floats) -> Draw:
    """Draws of the share of right answers of each unit: binomial.

    Where ``n p (1 - p)`` is 9 or more the count is a rounded normal with the
    skewness of the binomial (Cornish and Fisher 1938), which is much faster and
    differs less than the noise of a thousand draws.

    >>> draw = shares(np.array([0.0, 1.0]), np.array([5.0, 5.0]))
    >>> draw((1, 2), np.random.default_rng(0)).tolist()
    [[0.0, 1.0]]
    """
    mean, spread = rows * share, np.sqrt(rows * share * (1 - share))
    skew, few = (1 - 2 * share) / 6, np.flatnonzero(spread**2 < _NORMAL_FROM)
    whole = rows.astype(np.int64)

    def draw(size: tuple[int, int], rng: np.random.Generator) -> Floats:
        z = rng.standard_normal(size)
        bent = z * z
        bent -= 1
        bent *= skew
        z *= spread
        z += bent
        z += mean
        np.rint(z, out=z)
        if few.size:
            z[:, few] = rng.binomial(whole[few], share[few], (size[0], few.size))
        z /= rows
        return np.clip(z, 0, 1, out=z)

    return draw


def normals(centre: Floats, errors: Floats) -> Draw:
    """Draws of a value around each unit's, by its standard error."""
    return lambda size, rng: np.asarray(centre + errors * rng.standard_normal(size))


def tables(chances: Floats, rows: Floats, finish: Callable[[Floats], Floats]) -> Draw:
    """Draws of a number read off a table that all units share, ``[truth, guess]``.

    An undefined number becomes the mean of the others.

    >>> draw = tables(np.eye(2) / 2, np.array([8.0]), lambda counts: counts.trace(axis1=-2, axis2=-1) / 8)
    >>> draw((2, 1), np.random.default_rng(0)).tolist()
    [[1.0], [1.0]]
    """
    flat, whole = chances.ravel() / chances.sum(), rows.astype(np.int64)

    def draw(size: tuple[int, int], rng: np.random.Generator) -> Floats:
        drawn = rng.multinomial(np.broadcast_to(whole, size), flat).reshape(*size, *chances.shape)
        value = finish(drawn.astype(float))
        known = ~np.isnan(value)
        return np.where(known, value, value[known].mean() if known.any() else 0.0)

    return draw


def populations(
    draw: Draw, weight: Floats, draws: int, rng: np.random.Generator, width: int = 1
) -> Iterator[Drawn]:
    """Blocks of redrawn populations: values ``[draws, units]``, sorted, and their weighted means.

    `width` is how many numbers a value is drawn from.
    """
    for times in _steps(draws, weight.size * width):
        yield _sorted(draw((times, weight.size), rng), weight)


def truths(
    values: Floats,
    errors: tuple[Floats, Floats],
    weight: Floats,
    draws: int,
    rng: np.random.Generator,
    *,
    units: np.random.Generator | None = None,
) -> Iterator[Drawn]:
    """Blocks of what the values of units may be without noise: values seen vary by truth plus noise.

    Each draw takes the variance of the truth to be that of the values, as uncertain as their
    number makes it, less noise; the mean to be as uncertain as noise makes it; and draws each
    unit between the mean and its own value, as near to the latter as it is known well (Efron
    and Morris 1975). ``units`` resamples the units too, and spreads them by the variance drawn;
    two populations of the same units are drawn together by generators of one seed. The first
    errors are each unit's own, the second differ by rows alone and say how near to its own
    value a unit is drawn: else a unit that is good by chance would look better known.

    >>> values, errors, rng = np.array([0.7, 0.9]), np.array([1.0, 1.0]), np.random.default_rng(0)
    >>> drawn, _ = next(truths(values, (errors, errors), np.ones(2), 100, rng))
    >>> drawn.shape, float(np.median(np.ptp(drawn, -1)))
    ((100, 2), 0.0)
    """
    many, middle = values.size, values.mean()
    own_errors, even = errors
    noise, freedom = np.mean(even**2), max(values.size - 1, 1)
    seen = values.var(ddof=1) if many > 1 else 0.0
    for times in _steps(draws, many):
        between = np.maximum(seen * freedom / rng.chisquare(freedom, (times, 1)) - noise, 0)
        known = ratio(between, between + even**2, 1.0)
        drawn = known * (values - middle) + np.sqrt(known) * own_errors * rng.standard_normal((times, many))
        if units is not None:
            drawn = np.take_along_axis(drawn, units.integers(0, many, (times, many)), 1)
            squares = known**2 * (values - middle) ** 2 + known * own_errors**2
            own = squares.sum(1, keepdims=True) / freedom
            drawn *= np.sqrt(ratio(between, own, 0.0) * many / freedom)
        drawn += middle + np.sqrt(noise / many) * rng.standard_normal((times, 1))
        yield _sorted(drawn, weight)


def jackknife(without: Floats) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom from values with each part left out, on the first axis.

    Quenouille (1956), Tukey (1958). Undefined values are left out; of one value nothing is known.

    >>> error, freedom = jackknife(np.array([0.4, 0.5, 0.6]))
    >>> round(float(error), 4), float(freedom)
    (0.1155, 2.0)
    """
    known = (~np.isnan(without)).sum(0)
    away = np.where(np.isnan(without), 0.0, without - np.nansum(without, 0) / np.maximum(known, 1))
    error = np.sqrt((away**2).sum(0) * (known - 1) / np.maximum(known, 1))
    return error, np.where(known > 1, known - 1.0, np.nan)


def _steps(draws: int, width: int) -> Iterator[int]:
    """How many draws at a time, so that they stay in the cache."""
    step = max(1, _CHUNK // max(width, 1))
    for start in range(0, draws, step):
        yield min(step, draws - start)


def _sorted(drawn: Floats, weight: Floats) -> Drawn:
    pooled = drawn @ weight / weight.sum()
    drawn.sort(axis=-1)
    return drawn, pooled
