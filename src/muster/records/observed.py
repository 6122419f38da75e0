"""What a source hands to a measure: rows of many units, as codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Codes, Scores


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Answers of a classifier. ``cell`` says to which entry of a block a row belongs.

    ``scores`` is class-major, ``[classes, rows]``: that is how columns arrive,
    and the way arithmetic over classes is fast. ``confidence`` is the score of
    the answer given, ``item`` a number that marks the item a row is of.
    """

    cell: Codes
    cells: int
    truth: Codes
    guess: Codes
    classes: int
    scores: Scores | None = None
    confidence: Scores | None = None
    item: Codes | None = None

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which answers are right."""
        return np.equal(self.truth, self.guess)
