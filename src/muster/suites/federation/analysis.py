"""From what every client scored in every round to estimates and verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from muster.errors import BadConfig
from muster.kernels.confusion import ratio
from muster.kernels.interval import wilson
from muster.kernels.types import Floats
from muster.records import Block, Estimate, Rounds, Table, Tallies, Tally, Verdict, same, stack
from muster.summaries import detection, recovery
from muster.summaries.estimates import spelled
from muster.summaries.leaving_out import METHOD, by_units, leave_out_of
from muster.summaries.over_rounds import over_rounds
from muster.summaries.population import Population, summarise
from muster.summaries.redraw import of_shares
from muster.summaries.underserved import Units, list_units
from muster.verdicts.bands import default_bands, judge_all, load_bands, unmatched
from muster.verdicts.judge import against_chance, of_units

Logs = Mapping[str, Sequence[Rounds]]
RATES = ("f1", "precision", "recall", "false_positive_rate", "false_negative_rate")
HARMED = {"stable units": "harm_stable", "drifted units": "harm_drifted", "worst tenth": "harm_worst_tenth"}
SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How sure to be, and what counts."""

    model: str
    level: float = 0.95
    draws: int = 1000
    seed: int = 0
    window: int = 5
    tolerance: float = 0.02
    bands: str | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Analysis:
    """Everything that was found; what the sections are written from.

    ``main`` is the arm that is told first, ``control`` the one in which nothing is done, ``twin``
    the one without drift. What is None could not be known, and ``missing`` says why.
    """

    logs: Logs
    main: str
    control: str
    twin: str | None
    last: int
    units: Units
    spread: Sequence[Estimate]
    over: Mapping[str, Sequence[Table]]
    detection: Table | None
    honest: Table | None
    calm: Table | None
    smallest: Table | None
    attribution: Table | None
    recovery: Table | None
    usual: Sequence[Table]
    estimates: Table
    verdicts: Sequence[Verdict]
    missing: Sequence[str]

    @property
    def log(self) -> Rounds:
        """The main arm, with the first seed."""
        return self.logs[self.main][0]


def analyse(
    logs: Logs,
    how: How,
    *,
    control: str,
    twin: str | None = None,
    sweep: Mapping[float, Sequence[Rounds]] | None = None,
) -> Analysis:
    """All estimates; spreads and units are those of the last round of the first seed of the main arm."""
    main = next(iter(logs))
    log = logs[main][0]
    last = int(np.flatnonzero(log.rows.sum(1) > 0)[-1])
    right = np.nan_to_num(log.values[last]) * log.rows[last]
    units = list_units(log.units, right, log.rows[last], level=how.level)
    spread = summarise(_population(log, last, how.level), draws=how.draws, seed=how.seed, level=how.level)
    known = logs[control][0].drifted is not None
    drifts = known and all(one.onset is not None for one in logs[control])
    watched = known and bool(logs[control][0].alarms)
    usual_truth = [detection.since_onset(one) for one in logs[control]]
    scored = detection.score(usual_truth, how.window) if watched else None
    recovered = (
        recovery.recover(logs, control, twin, tolerance=how.tolerance, level=how.level) if drifts else None
    )
    usual = [recovery.seed_table(one, tolerance=how.tolerance) for one in logs[main]] if drifts else []
    found = [
        *_levels(log, last, spread, how.level),
        *_accuracy(spread),
        *_detected(scored, logs[control]),
        *_recovered(recovered, main, usual, how.level),
    ]
    table = _table(found, how.model, int(log.rounds[last]))
    return Analysis(
        logs=logs, main=main, control=control, twin=twin, last=last, units=units, spread=spread,
        over={arm: [over_rounds(one) for one in each] for arm, each in logs.items()},
        detection=scored, honest=detection.score(logs[control], how.window) if watched else None,
        calm=detection.controls(logs[twin]) if twin and watched else None,
        smallest=_smallest(sweep, how.window) if sweep else None,
        attribution=detection.attribution(logs[control], how.window) if watched and drifts else None,
        recovery=recovered, usual=usual, estimates=table,
        verdicts=_verdicts([estimate for estimate, part in found if not part], units, how),
        missing=_missing(logs, control, drifts=drifts),
    )  # fmt: skip


