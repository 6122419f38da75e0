"""Facts about a population as charts: which numbers are shown together, and what the picture says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from muster.kernels.inequality import lorenz
from muster.kernels.types import Floats
from muster.records import Estimate, Table
from muster.records.chart import Bars, Forest, Level, Lines, Matrix, Series, Span, Ticks, Zone
from muster.reports.words import number, short, told_apart
from muster.summaries.underserved import Units

MOST_TICKS, MOST_ROWS, MOST_CLASSES, MOST_TIMES = 1_000, 25, 24, 60


def distribution(units: Units, indices: Sequence[Estimate], share: float) -> Ticks:
    """A tick a unit, beside what noise alone would show. Of many units, evenly spaced quantiles."""
    of = {e.summary: e for e in indices}
    values = np.sort(units["accuracy"][units["n"] > 0])
    many = values.size > MOST_TICKS
    shown = np.quantile(values, np.linspace(0, 1, MOST_TICKS)) if many else values
    least, gap, mean = of["min"].expected, of["gap"].expected, of["mean"].value
    zones = [Zone(0.0, share * mean, f"below {share:g} of the mean", "bad")]
    if not math.isnan(least) and not math.isnan(gap):
        zones.append(Zone(least, least + gap, "where equal units would lie", "noise"))
    what = f"{values.size:,} units" + (f", shown as {MOST_TICKS:,} quantiles" if many else "")
    ends = f"from {number(values.min(initial=1.0))} to {number(values.max(initial=0.0))}"
    return Ticks(
        name="units",
        title="Every unit",
        description=f"{what}: accuracy {ends}.",
        axis="accuracy",
        values=tuple(shown.tolist()),
        points=tuple(
            Level(of[name].value, label) for name, label in (("mean", "mean"), ("worst_tenth", "worst tenth"))
        ),
        zones=tuple(zone for zone in zones if zone.high > values.min(initial=1.0)),
    )


def worst_units(units: Units, indices: Sequence[Estimate], share: float) -> Forest:
    """The units that fare worst, each with its interval, against the mean and the line."""
    mean = next(e.value for e in indices if e.summary == "mean")
    rows = [
        Span(
            short(str(r["unit"])), r["accuracy"], r["low"], r["high"],
            "bad" if r["finding"] == "under-served" else "plain",
        )
        for r in units.where(units["n"] > 0).sort("accuracy", lowest=True).head(MOST_ROWS).rows()
    ]  # fmt: skip
    flagged = sum(row.tone == "bad" for row in rows)
    return Forest(
        name="worst-units",
        title="The units that fare worst",
        description=f"Accuracy and interval of {len(rows)} of {len(units):,} units; {flagged} under-served.",
        axis="accuracy",
        rows=_distinct(rows),
        levels=(Level(mean, "mean"), Level(share * mean, f"{share:g} of the mean")),
    )


def kinds(rows: Sequence[Span], chance: float) -> Forest:
    """The kinds of evaluation side by side."""
    levels = () if math.isnan(chance) else (Level(chance, "chance"),)
    said = "; ".join(f"{row.name} {number(row.value)}" for row in rows)
    title = "One model, many accuracies"
    return Forest(
        name="kinds", title=title, description=said, axis="accuracy", rows=tuple(rows), levels=levels
    )


def inequality(values: Floats) -> Lines:
    """The Lorenz curve of accuracy over units."""
    units, held = lorenz(np.sort(values))
    return Lines(
        name="lorenz",
        title="Lorenz curve of accuracy",
        description="The share of all accuracy that the worst units have, by their share of all units.",
        x="share of units, worst first",
        y="share of accuracy",
        series=(Series("units", tuple(units.tolist()), tuple(held.tolist())),),
        diagonal="all alike",
    )


def counted(histogram: Table, mean: float) -> Bars:
    """How many units lie in each tenth."""
    edges = [*histogram["from"].tolist(), float(histogram["up_to"][-1])]
    return Bars(
        name="histogram",
        title="Units by accuracy",
        description="; ".join(
            f"{r['units']} from {r['from']:.1f} to {r['up_to']:.1f}" for r in histogram.rows() if r["units"]
        ),
        axis="accuracy",
        counted="units",
        edges=tuple(edges),
        counts=tuple(histogram["units"].tolist()),
        levels=(Level(mean, "mean"),),
    )


def confusion(counts: Floats, classes: Sequence[str]) -> Matrix:
    """The share of the rows of each class that got each answer; of many classes those that occur most."""
    most = np.sort(np.argsort(-counts.sum(-1), kind="stable")[:MOST_CLASSES])
    names = [short(classes[i], 20) for i in most]
    rows = counts[np.ix_(most, most)] / np.maximum(counts[most].sum(-1, keepdims=True), 1)
    more = f", the {len(most)} that occur most of {len(classes)}" if len(classes) > len(most) else ""
    return Matrix(
        name="confusion",
        title="Confusion matrix",
        description=f"Share of the rows of each true class that got each answer{more}.",
        rows=tuple(names),
        columns=tuple(names),
        values=tuple(map(tuple, rows.tolist())),
        texts=tuple(tuple(f"{100 * value:.0f}" for value in row) for row in rows.tolist()),
        row_axis="truth",
        column_axis="answer, per cent of truth",
    )


def reliability(curve: Table) -> Lines:
    """Accuracy by confidence: on the diagonal, a confidence means what it says."""
    x, y, low, high = (tuple(curve[n].tolist()) for n in ("confidence", "accuracy", "low", "high"))
    return Lines(
        name="reliability",
        title="Reliability",
        description="Accuracy and interval by mean confidence of each bin.",
        x="confidence",
        y="accuracy",
        series=(Series("accuracy", x, y, low, high),),
        diagonal="calibrated",
    )


def ranking(curves: Table) -> Lines:
    """ROC curves, the class that is hardest to tell first."""
    series, said = [], []
    for name in dict.fromkeys(curves["class"].tolist()):
        own = curves.where(curves["class"] == name)
        label = f"class {short(name, 16)}, AUROC {number(float(own['area'][0]), 3)}"
        series.append(Series(label, tuple(own["fpr"].tolist()), tuple(own["tpr"].tolist())))
        said.append(label)
    return Lines(
        name="roc",
        title="ROC of the classes that are hardest to tell" if len(series) > 1 else "ROC",
        description="; ".join(said),
        x="false positive rate",
        y="true positive rate",
        series=tuple(series),
        diagonal="chance",
    )


def timeline(trend: Table) -> Lines:
    """The pooled value with its interval, the mean over units and the worst tenth, over time."""
    x, axis = _times(trend["time"].tolist())
    pooled = (tuple(trend[name].tolist()) for name in ("per_sample", "low", "high"))
    value, low, high = pooled
    others = (("per unit", "per_unit"), ("worst tenth", "worst_tenth"))
    return Lines(
        name="timeline",
        title="Accuracy over time",
        description=f"Per sample from {number(value[0])} to {number(value[-1])}, over {len(x)} times.",
        x=axis,
        y="accuracy",
        series=(
            Series("per sample", x, value, low, high),
            *(Series(name, x, tuple(trend[column].tolist())) for name, column in others),
        ),
    )


def heat(units: Sequence[str], times: Sequence[str], values: Floats) -> Matrix:
    """Units down, times across; the units that end worst on top."""
    order = np.argsort(np.nan_to_num(values[:, -1], nan=2.0), kind="stable")[:MOST_ROWS]
    shown = values[order][:, -MOST_TIMES:]
    return Matrix(
        name="units-over-time",
        title="Units over time",
        description=f"Accuracy of the {len(order)} units that end worst, at the last {shown.shape[1]} times.",
        rows=told_apart([short(units[i]) for i in order]),
        columns=tuple(times[-MOST_TIMES:]),
        values=tuple(map(tuple, shown.tolist())),
        texts=tuple(tuple(number(value, 2) for value in row) for row in shown.tolist()),
        row_axis="unit",
        column_axis="time",
    )


def _times(times: Sequence[object]) -> tuple[tuple[float, ...], str]:
    """Times as numbers; where they are none, their places in order."""
    if all(isinstance(time, int | float) for time in times):
        return tuple(float(str(time)) for time in times), "time"
    return tuple(float(i + 1) for i in range(len(times))), f"time, {times[0]} to {times[-1]}, in order"


def _distinct(rows: Sequence[Span]) -> tuple[Span, ...]:
    """The same rows, their names told apart."""
    names = told_apart([row.name for row in rows])
    return tuple(replace(row, name=name) for row, name in zip(rows, names, strict=True))
