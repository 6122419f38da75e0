"""What is done about drift: when it begins, what it changes, when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Floats
from muster.records import ALARM, UNKNOWN
from muster.systems.detectors.answer import Answer
from muster.systems.federation.schedule import Whole

Trigger: TypeAlias = Literal["quorum", "global", "combined"]
MITIGATIONS: Mapping[str, str] = {
    "none": "nothing is done: the control",
    "trimmed_mean": "the server switches to the trimmed mean of each coordinate",
    "median": "the server switches to the median of each coordinate",
    "lr_boost": "clients learn at a higher rate for some rounds",
    "reset": "the model starts anew",
    "recency": "clients whose data has changed weigh more",
    "fine_tune": "clients with an alarm are served by a copy that they train further",
    "cluster": "clients that drift together get a model of their own, and come back when it ends",
}
GRACE, BETTER, EVERYBODY, BOOSTED = 2, 0.05, 0.8, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When something is done: on a quorum of clients with an alarm, one of the population, or either.

    It ends after `quiet` rounds without; then nothing is done for `cool_down` rounds.
    """

    name: str = "none"
    trigger: Trigger = "combined"
    quorum: float = 0.3
    quiet: int = 5
    cool_down: int = 3
    factor: float = 3.0

    def triggered(self, answer: Answer) -> bool:
        """Does the rule ask for something to be done? What is not known asks for nothing."""
        known = answer.units != UNKNOWN
        share = float((answer.units[known] == ALARM).mean()) if known.any() else 0.0
        alarms = {"quorum": share >= self.quorum - 1e-9 and share > 0, "global": answer.whole == ALARM}
        return any(alarms.values()) if self.trigger == "combined" else alarms[self.trigger]


@dataclass(slots=True, eq=False)
class Memory:
    """What is being done: since when, how long it has been quiet, and for whom."""

    flagged: NDArray[np.bool_]
    since: int = 0
    quiet: int = 0
    ended: int = -(10**6)
    born: list[int] = field(default_factory=lambda: [0])

    @property
    def active(self) -> bool:
        """Is something being done?"""
        return self.since > 0


def decide(rule: Rule, memory: Memory, answer: Answer, number: int) -> str:
    """Begin, go on, or end; gives what has happened, in a word, or nothing."""
    if rule.name == "none":
        return ""
    asked = rule.triggered(answer)
    new = (answer.units == ALARM) & ~memory.flagged
    if not memory.active:
        if not asked or number - memory.ended <= rule.cool_down:
            return ""
        memory.since, memory.quiet, memory.flagged = number, 0, answer.units == ALARM
        return "begun"
    memory.quiet = 0 if asked else memory.quiet + 1
    if memory.quiet >= rule.quiet:
        memory.since, memory.ended, memory.flagged = 0, number, np.zeros_like(memory.flagged)
        return "ended"
    if asked and new.any():
        memory.flagged = memory.flagged | new
        return "widened"
    return ""


def assigned(of: Whole, losses: Floats, born: list[int], number: int) -> Whole:
    """The model each client should have, by the loss of each model on its own training items.

    ``losses`` is ``[models, clients]``. A model of its own must be better than the common one by a
    twentieth; one that is younger than two rounds keeps its clients.

    >>> assigned(np.array([0, 1]), np.array([[1.0, 1.0], [0.5, 0.99]]), [0, 3], 9).tolist()
    [1, 0]
    """
    adjusted = losses.copy()
    adjusted[1:] *= 1 + BETTER
    grown = np.array([g == 0 or number - since >= GRACE for g, since in enumerate(born)])
    adjusted[~grown] = np.inf
    best = adjusted.argmin(0)
    return np.where(grown[of], best, of)
