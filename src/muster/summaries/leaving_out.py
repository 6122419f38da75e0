"""How sure a pooled number is when its units are a sample of more to come: by leaving units out in turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import stdtrit

from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Bounds, Tallies, Tally

GROUPS = 200
METHOD = "leaving units out"


def by_units(block: Block, finish: Callable[[Tallies], Floats], level: float) -> Bounds:
    """Interval of a number over all entries together (jackknife: Quenouille 1956, Tukey 1958).

    Row by row, an interval is for these units alone: ten clients of a thousand rows are ten
    draws of a client, not ten thousand. Of many units, groups are left out. Undefined for one.

    >>> from muster.measures import count, lookup
    >>> from muster.records import Labelled, Table
    >>> cell, truth = np.repeat([0, 1, 2], 100), np.zeros(300, int)
    >>> guess = np.repeat([0, 1, 0, 1, 0, 1], [90, 10, 80, 20, 70, 30])
    >>> (accuracy,) = lookup(["accuracy"])
    >>> block = Block(Table({}), count(Labelled(cell, 3, truth, guess, 2), [accuracy]))
    >>> [round(float(end[0]), 2) for end in by_units(block, accuracy.finish, 0.95)]
    [0.55, 1.05]
    """
    held = np.flatnonzero(counts_of(block.tallies).sum((-1, -2)) > 0)
    groups = min(held.size, GROUPS)
    whole = {stat: tally[held].sum()[None] for stat, tally in block.tallies.items()}
    value = finish(whole)
    if groups < 2:
        return np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    without = finish({stat: _without(tally[held], groups) for stat, tally in block.tallies.items()})
    known = (~np.isnan(without)).sum(0)
    away = np.where(np.isnan(without), 0.0, without - np.nansum(without, 0) / np.maximum(known, 1))
    error = np.sqrt((away**2).sum(0) * (known - 1) / np.maximum(known, 1))
    freedom = np.where(known > 1, known - 1.0, np.nan)
    reach = stdtrit(freedom, 0.5 + level / 2) * error
    return value - reach, value + reach


def _without(tally: Tally, groups: int) -> Tally:
    """All entries but those of one group, for each group."""
    first = np.arange(groups)
    order = np.argsort(np.arange(len(tally.total)) % groups, kind="stable")
    start = np.searchsorted((np.arange(len(order)) % groups)[order], first)
    return Tally(*(part.sum(0) - np.add.reduceat(part[order], start) for part in (tally.total, tally.weight)))
