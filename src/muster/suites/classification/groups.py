"""Group fairness of each slicing column, pooled and for each unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from muster.errors import BadConfig, nearest
from muster.measures.confusion import counts_of
from muster.records import Block, Estimate, Table
from muster.sources.classes import text
from muster.suites.classification.settings import Settings
from muster.summaries.estimates import spelled
from muster.summaries.groups import fairness
from muster.summaries.pool import pool

REDRAWN_UP_TO = 300


@dataclass(frozen=True, slots=True, eq=False)
class GroupFairness:
    """Of one column: which groups there are, the estimates over all rows, and those of each unit."""

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


def group_fairness(slices: Block, classes: Sequence[str], asked: Settings) -> dict[str, GroupFairness]:
    """One a slicing column; with more than two classes only when the positive class is named."""
    positive = _positive(classes, asked)
    if not len(slices) or positive is None:
        return {}
    labels = slices.keys["slice"].tolist()
    columns = np.array([label.partition("=")[0] for label in labels], dtype=object)
    return {
        column: _of_column(slices.where(columns == column), column, classes, positive, asked)
        for column in dict.fromkeys(columns.tolist())
    }


def _positive(classes: Sequence[str], asked: Settings) -> int | None:
    if asked.positive is None:
        return 1 if len(classes) == 2 else None
    name = text(asked.positive)
    if name not in classes:
        raise BadConfig(
            f"positive: no class {name!r}{nearest(name, classes)}; the classes are {', '.join(classes)}"
        )
    return list(classes).index(name)


def _of_column(
    slices: Block, column: str, classes: Sequence[str], positive: int, asked: Settings
) -> GroupFairness:
    whole = pool(slices)
    named = {"level": asked.level, "seed": asked.seed}
    names = slices.keys["unit"].tolist()
    units = list(dict.fromkeys(names))
    draws = asked.draws if len(units) <= REDRAWN_UP_TO else 0
    counts, of = counts_of(slices.tallies), np.array(names, dtype=object)
    return GroupFairness(
        column,
        tuple(label.partition("=")[2] for label in whole.keys["slice"].tolist()),
        classes[positive],
        fairness(counts_of(whole.tallies), positive, draws=asked.draws, **named),
        {str(unit): fairness(counts[of == unit], positive, draws=draws, **named) for unit in units},
    )
