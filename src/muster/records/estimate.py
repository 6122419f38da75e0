"""A number about a population, with how sure we are of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from muster.errors import BadRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value, its interval, and what stands behind it.

    ``expected`` is what noise alone would give if all were equal, ``chance``
    what a model that knows nothing would; an undefined value is ``nan`` and
    must say why.

    >>> Estimate(measure="accuracy", summary="min", value=math.nan, reason="no units").reason
    'no units'
    """

    measure: str
    summary: str
    value: float
    low: float = math.nan
    high: float = math.nan
    level: float = 0.95
    expected: float = math.nan
    chance: float = math.nan
    p_value: float = math.nan
    n: int = 0
    units: int = 0
    method: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.value) and not self.reason:
            raise BadRecord(f"{self.summary} of {self.measure} is undefined and does not say why")

    @property
    def excess(self) -> float:
        """How far the value lies above what noise alone would give."""
        return self.value - self.expected
