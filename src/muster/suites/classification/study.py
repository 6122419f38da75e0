"""The study: predictions in, a run out."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from muster.errors import BadConfig, BadData
from muster.measures import lookup
from muster.records import Measure, Table
from muster.reports.run import Run
from muster.sources.arrays import from_arrays, from_frame
from muster.sources.columns import Columns
from muster.sources.files import from_files
from muster.sources.predictions import Predictions
from muster.store.manifest import manifest
from muster.suites.classification.analysis import Roles, analyse
from muster.suites.classification.sections import sections_of
from muster.suites.classification.settings import Settings, chosen
from muster.summaries.pool import tally

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
    tick: Tick | None = None,
    **settings: Any,
) -> Run:
    """Evaluate a classifier for everyone it serves.

    Without `data`, every part is an array with one entry a row; with `data` (a
    path, a pattern, a folder, a table of pandas, Polars or Arrow, a DuckDB
    relation) every part names a column. Further keywords are `Settings`.

    >>> run = evaluate(truth=[0, 1] * 60, guess=[0, 1] * 50 + [1, 0] * 10, unit=["a", "b", "c"] * 40, draws=50)
    >>> round(run.value("accuracy"), 4), run.units.worst(1)["n"].tolist()
    (0.8333, [40])
    """
    parts = {
        "truth": truth, "guess": guess, "scores": scores, "confidence": confidence,
        "unit": unit, "time": time, "slices": slices, "item": item,
    }  # fmt: skip
    asked = Settings.model_validate(settings) if settings else Settings()
    started = clock.perf_counter()
    found = read(data, parts, model=asked.model, classes=classes, unnormalised=allow_unnormalised)
    return study(found, asked, asked_of=_asked(data, parts), opened=clock.perf_counter() - started, tick=tick)


def per_unit(
    data: Any = None,
    *,
    measures: Sequence[str] = ("accuracy",),
    model: str = "model",
    classes: Sequence[Any] = (),
    allow_unnormalised: bool = False,
    **parts: Any,
) -> Table:
    """Only the numbers of each unit, one column a measure, as fast as they can be counted.

    >>> per_unit(truth=[0, 1, 1], guess=[0, 1, 0], unit=["a", "a", "b"])["accuracy"]
    array([1., 0.])
    """
    found = read(
        data, {"truth": "truth", **parts}, model=model, classes=classes, unnormalised=allow_unnormalised
    )
    wanted = lookup(measures)
    block = tally(found, wanted)
    return block.keys.with_columns(**{measure.name: measure.finish(block.tallies) for measure in wanted})


def read(
    data: Any, parts: Mapping[str, Any], *, model: str, classes: Sequence[Any], unnormalised: bool
) -> Predictions:
    """Predictions from whatever was given: arrays, a frame, or places on disk."""
    if data is None:
        if isinstance(parts.get("truth"), str):
            raise BadConfig("evaluate needs data=, or arrays: truth=, and guess= or scores=")
        return from_arrays(**parts, model=model, classes=classes, unnormalised=unnormalised)
    named = {part: value for part, value in parts.items() if value is not None}
    wrong = [part for part, value in named.items() if not isinstance(value, str | list | tuple)]
    if wrong:
        raise BadConfig(f"with data given, {', '.join(wrong)} must name columns, not hold values")
    for part in ("scores", "slices"):
        value = named.pop(part, ())
        named[part] = (value,) if isinstance(value, str) else tuple(value)
    columns = Columns(**named)
    places = isinstance(data, str | Path) or (isinstance(data, list | tuple) and all(map(_is_place, data)))
    reader = from_files if places else from_frame
    return reader(data, columns, model=model, classes=classes, unnormalised=unnormalised)


def study(
    found: Predictions,
    asked: Settings,
    *,
    asked_of: Mapping[str, Any],
    opened: float = 0.0,
    tick: Tick | None = None,
) -> Run:
    """Count, analyse and put into sections."""
    events: list[dict[str, Any]] = [
        _event("opened", rows=found.rows, units=len(np.unique(found.keys[0]["unit"])))
    ]
    seconds = {"open": opened}
    measures = lookup(chosen(asked.measures, found.has, len(found.classes)))
    _refuse_missing(measures, found.has)
    started = clock.perf_counter()
    block = tally(found, measures, tick)
    seconds["count"] = clock.perf_counter() - started
    events.append(_event("counted", tallies=len(block)))
    started = clock.perf_counter()
    notes = [note for note in (found.note, found.duplicates()) if note]
    seen = analyse(block, found.classes, measures, asked, Roles(tuple(asked.holdout), tuple(asked.shared)))
    seconds["analyse"] = clock.perf_counter() - started
    events.append(_event("analysed", verdicts=len(seen.verdicts)))
    record = manifest(
        seed=asked.seed,
        data=found.fingerprint(),
        seconds=seconds,
        rows=found.rows,
        classes=list(found.classes),
        measures={measure.name: measure.version for measure in measures},
        parts={stat: tally.parts for stat, tally in block.tallies.items()},
        notes=notes,
    )
    return Run(
        title=f"Evaluation of {asked.model}",
        asked={"data": dict(asked_of), "study": asked.model_dump()},
        manifest=record,
        tallies=block,
        estimates=seen.estimates,
        units=seen.units,
        population=seen.population,
        findings=seen.findings,
        verdicts=seen.verdicts,
        sections=sections_of(seen, asked, notes, found.rows),
        events=events,
    )


def _refuse_missing(measures: Sequence[Measure], has: frozenset[str]) -> None:
    lacking = [f"{measure.name} needs {measure.needs}" for measure in measures if measure.needs not in has]
    if lacking:
        raise BadData(f"{'; '.join(lacking)}; the data has only {', '.join(sorted(has))}")


def _asked(data: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    if data is None:
        return {"arrays": [part for part, value in parts.items() if value is not None]}
    shown = (
        [str(place) for place in ([data] if isinstance(data, str | Path) else data)] if _places(data) else []
    )
    return {
        "files": shown or type(data).__name__,
        **{part: value for part, value in parts.items() if value is not None},
    }


def _places(data: Any) -> bool:
    return isinstance(data, str | Path) or (isinstance(data, list | tuple) and all(map(_is_place, data)))


def _is_place(value: Any) -> bool:
    return isinstance(value, str | Path)


def _event(what: str, **facts: Any) -> dict[str, Any]:
    return {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": what, **facts}
