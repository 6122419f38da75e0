"""From tallies to estimates, diagnosis and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from muster.errors import BadData, nearest
from muster.measures import CATALOG
from muster.measures.accuracy import right_and_rows
from muster.measures.confusion import counts_of
from muster.records import Block, Column, Estimate, Finding, Mask, Measure, Table, Verdict, stack
from muster.suites.classification.groups import GroupFairness, group_fairness
from muster.suites.classification.settings import Settings
from muster.summaries.association import with_size
from muster.summaries.classes import across_units
from muster.summaries.diagnose import diagnose, difficult
from muster.summaries.estimates import finish, spelled
from muster.summaries.kinds import per_unit_mean
from muster.summaries.pool import pool
from muster.summaries.population import population, summarise
from muster.summaries.underserved import Units, list_units
from muster.verdicts.bands import default_bands, judge_all, load_bands
from muster.verdicts.judge import against_chance, of_units

ACCURACY = CATALOG["accuracy"]


@dataclass(frozen=True, slots=True)
class Roles:
    """Units never trained on, and units that hold a test set shared by all. The others are members."""

    holdout: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    def split(self, units: Column) -> dict[str, Mask]:
        """Which entries are members, hold-outs and shared."""
        names = np.array([str(unit) for unit in units.tolist()], dtype=object)
        known = set(names.tolist())
        for name in (*self.holdout, *self.shared):
            if name not in known:
                raise BadData(f"no unit {name!r}{nearest(name, known)}, asked for as hold-out or shared")
        both = set(self.holdout) & set(self.shared)
        if both:
            raise BadData(f"{', '.join(sorted(both))} cannot be a hold-out and shared")
        holdout, shared = (np.isin(names, list(part)) for part in (self.holdout, self.shared))
        return {"member": ~holdout & ~shared, "holdout": holdout, "global": shared}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Analysis:
    """Everything that was found; what the sections are written from."""

    time: Any
    estimates: Table
    units: Units
    population: Sequence[Estimate]
    sizes: Sequence[Estimate]
    pooled: Estimate
    classes: Table
    trend: Table
    groups: Mapping[str, GroupFairness]
    findings: Sequence[Finding]
    verdicts: Sequence[Verdict]


def analyse(
    block: Block, classes: Sequence[str], measures: Sequence[Measure], asked: Settings, roles: Roles
) -> Analysis:
    """All estimates of all times; intervals of the population, and verdicts, at the last time."""
    whole = block.where(block.keys["slice"] == "")
    parts = roles.split(whole.keys["unit"])
    members = whole.where(parts["member"])
    if not len(members):
        raise BadData("every unit is a hold-out or shared: no member is left")
    last = max(set(members.keys["time"].tolist()))
    now = members.where(members.keys["time"] == last)
    slices = block.where((block.keys["slice"] != "") & _among(block.keys["unit"], now.keys["unit"]))
    slices = slices.where(slices.keys["time"] == last)
    indices = summarise(
        population(now, ACCURACY, asked.level),
        draws=asked.draws, seed=asked.seed, level=asked.level, units=asked.units,
    )  # fmt: skip
    right, rows = right_and_rows(now.tallies)
    units = list_units(now.keys["unit"], right, rows, share=asked.under_share, level=asked.level)
    sizes = with_size("accuracy", units["accuracy"], rows, asked.level)
    groups = group_fairness(slices, classes, asked)
    tables = [
        *_kinds(whole, parts, classes, measures, asked.level),
        *_slices(slices, classes, measures, asked.level),
        *(spelled(part, model=asked.model, time=last) for part in (indices, sizes)),
        *(table for group in groups.values() for table in group.tables(asked.model, last)),
    ]
    pooled = _pooled(now, asked.level)
    findings = diagnose(units, pooled, indices, sizes) + _difficult(now, slices, classes)
    bands = load_bands(asked.bands) if asked.bands else default_bands()
    verdicts = [against_chance(pooled), *judge_all(indices, bands, float(np.median(rows)))]
    return Analysis(
        time=last,
        estimates=stack(tables),
        units=units,
        population=indices,
        sizes=sizes,
        pooled=pooled,
        classes=across_units(counts_of(now.tallies), classes),
        trend=_trend(members, asked.level),
        groups=groups,
        findings=findings,
        verdicts=verdicts + of_units(units, asked.under_share),
    )


def _kinds(
    whole: Block, parts: Mapping[str, Mask], classes: Sequence[str], measures: Sequence[Measure], level: float
) -> list[Table]:
    """Local, per sample, per unit, global and hold-out: each under its name."""
    single = [measure for measure in measures if measure.shape == "unit"]
    members = whole.where(parts["member"])
    tables = [
        finish(members, single, classes, summary="unit", level=level),
        finish(pool(members), measures, classes, summary="per_sample", level=level, units=_units(members)),
        per_unit_mean(members, single, summary="per_unit", level=level),
    ]
    for role, summary in (("global", "global"), ("holdout", "holdout_per_sample")):
        if parts[role].any():
            some = whole.where(parts[role])
            tables.append(
                finish(pool(some), measures, classes, summary=summary, level=level, units=_units(some))
            )
    if parts["holdout"].any():
        some = whole.where(parts["holdout"])
        tables.append(finish(some, single, classes, summary="holdout_unit", level=level))
        tables.append(per_unit_mean(some, single, summary="holdout_per_unit", level=level))
    return tables


def _slices(slices: Block, classes: Sequence[str], measures: Sequence[Measure], level: float) -> list[Table]:
    if not len(slices):
        return []
    single = [measure for measure in measures if measure.shape == "unit"]
    return [
        finish(pool(slices), single, classes, summary="per_sample", level=level, units=_units(slices)),
        finish(slices, [ACCURACY], classes, summary="unit", level=level),
    ]


def _units(block: Block) -> int:
    return len(set(block.keys["unit"].tolist()))


def _pooled(now: Block, level: float) -> Estimate:
    whole = pool(now)
    right, rows = right_and_rows(whole.tallies)
    low, high = ACCURACY.interval(whole.tallies, level) if ACCURACY.interval else (np.nan, np.nan)
    chance = ACCURACY.chance(whole.tallies) if ACCURACY.chance else np.array([np.nan])
    value = ACCURACY.finish(whole.tallies)
    return Estimate(
        measure="accuracy",
        summary="per_sample",
        value=float(value[0]),
        low=float(np.ravel(low)[0]),
        high=float(np.ravel(high)[0]),
        level=level,
        chance=float(chance[0]),
        n=int(rows[0]),
        units=len(now),
        method=ACCURACY.method,
        reason="no rows" if not rows[0] else "",
    )


def _difficult(now: Block, slices: Block, classes: Sequence[str]) -> list[Finding]:
    counts = counts_of(now.tallies).sum(0)
    held = counts.sum(-1) > 0
    names = [f"class {name}" for name, some in zip(classes, held, strict=True) if some]
    found = difficult("class", names, np.diagonal(counts)[held], counts.sum(-1)[held])
    if not len(slices):
        return found
    pooled = pool(slices)
    right, rows = right_and_rows(pooled.tallies)
    labels = pooled.keys["slice"]
    columns = np.array([label.partition("=")[0] for label in labels.tolist()], dtype=object)
    for column in dict.fromkeys(columns.tolist()):
        of = columns == column
        found += difficult("slice", labels[of].tolist(), right[of], rows[of])
    return found


def _trend(members: Block, level: float) -> Table:
    """One row a time: pooled, per unit, and the spread; without redrawing."""
    rows: list[dict[str, Any]] = []
    for moment in sorted(set(members.keys["time"].tolist())):
        now = members.where(members.keys["time"] == moment)
        pooled = _pooled(now, level)
        found = {e.summary: e.value for e in summarise(population(now, ACCURACY), draws=0)}
        rows.append(
            {
                "time": moment, "units": len(now), "n": pooled.n, "per_sample": pooled.value, "low": pooled.low,
                "high": pooled.high, "per_unit": found["mean"],
                **{name: found[name] for name in ("min", "worst_tenth", "gap", "std_ddof1", "gini", "jain")},
            }
        )  # fmt: skip
    return Table.of({name: [row[name] for row in rows] for name in rows[0]})


def _among(units: Column, kept: Column) -> Mask:
    return np.isin(units.astype(str), kept.astype(str))
