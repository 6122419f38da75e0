"""For whom is it not, since when, and is it noise? Clients and the spread over them, in every round."""

from __future__ import annotations

import numpy as np

from muster.kernels.types import Floats
from muster.records import Grid, Section
from muster.records.chart import Chart
from muster.records.section import Cell, Kind
from muster.reports.sections import drift, pictures, spread_section, units_grid, units_lead
from muster.reports.words import number
from muster.suites.federation.analysis import SHARE, Analysis
from muster.suites.federation.recovered import events_of
from muster.summaries.population import histogram

SHOWN = 10
KEPT = (
    "pooled",
    "mean",
    "min",
    "median",
    "max",
    "worst_tenth",
    "gap",
    "variance_ddof1",
    "std_ddof1",
    "gini",
    "jain",
    "max_deviation",
)


def whose(seen: Analysis) -> Section:
    """Whose data drifted, and who fares worst."""
    log = seen.logs[seen.control][0]
    ever = None if log.drifted is None else np.asarray(log.drifted.any(0))
    if ever is None:
        lead = "It is not known whose data drifted."
    elif not ever.any():
        lead = "Nobody's data drifted."
    else:
        names = ", ".join(str(name) for name in log.units[ever][:SHOWN])
        lead = f"The data of {int(ever.sum())} of {len(ever):,} clients drifted: {names}."
    charts: list[Chart] = [drift.units_over_rounds(seen.log, f"Every client, {seen.main}", "clients")]
    if seen.control != seen.main:
        charts.append(drift.units_over_rounds(log, "Every client, nothing done", "clients-nothing"))
    lead += f" {units_lead(seen.units, seen.spread, SHARE)}"
    return Section("For whom is it not?", lead, (), (units_grid(seen.units, SHOWN),), charts=tuple(charts))


def evenly(seen: Analysis) -> Section:
    """Fairness in every round, of every arm."""
    rounds, events = seen.log.rounds.tolist(), events_of(seen)
    charts: list[Chart] = [
        drift.arms_over_time(_each(seen, index), rounds, events, index.replace("_", "-"), title)
        for index, title in (("worst_tenth", "worst tenth"), ("gap", "gap"), ("gini", "gini"))
    ]
    table = seen.over[seen.main][0]
    at = sorted({0, *([seen.log.onset - 1, seen.log.onset] if seen.log.onset else []), seen.last})
    rows: list[tuple[Cell, ...]] = [
        (str(table["round"][row]), int(table["units"][row]), *(float(table[name][row]) for name in KEPT))
        for row in reversed(range(len(table)))
    ]
    fields: dict[str, Kind] = {"round": "text", "clients": "count", **dict.fromkeys(KEPT, "number")}
    worst = table["worst_tenth"]
    lead = f"With {seen.main}, the worst tenth of the clients is at " + ", ".join(
        f"{number(float(worst[row]), 3)} in round {table['round'][row]}" for row in at
    )
    grid = Grid.of("Fairness in every round", fields, rows, shown=SHOWN)
    return Section("Since when, and how evenly?", f"{lead}.", (), (grid,), charts=tuple(charts))


def _each(seen: Analysis, index: str) -> dict[str, Floats]:
    return {arm: np.stack([table[index] for table in each]) for arm, each in seen.over.items()}


def spread(seen: Analysis) -> Section:
    """The spread over clients in the last round, beside what noise alone would show."""
    there = seen.units["n"] > 0
    values = seen.units["accuracy"][there]
    charts: list[Chart] = []
    if values.size > 1:
        charts = [pictures.distribution(seen.units, seen.spread, SHARE), pictures.inequality(values)]
    return spread_section({seen.log.metric: seen.spread}, histogram(values), charts)
