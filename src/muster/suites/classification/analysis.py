"""From tallies to estimates, diagnosis and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from muster.errors import BadConfig, nearest
from muster.kernels.codes import natural
from muster.kernels.types import Floats
from muster.measures import CATALOG, lookup
from muster.measures.accuracy import right_and_rows
from muster.measures.confusion import counts_of
from muster.records import Block, Column, Estimate, Finding, Measure, Table, Verdict, stack
from muster.sources.classes import text
from muster.suites.classification.settings import Settings
from muster.summaries.association import with_size
from muster.summaries.attributes import GroupFairness, columns_of, group_fairness
from muster.summaries.chance import over_chance
from muster.summaries.classes import across_units
from muster.summaries.curves import hardest
from muster.summaries.diagnose import diagnose, difficult
from muster.summaries.estimates import finish, finish_pooled, of_population, pooled, spelled
from muster.summaries.kinds import kinds, roles
from muster.summaries.pool import pool
from muster.summaries.population import population, summarise
from muster.summaries.reliability import reliability
from muster.summaries.trend import trend
from muster.summaries.underserved import Units, list_units
from muster.verdicts.bands import default_bands, judge_all, load_bands, unmatched
from muster.verdicts.judge import against_chance, of_units

ACCURACY = CATALOG["accuracy"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Analysis:
    """Everything that was found; what the sections are written from."""

    time: Any
    estimates: Table
    units: Units
    spreads: Mapping[str, Sequence[Estimate]]
    sizes: Sequence[Estimate]
    pooled: Estimate
    classes: Table
    counts: Floats
    reliability: Table
    curves: Table
    trend: Table
    groups: Sequence[GroupFairness]
    findings: Sequence[Finding]
    verdicts: Sequence[Verdict]


def analyse(block: Block, classes: Sequence[str], measures: Sequence[Measure], asked: Settings) -> Analysis:
    """All estimates of all times; intervals of the population, and verdicts, at the last time."""
    parts = roles(block.where(block.keys["slice"] == ""), asked.holdout, asked.shared)
    members = parts.members
    last = natural(members.keys["time"].tolist())[-1]
    now = members.where(members.keys["time"] == last)
    slices = _slices_of(block, now.keys["unit"], last)
    whole = pooled(now, ACCURACY, asked.level, asked.units)
    gain = over_chance(now, asked.level, asked.units)
    kappa = pooled(now, CATALOG["kappa"], asked.level, asked.units)
    spreads = _spreads(now, asked)
    names, right, rows = _everybody(members, now, asked.expect)
    units = list_units(names, right, rows, share=asked.under_share, level=asked.level)
    sizes = with_size(right, rows, level=asked.level, draws=asked.draws // 2, seed=asked.seed)
    groups = _groups(slices, classes, asked)
    tables = [
        *kinds(parts, measures, classes, asked.level, asked.units),
        *_slice_tables(slices, classes, measures, asked),
        *(spelled(found, model=asked.model, time=last) for found in (*spreads.values(), sizes, [gain])),
        *(table for group in groups for table in group.tables(asked.model, last)),
    ]
    estimates = stack(tables)
    return Analysis(
        time=last,
        estimates=estimates,
        units=units,
        spreads=spreads,
        sizes=sizes,
        pooled=whole,
        classes=across_units(counts_of(now.tallies), classes),
        counts=counts_of(now.tallies).sum(0),
        reliability=reliability(now, asked.level),
        curves=hardest(now, classes),
        trend=trend(members, ACCURACY, asked.level, asked.units),
        groups=groups,
        findings=[
            *diagnose(units, (gain, kappa), spreads["accuracy"], sizes),
            *_difficult(now, slices, classes),
        ],
        verdicts=_verdicts((gain, kappa), of_population(estimates, last, asked.level), units, asked),
    )


def _everybody(members: Block, now: Block, expected: Sequence[str | int]) -> tuple[Column, Floats, Floats]:
    """Names, right answers and rows of all units; those that are silent by now have no rows."""
    right, rows = right_and_rows(now.tallies)
    known = [str(unit) for unit in (*members.keys["unit"].tolist(), *expected)]
    there = {str(unit) for unit in now.keys["unit"].tolist()}
    silent = np.array([*sorted(set(known) - there), None], dtype=object)[:-1]
    none = np.zeros(silent.size)
    return (
        np.concatenate([now.keys["unit"], silent]),
        np.concatenate([right, none]),
        np.concatenate([rows, none]),
    )


def _slices_of(block: Block, units: Column, time: Any) -> Block:
    """The entries of cuts inside the data of these units at this time."""
    sliced = block.where((block.keys["slice"] != "") & (block.keys["time"] == time))
    return sliced.where(np.isin(sliced.keys["unit"].astype(str), units.astype(str)))


def _spreads(now: Block, asked: Settings) -> dict[str, list[Estimate]]:
    """Accuracy first: the verdicts and the diagnosis rest on it."""
    wanted = lookup(dict.fromkeys(["accuracy", *asked.spread_of]))
    return {
        measure.name: summarise(
            population(now, measure, asked.level),
            draws=asked.draws,
            seed=asked.seed,
            level=asked.level,
            units=asked.units,
            share=asked.under_share,
        )
        for measure in wanted
    }


def _groups(slices: Block, classes: Sequence[str], asked: Settings) -> list[GroupFairness]:
    """With more than two classes only when the class that is good to get is named."""
    if not len(slices) or (asked.positive is None and len(classes) != 2):
        return []
    name = classes[1] if asked.positive is None else text(asked.positive)
    if name not in classes:
        raise BadConfig(
            f"positive: no class {name!r}{nearest(name, classes)}; the classes are {', '.join(classes)}"
        )
    at = list(classes).index(name)
    return group_fairness(slices, at, name, level=asked.level, draws=asked.draws, seed=asked.seed)


def _slice_tables(
    slices: Block, classes: Sequence[str], measures: Sequence[Measure], asked: Settings
) -> list[Table]:
    if not len(slices):
        return []
    single = [measure for measure in measures if measure.shape == "unit"]
    return [
        finish_pooled(slices, single, classes, level=asked.level, units=asked.units),
        finish(slices, [ACCURACY], classes, summary="unit", level=asked.level),
    ]


def _difficult(now: Block, slices: Block, classes: Sequence[str]) -> list[Finding]:
    counts = counts_of(now.tallies).sum(0)
    held = counts.sum(-1) > 0
    names = [f"class {name}" for name, some in zip(classes, held, strict=True) if some]
    found = difficult("class", names, np.diagonal(counts)[held], counts.sum(-1)[held])
    if not len(slices):
        return found
    whole = pool(slices)
    right, rows = right_and_rows(whole.tallies)
    columns = columns_of(whole)
    for column in dict.fromkeys(columns.tolist()):
        of = columns == column
        found += difficult("slice", whole.keys["slice"][of].tolist(), right[of], rows[of])
    return found


def _verdicts(
    chance: tuple[Estimate, Estimate], estimates: Sequence[Estimate], units: Units, asked: Settings
) -> list[Verdict]:
    bands = load_bands(asked.bands) if asked.bands else default_bands()
    if asked.bands:
        wrong = unmatched(asked.bands, ((e.measure, e.summary) for e in estimates))
        if wrong:
            raise BadConfig(f"{asked.bands}: {'; '.join(wrong)}")
    judged = judge_all(estimates, bands, float(np.median(units["n"])))
    return [against_chance(*chance), *judged, *of_units(units, asked.under_share)]
