"""The reference of every client, frozen once it is there, and the detectors that compare with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from muster.errors import UnknownName
from muster.records import UNKNOWN, Features
from muster.systems.detectors.adwin import Adwin, Windows
from muster.systems.detectors.answer import Answer
from muster.systems.detectors.columns import Against, Columns, Held, Test, hold
from muster.systems.detectors.combined import Combined, Reference, State
from muster.systems.detectors.embedding import FEATURES, Discrepancy
from muster.systems.detectors.sketches import Map, Seen, Sketch, outer, sketch
from muster.systems.federation.concepts import Labels
from muster.systems.federation.monitor import Drawn, Watching, look, most_varied, shared_map
from muster.systems.federation.schedule import Whole
from muster.systems.federation.seeds import generator
from muster.systems.federation.strategies import Model
from muster.systems.federation.training import Learner

MOVED, TIMES = 64, 2
COLUMNS: Mapping[str, Test] = {
    "ks": "ks", "psi": "psi", "w1": "w1", "chi-square": "chi_square", "evidently": "evidently",
}  # fmt: skip
DETECTORS: Mapping[str, str] = {
    "combined": "four views against a frozen reference, evidence added up over rounds; at 0.005 a round",
    "adwin": "ADWIN on the errors of items, an alarm lasts a round; delta 0.002 for each client",
    "adwin latched": "the same, an alarm stays, and so does a false one",
    "ks": "Kolmogorov-Smirnov a feature, Simes over clients and features; at 0.01 a round",
    "psi": "population stability index a feature, as chi-square, Simes over clients and features; at 0.01",
    "w1": "Wasserstein distance of ranks a feature, where the stability index agrees, Simes; at 0.01",
    "chi-square": "mix of labels, Simes over clients; at 0.01 a round",
    "evidently": "the rule that Evidently applies: half of the columns, not corrected; no stated rate",
    "mmd": "maximum mean discrepancy of embeddings, permuted within clients; at 0.01 a round",
    "mmd exact": "the same of all pairs of rows of each client, for audits of few; at 0.01 a round",
}


@dataclass(slots=True, eq=False, kw_only=True)
class Kept:
    """What is remembered from round to round: plain arrays, and windows that are fed again on resuming."""

    x: Features
    y: Labels
    count: Whole
    probe: Model | None = None
    whole: float = 0.0
    units: NDArray[np.float64]
    errors: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What follows from the reference, and need not be made anew in every round."""

    ready: NDArray[np.bool_]
    probe: Model
    columns: Whole
    by: Map
    wide: Map
    reference: Reference
    held: Held | None


