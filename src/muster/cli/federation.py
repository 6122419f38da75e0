"""``muster federation run`` and ``muster federation evaluate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from muster.cli.output import finish, named
from muster.cli.progress import steps
from muster.errors import BadConfig
from muster.sources.config import checked, read
from muster.store.folder import refuse
from muster.suites import federation as suite
from muster.suites.federation.arms import Kept, length
from muster.suites.federation.settings import (
    Drift,
    Items,
    Mitigated,
    Population,
    Said,
    Study,
    Training,
    Watched,
)
from muster.suites.federation.study import Progress

federation = App(name="federation", help="Federations over time: drift, detection, mitigation, recovery.")
STATES = ".states"


@federation.command
def run(
    *,
    data: Annotated[Items, Parameter(name="*", group="Data")] = Items(),  # noqa: B008
    clients: Annotated[Population, Parameter(name="*", group="Clients")] = Population(),  # noqa: B008
    training: Annotated[Training, Parameter(name="*", group="Training")] = Training(),  # noqa: B008
    drift: Annotated[Drift, Parameter(name="*", group="Drift")] = Drift(),  # noqa: B008
    watch: Annotated[Watched, Parameter(name="*", group="Detection")] = Watched(),  # noqa: B008
    mitigation: Annotated[Mitigated, Parameter(name="*", group="Mitigation")] = Mitigated(),  # noqa: B008
    study: Annotated[Said, Parameter(name="*", group="Study")] = Said(),  # noqa: B008
    config: Path | None = None,
    mode: Literal["run", "validate"] = "run",
    out: Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Simulate a federation under drift: detect, mitigate, measure the recovery.

    Parameters
    ----------
    config
        TOML file with [data], [clients], [training], [drift], [watch], [mitigation], [study]; flags go
        before it.
    mode
        validate checks data, settings and machine, runs three rounds of each arm, and writes nothing.
    out
        Folder of the run; runs/TIME-MODEL if not given.
    overwrite
        Replace the run that the folder holds.
    resume
        Go on with a run that stopped, with the same settings and --out.
    json
        Print the report as JSON.
    quiet
        No progress.
    """
    groups = {
        "data": data, "clients": clients, "training": training, "drift": drift, "watch": watch,
        "mitigation": mitigation, "study": study,
    }  # fmt: skip
    asked = _asked(config, {name: group.model_dump(exclude_unset=True) for name, group in groups.items()})
    if mode == "validate":
        sys.stdout.write("\n".join(suite.validate(asked)) + "\n")
        return 0
    if resume and out is None:
        raise BadConfig("resume: say with --out which run is to go on")
    place = out or named(asked.study.model)
    refuse(place, overwrite=overwrite)
    with steps("rounds", length(asked), quiet=quiet) as tick:
        kept = Kept(place.with_name(place.name + STATES), resume)
        found = suite.simulate(asked, Progress(tick, kept))
    return finish(found, place, overwrite=overwrite, as_json=json)


@federation.command
def evaluate(
    *log: str,
    unit: str = "unit",
    round: str = "round",  # noqa: A002
    metric: str = "metric",
    value: str = "value",
    n: str = "n",
    alarm: str = "alarm",
    drift: str = "drift",
    which: str = "accuracy",
    first_round: Literal[0, 1] = 1,
    drift_round: int | None = None,
    affected: Annotated[list[str], Parameter(name="--affected")] = [],  # noqa: B006
    model: str = "federation",
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    window: int = 5,
    tolerance: float = 0.02,
    bands: str | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    json: bool = False,
) -> int:
    """Evaluate a log of your own federation: fairness in every round, detection, recovery.

    Parameters
    ----------
    log
        Files with a row for each unit, round and metric: JSON lines, Parquet, CSV, Arrow.
    unit
        Column of the unit.
    round
        Column of the round.
    metric
        Column of the metric's name, if there is one.
    value
        Column of the value.
    n
        Column of the number of rows behind the value.
    alarm
        Column of the alarm, or of alarms as ALARM_DETECTOR.
    drift
        Column of what is known of drift: 0 for none.
    which
        The metric to evaluate.
    first_round
        The number of the first round: 0 or 1.
    drift_round
        The round in which drift began, where no column says it.
    affected
        Units that drifted, with commas between; all if none.
    model
        Name of the federation.
    level
        Confidence of the intervals.
    draws
        Populations to redraw; 0 for no intervals of spreads.
    seed
        Seed of the redrawing.
    window
        Rounds in which an alarm counts as a hit.
    tolerance
        How near to before counts as recovered.
    bands
        TOML file whose bands replace the default ones.
    out
        Folder of the run; runs/TIME-MODEL if not given.
    overwrite
        Replace the run that the folder holds.
    json
        Print the report as JSON.
    """
    if not log:
        raise BadConfig("say which log: muster federation evaluate rounds.jsonl")
    if out:
        refuse(out, overwrite=overwrite)
    how = {
        "model": model, "level": level, "draws": draws, "seed": seed, "window": window,
        "tolerance": tolerance, "bands": bands,
    }  # fmt: skip
    found = suite.evaluate(
        list(log) if len(log) > 1 else log[0], how=how, unit=unit, round=round, metric=metric, value=value,
        n=n, alarm=alarm, drift=drift, which=which, first_round=first_round, drift_round=drift_round,
        affected=[name.strip() for one in affected for name in one.split(",") if name.strip()],
    )  # fmt: skip
    return finish(found, out, overwrite=overwrite, as_json=json)


def _asked(config: Path | None, flags: dict[str, dict[str, Any]]) -> Study:
    """The settings of the file, with those of the flags in their place."""
    base = read(config, Study).model_dump(exclude_unset=True) if config else {}
    version = {"version": base["version"]} if "version" in base else {}
    merged = {name: {**base.get(name, {}), **given} for name, given in flags.items()}
    return checked({**version, **merged}, Study, "settings")
