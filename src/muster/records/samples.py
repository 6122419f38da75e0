"""Items to learn from: features, classes, and what the features are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadRecord
from muster.records.table import Column

Features: TypeAlias = NDArray[np.float32]
Nature: TypeAlias = Literal["image", "text", "table"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Samples:
    """``x`` is ``[items, features]``, ``y`` the number of each item's class.

    Images are flat, between 0 and 1, and say their ``shape``: rows, columns. Text is counts of
    hashed words, each row of length 1. ``unit`` names whose item it is, where that is natural.

    >>> Samples(name="two", nature="table", x=np.zeros((2, 3), np.float32), y=np.array([0, 1]),
    ...         classes=("no", "yes")).features
    3
    """

    name: str
    nature: Nature
    x: Features
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    shape: tuple[int, int] | None = None
    unit: Column | None = None
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or (self.unit is not None and len(self.unit) != len(self.y)):
            raise BadRecord(f"{self.name}: {len(self.x)} rows of features, {len(self.y)} classes")
        if self.shape is not None and self.shape[0] * self.shape[1] != self.features:
            raise BadRecord(f"{self.name}: {self.features} features are not {self.shape} pixels")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def features(self) -> int:
        """How many numbers an item has."""
        return int(self.x.shape[1])
