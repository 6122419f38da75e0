"""A federation as plain arrays, and back: what is needed to go on as if it had never stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from muster.systems.federation.networks import Array
from muster.systems.federation.simulate import Federation
from muster.systems.federation.strategies import Model

Arrays = dict[str, Array]
LOGGED = ("right", "rows", "loss", "mitigated", "of")


def state_of(run: Federation) -> Arrays:
    """Everything that later rounds depend on, and what was written down so far."""
    found: Arrays = {"number": np.array(run.number), "of": run.of, "events": _text(run.events)}
    memory, log, kept = run.memory, run.log, run.watch.kept
    found["memory.flagged"] = memory.flagged
    found["memory.numbers"] = np.array([memory.since, memory.quiet, memory.ended, *memory.born])
    for name in LOGGED:
        found[f"log.{name}"] = getattr(log, name)
    for name in log.units:
        found |= {f"units.{name}": log.units[name], f"whole.{name}": log.whole[name]}
    for group, (model, held) in enumerate(zip(run.models, run.kept, strict=True)):
        found |= _named(f"model.{group}", model) | _named(f"kept.{group}", held)
    for client, model in run.personal.items():
        found |= _named(f"personal.{client}", model)
    found |= {"watch.x": kept.x, "watch.y": kept.y, "watch.count": kept.count, "watch.units": kept.units}
    found["watch.whole"] = np.array(kept.whole)
    if kept.probe is not None:
        found |= _named("probe.0", kept.probe)
    for row, (wrong, there) in enumerate(kept.errors):
        found |= {f"errors.{row}": wrong, f"there.{row}": there}
    return {name: value.copy() for name, value in found.items()}


def found_by(run: Federation) -> Arrays:
    """The same without what only later rounds would need: of a run that has ended."""
    later = ("watch.x", "watch.y", "errors.", "there.")
    return {name: value for name, value in state_of(run).items() if not name.startswith(later)}


def restore(run: Federation, found: Mapping[str, Array]) -> Federation:
    """Bring a federation that has not begun to where another stopped."""
    run.number, run.of = int(found["number"]), found["of"]
    run.events = json.loads(bytes(found["events"]).decode())
    run.models = list(_grouped(found, "model").values())
    held = _grouped(found, "kept")
    run.kept = [held.get(group, {}) for group in range(len(run.models))]
    run.personal = _grouped(found, "personal")
    since, quiet, ended, *born = found["memory.numbers"].tolist()
    run.memory.flagged = found["memory.flagged"]
    run.memory.since, run.memory.quiet, run.memory.ended, run.memory.born = since, quiet, ended, born
    for name in LOGGED:
        setattr(run.log, name, found[f"log.{name}"])
    for name in run.log.units:
        run.log.units[name], run.log.whole[name] = found[f"units.{name}"], found[f"whole.{name}"]
    if run.number >= 1:
        run.train.at(run.number - 1)
        run.test.at(run.number - 1)
    if "watch.x" in found:
        _watched(run, found)
    return run


def _watched(run: Federation, found: Mapping[str, Array]) -> None:
    """References as they were; windows are fed again what they were fed."""
    kept = run.watch.kept
    kept.x, kept.y, kept.count = found["watch.x"], found["watch.y"], found["watch.count"]
    kept.units, kept.whole = found["watch.units"], float(found["watch.whole"])
    kept.probe = _grouped(found, "probe").get(0)
    rows = sum(name.startswith("errors.") for name in found)
    kept.errors = [(found[f"errors.{row}"], found[f"there.{row}"]) for row in range(rows)]
    run.watch.feed_again()
    run.watch.prepare()


def _named(prefix: str, model: Mapping[str, Array]) -> Arrays:
    return {f"{prefix}.{name}": value for name, value in model.items()}


def _grouped(found: Mapping[str, Array], prefix: str) -> dict[int, Model]:
    made: dict[int, Model] = {}
    for key, value in found.items():
        if key.startswith(f"{prefix}."):
            _, group, name = key.split(".", 2)
            made.setdefault(int(group), {})[name] = value
    return made


def _text(events: object) -> Array:
    return np.frombuffer(json.dumps(events).encode(), np.uint8)
