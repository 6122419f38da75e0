"""Runs to one run: each unit counted where its data is, and only sums met."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muster.errors import BadConfig, BadData
from muster.measures import lookup
from muster.records import Block, Measure, Table, same, spell, stack, unspell
from muster.reports.reading import load
from muster.reports.run import Run
from muster.sources.classes import text
from muster.sources.config import checked
from muster.suites.classification.settings import Settings
from muster.suites.classification.study import Counted, conclude

MUST_AGREE = ("classes", "measures", "parts")
ROLES = ("holdout", "shared")


def merge(runs: Sequence[Run | str | Path], **settings: Any) -> Run:
    """Pool what runs counted; the result is that of one run over all their rows.

    The rows are not needed. Units of one name are taken as one unit, so a hold-out or
    shared unit of one run must be so in all. Settings are those of the first run, unless given.

    >>> from muster.suites.classification import evaluate
    >>> a = evaluate(truth=[0, 1, 1], guess=[0, 1, 0], unit=["a"] * 3, draws=0)
    >>> b = evaluate(truth=[0, 1], guess=[0, 1], unit=["b"] * 2, draws=0)
    >>> round(merge([a, b]).value("accuracy"), 2)
    0.8
    """
    opened = [run if isinstance(run, Run) else load(run) for run in runs]
    if not opened:
        raise BadConfig("there are no runs to merge")
    compared = [run.title for run in opened if run.manifest.get("kind") == "comparison"]
    if compared:
        raise BadData(f"{compared[0]!r} is a comparison, which holds no sums: give the runs that it compared")
    simulated = [run.title for run in opened if run.manifest.get("kind") == "federation"]
    if simulated:
        raise BadData(
            f"{simulated[0]!r} is a federation over time: such runs are not pooled; repeat seeds in one"
        )
    first = opened[0].manifest
    for run in opened[1:]:
        _refuse_others(opened[0], run, [*MUST_AGREE, *([] if "model" in settings else ["model"])])
    joined: dict[str, Any] = {role: _joined(opened, role) for role in ROLES}
    expected = [unit for run in opened for unit in run.asked["study"].get("expect", ())]
    inherited = {**opened[0].asked["study"], **joined, "expect": list(dict.fromkeys(expected))}
    asked = checked({**inherited, **settings}, Settings)
    measures = lookup(first["measures"])
    counted = Counted(
        block=_pooled(opened, measures, asked.model),
        classes=tuple(first["classes"]),
        measures=measures,
        rows=sum(run.manifest["rows"] for run in opened),
        fingerprint=_marks(opened),
        notes=_notes(opened),
        items=_items(opened),
    )
    return conclude(counted, asked, {"merged": [run.title for run in opened]})


def _refuse_others(one: Run, other: Run, alike: Sequence[str]) -> None:
    facts = [{**run.manifest, "model": run.asked["study"]["model"]} for run in (one, other)]
    differing = [name for name in alike if facts[0][name] != facts[1][name]]
    if differing:
        hint = " (name all classes when evaluating: classes=, or --class)" if "classes" in differing else ""
        raise BadData(f"{other.title} cannot be merged with {one.title}: other {', '.join(differing)}{hint}")


def _pooled(runs: Sequence[Run], measures: Sequence[Measure], model: str) -> Block:
    """The sums of all; units and times are text where runs differ in what they are."""
    tables = [_under(spell(run.tallies), model) for run in runs]
    for name in ("unit", "time"):
        kinds = {table[name].dtype.kind for table in tables}
        if len(kinds) > 1 and "O" in kinds:
            tables = [
                table.with_columns(**{name: [text(value) for value in table[name].tolist()]})
                for table in tables
            ]
    block = unspell(stack(tables), runs[0].manifest["parts"])
    if len(block) < sum(len(run.tallies) for run in runs) and not all(measure.adds for measure in measures):
        named = ", ".join(measure.name for measure in measures if not measure.adds)
        raise BadData(f"a unit and time is in more than one run, and {named} cannot be pooled from parts")
    return block


def _items(runs: Sequence[Run]) -> Table | None:
    """The items of all, where all have named theirs."""
    tables = [run.items for run in runs if run.items is not None]
    return stack(tables) if len(tables) == len(runs) else None


def _marks(runs: Sequence[Run]) -> dict[str, str]:
    return {
        f"run {i}, {name}": mark for i, run in enumerate(runs) for name, mark in run.manifest["data"].items()
    }


def _notes(runs: Sequence[Run]) -> list[str]:
    notes = list(dict.fromkeys(note for run in runs for note in run.manifest["notes"]))
    marks = list(_marks(runs).values())
    twice = "some of the data was counted in more than one of the runs"
    return [*notes, twice] if len(set(marks)) < len(marks) else notes


def _joined(runs: Sequence[Run], role: str) -> list[str]:
    """The units that have a role in the runs; none may be without it in another."""
    own = [[str(unit) for unit in run.asked["study"][role]] for run in runs]
    named = list(dict.fromkeys(unit for units in own for unit in units))
    for run, units in zip(runs, own, strict=True):
        there = {str(unit) for unit in run.tallies.keys["unit"].tolist()}
        for unit in named:
            if unit in there and unit not in units:
                raise BadData(f"unit {unit!r} is {role} in one run and not in {run.title}")
    return named


def _under(table: Table, model: str) -> Table:
    return table.with_columns(model=same(model, len(table)))
