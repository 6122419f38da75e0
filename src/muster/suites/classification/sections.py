"""What the report says, question by question."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from muster.kernels.codes import natural
from muster.kernels.types import Floats
from muster.measures import CATALOG
from muster.records import Callout, Grid, Section, Status, Table
from muster.records.chart import Chart, Span
from muster.records.section import Kind
from muster.reports.sections import (
    callouts,
    groups_section,
    pictures,
    size_note,
    spread_section,
    time_section,
    units_grid,
    units_lead,
    verdicts_section,
)
from muster.reports.words import interval, number, sized
from muster.suites.classification.analysis import Analysis
from muster.suites.classification.settings import Settings
from muster.summaries.population import histogram

SHOWN = 10
KINDS = {
    "global": "shared test set",
    "per_sample": "per sample (all rows pooled)",
    "per_unit": "per unit (mean over units)",
    "holdout_per_sample": "hold-out units, per sample",
    "holdout_per_unit": "hold-out units, per unit",
}
WORST = {"min": "worst unit", "p10": "10th percentile of units", "worst_tenth": "mean of the worst tenth"}


def sections_of(seen: Analysis, asked: Settings, notes: Sequence[str], rows: int) -> list[Section]:
    """Every section that has something to say, in the order of the questions."""
    found = [_good(seen), _whom(seen, asked), _spread(seen, asked)]
    if seen.groups:
        found.append(groups_section(seen.groups))
    if len(seen.trend) > 1:
        charts: list[Chart] = [pictures.timeline(seen.trend), pictures.heat(*_over_time(seen))]
        found.append(time_section(seen.trend, 2 * SHOWN, charts))
    found += _sure(_whole(seen), seen.reliability)
    return [*found, _trust(seen, asked, notes, rows), verdicts_section(seen.verdicts, 5 * SHOWN)]


def _good(seen: Analysis) -> Section:
    whole = _whole(seen)
    (mean,) = whole.where((whole["measure"] == "accuracy") & (whole["summary"] == "per_unit")).rows()
    when = f" at {seen.time}" if seen.time != "" else ""
    lead = (
        f"Accuracy{when} is {sized(seen.pooled)} per sample ({seen.pooled.n:,} rows) and "
        f"{number(mean['value'])} {interval(mean['low'], mean['high'])} per unit ({mean['units']:,} units). "
        f"Chance is {number(seen.pooled.chance)}."
    )
    said = callouts(seen.findings, SHOWN)
    kinds = _kinds(seen)
    charts: list[Chart] = [pictures.kinds([span for span, *_ in kinds], seen.pooled.chance)]
    charts += [pictures.ranking(seen.curves)] if len(seen.curves) else []
    return Section("Is it good?", lead, said, (_kinds_grid(kinds), _measures(whole)), charts=tuple(charts))


def _spread(seen: Analysis, asked: Settings) -> Section:
    indices, values = seen.spreads["accuracy"], seen.units["accuracy"][seen.units["n"] > 0]
    mean = next(e.value for e in indices if e.summary == "mean")
    counted = histogram(values)
    charts: list[Chart] = [
        pictures.distribution(seen.units, indices, asked.under_share),
        pictures.counted(counted, mean),
        pictures.inequality(values),
    ]
    return spread_section(seen.spreads, counted, charts if values.size > 1 else [])


def _over_time(seen: Analysis) -> tuple[list[str], list[str], Floats]:
    """Accuracy of each unit at each time."""
    table = seen.estimates
    own = table.where(
        (table["summary"] == "unit") & (table["measure"] == "accuracy") & (table["slice"] == "")
    )
    units, place = np.unique(own["unit"].astype(str), return_inverse=True)
    times = natural(own["time"].tolist())
    at = {time: i for i, time in enumerate(times)}
    values = np.full((units.size, len(times)), np.nan)
    values[place, [at[time] for time in own["time"].tolist()]] = own["value"]
    return units.tolist(), list(map(str, times)), values


def _kinds(seen: Analysis) -> list[tuple[Span, int, int]]:
    """The kinds of evaluation, each under its name, with units and rows."""
    table = _now(seen)
    chosen = (table["measure"] == "accuracy") & (table["unit"] == "") & (table["slice"] == "")
    found = [
        (Span(KINDS[r["summary"]], r["value"], r["low"], r["high"]), r["units"], r["n"])
        for r in table.where(chosen).rows()
        if r["summary"] in KINDS
    ]
    return found + [
        (Span(WORST[e.summary], e.value, e.low, e.high), e.units, e.n)
        for e in seen.spreads["accuracy"]
        if e.summary in WORST
    ]


def _kinds_grid(kinds: Sequence[tuple[Span, int, int]]) -> Grid:
    fields: dict[str, Kind] = {
        "accuracy of": "text", "value": "number", "interval": "interval", "units": "count", "rows": "count",
    }  # fmt: skip
    rows = ((span.name, span.value, (span.low, span.high), units, n) for span, units, n in kinds)
    return Grid.of("Kinds of evaluation", fields, rows)


def _measures(whole: Table) -> Grid:
    table = whole.where(whole["part"] == "")
    means = {r["measure"]: r["value"] for r in table.where(table["summary"] == "per_unit").rows()}
    rows = [
        (
            CATALOG[r["measure"]].title, r["value"], (r["low"], r["high"]), means.get(r["measure"], math.nan),
            r["chance"], r["expected"], r["bound"], CATALOG[r["measure"]].better,
        )
        for r in table.where(table["summary"] == "per_sample").rows()
        if CATALOG[r["measure"]].shape == "unit"
    ]  # fmt: skip
    return Grid.of(
        "Measures",
        {
            "measure": "text", "per sample": "number", "interval": "interval", "per unit": "number",
            "at chance": "number", "from noise": "number", "bins lose at most": "number", "better": "text",
        },
        rows,
    )  # fmt: skip


def _whom(seen: Analysis, asked: Settings) -> Section:
    lead = units_lead(seen.units, seen.spreads["accuracy"], asked.under_share)
    grids = [units_grid(seen.units, SHOWN), _classes(seen)]
    table = _now(seen)
    sliced = (table["unit"] == "") & (table["slice"] != "") & (table["measure"] == "accuracy")
    if sliced.any():
        grids.append(_slices(table.where(sliced).sort("value", lowest=True)))
    charts = (
        pictures.worst_units(seen.units, seen.spreads["accuracy"], asked.under_share),
        pictures.confusion(seen.counts, seen.classes["class"].tolist()),
    )
    return Section("For whom is it not?", lead, (), tuple(grids), tuple(map(size_note, seen.sizes)), charts)


def _classes(seen: Analysis) -> Grid:
    return Grid.of(
        "Recall of classes across units",
        {
            "class": "text", "rows": "count", "units": "count", "pooled": "number",
            "mean over units": "number", "std (ddof 0)": "number", "lowest": "number", "highest": "number",
        },
        (row.values() for row in seen.classes.sort("pooled", lowest=True).rows()),
        shown=SHOWN,
    )  # fmt: skip


def _slices(table: Table) -> Grid:
    rows = ((r["slice"], r["n"], r["value"], (r["low"], r["high"])) for r in table.rows())
    return Grid.of(
        "Slices, all units pooled",
        {"slice": "text", "rows": "count", "accuracy": "number", "interval": "interval"},
        rows,
        shown=SHOWN,
    )


def _sure(whole: Table, curve: Table) -> list[Section]:
    table = whole.where(whole["summary"] == "per_sample")
    by_name = {row["measure"]: row for row in table.where(table["part"] == "").rows()}
    if "ece" not in by_name:
        return []
    ece = by_name["ece"]
    lead = (
        f"ECE is {number(ece['value'])}; a perfectly calibrated model would show {number(ece['expected'])} "
        "with these rows."
    )
    lead += f" Without noise it is in {interval(ece['low'], ece['high'])}."
    if not ece["low"] > 0:
        lead += " Noise may be all there is."
    fields: dict[str, Kind] = {
        "confidence": "text", "rows": "count", "mean": "number", "accuracy": "number", "interval": "interval"
    }  # fmt: skip
    rows = (
        (
            f"{r['above']:.3f} to {r['up_to']:.3f}",
            r["n"],
            r["confidence"],
            r["accuracy"],
            (r["low"], r["high"]),
        )
        for r in curve.rows()
    )
    grid, chart = Grid.of("Reliability", fields, rows), pictures.reliability(curve)
    return [Section("Does its confidence mean anything?", lead, (), (grid,), charts=(chart,))]


def _trust(seen: Analysis, asked: Settings, notes: Sequence[str], rows: int) -> Section:
    held = seen.units["n"]
    lead = (
        f"{rows:,} rows were read. Half of the units have {int(np.median(held)):,} rows or fewer, "
        f"the smallest {int(held.min()):,}."
    )
    whole = _whole(seen)
    undefined = whole.where((whole["reason"] != "") & (whole["part"] == ""))
    reasons = (f"{r['summary']} of {r['measure']} is undefined: {r['reason']}." for r in undefined.rows())
    unknown = ("whether these rows are like those the units will meet", "whether the labels are right")
    drawn = f"Intervals are at {asked.level:.0%}. {asked.draws:,} populations were redrawn "
    drawn += f"(seed {asked.seed}, units {asked.units})."
    said = tuple(Callout(Status.WATCH, f"{note[:1].upper()}{note[1:]}.") for note in notes)
    return Section(
        "Can I trust this?",
        lead,
        said,
        (),
        (drawn, *list(dict.fromkeys(reasons))[:SHOWN]),
        unknown=unknown,
    )


def _now(seen: Analysis) -> Table:
    return seen.estimates.where(seen.estimates["time"] == seen.time)


def _whole(seen: Analysis) -> Table:
    """What is known of the population as a whole at the last time, no slice taken."""
    table = _now(seen)
    return table.where((table["unit"] == "") & (table["slice"] == ""))
