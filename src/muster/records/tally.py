"""The one value of Muster: a pair of sums that adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadRecord
from muster.kernels.confusion import ratio
from muster.kernels.types import Floats

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums of a statistic and of its weights, shaped ``[..., parts]``.

    The leading axes are a block of units, so a whole population adds in one
    call. Adding two tallies is pooling their data; nothing weighed is ``nan``,
    never 0.

    >>> (Tally.of([3], [4]) + Tally.of([1], [6])).mean()
    array([0.4])
    >>> Tally.of([0], [0]).mean()
    array([nan])
    """

    total: Floats
    weight: Floats

    @classmethod
    def of(cls, total: Any, weight: Any) -> Tally:
        """Check the shapes once, at the door."""
        t, w = np.asarray(total, float), np.asarray(weight, float)
        if t.ndim == 0 or t.shape != w.shape:
            raise BadRecord(
                f"a tally needs totals and weights of one shape [..., parts]: {t.shape}, {w.shape}"
            )
        return cls(t, w)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.total + other.total, self.weight + other.weight)

    def mean(self) -> Floats:
        """Total over weight, part by part."""
        return ratio(self.total, self.weight)

    @property
    def parts(self) -> int:
        """How many bins the last axis holds: 1 for a plain mean."""
        return int(self.total.shape[-1])

    def __getitem__(self, cells: Any) -> Tally:
        return Tally(self.total[cells], self.weight[cells])

    def sum(self) -> Tally:
        """The leading axis pooled."""
        return Tally(self.total.sum(0), self.weight.sum(0))


Tallies: TypeAlias = Mapping[str, Tally]


def merge(a: Tallies, b: Tallies) -> dict[str, Tally]:
    """Pool two sets of tallies; an empty set is the zero.

    >>> merge({"right": Tally.of([3], [4])}, {})["right"].total
    array([3.])
    """
    return {
        stat: a[stat] + b[stat] if stat in a and stat in b else (a.get(stat) or b[stat])
        for stat in {**a, **b}
    }
