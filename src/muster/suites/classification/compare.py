"""One classifier against another, over the same units and items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from muster.errors import BadData
from muster.kernels.codes import natural
from muster.kernels.paired import wilcoxon
from muster.kernels.significance import holm
from muster.measures import lookup
from muster.records import Block, Callout, Estimate, Measure, Section, Status, Table, same, stack
from muster.reports.reading import load
from muster.reports.run import Run
from muster.reports.sections.comparison import (
    differences_section,
    for_whom_section,
    seeds_section,
    slices_section,
    spread_change_section,
)
from muster.reports.words import counted
from muster.sources.config import checked
from muster.store.manifest import manifest
from muster.suites.classification.settings import Settings
from muster.summaries.compare import apart, differences, grouped
from muster.summaries.compare_units import of_indices, of_units, over_items, over_seeds
from muster.summaries.estimates import finish_pooled, spelled
from muster.summaries.kinds import roles
from muster.summaries.pairing import Paired, pair
from muster.summaries.pool import pool
from muster.summaries.underserved import Units
from muster.verdicts.gates import Rule, decide
from muster.verdicts.judge import nobody_worse

MARGIN, DRAWS = 0.02, 4000
Runs = Run | str | Path | Sequence[Run | str | Path]


def compare(before: Runs, after: Runs, *, margin: float = MARGIN, **settings: Any) -> Run:
    """The second model less the first: a run whose estimates are differences.

    Runs must have the same classes. Units are matched by name, items by unit, time and the column
    that named them (``item``); the last time that both have is compared. Of several runs, such as
    repeated seeds, the first pair is shown and the mean over all pairs beside it. Further
    keywords are `Settings`: level, draws, seed, units.

    >>> from muster.suites.classification import evaluate
    >>> truth, unit = [0, 1] * 60, ["a", "b", "c", "d", "e", "f"] * 20
    >>> a = evaluate(truth=truth, guess=[0, 0] * 60, unit=unit, draws=0)
    >>> b = evaluate(truth=truth, guess=truth, unit=unit, draws=0)
    >>> round(compare(a, b, draws=50).value("accuracy", "difference"), 2)
    0.5
    """
    firsts, seconds = _opened(before), _opened(after)
    if len(firsts) != len(seconds):
        raise BadData(f"{len(firsts)} runs cannot be paired with {len(seconds)}: give as many of each")
    _refuse_unlike(firsts + seconds)
    one, other = firsts[0], seconds[0]
    told = {run.asked["study"]["units"] for run in (one, other)}
    inherited = {"level": one.asked["study"]["level"], "units": "sampled" if "sampled" in told else "fixed"}
    asked = checked({**inherited, "draws": DRAWS, **settings}, Settings)
    found = _compared(one, other, asked)
    said = _callouts(found.of)
    sections = [*_sections(found, said, asked), *_over_seeds(firsts, seconds, found.measures, asked.level)]
    rule = Rule(kind="non_inferior", margin=margin, confidence=asked.level)
    return Run(
        title=f"{found.names[1]} against {found.names[0]}",
        asked={"data": {"before": one.title, "after": other.title}, "study": asked.model_dump()},
        manifest={
            **manifest(seed=asked.seed, data={}, seconds={}, rows=int(found.accuracy.n)),
            "classes": one.manifest["classes"],
            "measures": {measure.name: measure.version for measure in found.measures},
            "parts": {},
            "notes": [callout.text for callout in said],
            "kind": "comparison",
        },
        tallies=Block(Table({}), {}),
        estimates=stack(
            [
                spelled(each, model=found.names[1], time=found.time)
                for each in (found.differences, found.indices)
            ]
        ),
        units=Units(found.units.columns),
        findings=[],
        verdicts=[decide(rule, found.accuracy), nobody_worse(found.units)],
        sections=[*sections, _trust(found, asked)],
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Compared:
    """Everything that was found; what the sections are written from."""

    of: Paired
    slices: Paired | None
    time: Any
    names: tuple[str, str]
    measures: Sequence[Measure]
    differences: Sequence[Estimate]
    indices: Sequence[Estimate]
    units: Table
    how: str

    @property
    def accuracy(self) -> Estimate:
        """The difference of accuracy."""
        return next(estimate for estimate in self.differences if estimate.measure == "accuracy")


def _compared(one: Run, other: Run, asked: Settings) -> Compared:
    measures = [m for m in lookup(one.manifest["measures"]) if m.name in other.manifest["measures"]]
    single = [measure for measure in measures if measure.shape == "unit" and measure.adds]
    of, time, slices = _paired(one, other)
    classes = len(one.manifest["classes"])
    groups = grouped(of, classes, draws=asked.draws, seed=asked.seed, units=asked.units)
    found = differences(of, single, groups, level=asked.level)
    return Compared(
        of=of,
        slices=slices,
        time=time,
        names=_names(one, other),
        measures=single,
        differences=found,
        indices=of_indices(of, level=asked.level, draws=asked.draws, seed=asked.seed, units=asked.units),
        units=of_units(of, asked.level),
        how=next(estimate.method for estimate in found if estimate.measure == "accuracy"),
    )


def _sections(found: Compared, said: Sequence[Callout], asked: Settings) -> list[Section]:
    blocks = (found.of.a, found.of.b)
    sides = [finish_pooled(block, found.measures, (), level=asked.level, units="fixed") for block in blocks]
    held = holm(np.array([estimate.p_value for estimate in found.differences], float))
    signed_rank, items = wilcoxon(found.units["difference"]), over_items(found.of)
    sections = [
        differences_section(found.names, (sides[0], sides[1]), found.differences, held, said),
        for_whom_section(found.names, found.units, signed_rank, items),
        spread_change_section(found.indices),
    ]
    if found.slices and found.accuracy.value:
        better = found.accuracy.value > 0
        sections.append(slices_section(of_units(found.slices, asked.level), better=better))
    return sections


def _opened(runs: Runs) -> list[Run]:
    listed = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    return [run if isinstance(run, Run) else load(run) for run in listed]


def _refuse_unlike(runs: Sequence[Run]) -> None:
    first = runs[0]
    for run in runs:
        if run.manifest.get("kind") == "comparison":
            raise BadData(f"{run.title} is a comparison: give the runs that it compared")
        if run.manifest.get("kind") == "federation":
            raise BadData(f"{run.title} is a federation over time: it compares its arms itself, seed by seed")
        if run.manifest["classes"] != first.manifest["classes"]:
            ours, theirs = (", ".join(one.manifest["classes"][:8]) for one in (run, first))
            hint = "name all classes when evaluating: --class"
            raise BadData(f"{run.title} has other classes than {first.title}: {ours} and {theirs} ({hint})")


def _members(run: Run) -> Block:
    block, study = run.tallies, run.asked["study"]
    return roles(block.where(block.keys["slice"] == ""), study["holdout"], study["shared"]).members


def _paired(one: Run, other: Run) -> tuple[Paired, Any, Paired | None]:
    """Members at the last time that both have; and the slices of both, all units pooled."""
    sides = [_members(run) for run in (one, other)]
    times = [{str(t): t for t in side.keys["time"].tolist()} for side in sides]
    shared = set(times[0]) & set(times[1])
    if not shared:
        raise BadData(
            f"{one.title} and {other.title} share no time: {min(times[0])} and {min(times[1])}, for one"
        )
    last = natural([times[0][name] for name in shared])[-1]
    now = [side.where(np.array([str(t) == str(last) for t in side.keys["time"].tolist()])) for side in sides]
    found = pair(now[0], now[1], (_items(one, last), _items(other, last)))
    if not found.units.size:
        raise BadData(
            f"{one.title} and {other.title} share no unit, so there is nothing to pair: "
            f"{now[0].keys['unit'][0]!r} and {now[1].keys['unit'][0]!r}, for one"
        )
    return found, last, _sliced(one, other, found, last)


def _items(run: Run, time: Any) -> Table | None:
    if run.items is None:
        return None
    return run.items.where(np.array([str(t) == str(time) for t in run.items["time"].tolist()]))


def _sliced(one: Run, other: Run, found: Paired, time: Any) -> Paired | None:
    """Slices under the names of units: so that they are compared as units are."""
    sides = []
    for run in (one, other):
        keys = run.tallies.keys
        now = np.array([str(t) == str(time) for t in keys["time"].tolist()])
        shared = np.isin(np.array([str(u) for u in keys["unit"].tolist()], dtype=object), found.units)
        block = run.tallies.where((keys["slice"] != "") & now & shared)
        if not len(block):
            return None
        whole = pool(block)
        named = whole.keys.with_columns(unit=whole.keys["slice"], slice=same("", len(whole)))
        sides.append(Block(named, whole.tallies))
    return pair(sides[0], sides[1], (None, None))


def _names(one: Run, other: Run) -> tuple[str, str]:
    a, b = (run.asked["study"]["model"] for run in (one, other))
    return (a, b) if a != b else (f"{a} (before)", f"{b} (after)")


def _callouts(of: Paired) -> list[Callout]:
    said = []
    if of.only_a or of.only_b:
        said.append(
            f"{of.only_a} units are in the first run alone and {of.only_b} in the second alone; "
            "they are left out."
        )
    if of.items is None:
        why = "the runs did not name their items (--item), or share none"
        if of.matched:
            why = f"only {of.matched:,} items are in both runs with the same unit, time and truth"
        said.append(
            f"Not paired by item: {why}. Differences within a unit are taken as if its rows were different "
            "ones, so small changes go unseen."
        )
    return [Callout(Status.WATCH, text) for text in said]


def _over_seeds(
    firsts: Sequence[Run], seconds: Sequence[Run], measures: Sequence[Measure], level: float
) -> list[Section]:
    if len(firsts) < 2:
        return []
    blocks = [_paired(a, b)[0] for a, b in zip(firsts, seconds, strict=True)]
    common = [m for m in measures if all(m.name in run.manifest["measures"] for run in (*firsts, *seconds))]
    return [seeds_section([over_seeds([apart(of, m) for of in blocks], m.name, level) for m in common])]


def _trust(found: Compared, asked: Settings) -> Section:
    of = found.of
    items = "no items" if of.items is None else counted(len(of.items), "item")
    lead = f"{counted(of.units.size, 'unit')} and {items} are shared. "
    lead += f"Intervals are at {asked.level:.0%}: {found.how}, {asked.draws:,} draws, seed {asked.seed}."
    unknown = (
        "whether these rows are like those the units will meet",
        "whether the two were trained and tested alike: only their predictions are compared",
    )
    return Section("Can I trust this?", lead, unknown=unknown)
