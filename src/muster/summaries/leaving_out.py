"""How sure a pooled number is when its units are a sample of more to come: by leaving units out in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from muster.kernels.resample import jackknife
from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Bounds, Tallies, Tally

GROUPS = 200
METHOD = "leaving units out"


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """The sums of all units, and of all but a group of them, for each group."""

    whole: Tallies
    without: Tallies


def leave_out(block: Block) -> LeftOut:
    """Leave out each unit in turn; of many units, groups."""
    return leave_out_of(block.tallies, counts_of(block.tallies).sum((-1, -2)))


def leave_out_of(tallies: Tallies, rows: Floats) -> LeftOut:
    """The same of any tallies, of units with so many rows."""
    held = np.flatnonzero(rows > 0)
    groups = min(held.size, GROUPS)
    own = {stat: tally[held] for stat, tally in tallies.items()}
    return LeftOut(
        {stat: tally.sum()[None] for stat, tally in own.items()},
        {stat: _without(tally, groups) for stat, tally in own.items()},
    )


def by_units(out: LeftOut, finish: Callable[[Tallies], Floats], level: float) -> Bounds:
    """Interval of a number over all entries together (jackknife: Quenouille 1956, Tukey 1958).

    Row by row, an interval is for these units alone: ten clients of a thousand rows are ten
    draws of a client, not ten thousand. Undefined for one unit.

    >>> from muster.measures import count, lookup
    >>> from muster.records import Labelled, Table
    >>> cell, truth = np.repeat([0, 1, 2], 100), np.zeros(300, int)
    >>> guess = np.repeat([0, 1, 0, 1, 0, 1], [90, 10, 80, 20, 70, 30])
    >>> (accuracy,) = lookup(["accuracy"])
    >>> out = leave_out(Block(Table({}), count(Labelled(cell, 3, truth, guess, 2), [accuracy])))
    >>> [round(float(end[0]), 2) for end in by_units(out, accuracy.finish, 0.95)]
    [0.55, 1.05]
    """
    value = finish(out.whole)
    error, freedom = jackknife(finish(out.without))
    reach = stdtrit(freedom, 0.5 + level / 2) * error
    return value - reach, value + reach


def _without(tally: Tally, groups: int) -> Tally:
    """All entries but those of one group, for each group."""
    group = np.arange(len(tally.total)) % max(groups, 1)
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(groups))
    return Tally(*(part.sum(0) - np.add.reduceat(part[order], start) for part in (tally.total, tally.weight)))
