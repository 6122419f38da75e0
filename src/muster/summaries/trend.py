"""A population over time: one row a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muster.kernels.codes import natural
from muster.records import Block, Measure, Table
from muster.summaries.estimates import Units, pooled
from muster.summaries.population import population, summarise

SPREADS = ("min", "worst_tenth", "gap", "std_ddof1", "gini", "jain")


def moments(block: Block) -> Iterator[tuple[Any, Block]]:
    """Every time in order, with its entries."""
    times = block.keys["time"]
    for moment in natural(times.tolist()):
        yield moment, block.where(times == moment)


def trend(block: Block, measure: Measure, level: float = 0.95, units: Units = "sampled") -> Table:
    """Pooled value with interval, mean over units, and the plain spread; nothing is redrawn."""
    rows: list[dict[str, Any]] = []
    for moment, now in moments(block):
        whole = pooled(now, measure, level, units)
        found = {e.summary: e.value for e in summarise(population(now, measure), draws=0)}
        rows.append(
            {"time": moment, "units": len(now), "n": whole.n, "per_sample": whole.value}
            | {"low": whole.low, "high": whole.high, "per_unit": found["mean"]}
            | {name: found[name] for name in SPREADS}
        )
    return Table.of({name: [row[name] for row in rows] for name in rows[0]})
