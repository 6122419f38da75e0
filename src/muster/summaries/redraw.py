"""How noisy the values of units are, and how they would vary by noise alone if all units were equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muster.kernels import resample
from muster.kernels.resample import Draw
from muster.kernels.slopes import softened
from muster.kernels.types import Floats

PROBES = 50


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """The standard errors of each value, its own and evened, and draws of units that are all equal.

    ``width`` is how many numbers a value is drawn from.
    """

    errors: tuple[Floats, Floats]
    equal: Draw
    width: int = 1


def of_shares(values: Floats, rows: Floats, pooled: float) -> Noise:
    """Shares of right answers: binomial. Half a row is added to either side, so that few are not certain."""
    soft = (values * rows + 0.5) / (rows + 1)
    whole = (pooled * rows.sum() + 0.5) / (rows.sum() + 1)
    errors = np.sqrt(soft * (1 - soft) / rows)
    return Noise((errors, evened(errors, rows)), resample.shares(np.full(values.size, whole), rows))


def of_tables(counts: Floats, finish: Callable[[Floats], Floats]) -> Noise:
    """What is read off confusion counts ``[units, truth, guess]``: multinomial."""
    whole, rows = softened(counts.sum(0)), counts.sum((-1, -2))
    equal = resample.tables(whole, rows, finish)
    probes = equal((PROBES, rows.size), np.random.default_rng(0))
    errors = probes.std(0)
    return Noise((errors, evened(errors, rows)), equal, whole.size)


def of_errors(values: Floats, errors: Floats, rows: Floats) -> Noise:
    """Anything else: normal, by the standard error of each unit."""
    even = evened(errors, rows)
    return Noise((errors, even), resample.normals(np.full(values.size, values @ rows / rows.sum()), even))


def evened(errors: Floats, rows: Floats) -> Floats:
    """Errors that differ by the number of rows alone.

    The error of a share is small where the share is large: a unit that is good by chance would
    look certain, and the mean would lean towards it.

    >>> evened(np.array([0.1, 0.3]), np.array([50.0, 50.0])).round(3).tolist()
    [0.224, 0.224]
    """
    return np.asarray(np.sqrt((errors**2 * rows**2).sum() / rows.sum() / rows))
