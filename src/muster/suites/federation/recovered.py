"""Did it recover? Arms over time, what each did for whom, and the usual numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from muster.records import Callout, Grid, Section, Status
from muster.records.chart import Chart, Event
from muster.records.section import Cell, Kind
from muster.reports.sections import drift
from muster.reports.words import counted, interval, number
from muster.suites.federation.analysis import Analysis

FIELDS: dict[str, Kind] = {
    "baseline": "number", "depth": "number", "area lost": "number", "end": "number",
    "completeness": "number", "rounds back": "text",
}  # fmt: skip
PARTS = ("all", "drifted units", "stable units", "worst tenth")
MEANING = (
    "Baseline: the last 5 rounds before the drift. Depth: baseline less the lowest after it. Area lost: sum "
    "of the shortfall over rounds. Rounds back: until it stays within the tolerance of the baseline."
)
SIMULATED = (
    "Measured before each round trains: by the model of the round before, on each client's own test items as "
    "they are in this round."
)
AGAINST = (
    "Against nothing: the end less that of the arm in which nothing is done, with the same seeds; below 0 "
    "the mitigation did harm."
)


def recovered(seen: Analysis) -> Section:
    """Arms against doing nothing and against no drift, for everybody and for those who drifted."""
    values = {arm: np.stack([log.pooled for log in each]) for arm, each in seen.logs.items()}
    events = events_of(seen)
    charts: list[Chart] = [
        drift.arms_over_time(values, seen.log.rounds.tolist(), events, "recovery", seen.log.metric)
    ]
    if seen.recovery is None:
        first, last = (number(float(values[seen.main][:, i].mean()), 4) for i in (0, seen.last))
        lead = f"No drift is known. {seen.log.metric.capitalize()} went from {first} to {last}."
        return Section("Did it recover?", lead, charts=tuple(charts))
    notes: tuple[str, ...]
    if len(seen.logs) == 1:
        grids, notes = [_alone(seen), _usual(seen)], (MEANING,)
    else:
        charts.append(drift.who_gains(seen.recovery))
        grids, notes = [*(_arms(seen, who) for who in PARTS), _usual(seen)], (SIMULATED, MEANING, AGAINST)
    return Section("Did it recover?", _lead(seen), _callouts(seen), tuple(grids), notes, tuple(charts))


def _lead(seen: Analysis) -> str:
    own, plain = _of(seen, seen.main), _of(seen, seen.control)
    if math.isnan(own["baseline"]["value"]):
        return f"Whether it recovered is not known: {own['baseline']['reason']}."
    back = own["rounds_to_tolerance"]
    fell = own["baseline"]["value"] - own["depth"]["value"]
    whose = f"With {seen.main}, {seen.log.metric}" if len(seen.logs) > 1 else seen.log.metric.capitalize()
    lead = (
        f"{whose} fell from {number(own['baseline']['value'])} to {number(fell)} "
        f"and ended at {number(own['end']['value'])}"
    )
    complete = own["completeness"]
    if not math.isnan(complete["value"]):
        span = interval(complete["low"], complete["high"])
        lead += f": completeness {number(complete['value'], 3)}" + (f" {span}" if span != "-" else "")
    seeds = f"{back['reached']} of {back['seeds']} seeds" if len(seen.logs) > 1 else "It"
    none = len(seen.logs) == 1 and not back["reached"]
    lead += f". {seeds} {'never ' if none else ''}came back to within the tolerance"
    lead += "" if math.isnan(back["value"]) else f", after {number(back['value'], 0)} rounds"
    lead += " in the median" if back["seeds"] > 1 and not math.isnan(back["value"]) else ""
    if seen.main != seen.control:
        lead += f". When nothing is done it ends at {number(plain['end']['value'])}"
    return f"{lead}."


def _of(seen: Analysis, arm: str, who: str = "all") -> dict[str, Mapping[str, Any]]:
    assert seen.recovery is not None  # noqa: S101
    rows = seen.recovery.where((seen.recovery["arm"] == arm) & (seen.recovery["who"] == who))
    return {row["quantity"]: row for row in rows.rows()}


def _callouts(seen: Analysis) -> tuple[Callout, ...]:
    """What each arm did for everybody and for those who drifted, against doing nothing."""
    said = []
    for arm in seen.logs:
        if arm in {seen.control, seen.twin}:
            continue
        mean, drifted = (_of(seen, arm, who)["harm"] for who in ("all", "drifted units"))
        text = f"{arm}, against doing nothing: {number(mean['value'], 3)} for all, "
        text += f"{number(drifted['value'], 3)} for clients that drifted"
        sure = drifted["low"] > 0 or drifted["high"] < 0
        status = Status.WATCH if not sure else Status.OK if drifted["value"] > 0 else Status.BREACH
        text += "" if sure else f"; over {counted(mean['seeds'], 'seed')} that may be chance"
        said.append(Callout(status, f"{text}."))
    return tuple(said)


def _arms(seen: Analysis, who: str) -> Grid:
    rows = []
    for arm in seen.logs:
        own = _of(seen, arm, who)
        back, harm = own["rounds_to_tolerance"], own["harm"]
        back_in = f"{back['reached']} of {back['seeds']}"
        rows.append((arm, *_numbers(own), back_in, harm["value"], (harm["low"], harm["high"])))
    more: dict[str, Kind] = {"seeds back": "text", "against nothing": "number", "interval": "interval"}
    return Grid.of(f"Arms, {who}", {"arm": "text", **FIELDS, **more}, rows)


def _alone(seen: Analysis) -> Grid:
    """Of a log without arms: every part of the population."""
    rows = ((who, *_numbers(_of(seen, seen.main, who))) for who in PARTS)
    return Grid.of("Recovery", {"of": "text", **FIELDS}, rows)


def _numbers(own: Mapping[str, Mapping[str, Any]]) -> tuple[Cell, ...]:
    names = ("baseline", "depth", "area_lost", "end", "completeness")
    return (*(own[name]["value"] for name in names), number(own["rounds_to_tolerance"]["value"], 0))


def _usual(seen: Analysis) -> Grid:
    """The usual seventeen numbers of the main arm, first seed."""
    rows = [(row["quantity"], row["value"], row["reason"]) for row in seen.usual[0].rows()]
    fields: dict[str, Kind] = {"quantity": "text", "value": "number", "undefined because": "text"}
    return Grid.of("Recovery dashboard", fields, rows)


def events_of(seen: Analysis) -> list[Event]:
    """When the drift begins, when the first detector answers, when something is done."""
    log, found = seen.logs[seen.control][0], []
    if log.onset is not None:
        found.append(Event(float(log.rounds[log.onset]), "drift"))
    main = seen.log
    if main.mitigated is not None and main.mitigated.any():
        found.append(Event(float(main.rounds[int(main.mitigated.argmax())]), f"{seen.main} begins"))
    return found
