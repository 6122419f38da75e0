"""A measure: how rows count, and how sums become a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from muster.kernels.types import Floats
from muster.records.observed import Labelled
from muster.records.tally import Tallies

Better: TypeAlias = Literal["higher", "lower", "neither"]
Finish: TypeAlias = Callable[[Tallies], Floats]
Bounds: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A name, two pure functions, and what a reader must know of the number.

    ``count`` runs where the data is, ``finish`` where the reader is. Measures
    that share ``count`` are counted once. ``finish`` gives a value per cell, or
    ``[cells, parts]`` where ``shape`` is not ``"unit"``. ``chance`` is what a model
    that knows nothing would score, ``expected`` what noise alone would give a
    perfect one, ``error`` the standard error where it is not told by the interval, ``bound`` how
    far binning can have moved the value.
    """

    name: str
    title: str
    definition: str
    count: Callable[[Labelled], Tallies]
    finish: Finish
    better: Better
    bounds: tuple[float, float]
    needs: Literal["guess", "confidence", "scores"] = "guess"
    shape: Literal["unit", "class", "matrix", "curve"] = "unit"
    undefined: str = "no rows"
    chance: Finish | None = None
    expected: Finish | None = None
    interval: Callable[[Tallies, float], Bounds] | None = None
    method: str = ""
    error: Finish | None = None
    bound: Finish | None = None
    adds: bool = True
    version: int = 1

    @property
    def is_share(self) -> bool:
        """Is it a share of the rows, each of which is right or wrong?"""
        return self.shape == "unit" and self.method == "Wilson"
