"""What the report says, question by question."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from muster.measures import CATALOG
from muster.records import Callout, Cell, Estimate, Field, Finding, Grid, Section, Status, Table
from muster.reports.words import interval, number
from muster.suites.classification.analysis import Analysis
from muster.suites.classification.groups import GroupFairness
from muster.suites.classification.settings import Settings

SHOWN = 10
GRAVITY = {
    "at_chance": Status.BREACH, "one_bad_unit": Status.WATCH, "small_units": Status.WATCH,
    "difficult_slice": Status.WATCH, "difficult_class": Status.WATCH, "equal_within_noise": Status.OK,
}  # fmt: skip
KINDS = {
    "global": "shared test set", "per_sample": "per sample (all rows pooled)", "per_unit": "per unit (mean over units)",
    "holdout_per_sample": "hold-out units, per sample", "holdout_per_unit": "hold-out units, per unit",
}  # fmt: skip


def sections_of(seen: Analysis, asked: Settings, notes: Sequence[str], rows: int) -> list[Section]:
    """Every section that has something to say, in the order of the questions."""
    found = [_good(seen), _whom(seen, asked), _noise(seen), _groups(seen), _since(seen), _sure(seen)]
    return [section for section in found if section] + [_trust(seen, asked, notes, rows), _verdicts(seen)]


def _good(seen: Analysis) -> Section:
    pooled = seen.pooled
    mean = next(e for e in seen.population if e.summary == "mean")
    when = f" at {seen.time}" if seen.time != "" else ""
    lead = (
        f"Accuracy{when} is {number(pooled.value)} {interval(pooled.low, pooled.high)} per sample "
        f"({pooled.n:,} rows) and {number(mean.value)} {interval(mean.low, mean.high)} per unit "
        f"({mean.units:,} units). Chance is {number(pooled.chance)}."
    )
    callouts = [Callout(GRAVITY[finding.kind], finding.text) for finding in _ranked(seen.findings)]
    return Section("Is it good?", lead, tuple(callouts), (_kinds(seen), _measures(seen)))


def _ranked(findings: Sequence[Finding]) -> list[Finding]:
    order = list(Status)
    return sorted(findings, key=lambda finding: order.index(GRAVITY[finding.kind]))[:SHOWN]


def _kinds(seen: Analysis) -> Grid:
    """The kinds of evaluation, each under its name."""
    fields = (Field("accuracy of"), Field("value", "number"), Field("interval", "interval"), Field("units", "count"),
              Field("rows", "count"))  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    table = _now(seen)
    table = table.where((table["measure"] == "accuracy") & (table["unit"] == "") & (table["slice"] == ""))
    for row in table.rows():
        if row["summary"] in KINDS:
            span = interval(row["low"], row["high"])
            rows.append((KINDS[row["summary"]], row["value"], span, row["units"], row["n"]))
    for name, words in (
        ("min", "worst unit"),
        ("p10", "10th percentile of units"),
        ("worst_tenth", "mean of the worst tenth"),
    ):
        worst = next(e for e in seen.population if e.summary == name)
        rows.append((words, worst.value, interval(worst.low, worst.high), worst.units, worst.n))
    return Grid("Kinds of evaluation", fields, tuple(rows))


def _measures(seen: Analysis) -> Grid:
    fields = (Field("measure"), Field("per sample", "number"), Field("interval", "interval"), Field("per unit", "number"),
              Field("chance", "number"), Field("bins lose at most", "number"), Field("better"))  # fmt: skip
    table = _now(seen)
    table = table.where((table["unit"] == "") & (table["slice"] == "") & (table["part"] == ""))
    means = {r["measure"]: r["value"] for r in table.where(table["summary"] == "per_unit").rows()}
    rows = []
    for row in table.where(table["summary"] == "per_sample").rows():
        measure = CATALOG[row["measure"]]
        rows.append(
            (measure.title, row["value"], interval(row["low"], row["high"]), means.get(measure.name, math.nan),
             row["chance"], row["bound"], measure.better)
        )  # fmt: skip
    return Grid("Measures", fields, tuple(rows))


def _whom(seen: Analysis, asked: Settings) -> Section:
    units = seen.units
    named = {
        name: int((units["finding"] == name).sum())
        for name in ("under-served", "below the mean", "low, unproven")
    }
    under = next(e for e in seen.population if e.summary == "under")
    share = asked.under_share
    lead = (
        f"{named['under-served']} of {len(units):,} units are under-served: below {share:g} of the mean beyond noise, "
        f"corrected for looking at all. {named['below the mean']} more are below the mean, "
        f"{named['low, unproven']} are low with too few rows to tell. (Counted without regard to noise, "
        f"{number(under.value, 0)} lie below 0.8 of the mean; equal units would show {number(under.expected, 1)}.)"
    )
    fields = (Field("unit"), Field("rows", "count"), Field("accuracy", "number"), Field("interval", "interval"),
              Field("p (Holm)", "number"), Field("finding"))  # fmt: skip
    rows = tuple(
        (
            str(r["unit"]),
            r["n"],
            r["accuracy"],
            interval(r["low"], r["high"]),
            r["p_under_share"],
            r["finding"],
        )
        for r in units.worst(SHOWN).rows()
    )
    grids = [Grid("Worst units", fields, rows, max(len(units) - SHOWN, 0)), _classes(seen)]
    if (seen.estimates["slice"] != "").any():
        grids.append(_slices(seen))
    return Section("For whom is it not?", lead, (), tuple(grids), tuple(_size_note(e) for e in seen.sizes))


def _size_note(estimate: Estimate) -> str:
    kind = "Pearson" if estimate.summary == "size_pearson" else "Spearman"
    if math.isnan(estimate.value):
        return f"Correlation of rows and accuracy ({kind}): undefined, {estimate.reason}."
    span = interval(estimate.low, estimate.high)
    return (
        f"Correlation of rows and accuracy ({kind}): {estimate.value:.2f} {span} over {estimate.units} units."
    )


def _classes(seen: Analysis) -> Grid:
    fields = (Field("class"), Field("rows", "count"), Field("units", "count"), Field("recall, pooled", "number"),
              Field("mean over units", "number"), Field("std (ddof 0)", "number"), Field("lowest", "number"),
              Field("highest", "number"))  # fmt: skip
    table = seen.classes.sort("pooled", lowest=True)
    return Grid("Classes across units", fields, _rows(table.head(SHOWN)), max(len(table) - SHOWN, 0))


def _slices(seen: Analysis) -> Grid:
    fields = (
        Field("slice"),
        Field("rows", "count"),
        Field("accuracy", "number"),
        Field("interval", "interval"),
    )
    table = _now(seen)
    chosen = (table["unit"] == "") & (table["slice"] != "") & (table["measure"] == "accuracy")
    table = table.where(chosen).sort("value", lowest=True)
    rows = tuple(
        (r["slice"], r["n"], r["value"], interval(r["low"], r["high"])) for r in table.head(SHOWN).rows()
    )
    return Grid("Slices, all units pooled", fields, rows, max(len(table) - SHOWN, 0))


def _noise(seen: Analysis) -> Section:
    gap = next(e for e in seen.population if e.summary == "gap")
    lead = "A spread is undefined: " + gap.reason + "."
    if not math.isnan(gap.value):
        lead = (
            f"Best and worst unit differ by {number(gap.value)} {interval(gap.low, gap.high)}. If all units were equal, "
            f"noise alone would show {number(gap.expected)} (p = {number(gap.p_value, 3)})."
        )
    fields = (Field("index"), Field("value", "number"), Field("interval", "interval"),
              Field("if all were equal", "number"), Field("excess", "number"), Field("p", "number"),
              Field("at chance", "number"))  # fmt: skip
    rows = tuple(
        (e.summary, e.value, interval(e.low, e.high), e.expected, e.excess, e.p_value, e.chance)
        for e in seen.population
    )
    notes = (
        "If all were equal: the mean over populations in which every unit has the pooled accuracy and its own rows.",
        "At chance: the same for a model that always names the most frequent class. An index near it says nothing.",
    )
    return Section(
        "Is it unfair, or is it noise?",
        lead,
        (),
        (Grid("Spread over units", fields, rows), _histogram(seen)),
        notes,
    )


def _histogram(seen: Analysis) -> Grid:
    counts, edges = np.histogram(seen.units["accuracy"][seen.units["n"] > 0], bins=10, range=(0, 1))
    rows = tuple(
        (f"{low:.1f} to {high:.1f}", int(n))
        for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    return Grid("Units by accuracy", (Field("accuracy"), Field("units", "count")), rows)


def _groups(seen: Analysis) -> Section | None:
    if not seen.groups:
        return None
    grids = tuple(_group(group) for group in seen.groups.values())
    named = ", ".join(f"{group.column} ({', '.join(group.groups)})" for group in seen.groups.values())
    positive = next(iter(seen.groups.values())).positive
    lead = f"Are groups of {named} treated alike, {positive!r} being the answer that is good to get?"
    notes = ("Differences are largest minus smallest over groups, ratios smallest over largest.",)
    return Section("Are groups treated alike?", lead, (), grids, notes)


def _group(group: GroupFairness) -> Grid:
    fields = (Field("criterion"), Field("value", "number"), Field("interval", "interval"),
              Field("if groups were equal", "number"), Field("p", "number"), Field("worst unit", "number"),
              Field("undefined because"))  # fmt: skip
    rows = []
    for i, e in enumerate(group.pooled):
        units = [found[i].value for found in group.by_unit.values() if not math.isnan(found[i].value)]
        worst = math.nan if not units else max(units) if e.summary.endswith("difference") else min(units)
        rows.append((e.summary, e.value, interval(e.low, e.high), e.expected, e.p_value, worst, e.reason))
    return Grid(f"Group fairness by {group.column}", fields, tuple(rows))


def _since(seen: Analysis) -> Section | None:
    if len(seen.trend) < 2:
        return None
    first, last = (next(seen.trend.where([i]).rows()) for i in (0, -1))
    lead = (
        f"From {first['time']} to {last['time']} accuracy per sample went from {number(first['per_sample'])} to "
        f"{number(last['per_sample'])}, the worst tenth from {number(first['worst_tenth'])} to {number(last['worst_tenth'])}."
    )
    kinds = {"time": "text", "units": "count", "n": "count"}
    fields = tuple(Field(name, kinds.get(name, "number")) for name in seen.trend.columns)  # type: ignore[arg-type]
    shown = seen.trend.where(slice(-2 * SHOWN, None))
    return Section(
        "Since when?", lead, (), (Grid("Over time", fields, _rows(shown), len(seen.trend) - len(shown)),)
    )


def _sure(seen: Analysis) -> Section | None:
    table = _now(seen)
    table = table.where((table["summary"] == "per_sample") & (table["slice"] == ""))
    by_name = {row["measure"]: row for row in table.rows() if row["part"] == ""}
    if "ece" not in by_name:
        return None
    ece, debiased = by_name["ece"], by_name.get("ece_debiased")
    lead = f"ECE is {number(ece['value'])}; a perfectly calibrated model would show {number(ece['chance'])} with these rows."
    if debiased:
        lead += f" Less noise, {number(debiased['value'])} is left."
    curve = table.where(table["measure"] == "reliability")
    fields = (Field("confidence"), Field("accuracy", "number"))
    rows = tuple((r["part"], r["value"]) for r in curve.rows() if not math.isnan(r["value"]))
    return Section(
        "Does its confidence mean anything?", lead, (), (Grid("Reliability", fields, rows),) if rows else ()
    )


def _trust(seen: Analysis, asked: Settings, notes: Sequence[str], rows: int) -> Section:
    units = seen.units["n"]
    lead = f"{rows:,} rows were read. Half of the units have {int(np.median(units)):,} rows or fewer, the smallest {int(units.min()):,}."
    undefined = _now(seen)
    undefined = undefined.where(
        (undefined["unit"] == "") & (undefined["reason"] != "") & (undefined["slice"] == "")
    )
    reasons = dict.fromkeys(
        f"{r['summary']} of {r['measure']} is undefined: {r['reason']}." for r in undefined.rows()
    )
    unknown = (
        "Not known: whether the rows are what the units will meet; labels are taken as true.",
        f"Intervals are at {asked.level:.0%}. {asked.draws:,} populations were redrawn (seed {asked.seed}, units {asked.units}).",
    )
    callouts = tuple(Callout(Status.WATCH, note[:1].upper() + note[1:] + ".") for note in notes)
    return Section("Can I trust this?", lead, callouts, (), (*unknown, *list(reasons)[:SHOWN]))


def _verdicts(seen: Analysis) -> Section:
    order = list(Status)
    ranked = sorted(seen.verdicts, key=lambda verdict: order.index(verdict.status))
    counts = [
        f"{sum(v.status is s for v in ranked)} {s.value}" for s in order if any(v.status is s for v in ranked)
    ]
    fields = (Field("status", "status"), Field("of"), Field("measure"), Field("called"), Field("why"))
    rows = tuple((v.status.value, v.subject, f"{v.summary} of {v.measure}", v.label, v.why) for v in ranked)
    return Section(
        "Verdicts",
        ", ".join(counts) + ".",
        (),
        (Grid("Verdicts", fields, rows[: 5 * SHOWN], max(len(rows) - 5 * SHOWN, 0)),),
    )


def _now(seen: Analysis) -> Table:
    return seen.estimates.where(seen.estimates["time"] == seen.time)


def _rows(table: Table) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(row.values()) for row in table.rows())
