"""ADWIN on the errors of single items, one window a client (Bifet and Gavalda 2007; river's).

Fed one number a round it cannot fire: with 24 rounds before and 26 after, the smallest drop it
could show is larger than 1. Fed items, it needs a few hundred of them. After an alarm the window
starts anew, so that an alarm lasts one round; latched, it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import drift

from muster.records import ALARM, QUIET, UNKNOWN, Answers
from muster.systems.detectors.answer import Answer


@dataclass(slots=True, eq=False)
class Windows:
    """A window a client, what each was fed since its last alarm, and in all; `step` changes it."""

    own: Sequence[Any]
    since: NDArray[np.float64]
    fed: NDArray[np.int64]
    fired: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Adwin:
    """``delta`` bounds how often it is wrong, for each client: smaller is less sensitive."""

    delta: float = 0.002
    least: int = 64

    def init(self, clients: int) -> Windows:
        """Empty windows."""
        return Windows(
            [_window(self.delta) for _ in range(clients)],
            np.zeros((clients, 2)),
            np.zeros(clients, np.int64),
            np.zeros(clients, bool),
        )

    def step(
        self, state: Windows, wrong: NDArray[np.bool_], there: NDArray[np.bool_]
    ) -> tuple[Windows, Answer]:
        """One more round: errors ``[clients, items]`` of the clients that are there.

        >>> watch = Adwin()
        >>> state = watch.init(1)
        >>> for _ in range(5):
        ...     state, answer = watch.step(state, np.zeros((1, 200), bool), np.array([True]))
        >>> watch.step(state, np.ones((1, 200), bool), np.array([True]))[1].whole
        1
        """
        fired = np.zeros(len(there), bool)
        for client in np.flatnonzero(there).tolist():
            fired[client] = _feed(state.own[client], state.since[client], wrong[client].tolist())
        state.fed[there] += wrong.shape[1]
        state.fired |= fired
        return state, self._answer(state, fired, there)

    def latched(self, state: Windows, there: NDArray[np.bool_]) -> Answer:
        """The same with memory: a client that has had an alarm keeps it."""
        return self._answer(state, state.fired, there)

    def _answer(self, state: Windows, fired: NDArray[np.bool_], there: NDArray[np.bool_]) -> Answer:
        units: Answers = np.where(fired, ALARM, QUIET).astype(np.int8)
        units[~there | (state.fed < self.least)] = UNKNOWN
        return Answer.any_of(units)


def _feed(window: Any, since: NDArray[np.float64], errors: Sequence[bool]) -> bool:
    """Only a rise of the error is an alarm: a model that learns is no drift."""
    fired, (total, count) = False, since.tolist()
    for error in errors:
        window.update(float(error))
        total, count = total + error, count + 1
        if window.drift_detected:
            fired |= window.estimation > total / count
            total = count = 0
    since[:] = total, count
    return fired


def _window(delta: float) -> Any:
    made: Any = drift.ADWIN
    return made(delta=delta)
