"""Drift as charts: arms over time, alarms over time, what was told right, who gained and who paid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from muster.kernels.types import Floats
from muster.records import ALARM, UNKNOWN, Rounds, Table
from muster.records.chart import Event, Forest, Level, Lines, Matrix, Series, Span
from muster.reports.words import number, short, told_apart

MOST_UNITS, MOST_ROUNDS = 25, 60


def arms_over_time(
    values: Mapping[str, Floats], rounds: Sequence[int], events: Sequence[Event], name: str, axis: str
) -> Lines:
    """A line an arm: the mean over seeds, from the lowest to the highest of them behind it."""
    x = tuple(map(float, rounds))
    series, said = [], []
    for arm, each in values.items():
        middle = _mean(each)
        low, high = _span(each)
        series.append(Series(arm, x, tuple(middle.tolist()), low, high))
        said.append(f"{arm} from {number(middle[0], 3)} to {number(middle[-1], 3)}")
    seeds = len(next(iter(values.values())))
    return Lines(
        name=name,
        title=f"{axis.capitalize()} over rounds" + (f", mean of {seeds} seeds" if seeds > 1 else ""),
        description=f"{'; '.join(said)}." + (" Behind: lowest and highest seed." if seeds > 1 else ""),
        x="round",
        y=axis,
        series=tuple(series),
        events=tuple(events),
    )


def units_over_rounds(log: Rounds, title: str, name: str) -> Matrix:
    """Units down, rounds across; those that have drifted on top, then those that end worst."""
    ever = np.zeros(len(log.units), bool)
    if log.drifted is not None:
        ever |= log.drifted.any(0)
    rounds = slice(max(0, len(log.rounds) - MOST_ROUNDS), None)
    end = np.nan_to_num(log.values[-1], nan=2.0)
    order = np.lexsort((end, ~ever))[:MOST_UNITS]
    shown = log.values[rounds][:, order].T
    names = [short(f"{log.units[u]}{', drifts' if ever[u] else ''}") for u in order]
    return Matrix(
        name=name,
        title=title,
        description=f"{log.metric} of {len(order)} of {len(log.units):,} units; {int(ever.sum())} drift.",
        rows=told_apart(names),
        columns=tuple(str(r) for r in log.rounds[rounds]),
        values=tuple(map(tuple, shown.tolist())),
        texts=tuple(tuple(number(value, 2) for value in row) for row in shown.tolist()),
        row_axis="client",
        column_axis="round",
    )


def alarms_over_rounds(logs: Sequence[Rounds], name: str, title: str) -> Matrix:
    """The share of seeds in which each detector had an alarm, in every round; the truth on top."""
    log = logs[0]
    rounds = slice(max(0, len(log.rounds) - MOST_ROUNDS), None)
    rows, values, texts = [], [], []
    if log.drifted is not None:
        truth = np.mean([np.asarray(one.drifted).any(1) for one in logs], 0)
        rows, values = ["drift (the truth)"], [truth[rounds]]
        texts = [["drift" if share else "none" for share in truth[rounds].tolist()]]
    for detector in log.alarms:
        said = np.stack([one.alarms[detector].whole for one in logs])[:, rounds]
        rows.append(detector)
        values.append((said == ALARM).mean(0))
        silent = (said == UNKNOWN).all(0)
        texts.append(
            [
                "not enough data" if nothing else f"{100 * share:.0f} %"
                for share, nothing in zip(values[-1].tolist(), silent.tolist(), strict=True)
            ]
        )
    return Matrix(
        name=name,
        title=title,
        description="Share of seeds in which each detector had an alarm; the stronger the colour, the more.",
        rows=tuple(rows),
        columns=tuple(str(r) for r in log.rounds[rounds]),
        values=tuple(tuple(row.tolist()) for row in values),
        texts=tuple(map(tuple, texts)),
        row_axis="detector",
        column_axis="round",
    )


def told_right(scored: Table, detector: str) -> Matrix:
    """Rounds with and without drift, with and without an alarm: counts, shaded by share of the row."""
    (row,) = scored.where((scored["detector"] == detector) & (scored["scope"] == "population")).rows()
    counts = np.array([[row["tp"], row["fn"]], [row["fp"], row["tn"]]], float)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    return Matrix(
        name=f"confusion-{detector.replace(' ', '-')}",
        title=f"Rounds, as {detector} tells them",
        description=f"{counts[0, 0]:.0f} of {counts[0].sum():.0f} rounds with drift had an alarm, "
        f"{counts[1, 0]:.0f} of {counts[1].sum():.0f} without.",
        rows=("drift", "no drift"),
        columns=("alarm", "quiet"),
        values=tuple(map(tuple, shares.tolist())),
        texts=tuple(tuple(f"{count:.0f}" for count in line) for line in counts.tolist()),
        row_axis="truth",
        column_axis="detector",
    )


def who_gains(recovered: Table) -> Forest:
    """What each arm did for whom, less what doing nothing did with the same seeds."""
    own = recovered.where((recovered["quantity"] == "harm") & (recovered["reason"] == ""))
    rows = tuple(
        Span(
            f"{row['arm']}: {row['who']}", row["value"], *_ends(row),
            "bad" if row["value"] < 0 else "plain",
        )
        for row in own.rows()
    )  # fmt: skip
    worse = sum(row.tone == "bad" for row in rows)
    return Forest(
        name="harm",
        title="Who gains and who pays, against doing nothing",
        description="Accuracy at the end less that of doing nothing, same seeds; "
        f"{worse} of {len(rows)} below 0.",
        axis="accuracy gained",
        rows=rows,
        levels=(Level(0.0, "as doing nothing"),),
    )


def _ends(row: Mapping[str, float]) -> tuple[float, float]:
    known = not math.isnan(row["low"])
    return (row["low"], row["high"]) if known else (row["value"], row["value"])


def _mean(each: Floats) -> Floats:
    known = ~np.isnan(each)
    total = np.where(known, each, 0.0).sum(0)
    return np.asarray(np.where(known.any(0), total / np.maximum(known.sum(0), 1), np.nan))


def _span(each: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The lowest and the highest seed; nothing for one seed."""
    if len(each) < 2:
        return (), ()
    low, high = np.fmin.reduce(each), np.fmax.reduce(each)
    return tuple(low.tolist()), tuple(high.tolist())
