"""What a federation does, who takes part in a round, and what is written down of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadConfig
from muster.kernels.types import Floats
from muster.records import UNKNOWN
from muster.systems.federation.mitigation import Rule
from muster.systems.federation.monitor import Watching
from muster.systems.federation.schedule import Whole
from muster.systems.federation.seeds import uniform
from muster.systems.federation.strategies import Strategy, strategy
from muster.systems.federation.training import Local

BEFORE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """Who takes part: shares of clients that are asked, that drop out, that do half of their steps.

    ``joins`` is the round in which a client (by place) is there for the first time.
    """

    fraction: float = 1.0
    dropout: float = 0.0
    stragglers: float = 0.0
    joins: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a federation does; ``warmup`` rounds of training come before round 1 and are not measured."""

    rounds: int = 50
    warmup: int = 20
    strategy: str = "fedavg"
    beta: float = 0.2
    mu: float = 0.1
    local: Local = field(default_factory=Local)
    takes: Takes = field(default_factory=Takes)
    watching: Watching = field(default_factory=Watching)
    detectors: tuple[str, ...] = ("combined",)
    rule: Rule = field(default_factory=Rule)
    seed: int = 0

    @property
    def made(self) -> Strategy:
        """The strategy that is meant."""
        return strategy(self.strategy, beta=self.beta, mu=self.mu, lr=self.local.lr)


@dataclass(slots=True, eq=False, kw_only=True)
class Log:
    """What is written down of every round, ``[rounds, clients]``."""

    right: Floats
    rows: Floats
    loss: Floats
    units: dict[str, NDArray[np.int8]]
    whole: dict[str, NDArray[np.int8]]
    mitigated: NDArray[np.bool_]
    of: Whole

    @classmethod
    def of_size(cls, rounds: int, clients: int, detectors: tuple[str, ...]) -> Log:
        """Nothing yet."""
        shape = (rounds, clients)
        return cls(
            right=np.zeros(shape), rows=np.zeros(shape), loss=np.full(shape, np.nan),
            units={name: np.full(shape, UNKNOWN, np.int8) for name in detectors},
            whole={name: np.full(rounds, UNKNOWN, np.int8) for name in detectors},
            mitigated=np.zeros(rounds, bool), of=np.zeros(shape, np.int64),
        )  # fmt: skip


def taking(plan: Plan, there: Whole, number: int) -> tuple[Whole, Floats]:
    """The clients that train in a round, and the share of its steps that each does.

    >>> client, done = taking(Plan(takes=Takes(fraction=0.5)), np.arange(10), 3)
    >>> client.size, done.tolist()
    (5, [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    if not there.size:
        return there, np.zeros(0)
    asked, drops, slow = (
        uniform(plan.seed, what, number + BEFORE, there) for what in ("asked", "drops", "straggles")
    )
    first = np.argsort(asked, kind="stable")[: max(1, round(plan.takes.fraction * there.size))]
    back = np.sort(first[drops[first] >= plan.takes.dropout])
    return there[back], np.where(slow[back] < plan.takes.stragglers, 0.5, 1.0)


def refuse(plan: Plan, clients: int, shape: tuple[int, ...]) -> None:
    """Say what does not fit: a scenario of another shape, or clients that join and do not exist."""
    if shape != (plan.rounds, clients):
        raise BadConfig(f"the scenario is of {shape} rounds and clients, not {(plan.rounds, clients)}")
    beyond = [c for c in plan.takes.joins if not 0 <= c < clients]
    if beyond:
        raise BadConfig(f"clients {beyond} join, and there are only {clients}")
    late = {c: number for c, number in plan.takes.joins.items() if not 1 <= number <= plan.rounds}
    if late:
        raise BadConfig(
            f"clients join in rounds {sorted(set(late.values()))}; the rounds are 1 to {plan.rounds}"
        )
