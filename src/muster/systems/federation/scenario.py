"""When who drifts, and into what: a matrix of concepts, rounds by clients, as FedDrift writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadConfig
from muster.kernels.types import Floats

Pattern: TypeAlias = Literal["sudden", "gradual", "incremental", "recurrent"]
RAMP, ON, OFF = 15, 6, 6


@dataclass(frozen=True, slots=True)
class Concept:
    """A kind of drift and how much of it. ``grows`` says how less than all of it looks.

    ``items``: some of the items are wholly changed (gradual). ``severity``: all of them, less
    (incremental).
    """

    kind: str
    severity: float
    grows: Literal["items", "severity"] = "items"

    def __post_init__(self) -> None:
        if not 0 < self.severity <= 1:
            raise BadConfig(f"severity of {self.kind} must be above 0 and at most 1, not {self.severity:g}")


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """``which`` is ``[rounds, clients]``: 0 for none, else the number of a concept from 1 on.

    ``strength`` says how far it has come, from 0 to 1.
    """

    concepts: tuple[Concept, ...]
    which: NDArray[np.int64]
    strength: Floats

    @property
    def drifted(self) -> NDArray[np.bool_]:
        """The truth: is this client's data of this round drawn from another concept?"""
        return (self.which > 0) & (self.strength > 0)

    def calm(self) -> Scenario:
        """The same federation without drift: the control."""
        return Scenario(self.concepts, np.zeros_like(self.which), np.zeros_like(self.strength))


def drift(
    concept: Concept,
    pattern: Pattern,
    *,
    rounds: int,
    clients: int,
    start: int,
    affected: Sequence[int] = (),
) -> Scenario:
    """One drift from round `start` (counted from 1) in the `affected` clients (places), or in all.

    Gradual and incremental drift grow over 15 rounds; recurrent drift is there for 6 rounds of 12.

    >>> made = drift(Concept("noise", 0.5), "recurrent", rounds=9, clients=2, start=2, affected=[1])
    >>> made.drifted[:, 1].tolist(), made.drifted[:, 0].any().item()
    ([False, True, True, True, True, True, True, False, False], False)
    """
    if not 1 <= start <= rounds:
        raise BadConfig(f"drift in round {start}: the rounds are 1 to {rounds}")
    beyond = [place for place in affected if not 0 <= place < clients]
    if beyond:
        raise BadConfig(f"affected clients {beyond}: the clients are 0 to {clients - 1}")
    since = np.arange(rounds) - (start - 1)
    strength = np.where(since >= 0, 1.0, 0.0)
    if pattern in {"gradual", "incremental"}:
        strength = np.clip((since + 1) / RAMP, 0, 1)
    elif pattern == "recurrent":
        strength = np.where((since >= 0) & (since % (ON + OFF) < ON), 1.0, 0.0)
    hit = np.zeros(clients, bool)
    hit[list(affected) or slice(None)] = True
    grows: Literal["items", "severity"] = "severity" if pattern == "incremental" else "items"
    return Scenario(
        (Concept(concept.kind, concept.severity, grows),),
        np.where(hit & (strength > 0)[:, None], 1, 0),
        np.where(hit, strength[:, None], 0.0),
    )


def then(first: Scenario, second: Scenario) -> Scenario:
    """Two scenarios of one federation; where both drift, the second is what counts.

    >>> one = drift(Concept("noise", 0.5), "sudden", rounds=4, clients=1, start=2)
    >>> two = drift(Concept("blur", 0.5), "sudden", rounds=4, clients=1, start=4)
    >>> then(one, two).which[:, 0].tolist()
    [0, 1, 1, 2]
    """
    later = second.drifted
    return Scenario(
        (*first.concepts, *second.concepts),
        np.where(later, second.which + len(first.concepts), first.which),
        np.where(later, second.strength, first.strength),
    )


def from_matrix(which: NDArray[np.int64], concepts: Sequence[Concept]) -> Scenario:
    """A change-point matrix: rows are rounds, columns clients, values concepts, 0 for none."""
    if which.size and not 0 <= which.min() <= which.max() <= len(concepts):
        raise BadConfig(
            f"the matrix names concepts {which.min()} to {which.max()}; there are 0 (none) to {len(concepts)}"
        )
    return Scenario(tuple(concepts), which, (which > 0).astype(float))
