"""Was the drift seen? What detectors said, beside the truth and beside saying always and never."""

from __future__ import annotations

import math

import numpy as np

from muster.records import Grid, Section, Table
from muster.records.chart import Chart
from muster.records.section import Kind
from muster.reports.sections import drift
from muster.reports.words import number
from muster.suites.federation.analysis import Analysis

COLUMNS: dict[str, Kind] = {
    "detector": "text", "F1": "number", "interval": "interval", "precision": "number", "recall": "number",
    "false positive rate": "number", "delay": "text", "missed": "number", "false per 1000": "number",
    "TP": "count", "FP": "count", "TN": "count", "FN": "count", "not enough data": "count",
}  # fmt: skip
NOTES = (
    (
        "By rounds, every round from the onset on is positive, as is usual: a detector that alarms once and "
        "adapts scores badly, one that always alarms scores 0.667 when half of the rounds are drifted."
    ),
    (
        "Delay: the median over drifts; a miss counts as infinite. False per 1000: rounds with an alarm that "
        "are neither drifted nor shortly after, of 1000 such rounds."
    ),
    "The aggregate sums the rounds of all detectors; no rule decides by it.",
)
PICTURED = 4


def detected(seen: Analysis, scored: Table) -> Section:
    """Detectors by rounds and events, of the population and of each client, with their controls."""
    logs = list(seen.logs[seen.control])
    first = next(iter(logs[0].alarms))
    own = scored.where(scored["scope"] == "population")
    (best,) = own.where(own["detector"] == first).rows()
    always = next(own.where(own["detector"] == "always alarm").rows())
    lead = (
        f"The {first} detector scores F1 {number(best['f1'], 3)} by rounds, with "
        f"{number(best['false_positive_rate'], 3)} of the rounds without drift as false alarms; to alarm "
        f"always scores {number(always['f1'], 3)}."
    )
    if best["events"]:
        missed = int(best["events"] - best["hits"])
        lead += f" {int(best['hits'])} of {int(best['events'])} drifts were seen"
        lead += (
            "" if math.isnan(best["delay"]) else f", after {number(best['delay'], 0)} rounds in the median"
        )
        lead += f", {missed} missed." if missed else "."
    charts: list[Chart] = [drift.alarms_over_rounds(logs, "alarms", "Alarms over rounds")]
    if seen.twin:
        charts.append(
            drift.alarms_over_rounds(seen.logs[seen.twin], "alarms-no-drift", "Alarms without drift")
        )
    charts += [drift.told_right(scored, name) for name in list(logs[0].alarms)[:PICTURED]]
    return Section("Was the drift seen?", lead, (), tuple(_grids(seen, scored, own)), NOTES, tuple(charts))


def _grids(seen: Analysis, scored: Table, population: Table) -> list[Grid]:
    clients = scored.where(scored["scope"] == "units")
    grids = [
        _detectors(population, "Detectors, by rounds and events"),
        _detectors(clients, "Detectors, each client"),
    ]
    if seen.honest is not None and not np.array_equal(seen.honest["tp"], scored["tp"]):
        own = seen.honest.where(seen.honest["scope"] == "population")
        grids.append(_detectors(own, "Detectors, where pauses are no drift"))
    if seen.attribution is not None:
        grids.append(_attributed(seen.attribution))
    if seen.calm is not None:
        grids.append(_calm(seen.calm))
    if seen.smallest is not None:
        share: Kind = "number"
        fields = dict.fromkeys(seen.smallest.columns, share)
        fields["detector"] = "text"
        rows = (row.values() for row in seen.smallest.rows())
        grids.append(Grid.of("Share of drifts seen, by severity", fields, rows))
    return grids


def _detectors(scored: Table, title: str) -> Grid:
    rows = (
        (
            r["detector"], r["f1"], (r["low_f1"], r["high_f1"]), r["precision"], r["recall"],
            r["false_positive_rate"], number(r["delay"], 0), r["missed_share"], r["false_alarms_per_1000"],
            int(r["tp"]), int(r["fp"]), int(r["tn"]), int(r["fn"]), int(r["unknown"]),
        )
        for r in scored.rows()
    )  # fmt: skip
    return Grid.of(title, COLUMNS, rows)


def _attributed(table: Table) -> Grid:
    rows = ((r["detector"], r["precision"], r["recall"], r["flagged"], r["drifted"]) for r in table.rows())
    fields: dict[str, Kind] = {
        "detector": "text", "precision": "number", "recall": "number", "named": "number", "drifted": "number"
    }  # fmt: skip
    return Grid.of("Which clients were named", fields, rows)


def _calm(table: Table) -> Grid:
    own = table.where(table["scope"] == "population")
    rows = (
        (r["detector"], r["false_share"], number(r["first_false"], 0), r["without"], r["logs"])
        for r in own.rows()
    )
    fields: dict[str, Kind] = {
        "detector": "text", "share of rounds with an alarm": "number", "rounds until the first": "text",
        "share of seeds without": "number", "seeds": "count",
    }  # fmt: skip
    return Grid.of("The same federation without drift", fields, rows)
