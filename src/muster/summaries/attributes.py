"""Group fairness over each slicing column, pooled and for every unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from muster.measures.confusion import counts_of
from muster.records import Block, Column, Estimate, Table
from muster.summaries.estimates import spelled
from muster.summaries.groups import fairness
from muster.summaries.pool import pool

Judged = Callable[..., list[Estimate]]
REDRAWN_UP_TO = 300


@dataclass(frozen=True, slots=True, eq=False)
class GroupFairness:
    """Of one column: its groups, the estimates over all rows, and those of each unit."""

    column: str
    groups: tuple[str, ...]
    positive: str
    pooled: Sequence[Estimate]
    by_unit: Mapping[str, Sequence[Estimate]]

    def tables(self, model: str, time: Any) -> list[Table]:
        """As rows of the table of estimates."""
        units = [
            spelled(found, model=model, time=time, slice_=self.column).with_columns(
                unit=np.full(len(found), unit, dtype=object)
            )
            for unit, found in self.by_unit.items()
        ]
        return [spelled(self.pooled, model=model, time=time, slice_=self.column), *units]


def columns_of(slices: Block) -> Column:
    """The slicing column of each entry of a block."""
    return np.array([label.partition("=")[0] for label in slices.keys["slice"].tolist()], dtype=object)


def group_fairness(
    slices: Block, positive: int, name: str, *, level: float, draws: int, seed: int
) -> list[GroupFairness]:
    """One a slicing column. Units are redrawn only while they are few; beyond, they have no interval."""
    columns = columns_of(slices)
    judged = partial(fairness, positive=positive, level=level, draws=draws, seed=seed)
    return [
        _of_column(slices.where(columns == column), column, name, judged)
        for column in dict.fromkeys(columns.tolist())
    ]


def _of_column(slices: Block, column: str, positive: str, judged: Judged) -> GroupFairness:
    whole = pool(slices)
    names = slices.keys["unit"].tolist()
    units = list(dict.fromkeys(names))
    few = {} if len(units) <= REDRAWN_UP_TO else {"draws": 0}
    counts, of = counts_of(slices.tallies), np.array(names, dtype=object)
    return GroupFairness(
        column,
        tuple(label.partition("=")[2] for label in whole.keys["slice"].tolist()),
        positive,
        judged(counts_of(whole.tallies)),
        {str(u): judged(counts[of == u], **few) for u in units},
    )