class Watch:
    """Feeds rounds to detectors; ``names`` are those of `DETECTORS`."""

    def __init__(
        self, learner: Learner, shape: tuple[int, int, int], how: Watching, names: tuple[str, ...], seed: int
    ) -> None:
        for name in names:
            if name not in DETECTORS:
                raise UnknownName("detector", name, DETECTORS)
        clients, features, self.classes = shape
        self.learner, self.how, self.names, self.seed = learner, how, names, seed
        rows = how.reference if names else 0
        how.refuse(clients if names else 0, features)
        self.kept = Kept(
            x=np.zeros((clients, rows, how.items, features), np.float32),
            y=np.zeros((clients, rows, how.items), np.int64),
            count=np.zeros(clients, np.int64),
            units=np.zeros(clients),
            errors=[],
        )
        self.prepared: Prepared | None = None
        self.windows: Windows = Adwin().init(clients)
        self.fed = bool({"adwin", "adwin latched"} & set(names))

    @property
    def numbers_sent(self) -> int:
        """How many numbers a client sends to the server for its detectors, in a round."""
        sketched = 4 + 2 * self.classes + MOVED if "combined" in self.names else 0
        return sketched + ((Discrepancy().permutations + 2) * FEATURES if "mmd" in self.names else 0)

    def round(
        self, number: int, models: list[Model], of: Whole, drawn: Drawn, there: NDArray[np.bool_]
    ) -> dict[str, Answer]:
        """What each detector says of this round; clients without a full reference add to it instead."""
        if not self.names:
            return {}
        found = {name: Answer(UNKNOWN, np.full(len(there), UNKNOWN, np.int8)) for name in self.names}
        columns = self.prepared.columns if self.prepared else np.arange(1)
        now = look(self.learner, models, of, drawn, columns)
        if self.fed:
            self.windows, native = Adwin().step(self.windows, now.wrong, there)
            own = {"adwin": native, "adwin latched": Adwin().latched(self.windows, there)}
            found |= {name: answer for name, answer in own.items() if name in found}
            self.kept.errors.append((now.wrong, there))
        if self.prepared:
            found |= self._compare(number, self.prepared, (models, of), (drawn, now), there)
        self._remember(drawn, there, models[0])
        return found

    def _remember(self, drawn: Drawn, there: NDArray[np.bool_], model: Model) -> None:
        """Add to references that are not full; freeze the model when the first of them are."""
        kept = self.kept
        short = np.flatnonzero(there & (kept.count < self.how.reference))
        if not short.size:
            return
        kept.x[short, kept.count[short]], kept.y[short, kept.count[short]] = drawn[0][short], drawn[1][short]
        kept.count[short] += 1
        if (kept.count[short] == self.how.reference).any():
            kept.probe = kept.probe or {name: value.copy() for name, value in model.items()}
            self.prepare()

    def feed_again(self) -> None:
        """Bring the windows to where the errors that are remembered bring them."""
        self.windows = Adwin().init(len(self.kept.count))
        for wrong, there in self.kept.errors:
            self.windows, _ = Adwin().step(self.windows, wrong, there)

    def prepare(self) -> None:
        """All that follows from the reference and the frozen model."""
        kept, rounds = self.kept, self.how.reference
        if kept.probe is None:
            return
        ready = kept.count >= rounds
        columns = most_varied(kept.x[ready], self.how.columns)
        flat = (kept.x.reshape(len(ready), -1, kept.x.shape[-1]), kept.y.reshape(len(ready), -1))
        seen = look(self.learner, [kept.probe], np.zeros(len(ready), np.int64), flat, columns)
        by = shared_map(_some(seen, np.flatnonzero(ready)), self.seed, MOVED)
        each = [
            _some(seen, slice(None), slice(r * self.how.items, (r + 1) * self.how.items))
            for r in range(rounds)
        ]
        sketches = [sketch(part, self.classes, by) for part in each]
        whole = Sketch(**{f.name: np.stack([getattr(s, f.name) for s in sketches]) for f in fields(Sketch)})
        whole.rows[:, ~ready] = 0
        tests = [test for name, test in COLUMNS.items() if name in self.names]
        held = hold(seen, rounds, self.classes, tests) if tests else None
        wide = shared_map(_some(seen, np.flatnonzero(ready)), self.seed, FEATURES)
        reference = Reference(whole, outer(seen, by))
        self.prepared = Prepared(ready, kept.probe, columns, by, wide, reference, held)

    def _compare(
        self,
        number: int,
        prepared: Prepared,
        served: tuple[list[Model], Whole],
        seen: tuple[Drawn, Seen],
        there: NDArray[np.bool_],
    ) -> dict[str, Answer]:
        (drawn, now), known = seen, prepared.ready & there
        found: dict[str, Answer] = {}
        if "combined" in self.names:
            found["combined"] = self._combined(prepared, drawn, known)
        if prepared.held:
            beside = Against(prepared.held, now, np.flatnonzero(known))
            tests = {name: test for name, test in COLUMNS.items() if name in self.names}
            found |= {name: Columns(test).step(beside, known) for name, test in tests.items()}
        exactness = [name for name in ("mmd", "mmd exact") if name in self.names]
        before = self._again(number, served) if exactness else now
        for name in exactness:
            rng = generator(self.seed, name, number)
            test = Discrepancy(exact=name != "mmd")
            found[name] = test.step(prepared.wide, before, now, known, rng)
        return found

    def _combined(self, prepared: Prepared, drawn: Drawn, known: NDArray[np.bool_]) -> Answer:
        """By the frozen model: what it says of an item does not change while training goes on."""
        seen = look(self.learner, [prepared.probe], np.zeros(len(known), np.int64), drawn, prepared.columns)
        sent = sketch(seen, self.classes, prepared.by)
        sent.rows[~known] = 0
        state = State(prepared.reference, self.kept.whole, self.kept.units)
        state, answer = Combined().step(state, sent)
        self.kept.whole, self.kept.units = state.whole, state.units
        return answer

    def _again(self, number: int, served: tuple[list[Model], Whole]) -> Seen:
        """The reference as the models of this round see it, twice as many rows as a round has."""
        held = self.how.reference * self.how.items
        most = min(TIMES * self.how.items, held)
        rows = generator(self.seed, "again", number).choice(held, most, replace=False)
        x = self.kept.x.reshape(len(self.kept.x), held, -1)[:, rows]
        y = self.kept.y.reshape(len(self.kept.y), held)[:, rows]
        return look(self.learner, *served, (x, y), np.arange(1))


def _some(seen: Seen, clients: NDArray[np.intp] | slice, items: slice = slice(None)) -> Seen:
    return Seen(**{f.name: getattr(seen, f.name)[clients][:, items] for f in fields(Seen)})
