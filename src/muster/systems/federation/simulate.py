"""A federation, round after round: measured, watched, mitigated, trained.

A round begins with the data of the round. It is measured before it trains: by the model of the
round before, on the test items of now. Then detectors see it, what they say may change how the
round trains, and last the clients train and the server makes the next model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.records import Alarms, Rounds
from muster.systems.detectors.answer import Answer
from muster.systems.federation import mitigation
from muster.systems.federation.clients import Clients
from muster.systems.federation.drifting import Drifting
from muster.systems.federation.mitigation import Memory
from muster.systems.federation.monitor import draw
from muster.systems.federation.networks import losses
from muster.systems.federation.plan import BEFORE, Log, Plan, refuse, taking
from muster.systems.federation.scenario import Scenario
from muster.systems.federation.schedule import Whole, batches
from muster.systems.federation.strategies import Kept, Model, Strategy, strategy
from muster.systems.federation.training import Learner, Work, loss_of, one_round
from muster.systems.federation.watch import Watch

Event = dict[str, Any]
Tell = Callable[[int], None]
_ROWS = 8192


class Federation:
    """One run. ``number`` is the round that was done last; warm-up rounds have numbers up to 0."""

    def __init__(self, clients: Clients, learner: Learner, scenario: Scenario, plan: Plan) -> None:
        refuse(plan, len(clients), scenario.which.shape)
        self.clients, self.learner, self.scenario, self.plan = clients, learner, scenario, plan
        samples, size = clients.samples, len(clients)
        self.train = Drifting.of(clients, clients.train, scenario, plan.seed)
        self.test = Drifting.of(clients, clients.test, scenario, plan.seed)
        self.models: list[Model] = [learner.start(plan.seed)]
        self.kept: list[Kept] = [{}]
        self.of = np.zeros(size, np.int64)
        self.personal: dict[int, Model] = {}
        self.memory = Memory(np.zeros(size, bool))
        self.log = Log.of_size(plan.rounds, size, plan.detectors)
        self.watch = Watch(
            learner, (size, samples.features, len(samples.classes)), plan.watching, plan.detectors, plan.seed
        )
        self.events: list[Event] = []
        self.number = -plan.warmup

    def run(self, tell: Tell | None = None, until: int | None = None) -> Federation:
        """All rounds that are left, or up to the round `until`; `tell` is told each number."""
        while self.number < (self.plan.rounds if until is None else until):
            self.number += 1
            if self.number < 1:
                self._train()
            else:
                self._round()
            if tell:
                tell(self.number)
        return self

    def rounds(self) -> Rounds:
        """What every client scored in every round, with the truth and the alarms."""
        log, plan = self.log, self.plan
        there = log.rows > 0
        return Rounds(
            rounds=np.arange(1, plan.rounds + 1),
            units=self.clients.names,
            values=np.where(there, log.right / np.maximum(log.rows, 1), np.nan),
            rows=log.rows,
            drifted=self.scenario.drifted & there,
            alarms={name: Alarms(log.units[name], log.whole[name]) for name in plan.detectors},
            mitigated=log.mitigated,
            chance=float(np.bincount(self.clients.samples.y[self.clients.test.items]).max())
            / len(self.clients.test.items),
        )

    @property
    def numbers_sent(self) -> int:
        """How many numbers a client sends in a round: its model, and the sketch that detectors need."""
        return sum(value.size for value in self.models[0].values()) + self.watch.numbers_sent

    @property
    def there(self) -> NDArray[np.bool_]:
        """Which clients have joined by now."""
        found = np.ones(len(self.clients), bool)
        for client, joins in self.plan.takes.joins.items():
            found[client] = self.number >= joins
        return found

    def _round(self) -> None:
        row = self.number - 1
        changed = self.train.at(row)
        self.test.at(row)
        if changed.size:
            self._note("drift", clients=self.clients.names[changed].tolist())
        there, (models, of) = self.there, self._served()
        self._measure(row, there, models, of)
        drawn = draw(self.test, self.plan.watching.items, (self.plan.seed, self.number))
        answers = self.watch.round(self.number, models, of, drawn, there)
        self._record(row, answers)
        if answers:
            self._mitigate(next(iter(answers.values())))
        self.log.mitigated[row] = self.memory.active
        self._train()

    def _served(self) -> tuple[list[Model], Whole]:
        """The models that answer for clients, and which of them each has."""
        models, of = list(self.models), self.of.copy()
        for client, model in self.personal.items():
            of[client] = len(models)
            models.append(model)
        return models, of

    def _measure(self, row: int, there: NDArray[np.bool_], models: list[Model], of: Whole) -> None:
        """Every client that is there, on all of its test items."""
        held, log = self.test.held, self.log
        right, loss = np.zeros(len(held.items)), np.zeros(len(held.items))
        model_of = of[held.owner]
        for group in np.unique(of).tolist():
            own = np.flatnonzero(model_of == group)
            for start in range(0, own.size, _ROWS):
                at = own[start : start + _ROWS]
                logits, _ = self.learner.answer(models[group], self.test.x[at])
                right[at] = logits.argmax(-1) == self.test.y[at]
                loss[at] = losses(logits, self.test.y[at])
        log.right[row] = np.add.reduceat(right, held.starts[:-1]) * there
        log.rows[row] = held.sizes * there
        log.loss[row] = np.where(there, np.add.reduceat(loss, held.starts[:-1]) / held.sizes, np.nan)
        log.of[row] = self.of

    def _record(self, row: int, answers: Mapping[str, Answer]) -> None:
        for name, answer in answers.items():
            self.log.units[name][row], self.log.whole[name][row] = answer.units, answer.whole
            before = self.log.whole[name][row - 1] if row else 0
            if answer.whole == 1 != before:
                self._note("alarm", detector=name, clients=self.clients.names[answer.units == 1].tolist())

    def _mitigate(self, answer: Answer) -> None:
        rule, memory = self.plan.rule, self.memory
        was = memory.flagged.copy()
        happened = mitigation.decide(rule, memory, answer, self.number)
        if happened:
            self._note(f"mitigation {happened}", mitigation=rule.name)
        if happened == "begun" and rule.name == "reset":
            self.models, self.kept = [self.learner.start(self.plan.seed + self.number)], [{}]
        if rule.name == "cluster" and happened in {"begun", "widened"}:
            self._found(memory.flagged & ~was)

    def _found(self, new: NDArray[np.bool_]) -> None:
        """A model for those who have just drifted, unless nearly everybody has: then it is the common one."""
        new = new & (self.of == 0)
        if not new.any() or new.mean() >= mitigation.EVERYBODY:
            return
        self.of = np.where(new, len(self.models), self.of)
        self.models.append({name: value.copy() for name, value in self.models[0].items()})
        self.kept.append({})
        self.memory.born.append(self.number)
        self._note("own model", clients=self.clients.names[new].tolist())

    def _regroup(self) -> None:
        """Clients take the model that suits their own training items; models without clients are dropped."""
        if len(self.models) == 1:
            return
        everybody = np.arange(len(self.clients))
        found = np.stack([loss_of(self.learner, model, self.train, everybody) for model in self.models])
        of = mitigation.assigned(self.of, np.nan_to_num(found, nan=np.inf), self.memory.born, self.number)
        of[~self.there] = 0
        for group in range(1, len(self.models)):
            back = self.clients.names[(self.of == group) & (of == 0)].tolist()
            if back:
                self._note("back to the common model", clients=back)
        used = [0, *(g for g in range(1, len(self.models)) if (of == g).any())]
        place = np.full(len(self.models), 0)
        place[used] = np.arange(len(used))
        self.of = place[of]
        self.models, self.kept = [self.models[g] for g in used], [self.kept[g] for g in used]
        self.memory.born = [self.memory.born[g] for g in used]

    def _train(self) -> None:
        work = self._work()
        if work is None:
            self._note("nobody trained")
            return
        self.models, self.kept, lost = one_round(
            self.learner, self.train, work, self.models, self.kept,
            strategy=self._strategy(), local=self.plan.local, where=(self.plan.seed, self.number + BEFORE),
        )  # fmt: skip
        if lost.size:
            self._note("diverged", clients=self.clients.names[lost].tolist())
        if self.plan.rule.name == "cluster":
            self._regroup()
        self._personalise()

    def _strategy(self) -> Strategy:
        name = self.plan.rule.name
        if self.memory.active and name in {"trimmed_mean", "median"}:
            return strategy(name, beta=self.plan.beta)
        return self.plan.made

    def _work(self) -> Work | None:
        """Who trains, and how: rates and weights may be those of the mitigation."""
        client, done = taking(self.plan, np.flatnonzero(self.there), self.number)
        if not client.size:
            return None
        rule, flagged = self.plan.rule, self.memory.flagged[client]
        boosted = np.full(client.size, self.memory.active and rule.name == "lr_boost")
        since = np.where(boosted, self.memory.since, np.array(self.memory.born)[self.of[client]])
        boosted = (boosted | (self.of[client] > 0)) & (self.number < since + mitigation.BOOSTED)
        recent = self.memory.active and rule.name == "recency"
        rate = np.where(boosted, rule.factor, 1.0) * self.plan.local.lr
        weight = np.where(flagged, rule.factor, 1.0) if recent else np.ones(client.size)
        return Work(client, self.of[client], rate, done, weight)

    def _personalise(self) -> None:
        """Copies that clients with an alarm train further, for themselves alone."""
        self.personal = {}
        chosen = np.flatnonzero(self.memory.flagged & self.there)
        if self.plan.rule.name != "fine_tune" or not self.memory.active or not chosen.size:
            return
        order = batches(
            self.train.held.starts, chosen, batch=self.plan.local.batch,
            epochs=max(2, self.plan.local.epochs), where=(self.plan.seed, self.number + 2 * BEFORE),
        )  # fmt: skip
        first = {k: np.broadcast_to(v, (chosen.size, *v.shape)) for k, v in self.models[0].items()}
        rate = np.full(chosen.size, self.plan.local.lr, np.float32)
        made = self.learner.plain(self.learner.train(first, (self.train.x, self.train.y), order, rate))
        for place, client in enumerate(order.client.tolist()):
            own = {name: value[place] for name, value in made.items()}
            if all(np.isfinite(value).all() for value in own.values()):
                self.personal[client] = own

    def _note(self, event: str, **facts: Any) -> None:
        self.events.append({"round": self.number, "event": event, **facts})
