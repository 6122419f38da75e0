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
    """A window a client, and which clients have had an alarm; `step` changes it."""

    own: Sequence[Any]
    fired: NDArray[np.bool_]
    fed: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Adwin:
    """``delta`` bounds how often it is wrong, for each client: smaller is less sensitive."""

    delta: float = 0.002
    latched: bool = False
    least: int = 64

    def init(self, clients: int) -> Windows:
        """Empty windows."""
        return Windows(
            [_window(self.delta) for _ in range(clients)],
            np.zeros(clients, bool),
            np.zeros(clients, np.int64),
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
        units: Answers = np.full(len(there), UNKNOWN, np.int8)
        for client in np.flatnonzero(there).tolist():
            fired = self._feed(state.own[client], wrong[client].tolist())
            state.fed[client] += wrong.shape[1]
            state.fired[client] |= fired
            if state.fed[client] >= self.least:
                units[client] = ALARM if fired or (self.latched and state.fired[client]) else QUIET
        return state, Answer.any_of(units)

    @staticmethod
    def _feed(window: Any, errors: Sequence[bool]) -> bool:
        """Only a rise of the error counts: a model that learns is no drift."""
        fired = False
        for error in errors:
            before = window.estimation
            window.update(float(error))
            fired |= window.drift_detected and window.estimation > before
        return fired


def _window(delta: float) -> Any:
    made: Any = drift.ADWIN
    return made(delta=delta)
