"""From settings to what is run: data, clients, scenario, learner and plan, all checked before any work."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from muster.errors import BadConfig, UnknownName, nearest
from muster.records import Samples
from muster.sources.datasets import dataset
from muster.suites.federation.learners import learner_of
from muster.suites.federation.settings import NONE, Study
from muster.systems.federation.clients import Clients, split
from muster.systems.federation.concepts import kind_of
from muster.systems.federation.mitigation import MITIGATIONS, Rule
from muster.systems.federation.monitor import Watching
from muster.systems.federation.partition import deal
from muster.systems.federation.plan import Plan, Takes, refuse
from muster.systems.federation.scenario import Concept, Scenario, drift, from_matrix, then
from muster.systems.federation.simulate import Federation
from muster.systems.federation.strategies import strategy
from muster.systems.federation.training import Learner, Local
from muster.systems.federation.watch import DETECTORS

CONTROL, TWIN = "nothing", "no drift"
USUAL = (2, 5, 8)


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """One seed of a study: everything that its arms share."""

    study: Study
    clients: Clients
    learner: Learner
    scenario: Scenario
    plan: Plan

    def arm(self, name: str) -> Federation:
        """The federation of an arm: with its mitigation, with none, or without drift."""
        scenario = self.scenario.calm() if name == TWIN else self.scenario
        rule = self.plan.rule if name not in {TWIN, CONTROL} else Rule()
        whole = name in {TWIN, CONTROL}
        detectors = self.plan.detectors if whole else self.plan.detectors[:1]
        plan = replace(self.plan, detectors=detectors, rule=replace(rule, name=NONE if whole else name))
        return Federation(self.clients, self.learner, scenario, plan)


def arms_of(study: Study) -> list[str]:
    """The arms, in the order in which they are told: mitigations, nothing, no drift."""
    asked = list(dict.fromkeys(name for name in study.mitigation.mitigation if name != NONE))
    for name in asked:
        if name not in MITIGATIONS:
            raise UnknownName("mitigation", name, MITIGATIONS)
    if asked and not study.watch.detectors:
        raise BadConfig("a mitigation acts on what the first detector says, and there is no detector")
    if study.drift.drift == NONE and not study.drift.scenario:
        return [*asked, CONTROL]
    return [*asked, CONTROL, TWIN]


def severities(study: Study) -> list[float]:
    """At which severities detection is tried, mildest first."""
    found = sorted(_number(text, "sweep") for text in study.watch.sweep)
    for severity in found:
        Concept(study.drift.drift, severity)
    return found


def milder(study: Study, severity: float) -> Study:
    """The same study, with another severity and nothing mitigated."""
    drift_ = study.drift.model_copy(update={"severity": severity})
    return study.model_copy(update={"drift": drift_})


def loaded(study: Study) -> Samples:
    """The data of a study."""
    asked = study.data
    return dataset(
        asked.data, label=asked.label, text=asked.text, unit=asked.client_column, limit=asked.limit
    )


def ready(study: Study, samples: Samples, seed: int) -> Ready:
    """Deal the items, write the scenario, and check the plan."""
    for name in study.watch.detectors:
        if name not in DETECTORS:
            raise UnknownName("detector", name, DETECTORS)
    strategy(study.training.strategy)
    asked = study.clients
    owner, names = deal(
        samples, asked.partition, asked.clients, alpha=asked.alpha, minimum=asked.minimum, seed=seed
    )
    clients = split(samples, owner, names, test_share=asked.test_share, seed=seed)
    learner = learner_of(study.training, samples)
    plan = _plan(study, clients, seed)
    plan.watching.refuse(len(clients) if plan.detectors else 0, samples.features)
    scenario = scenario_of(study, clients)
    refuse(plan, len(clients), scenario.which.shape)
    return Ready(study, clients, learner, scenario, plan)


def _plan(study: Study, clients: Clients, seed: int) -> Plan:
    asked, done = study.training, study.mitigation
    local = Local(epochs=asked.epochs, batch=asked.batch, lr=asked.lr)
    watching = Watching(items=study.watch.items, reference=study.watch.reference, columns=study.watch.columns)
    rule = Rule(
        trigger=done.trigger,
        quorum=done.quorum,
        quiet=done.calm,
        cool_down=done.cool_down,
        factor=done.factor,
    )
    takes = Takes(
        fraction=asked.fraction, dropout=asked.dropout, stragglers=asked.stragglers,
        joins=_joins(study, clients),
    )  # fmt: skip
    return Plan(
        rounds=asked.rounds, warmup=asked.warmup, strategy=asked.strategy, beta=asked.beta, mu=asked.mu,
        local=local, takes=takes, watching=watching, detectors=tuple(study.watch.detectors), rule=rule,
        seed=seed,
    )  # fmt: skip


def _joins(study: Study, clients: Clients) -> dict[int, int]:
    found: dict[int, int] = {}
    for who, what in map(_pair, study.training.joins):
        (place,) = places(clients, [who])
        if place in found:
            raise BadConfig(f"joins: {who} joins twice, in rounds {found[place]} and {what}")
        found[place] = _whole(what, f"joins: {who}")
    if len(found) == len(clients) and min(found.values()) > 1:
        raise BadConfig(f"joins: nobody is there before round {min(found.values())}")
    return found


def scenario_of(study: Study, clients: Clients) -> Scenario:
    """When who drifts, as the settings say."""
    asked, rounds, size = study.drift, study.training.rounds, len(clients)
    none = Scenario((), np.zeros((rounds, size), np.int64), np.zeros((rounds, size)))
    if asked.scenario:
        return _matrix(study, clients)
    if asked.drift == NONE:
        if asked.second_drift != NONE:
            raise BadConfig("a second drift needs a first: drift is none")
        return none
    for name in (asked.drift, asked.second_drift):
        if name != NONE:
            kind_of(name, clients.samples)
    who = asked.affected or [str(c) for c in USUAL if size >= 10]
    first = drift(
        Concept(asked.drift, asked.severity), asked.pattern,
        rounds=rounds, clients=size, start=asked.drift_round, affected=places(clients, who),
    )  # fmt: skip
    if asked.second_drift == NONE:
        return first
    second = drift(
        Concept(asked.second_drift, asked.second_severity), "sudden", rounds=rounds, clients=size,
        start=asked.second_round, affected=places(clients, asked.second_affected),
    )  # fmt: skip
    return then(first, second)


def places(clients: Clients, who: Sequence[str]) -> list[int]:
    """Where clients stand, by name or by number from 1."""
    names = [str(name) for name in clients.names]
    found = []
    for one in who:
        if one in names:
            found.append(names.index(one))
        elif one.isdigit() and 1 <= int(one) <= len(names):
            found.append(int(one) - 1)
        else:
            raise BadConfig(
                f"no client {one!r}{nearest(one, names)}; there are {len(names)}: {names[0]} to {names[-1]}"
            )
    return found


def _matrix(study: Study, clients: Clients) -> Scenario:
    path = Path(study.drift.scenario or "")
    try:
        lines = [line for line in csv.reader(path.read_text(encoding="utf-8").splitlines()) if line]
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadConfig(f"{path}: not a CSV of whole numbers: {error}") from error
    wanted = (study.training.rounds, len(clients))
    if {len(line) for line in lines} != {wanted[1]} or len(lines) != wanted[0]:
        widths = sorted({len(line) for line in lines})
        raise BadConfig(
            f"{path}: {len(lines)} rows of {widths} values; the matrix has a row for each of the "
            f"{wanted[0]} rounds and a value for each of the {wanted[1]} clients"
        )
    which = np.array([[_whole(v, f"{path}, row {r}") for v in line] for r, line in enumerate(lines, 1)])
    concepts = [Concept(kind, _number(amount, kind)) for kind, amount in map(_pair, study.drift.concepts)]
    for concept in concepts:
        kind_of(concept.kind, clients.samples)
    return from_matrix(which, concepts)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadConfig(f"{text!r}: expected a name, =, and a number")
    return name.strip(), value.strip()


def _whole(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise BadConfig(f"{where}: {text!r} is not a whole number") from error


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise BadConfig(f"{where}: {text!r} is not a number") from error
