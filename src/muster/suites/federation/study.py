"""The studies of a federation: one that is simulated, and one that somebody has logged."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from muster.errors import BadData
from muster.records import Grid, Rounds, Samples, Section, Table, same, stack
from muster.records.section import Kind
from muster.reports.run import Run
from muster.reports.words import number
from muster.sources.config import checked
from muster.sources.rounds import SHARES, read_rounds
from muster.store.manifest import manifest
from muster.suites.federation.analysis import How, Logs, analyse, block_of
from muster.suites.federation.arms import Kept, Outcome, run_arms
from muster.suites.federation.prepare import CONTROL, TWIN, arms_of, loaded, ready
from muster.suites.federation.sections import sections_of
from muster.suites.federation.settings import Said, Study
from muster.systems.federation.concepts import KINDS

Tell = Callable[[str], None]
FALLS = ("loss", "error", "brier", "ece", "perplexity")


@dataclass(frozen=True, slots=True)
class Progress:
    """What is told of each round that is done, and where states are kept while work is long."""

    tell: Tell = lambda _: None
    kept: Kept = field(default_factory=Kept)


def simulate(study: Study | Mapping[str, Any] | None = None, progress: Progress | None = None) -> Run:
    """Simulate a federation under drift, with every mitigation, with none, and without drift.

    >>> run = simulate({"training": {"rounds": 18, "warmup": 5}, "drift": {"drift_round": 14},
    ...                 "watch": {"detectors": ["combined"], "items": 50},
    ...                 "mitigation": {"mitigation": ["cluster"]}, "study": {"draws": 50, "seeds": 1}})
    >>> run.title, sorted(set(run.rounds["arm"].tolist()))
    ('Federation under drift', ['cluster', 'no drift', 'nothing'])
    """
    asked = study if isinstance(study, Study) else checked(study or {}, Study, "settings")
    progress, started = progress or Progress(), clock.perf_counter()
    samples = loaded(asked)
    outcome = run_arms(asked, samples, progress.tell, progress.kept)
    simulated = clock.perf_counter()
    twin = TWIN if TWIN in outcome.logs else None
    seen = analyse(outcome.logs, _how(asked), control=CONTROL, twin=twin, sweep=outcome.sweep)
    notes = [*_before(asked, outcome), *_notes(outcome)]
    progress.kept.close()
    return Run(
        title="Federation under drift",
        asked=_asked(asked),
        manifest=_manifest(
            asked.study.seed, {"fingerprint": samples.fingerprint, "name": samples.name}, notes,
            {"simulate": simulated - started, "analyse": clock.perf_counter() - simulated},
            rows=int(sum(log.rows.sum() for each in outcome.logs.values() for log in each)),
            classes=list(samples.classes), numbers_sent=dict(outcome.sent),
        ),
        tallies=block_of(outcome.logs, asked.study.seed), estimates=seen.estimates, units=seen.units,
        findings=[], verdicts=seen.verdicts,
        sections=sections_of(seen, notes, [_simulated(asked, samples, outcome)]),
        events=outcome.events, rounds=spelled_out(outcome.logs, asked.study.seed),
    )  # fmt: skip


def evaluate(log: Any, *, how: Mapping[str, Any] | None = None, **columns: Any) -> Run:
    """Evaluate somebody's own log of a federation: fairness in every round, detection, recovery.

    `log` is a file or a frame with a row for each unit and round; `columns` are those of
    `muster.sources.rounds.read_rounds`, and `how` the fields of `How`.

    >>> rounds, units = [1, 1, 2, 2], ["a", "b", "a", "b"]
    >>> run = evaluate({"unit": units, "round": rounds, "accuracy": [0.5, 0.7, 0.6, 0.9], "n": [50] * 4},
    ...                how={"draws": 50})
    >>> round(run.value("accuracy", "gap"), 2)
    0.3
    """
    asked = How(**{"model": "federation", **(how or {})})
    found, notes = read_rounds(log, **columns)
    notes += _share(found)
    logs = {"as logged": [found]}
    seen = analyse(logs, asked, control="as logged")
    said = {name: getattr(asked, name) for name in How.__dataclass_fields__}
    given = {name: str(value) for name, value in columns.items()}
    return Run(
        title=f"Federation {asked.model}" if asked.model != "federation" else "Federation",
        asked={"data": {"log": _named(log), **given}, "study": {**said, "units": "sampled"}},
        manifest=_manifest(
            asked.seed, {"fingerprint": _fingerprint(found)}, notes, {}, rows=int(found.rows.sum()),
            classes=[],
        ),
        tallies=block_of(logs), estimates=seen.estimates, units=seen.units, findings=[],
        verdicts=seen.verdicts, sections=sections_of(seen, notes, []), rounds=spelled_out(logs),
    )  # fmt: skip


def spelled_out(logs: Logs, first: int = 0) -> Table:
    """Every arm, seed, unit and round in a row: of one arm and seed, a log as `evaluate` reads it."""
    tables = []
    for arm, each in logs.items():
        for seed, log in enumerate(each, first):
            row, unit = np.nonzero(log.rows > 0)
            columns = {
                "arm": same(arm, row.size), "seed": np.full(row.size, seed), "unit": log.units[unit],
                "round": log.rounds[row], "metric": same(log.metric, row.size),
                "value": log.values[row, unit], "n": log.rows[row, unit],
                "drift": _truth(log)[row, unit],
            }  # fmt: skip
            for detector in _detectors(logs):
                alarms = log.alarms.get(detector)
                said = alarms.units[row, unit] if alarms else np.full(row.size, -1)
                columns[f"alarm_{detector}"] = np.where(said < 0, np.nan, said.astype(float))
            tables.append(Table.of(columns))
    return stack(tables)


def _detectors(logs: Logs) -> list[str]:
    return list(dict.fromkeys(name for each in logs.values() for log in each for name in log.alarms))


def _truth(log: Rounds) -> Any:
    """1 where a unit has drifted, 0 where not, undefined where it is not known."""
    return np.full(log.rows.shape, np.nan) if log.drifted is None else log.drifted.astype(float)


def _how(study: Study) -> How:
    asked: Said = study.study
    return How(
        model=asked.model, level=asked.level, draws=asked.draws, seed=asked.seed, window=study.watch.window,
        tolerance=asked.tolerance, bands=asked.bands,
    )  # fmt: skip


def _asked(study: Study) -> dict[str, Any]:
    found = study.model_dump()
    return {**found, "study": {**found["study"], "units": "sampled"}}


def _manifest(
    seed: int, data: Mapping[str, str], notes: Sequence[str], seconds: Mapping[str, float], **facts: Any
) -> dict[str, Any]:
    return manifest(
        seed=seed, data=data, seconds=seconds, kind="federation", measures={"accuracy": 1},
        parts={"right": 1}, notes=list(notes), **facts,
    )  # fmt: skip


def _before(study: Study, outcome: Outcome) -> list[str]:
    """What was not ready when the drift began: the model, or the reference."""
    logs = [log for log in outcome.logs[CONTROL] if log.onset is not None]
    onset = min((log.onset or 0 for log in logs), default=None)
    if onset is None:
        return []
    found = []
    if study.watch.detectors and onset < study.watch.reference:
        found.append(
            f"drift began in round {onset + 1}, before the reference of {study.watch.reference} rounds was "
            "full: it holds drift, and detectors that compare with it cannot tell"
        )
    rise = np.mean([log.pooled[onset - 3 : onset].mean() - log.pooled[onset - 6 : onset - 3].mean()
                    for log in logs]) if onset >= 6 else 0.0  # fmt: skip
    if rise > study.study.tolerance / 2:
        found.append(
            f"the model was still learning when the drift began, by {rise:.3f} in three rounds: take more "
            "warm-up, or learning is taken for recovery"
        )
    return found


def _notes(outcome: Outcome) -> list[str]:
    """What a reader must know: clients whose training diverged, rounds in which nobody trained."""
    found = []
    for arm in outcome.logs:
        own = [event for event in outcome.events if event["arm"] == arm]
        lost = sorted(
            {client for event in own if event["event"] == "diverged" for client in event["clients"]}
        )
        times = sum(event["event"] == "diverged" for event in own)
        if lost:
            named = ", ".join(lost[:5]) + ("" if len(lost) <= 5 else ", ...")
            found.append(
                f"in arm {arm} the training of {len(lost)} clients diverged in {times} rounds, and was left "
                f"out of the mean: {named}"
            )
        idle = sum(event["event"] == "nobody trained" for event in own)
        found += [f"in arm {arm} nobody trained in {idle} rounds"] if idle else []
    return found


def _simulated(study: Study, samples: Samples, outcome: Outcome) -> Section:
    """What was simulated, and what of it was achieved."""
    unlike = stack(outcome.unlike)
    items = unlike["train"] + unlike["test"]
    lead = (
        f"{len(outcome.unlike[0]):,} clients share {len(samples):,} items of {samples.name} in "
        f"{len(samples.classes)} classes, dealt by {study.clients.partition}; "
        f"sizes from {int(items.min()):,} to {int(items.max()):,}, mean distance of class shares (total "
        f"variation) {number(float(unlike['tv'].mean()), 3)}."
    )
    asked = study.drift
    if asked.drift in KINDS:
        lead += (
            f" Drift: {asked.drift} ({KINDS[asked.drift].family}), {asked.pattern}, severity "
            f"{asked.severity:g} of {KINDS[asked.drift].means}, from round {asked.drift_round} on."
        )
    fields: dict[str, Kind] = {
        "client": "text", "train": "count", "test": "count", "classes": "count", "distance": "number",
        "entropy": "number",
    }  # fmt: skip
    grid = Grid.of(
        "Clients, first seed", fields, (row.values() for row in outcome.unlike[0].rows()), shown=10
    )
    told: dict[str, Kind] = {"seed": "count", "arm": "text", "round": "count", "event": "text", "of": "text"}
    events = Grid.of("What happened", told, map(_event, outcome.events), shown=20)
    sent = ", ".join(f"{count:,} in {arm}" for arm, count in outcome.sent.items())
    single = sum(log.drifted is not None for each in outcome.logs.values() for log in each)
    notes = (
        f"Numbers that a client sends in a round, model and sketches: {sent}. No row leaves a client.",
        f"Truth, alarms and scores of all {single} federations are in rounds.parquet.",
    )
    few = int((unlike["classes"] == 1).sum())
    warned = (f"{few} clients have items of one class only",) if few else ()
    return Section("What was simulated?", lead, (), (grid, events), (*notes, *warned))


def _event(event: Mapping[str, Any]) -> tuple[int, str, int, str, str]:
    clients = event.get("clients", [])
    of = event.get("detector") or event.get("mitigation") or ""
    named = ", ".join(clients[:6]) + (f" and {len(clients) - 6} more" if len(clients) > 6 else "")
    return event["seed"], event["arm"], event["round"], event["event"], f"{of} {named}".strip()


def _fingerprint(log: Rounds) -> str:
    return sha256(log.values.tobytes() + log.rows.tobytes()).hexdigest()[:16]


def _share(found: Rounds) -> list[str]:
    """Refuse what is no share of which more is better: intervals and spreads would mean nothing."""
    if found.metric in SHARES:
        return []
    known = found.values[found.rows > 0]
    falls = any(word in found.metric.lower() for word in FALLS)
    if falls or known.min() < 0 or known.max() > 1:
        raise BadData(
            f"{found.metric} is not a share between 0 and 1 of which more is better, and only such are "
            f"evaluated: {', '.join(sorted(SHARES))}; values are {known.min():.4g} to {known.max():.4g}"
        )
    return [f"{found.metric} is taken for a share of the rows, of which more is better"]


def _named(log: Any) -> str:
    return str(log) if isinstance(log, str | Path) else "given"


def validate(study: Study) -> list[str]:
    """Check data and plan, run three rounds of each arm, and say what was found and what a run will cost.

    >>> validate(Study())[0]
    'data: 1,797 items of digits, 64 features, 10 classes'
    """
    samples = loaded(study)
    prepared = ready(study, samples, study.study.seed)
    sizes, classes = prepared.clients.train.sizes, f"{len(samples.classes):,} classes"
    found = [
        f"data: {len(samples):,} items of {samples.name}, {samples.features:,} features, {classes}",
        f"clients: {sizes.size:,}, with {sizes.min():,} to {sizes.max():,} items to learn from",
    ]
    for name in arms_of(study):
        run, started = prepared.arm(name), clock.process_time()
        run.number = 0
        run.run(until=min(3, study.training.rounds))
        spent = (clock.process_time() - started) / run.number
        whole = spent * (study.training.rounds + study.training.warmup) * study.study.seeds
        found.append(f"arm {name}: three rounds ran, all take about {whole:.0f} CPU-seconds")
    return found
