"""Are groups treated alike? Group fairness of each slicing column."""

from __future__ import annotations

import math
from collections.abc import Sequence

from muster.records import Cell, Estimate, Grid, Section
from muster.reports.words import listed, sized
from muster.summaries.attributes import GroupFairness

NOTE = (
    "Differences are largest minus smallest over groups, ratios smallest over largest. "
    "Equalized odds takes the worse of the true and the false positive rate."
)


def groups_section(groups: Sequence[GroupFairness]) -> Section:
    """One table a column."""
    named = listed(f"{group.column} ({listed(group.groups)})" for group in groups)
    lead = f"{groups[0].positive!r} is taken as the answer that is good to get. Groups by {named}."
    told = {group.column: _parity(group) for group in groups}
    known = {column: found for column, found in told.items() if not math.isnan(found.value)}
    if known:
        worst = max(known, key=lambda column: known[column].value)
        lead += f" It is given most unevenly by {worst}, {sized(known[worst])} more often to one group than "
        p = known[worst].p_value
        lead += "to another." if math.isnan(p) else f"to another (p = {p:.2g} if groups were equal)."
    lead += "".join(f" By {c} this is undefined: {told[c].reason}." for c in told if c not in known)
    return Section("Are groups treated alike?", lead, (), tuple(map(_grid, groups)), (NOTE,))


def _parity(group: GroupFairness) -> Estimate:
    return next(e for e in group.pooled if e.summary == "demographic_parity_difference")


def _grid(group: GroupFairness) -> Grid:
    return Grid.of(
        f"Group fairness by {group.column}",
        {
            "criterion": "text", "value": "number", "interval": "interval", "if groups were equal": "number",
            "p": "number", "worst unit": "text", "there": "number", "undefined because": "text",
        },
        [_row(group, i) for i in range(len(group.pooled))],
    )  # fmt: skip


def _row(group: GroupFairness, i: int) -> tuple[Cell, ...]:
    e = group.pooled[i]
    known = {unit: found[i].value for unit, found in group.by_unit.items() if not math.isnan(found[i].value)}
    pick = max if e.summary.endswith("difference") else min
    worst = pick(known, key=known.__getitem__, default=None)
    there = None if worst is None else known[worst]
    return e.summary, e.value, (e.low, e.high), e.expected, e.p_value, worst, there, e.reason