def _missing(logs: Logs, control: str, *, drifts: bool) -> list[str]:
    """What the logs cannot tell."""
    if logs[control][0].drifted is None:
        return ["whether anything drifted: the log does not say, so detectors and recovery are not scored"]
    alone = len(logs) == 1 and drifts
    found = ["what would have happened if nothing had been done: the log has no such arm"] if alone else []
    silent = not logs[control][0].alarms
    return [*found, *(["whether drift would be noticed: there are no alarms"] if silent else [])]


def _smallest(sweep: Mapping[float, Sequence[Rounds]], window: int) -> Table:
    """The share of drifts that each detector saw, a column a severity."""
    columns: dict[str, Any] = {}
    for severity, logs in sweep.items():
        scored = detection.score(logs, window)
        own = scored.where(scored["scope"] == "population")
        columns |= {"detector": own["detector"], f"severity {severity:g}": 1 - own["missed_share"]}
    return Table.of(columns)


def block_of(logs: Logs, first: int = 0) -> Block:
    """Right answers and rows of every arm, client and round; the seed, from `first` on, is the slice."""
    keys, totals, weights = [], [], []
    for arm, each in logs.items():
        for seed, log in enumerate(each, first):
            row, unit = np.nonzero(log.rows > 0)
            keys.append(
                Table.of(
                    {
                        "model": same(arm, row.size), "unit": log.units[unit], "time": log.rounds[row],
                        "slice": same(f"seed {seed}" if len(each) > 1 else "", row.size),
                    }
                )
            )  # fmt: skip
            totals.append((log.values * log.rows)[row, unit])
            weights.append(log.rows[row, unit])
    tally = Tally(np.concatenate(totals)[:, None], np.concatenate(weights)[:, None])
    return Block(stack(keys), {"right": tally})


def _population(log: Rounds, row: int, level: float) -> Population:
    """The units of a round: shares of right answers, each with its rows."""
    there = log.rows[row] > 0
    values, rows = log.values[row, there], log.rows[row, there]
    pooled = float(log.pooled[row])
    return Population(
        measure=log.metric, values=values, rows=rows, noise=of_shares(values, rows, pooled),
        ends=wilson(values * rows, rows, level), chance=log.chance,
    )  # fmt: skip


Found = tuple[Estimate, str]


def _levels(log: Rounds, row: int, spread: Sequence[Estimate], level: float) -> list[Found]:
    """Both poolings, named: over rows, and the mean over units."""
    there = log.rows[row] > 0
    rows = log.rows[row, there]
    tallies = {"right": Tally((log.values[row, there] * rows)[:, None], rows[:, None])}

    def finish(sums: Tallies) -> Floats:
        return ratio(sums["right"].total, sums["right"].weight)[:, 0]

    low, high = by_units(leave_out_of(tallies, rows), finish, level)
    whole = Estimate(
        measure=log.metric, summary="per_sample", value=float(log.pooled[row]), low=float(low[0]),
        high=float(high[0]), level=level, n=int(rows.sum()), units=rows.size, method=METHOD,
        chance=log.chance,
    )  # fmt: skip
    mean = next(estimate for estimate in spread if estimate.summary == "mean")
    return [(whole, ""), (replace(mean, summary="per_unit"), "")]


def _accuracy(spread: Sequence[Estimate]) -> list[Found]:
    return [(estimate, "") for estimate in spread]


