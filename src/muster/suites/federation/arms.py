"""Every arm of every seed, run to its end, with its state kept on disk while it takes long."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muster.errors import BadConfig
from muster.records import Rounds, Samples, Table
from muster.store.checkpoint import read_arrays, write_arrays
from muster.suites.federation.prepare import CONTROL, Ready, arms_of, milder, ready, severities
from muster.suites.federation.settings import Study
from muster.systems.federation.clients import heterogeneity
from muster.systems.federation.resuming import found_by, restore, state_of
from muster.systems.federation.simulate import Federation

Tell = Callable[[str], None]
SECONDS = 20.0
ASKED = "asked.json"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outcome:
    """``logs`` of each arm, one a seed; what happened in them; how unlike the clients of each seed are."""

    logs: Mapping[str, list[Rounds]]
    events: list[dict[str, Any]]
    unlike: list[Table]
    sweep: Mapping[float, list[Rounds]] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Kept:
    """A folder for the states of a study; with `resume`, what it holds is gone on with."""

    folder: Path | None = None
    resume: bool = False
    since: float = field(default_factory=time.monotonic)

    def open(self, study: Study, samples: Samples) -> None:
        """Refuse the states of another study or other data; without `resume`, begin anew."""
        if self.folder is None:
            return
        asked = json.dumps({"study": study.model_dump(), "data": samples.fingerprint})
        file = self.folder / ASKED
        if not self.resume:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif not file.is_file():
            raise BadConfig(f"{self.folder}: there is nothing to resume")
        elif file.read_text(encoding="utf-8") != asked:
            raise BadConfig(f"{self.folder}: the run that stopped there was asked something else")
        self.folder.mkdir(parents=True, exist_ok=True)
        file.write_text(asked, encoding="utf-8")

    def begin(self, run: Federation, name: str) -> Federation:
        """The federation as it stood, if it is kept."""
        file = self._file(name)
        return restore(run, read_arrays(file)) if file and file.is_file() else run

    def keep(self, run: Federation, name: str, *, ended: bool = False) -> None:
        """Write down where it stands, now and then; of one that has ended only what was found."""
        file = self._file(name)
        if file is None or not (ended or time.monotonic() - self.since > SECONDS):
            return
        write_arrays(file, found_by(run) if ended else state_of(run))
        self.since = time.monotonic()

    def close(self) -> None:
        """All is done: the states are not needed any more."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, name: str) -> Path | None:
        return self.folder / f"{name.replace(' ', '-')}.npz" if self.folder else None


def run_arms(study: Study, samples: Samples, tell: Tell, kept: Kept) -> Outcome:
    """Run what is asked; `tell` is told the arm of every round that is done."""
    names = arms_of(study)
    logs: dict[str, list[Rounds]] = {name: [] for name in names}
    events, unlike, sent = [], [], {}
    sweep: dict[float, list[Rounds]] = {severity: [] for severity in severities(study)}
    kept.open(study, samples)
    for seed in range(study.study.seed, study.study.seed + study.study.seeds):
        prepared = ready(study, samples, seed)
        unlike.append(heterogeneity(prepared.clients))
        for severity, found in sweep.items():
            other = ready(milder(study, severity), samples, seed)
            (one,) = _each(other, [CONTROL], tell, kept, mark=f"-{severity:g}")
            found.append(one[1].rounds())
        for name, run in _each(prepared, names, tell, kept):
            logs[name].append(run.rounds())
            events += [{"seed": seed, "arm": name, **event} for event in run.events]
            sent[name] = run.numbers_sent
    return Outcome(logs=logs, events=events, unlike=unlike, sweep=sweep, sent=sent)


def _each(
    prepared: Ready, names: list[str], tell: Tell, kept: Kept, *, mark: str = ""
) -> Iterator[tuple[str, Federation]]:
    for name in names:
        file = f"{prepared.plan.seed}-{name}{mark}"
        run = kept.begin(prepared.arm(name), file)
        while run.number < prepared.plan.rounds:
            run.run(until=run.number + 1)
            tell(name)
            kept.keep(run, file, ended=run.number == prepared.plan.rounds)
        yield name, run


def length(study: Study) -> int:
    """How many rounds all arms of all seeds have."""
    each = len(arms_of(study)) + len(study.watch.sweep)
    return each * study.study.seeds * (study.training.rounds + study.training.warmup)
