"""The items of every client as they are in a round, after drift."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Floats
from muster.records import Features
from muster.systems.federation.clients import Clients, Held
from muster.systems.federation.concepts import Items, Labels, kind_of
from muster.systems.federation.scenario import Scenario
from muster.systems.federation.seeds import uniform

Seen = tuple[NDArray[np.int64], Floats]


@dataclass(slots=True, eq=False)
class Drifting:
    """The train or the test items of all clients: ``x`` and ``y`` lie as ``held`` says.

    Only clients whose concept has changed since the last look are made anew.
    """

    clients: Clients
    held: Held
    scenario: Scenario
    seed: int
    x: Features
    y: Labels
    _seen: Seen

    @classmethod
    def of(cls, clients: Clients, held: Held, scenario: Scenario, seed: int) -> Drifting:
        """As they are before any drift."""
        samples, size = clients.samples, len(clients)
        for concept in scenario.concepts:
            kind_of(concept.kind, samples)
        none: Seen = (np.zeros(size, np.int64), np.zeros(size))
        return cls(clients, held, scenario, seed, samples.x[held.items], samples.y[held.items], none)

    def at(self, row: int) -> NDArray[np.intp]:
        """Bring the items to a row of the scenario, and say which clients have changed."""
        now: Seen = (self.scenario.which[row], self.scenario.strength[row])
        changed = np.flatnonzero((now[0] != self._seen[0]) | (now[1] != self._seen[1]))
        for client in changed.tolist():
            self._make(client, int(now[0][client]), float(now[1][client]))
        self._seen = now
        return changed

    def _make(self, client: int, which: int, strength: float) -> None:
        samples = self.clients.samples
        rows = slice(self.held.starts[client], self.held.starts[client + 1])
        place = self.held.items[rows]
        items = Items(samples.x[place], samples.y[place], place, samples)
        if which and strength > 0:
            items = self._drifted(items, which, strength)
        self.x[rows], self.y[rows] = items.x, items.y

    def _drifted(self, items: Items, which: int, strength: float) -> Items:
        concept = self.scenario.concepts[which - 1]
        kind = kind_of(concept.kind, items.of)
        scaled = concept.grows == "severity"
        severity = np.full(len(items.y), concept.severity * (strength if scaled else 1.0))
        struck = uniform(self.seed, f"struck {which}", items.place) < (1.0 if scaled else strength)
        made = kind.change(items, severity, self.seed + which)
        if kind.family == "covariate":
            return replace(items, x=np.where(struck[:, None], made, items.x))
        if kind.family == "concept":
            return replace(items, y=np.where(struck, made, items.y))
        taken = np.where(struck, made, np.arange(len(items.y)))
        return replace(items, x=items.x[taken], y=items.y[taken])
