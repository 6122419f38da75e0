"""One model against another: better, worse, or not shown to differ; for whom, and can it be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from muster.kernels.types import Floats
from muster.measures import CATALOG
from muster.records import Callout, Cell, Estimate, Grid, Section, Status, Table
from muster.records.chart import Chart, Forest, Level, Slopes, Span, Tone
from muster.records.section import HELD, Kind
from muster.reports.words import counted, interval, number, short

SLOPES, SHOWN, SURE = 60, 10, 0.05
BEFORE_AFTER: Mapping[str, Kind] = {
    "rows": "count", "before": "number", "after": "number", "difference": "number", "interval": "interval",
    "p (Holm)": "number", "said": "text",
}  # fmt: skip
SAID: Mapping[str, Tone] = {"better": "good", "worse": "bad", "the same": "noise", "not shown": "plain"}


def differences_section(
    names: tuple[str, str],
    sides: tuple[Table, Table],
    found: Sequence[Estimate],
    held: Floats,
    said: Sequence[Callout] = (),
) -> Section:
    """Every measure before and after; `held` are the p-values corrected for looking at all (Holm)."""
    before, after = (dict(zip(t["measure"].tolist(), t["value"].tolist(), strict=True)) for t in sides)
    first = next(e for e in found if e.measure == "accuracy")
    changed = [(e, p) for e, p in zip(found, held.tolist(), strict=True) if p < SURE]
    lead = (
        f"Accuracy goes from {number(before['accuracy'])} ({names[0]}) to {number(after['accuracy'])} "
        f"({names[1]}): {first.value:+.4f} {interval(first.low, first.high)}"
    )
    lead += ". " if math.isnan(first.p_value) else f" (p = {first.p_value:.2g} alone). "
    better = sum(_improves(e) for e, _ in changed)
    if all(math.isnan(p) for p in held.tolist()):
        lead += "Whether that is more than chance is not known."
    elif changed:
        lead += f"{better} measures are better and {len(changed) - better} worse, of {len(found)} (Holm)."
    else:
        lead += (
            f"Nothing is shown to have changed: of {len(found)} measures none differs beyond chance (Holm)."
        )
    rows = [
        (
            CATALOG[e.measure].title, before[e.measure], after[e.measure], e.value, (e.low, e.high), p,
            CATALOG[e.measure].better, _said(e, p),
        )
        for e, p in zip(found, held.tolist(), strict=True)
    ]  # fmt: skip
    fields: dict[str, Kind] = {
        "measure": "text", "before": "number", "after": "number", "difference": "number",
        "interval": "interval", "p (Holm)": "number", "better": "text", "said": "text",
    }  # fmt: skip
    grid = Grid.of("Differences", fields, rows)
    return Section("Is it better?", lead, tuple(said), (grid,), charts=(_forest(found, held),))


def _forest(found: Sequence[Estimate], held: Floats) -> Chart:
    """Measures from 0 to 1, so that all have one axis."""
    rows = [
        Span(CATALOG[e.measure].title, e.value, e.low, e.high, SAID[_said(e, p)])
        for e, p in zip(found, held.tolist(), strict=True)
        if CATALOG[e.measure].bounds[1] <= 1 and not math.isnan(e.low)
    ]
    return Forest(
        name="differences",
        title="After less before",
        description=f"Differences of {len(rows)} measures, with intervals; paired.",
        axis="difference",
        rows=tuple(rows),
        levels=(Level(0.0, "no difference"),),
    )


def for_whom_section(
    names: tuple[str, str], units: Table, signed_rank: float, items: tuple[int, int, float] | None
) -> Section:
    """Wins, ties and losses over units; who is hurt most."""
    count = {name: int((units["said"] == name).sum()) for name in SAID}
    up, down = (int((units["difference"] * side > 0).sum()) for side in (1, -1))
    lead = (
        f"Of {counted(len(units), 'unit')}, {up:,} score higher with {names[1]}, {down:,} lower and "
        f"{len(units) - up - down:,} the same. Beyond noise, corrected for looking at all, {count['better']} "
        f"are better off and {count['worse']} worse off. Signed-rank test over units: p = {signed_rank:.2g}."
    )
    note = "Items were not named, or none is shared: units are compared as if their rows were different ones."
    if items:
        note = f"McNemar's test over items: {items[0]:,} only {names[0]} got right, {items[1]:,} only "
        note += f"{names[1]}; p = {items[2]:.2g}."
    ordered = units.sort("difference", lowest=True)
    worst = next(ordered.rows())
    if worst["difference"] < 0:
        lead += f" Hurt most: {worst['unit']}, {worst['difference']:+.3f} "
        lead += f"{interval(worst['low'], worst['high'])}."
    rows = (_row(r) for r in ordered.head(HELD).rows())
    fields: dict[str, Kind] = {"unit": "text", **BEFORE_AFTER}
    grid = Grid.of("Units, hurt most first", fields, rows, shown=SHOWN, total=len(units), searched=True)
    return Section("For whom?", lead, (), (grid,), (note,), (_slopes(names, ordered),))


def _slopes(names: tuple[str, str], units: Table) -> Chart:
    """Of many units, those that moved most, down and up."""
    half = SLOPES // 2
    many = len(units) > SLOPES
    rows = [*units.head(half).rows(), *units.where(slice(-half, None)).rows()] if many else list(units.rows())
    drawn = [(short(str(r["unit"])), r["before"], r["after"], SAID[r["said"]]) for r in rows]
    left, right = (short(name) for name in names)
    return Slopes(
        name="slopes",
        title="Every unit, before and after" if not many else f"The {SLOPES} units that moved most",
        description=f"Accuracy of {len(drawn)} of {len(units):,} units with {names[0]} and with {names[1]}.",
        axis="accuracy",
        left=left,
        right=right if right != left else f"{right} (after)",
        rows=tuple(drawn),
    )


def spread_change_section(found: Sequence[Estimate]) -> Section:
    """Do those who fare worst fare better?"""
    rows = [(e.summary, e.value, (e.low, e.high), e.p_value, e.reason) for e in found]
    worst = next(e for e in found if e.summary == "worst_tenth")
    lead = f"The mean of the worst tenth of the units changes by {number(worst.value)} "
    lead += f"{interval(worst.low, worst.high)}."
    if math.isnan(worst.value):
        lead = f"Not known: {worst.reason}."
    fields: dict[str, Kind] = {
        "index": "text", "difference": "number", "interval": "interval", "p": "number",
        "undefined because": "text",
    }  # fmt: skip
    return Section("And for those who fare worst?", lead, (), (Grid.of("Indices of accuracy", fields, rows),))


def slices_section(slices: Table, *, better: bool) -> Section:
    """Parts of the data where the model that is better on the whole is the worse one."""
    against = slices.where((slices["difference"] < 0) if better else (slices["difference"] > 0))
    shown = against.where(against["said"] != "not shown")
    lead = (
        f"In {len(against)} of {len(slices)} slices the model that is better on the whole scores lower; "
        f"beyond noise in {len(shown)}."
    )
    rows = (
        (
            r["unit"],
            r["n"],
            r["before"],
            r["after"],
            r["difference"],
            (r["low"], r["high"]),
            r["p"],
            r["said"],
        )
        for r in slices.sort("difference", lowest=True).rows()
    )
    fields: dict[str, Kind] = {
        "slice": "text", "rows": "count", "before": "number", "after": "number", "difference": "number",
        "interval": "interval", "p (Holm)": "number", "said": "text",
    }  # fmt: skip
    said = tuple(
        Callout(Status.WATCH, f"{r['unit']}: {r['difference']:+.3f} {interval(r['low'], r['high'])}.")
        for r in shown.rows()
    )
    return Section("Where is the better model worse?", lead, said, (Grid.of("Slices", fields, rows),))


def seeds_section(found: Sequence[Estimate]) -> Section:
    """Repeated runs: the difference of each pair is one number."""
    many = found[0].units
    lead = f"{many} pairs of runs. Accuracy differs by {number(found[0].value)} on the mean "
    lead += f"{interval(found[0].low, found[0].high)}, Student's interval over pairs."
    few = (
        (Callout(Status.WATCH, f"{many} repeated runs are few: a claim needs 5 or more."),)
        if many < 5
        else ()
    )
    fields: dict[str, Kind] = {"measure": "text", "mean difference": "number", "interval": "interval"}
    rows = [(CATALOG[e.measure].title, e.value, (e.low, e.high)) for e in found]
    return Section(
        "Does it hold over repeated runs?", lead, few, (Grid.of("Over repeated runs", fields, rows),)
    )


def _row(r: Mapping[str, Any]) -> tuple[Cell, ...]:
    span = (r["low"], r["high"])
    return str(r["unit"]), r["n"], r["before"], r["after"], r["difference"], span, r["p"], r["said"]


def _improves(estimate: Estimate) -> bool:
    return (estimate.value > 0) == (CATALOG[estimate.measure].better == "higher")


def _said(estimate: Estimate, p: float) -> str:
    if not p < SURE or CATALOG[estimate.measure].better == "neither":
        return "not shown"
    return "better" if _improves(estimate) else "worse"