def _detected(scored: Table | None, logs: Sequence[Rounds]) -> list[Found]:
    """Rates of every detector; those of the first have no part, and are what is judged."""
    if scored is None:
        return []
    first, found = next(iter(logs[0].alarms)), []
    population = scored.where(scored["scope"] == "population")
    for row in population.rows():
        cells = int(row["tp"] + row["fp"] + row["tn"] + row["fn"])
        for rate in RATES:
            ends = (row["low_f1"], row["high_f1"]) if rate == "f1" else (math.nan, math.nan)
            estimate = Estimate(
                measure="detection", summary=rate, value=row[rate], low=ends[0], high=ends[1], n=cells,
                units=len(logs), method="bootstrap over seeds" if not math.isnan(ends[0]) else "",
                reason="" if not math.isnan(row[rate]) else "no such rounds, or no alarm",
            )  # fmt: skip
            found.append((estimate, row["detector"]))
            if row["detector"] == first:
                found.append((estimate, ""))
    return found


def _recovered(found: Table | None, main: str, usual: Sequence[Table], level: float) -> list[Found]:
    """Every quantity of every arm; of the main arm also under the names that bands know."""
    if found is None:
        return []
    made: list[Found] = []
    for row in found.rows():
        estimate = Estimate(
            measure="recovery", summary=row["quantity"], value=row["value"], low=row["low"], high=row["high"],
            level=level, units=row["seeds"], method="Student over seeds", reason=row["reason"],
        )  # fmt: skip
        made.append((estimate, f"{row['arm']}, {row['who']}"))
        if row["arm"] != main:
            continue
        if row["who"] == "all" and row["quantity"] in {"completeness", "rounds_to_tolerance"}:
            name = "rounds" if row["quantity"] == "rounds_to_tolerance" else row["quantity"]
            made.append((replace(estimate, summary=name), ""))
        if row["quantity"] == "harm" and row["who"] in HARMED and not row["reason"]:
            made.append((replace(estimate, summary=HARMED[row["who"]]), ""))
    pairs = (("quality", "recovery_quality_score"), ("stability", "stability_post_recovery"))
    return made + [(_usual(usual, name, quantity), "") for name, quantity in pairs]


def _usual(tables: Sequence[Table], name: str, quantity: str) -> Estimate:
    """One of the seed's seventeen, as a mean over seeds."""
    rows = [next(table.where(table["quantity"] == quantity).rows()) for table in tables]
    known = [row["value"] for row in rows if not math.isnan(row["value"])]
    value = float(np.mean(known)) if len(known) == len(rows) else math.nan
    reason = "" if known and not math.isnan(value) else next(row["reason"] for row in rows if row["reason"])
    return Estimate(measure="recovery", summary=name, value=value, units=len(rows), reason=reason)


def _table(found: Sequence[Found], model: str, time: int) -> Table:
    table = spelled([estimate for estimate, _ in found], model=model, time=time)
    return table.with_columns(part=[part for _, part in found])


def _verdicts(found: Sequence[Estimate], units: Units, how: How) -> list[Verdict]:
    bands = load_bands(how.bands) if how.bands else default_bands()
    if how.bands:
        wrong: Any = unmatched(how.bands, ((e.measure, e.summary) for e in found))
        if wrong:
            raise BadConfig(f"{how.bands}: {'; '.join(wrong)}")
    judged = judge_all(found, bands, float(np.median(units["n"])))
    whole = next(estimate for estimate in found if estimate.summary == "per_sample")
    level = [] if math.isnan(whole.chance) else [_over_chance(whole)]
    own = [replace(verdict, measure=whole.measure) for verdict in of_units(units, SHARE)]
    return [*level, *judged, *own]


def _over_chance(whole: Estimate) -> Verdict:
    """Is the model better than naming the most frequent class? Kappa is not counted."""
    gain = replace(
        whole, summary="over_chance", value=whole.value - whole.chance, low=whole.low - whole.chance,
        high=whole.high - whole.chance,
    )  # fmt: skip
    kappa = Estimate(measure="kappa", summary="per_sample", value=math.nan, reason="not counted")
    return against_chance(gain, kappa)
