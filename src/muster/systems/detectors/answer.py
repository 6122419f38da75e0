"""What a detector says of a round."""

from __future__ import annotations

from typing import NamedTuple

from muster.records import ALARM, QUIET, UNKNOWN, Answers


class Answer(NamedTuple):
    """`ALARM`, `QUIET` or `UNKNOWN`: of the population and of each client; and how strongly."""

    whole: int
    units: Answers
    score: float = float("nan")

    @classmethod
    def any_of(cls, units: Answers) -> Answer:
        """The population has an alarm when a client has.

        >>> import numpy as np
        >>> Answer.any_of(np.array([QUIET, UNKNOWN], np.int8)).whole == QUIET
        True
        """
        if (units == UNKNOWN).all():
            return cls(UNKNOWN, units)
        return cls(ALARM if (units == ALARM).any() else QUIET, units)
