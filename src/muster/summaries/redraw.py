"""How the values of units vary when their items are drawn again: as seen, and if all units were equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muster.kernels import resample
from muster.kernels.resample import Draw
from muster.kernels.types import Floats

PROBES = 50


@dataclass(frozen=True, slots=True, eq=False)
class Redraw:
    """``seen`` takes how far values are spread out again after noise was taken from them.

    ``width`` is how many numbers a value is drawn from.
    """

    seen: Callable[[float], Draw]
    equal: Draw
    chance: Draw | None = None
    width: int = 1


def of_shares(values: Floats, rows: Floats, pooled: float, chance: float) -> Redraw:
    """Shares of right answers: binomial."""
    errors = np.sqrt(values * (1 - values) / np.maximum(rows - 1, 1))

    def seen(stretch: float) -> Draw:
        return resample.shares(np.clip(resample.shrink(values, errors, stretch), 0, 1), rows)

    def level(share: float) -> Draw:
        return resample.shares(np.full(values.size, share), rows)

    return Redraw(seen, level(pooled), None if np.isnan(chance) else level(chance))


def of_tables(counts: Floats, values: Floats, finish: Callable[[Floats], Floats]) -> Redraw:
    """What is read off confusion counts ``[units, truth, guess]``: multinomial.

    Noise is taken from a unit by mixing its table with that of all.
    """
    rows = counts.sum((-1, -2))
    own, whole = counts / rows[:, None, None], counts.sum(0) / counts.sum()
    equal = resample.tables(np.broadcast_to(whole, own.shape), rows, finish)
    probes = equal(slice(None), (PROBES, rows.size), np.random.default_rng(0))

    def seen(stretch: float) -> Draw:
        kept = min(resample.kept(values, probes.std(0)) * stretch, 1.0)
        return resample.tables(kept * own + (1 - kept) * whole, rows, finish)

    return Redraw(seen, equal, width=whole.size)


def of_errors(values: Floats, errors: Floats, pooled: float) -> Redraw:
    """Anything else: normal, by the standard error of each unit."""

    def seen(stretch: float) -> Draw:
        return resample.normals(resample.shrink(values, errors, stretch), errors)

    return Redraw(seen, resample.normals(np.full(values.size, pooled), errors))
