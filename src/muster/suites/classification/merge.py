"""Runs to one run: each unit counted where its data is, and only sums met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from muster.errors import BadConfig, BadData
from muster.measures import lookup
from muster.records import Table, same, spell, stack, unspell
from muster.reports.reading import load
from muster.reports.run import Run
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
    first = opened[0].manifest
    for run in opened[1:]:
        differing = [name for name in MUST_AGREE if run.manifest[name] != first[name]]
        if differing:
            raise BadData(
                f"{run.title} cannot be merged with {opened[0].title}: other {', '.join(differing)}"
            )
    inherited = {**opened[0].asked["study"], **{role: _joined(opened, role) for role in ROLES}}
    asked = checked({**inherited, **settings}, Settings)
    block = unspell(stack([_spelled(run) for run in opened]), first["parts"])
    block = replace(block, keys=block.keys.with_columns(model=same(asked.model, len(block))))
    marks = {
        f"run {i}, {name}": mark
        for i, run in enumerate(opened)
        for name, mark in run.manifest["data"].items()
    }
    notes = [note for run in opened for note in run.manifest["notes"]]
    if len(set(marks.values())) < len(marks):
        notes.append("some of the data was counted in more than one of the runs")
    counted = Counted(
        block=block,
        classes=tuple(first["classes"]),
        measures=lookup(first["measures"]),
        rows=sum(run.manifest["rows"] for run in opened),
        fingerprint=marks,
        notes=notes,
    )
    return conclude(counted, asked, {"merged": [run.title for run in opened]})


def _joined(runs: Sequence[Run], role: str) -> list[str]:
    """The units that have a role in the runs; none may be without it in another."""
    named = list(dict.fromkeys(unit for run in runs for unit in run.asked["study"][role]))
    for run in runs:
        there = {str(unit) for unit in run.tallies.keys["unit"].tolist()}
        for unit in named:
            if unit in there and unit not in run.asked["study"][role]:
                raise BadData(f"unit {unit!r} is {role} in one run and not in {run.title}")
    return named


def _spelled(run: Run) -> Table:
    """Units and times as text where runs differ in what they are."""
    table = spell(run.tallies)
    return table.with_columns(unit=table["unit"].astype(str).astype(object))
