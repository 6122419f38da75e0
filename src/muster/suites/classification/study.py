"""The study: predictions in, a run out."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from muster.errors import BadData
from muster.measures import lookup
from muster.records import Block, Measure, Table
from muster.reports.run import Run
from muster.sources.config import checked
from muster.sources.given import described, read
from muster.sources.predictions import Predictions
from muster.store.manifest import manifest
from muster.suites.classification.analysis import analyse
from muster.suites.classification.sections import sections_of
from muster.suites.classification.settings import Settings, chosen
from muster.summaries.items import Kept
from muster.summaries.pool import affordable, tally

Tick = Callable[[int], None]


def evaluate(
    data: Any = None,
    *,
    truth: Any = "truth",
    guess: Any = None,
    scores: Any = None,
    confidence: Any = None,
    unit: Any = None,
    time: Any = None,
    slices: Any = None,
    item: Any = None,
    classes: Sequence[Any] = (),
    allow_unnormalised: bool = False,
    opened: Callable[[int], Tick] | None = None,
    **settings: Any,
) -> Run:
    """Evaluate a classifier for everyone it serves.

    Without `data`, every part is an array with one entry a row; with `data` (a
    path, a pattern, a folder, a table of pandas, Polars or Arrow, a DuckDB
    relation) every part names a column. Further keywords are `Settings`.
    `opened` is told how many rows there are, and gives what is told of each
    block that was counted.

    >>> truth, guess, unit = [0, 1] * 60, [0, 1] * 50 + [1, 0] * 10, ["a", "b", "c"] * 40
    >>> run = evaluate(truth=truth, guess=guess, unit=unit, draws=50)
    >>> round(run.value("accuracy"), 4), run.units.worst(1)["n"].tolist()
    (0.8333, [40])
    """
    parts = {
        "truth": truth, "guess": guess, "scores": scores, "confidence": confidence,
        "unit": unit, "time": time, "slices": slices, "item": item,
    }  # fmt: skip
    asked = checked(settings, Settings)
    diary = Diary()
    with diary.stage("open"):
        found = read(data, parts, model=asked.model, classes=classes, unnormalised=allow_unnormalised)
    given = described(data, parts) | {"classes": list(classes), "allow_unnormalised": allow_unnormalised}
    return study(found, asked, given, diary, opened(found.rows) if opened else None)


def per_unit(
    data: Any = None,
    *,
    measures: Sequence[str] = ("accuracy",),
    classes: Sequence[Any] = (),
    allow_unnormalised: bool = False,
    **parts: Any,
) -> Table:
    """Only the numbers of each unit, one column a measure, as fast as they can be counted.

    >>> per_unit(truth=[0, 1, 1], guess=[0, 1, 0], unit=["a", "a", "b"])["accuracy"]
    array([1., 0.])
    """
    found = read(data, {"truth": "truth", **parts}, classes=classes, unnormalised=allow_unnormalised)
    wanted = lookup(measures)
    _refuse_missing(wanted, found.has)
    block = tally(found, wanted)
    return block.keys.with_columns(**{measure.name: measure.finish(block.tallies) for measure in wanted})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Counted:
    """What is left of predictions once they are counted."""

    block: Block
    classes: tuple[str, ...]
    measures: Sequence[Measure]
    rows: int
    fingerprint: Mapping[str, str]
    notes: Sequence[str]
    items: Table | None = None


@dataclass(frozen=True, slots=True)
class Diary:
    """What happened when, and how long each stage took."""

    seconds: dict[str, float] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Any:
        """Time a stage and note its end."""
        started = clock.perf_counter()
        yield
        self.seconds[name] = clock.perf_counter() - started
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.events.append({"at": at, "event": f"{name} done"})


def study(
    found: Predictions,
    asked: Settings,
    given: Mapping[str, Any],
    diary: Diary | None = None,
    tick: Tick | None = None,
) -> Run:
    """Count the predictions, and conclude."""
    diary = diary or Diary()
    measures, notes = lookup(chosen(asked, found.has, len(found.classes))), [found.note]
    _refuse_missing(measures, found.has)
    if not asked.measures:
        cells = len(found.all_keys)
        measures, left = affordable(measures, cells, len(found.classes))
        notes += [_left_out(left, cells)] if left else []
    kept = Kept()
    with diary.stage("count"):
        block = tally(found, measures, tick, kept.keep)
    with diary.stage("check"):
        notes = [note for note in (*notes, found.duplicates()) if note]
        fingerprint = found.fingerprint()
    counted = Counted(
        block=block,
        classes=found.classes,
        measures=measures,
        rows=found.rows,
        fingerprint=fingerprint,
        notes=notes,
        items=kept.table(found.keys[0]),
    )
    return conclude(counted, asked, given, diary)


def conclude(counted: Counted, asked: Settings, given: Mapping[str, Any], diary: Diary | None = None) -> Run:
    """Analyse what was counted, and put it into sections."""
    diary = diary or Diary()
    with diary.stage("analyse"):
        seen = analyse(counted.block, counted.classes, counted.measures, asked)
    return Run(
        title=f"Evaluation of {asked.model}",
        asked={"data": dict(given), "study": asked.model_dump()},
        manifest=manifest(
            seed=asked.seed,
            data=counted.fingerprint,
            seconds=diary.seconds,
            rows=counted.rows,
            classes=list(counted.classes),
            measures={measure.name: measure.version for measure in counted.measures},
            parts={stat: tally.parts for stat, tally in counted.block.tallies.items()},
            notes=list(counted.notes),
        ),
        tallies=counted.block,
        estimates=seen.estimates,
        units=seen.units,
        findings=seen.findings,
        verdicts=seen.verdicts,
        sections=sections_of(seen, asked, counted.notes, counted.rows),
        events=diary.events,
        items=counted.items,
    )


def _left_out(measures: Sequence[Measure], cells: int) -> str:
    named = ", ".join(measure.name for measure in measures)
    return (
        f"{named} were left out, as {cells:,} units and times need much memory for them; ask for them by name"
    )


def _refuse_missing(measures: Sequence[Measure], has: frozenset[str]) -> None:
    lacking = [f"{measure.name} needs {measure.needs}" for measure in measures if measure.needs not in has]
    if lacking:
        raise BadData(f"{'; '.join(lacking)}; the data has only {', '.join(sorted(has))}")
