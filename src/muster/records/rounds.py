"""What every unit scored in every round, and what is known of drift, alarms and what was done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadRecord
from muster.kernels.types import Floats
from muster.records.table import Column

ALARM, QUIET, UNKNOWN = 1, 0, -1
Answers = NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Alarms:
    """A detector's answers: `ALARM`, `QUIET`, or `UNKNOWN` where there was not enough data.

    ``units`` is ``[rounds, units]``, ``whole`` (of the population) ``[rounds]``.
    """

    units: Answers
    whole: Answers


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rounds:
    """A federation over time: arrays ``[rounds, units]``, for one value a unit and round.

    ``rounds`` are round numbers as they were given, without holes: in a round that nobody
    reported, every row count is 0. ``values`` is ``nan`` and ``rows`` 0 where a unit was not
    there. ``drifted`` is what is known to be true, None if nothing is. ``chance`` is what a model
    that always names the most frequent class would score, where that is known.

    >>> log = Rounds(rounds=np.array([1, 2]), units=np.array(["a"], object),
    ...              values=np.array([[0.5], [0.75]]), rows=np.array([[4.0], [4.0]]))
    >>> log.pooled.tolist(), log.onset
    ([0.5, 0.75], None)
    """

    rounds: NDArray[np.int64]
    units: Column
    values: Floats
    rows: Floats
    metric: str = "accuracy"
    drifted: NDArray[np.bool_] | None = None
    alarms: Mapping[str, Alarms] = field(default_factory=dict)
    mitigated: NDArray[np.bool_] | None = None
    chance: float = float("nan")

    def __post_init__(self) -> None:
        shape = (len(self.rounds), len(self.units))
        given: dict[str, NDArray[Any] | None] = {
            "values": self.values,
            "rows": self.rows,
            "drifted": self.drifted,
        }
        given |= {f"alarms of {name}": found.units for name, found in self.alarms.items()}
        for name, array in given.items():
            if array is not None and array.shape != shape:
                raise BadRecord(f"{name}: shape {array.shape}, not {shape}")
        if len(self.rounds) > 1 and (np.diff(self.rounds) != 1).any():
            raise BadRecord("round numbers must follow one another without a hole")

    @property
    def pooled(self) -> Floats:
        """The value of each round over all units, by rows; ``nan`` where nobody was there."""
        rows = self.rows.sum(1)
        total = np.where(self.rows > 0, self.values, 0.0) * self.rows
        return np.asarray(np.where(rows > 0, total.sum(1) / np.maximum(rows, 1e-300), np.nan))

    @property
    def onset(self) -> int | None:
        """The place (not the number) of the first round in which any unit has drifted."""
        if self.drifted is None or not self.drifted.any():
            return None
        return int(self.drifted.any(1).argmax())
