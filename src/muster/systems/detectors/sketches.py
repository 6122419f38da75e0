"""What a client sees of its own items, and the little of it that it sends: sums that add.

No row leaves a client. A sketch is a few numbers a client, and sketches of rounds or clients add.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.kernels.mmd import features_of
from muster.kernels.types import Floats, Scores
from muster.records import Features

Rows = NDArray[Any]
Map = tuple[Scores, Scores]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Seen:
    """The items of each client in a round, ``[..., items]``, and what the model says of them.

    It stays with the client. ``values`` are features, ``embedding`` what the model makes of them.
    """

    truth: Rows
    guess: Rows
    loss: Floats
    values: Features
    embedding: Features

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which answers are wrong."""
        return np.not_equal(self.truth, self.guess)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sketch:
    """What each client sends of a round: counts and sums, ``[..., clients]`` and one more axis."""

    rows: Floats
    wrong: Floats
    loss: Floats
    loss_squares: Floats
    guess: Floats
    truth: Floats
    moved: Floats

    def where(self, place: Any) -> Sketch:
        """Some of the clients or rounds."""
        return Sketch(**{part.name: getattr(self, part.name)[place] for part in fields(self)})

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Which clients sent numbers: a model that has diverged says nothing."""
        wide = np.concatenate([self.moved, self.loss[..., None], self.loss_squares[..., None]], -1)
        return np.asarray(np.isfinite(wide).all(-1))

    def __add__(self, other: Sketch) -> Sketch:
        return Sketch(
            **{part.name: getattr(self, part.name) + getattr(other, part.name) for part in fields(self)}
        )

    @property
    def numbers(self) -> int:
        """How many numbers a client sends."""
        return 4 + sum(int(part.shape[-1]) for part in (self.guess, self.truth, self.moved))


def sketch(seen: Seen, classes: int, by: Map) -> Sketch:
    """The sums of what was seen; `by` are weights and phases that all clients share."""
    return Sketch(
        rows=np.full(seen.truth.shape[:-1], float(seen.truth.shape[-1])),
        wrong=seen.wrong.sum(-1).astype(float),
        loss=tamed(seen.loss).sum(-1),
        loss_squares=(tamed(seen.loss) ** 2).sum(-1),
        guess=_counts(seen.guess, classes),
        truth=_counts(seen.truth, classes),
        moved=features_of(seen.embedding, *by).sum(-2, dtype=float),
    )


def tamed(loss: Floats) -> Floats:
    """``l / (1 + l)``: rises with the loss and stays below 1, so that no single item carries a mean.

    >>> tamed(np.array([0.0, 1.0, 99.0])).tolist()
    [0.0, 0.5, 0.99]
    """
    return np.asarray(loss / (1 + loss))


def outer(seen: Seen, by: Map) -> Floats:
    """Sums of products of features, ``[clients, features, features]``: once, of the reference."""
    found = []
    for own in seen.embedding:
        made = features_of(own, *by).astype(float)
        found.append(made.T @ made)
    return np.stack(found)


def _counts(codes: Rows, classes: int) -> Floats:
    cells = int(np.prod(codes.shape[:-1]))
    place = np.arange(cells).repeat(codes.shape[-1]) * classes + codes.ravel()
    return np.bincount(place, minlength=cells * classes).reshape(*codes.shape[:-1], classes).astype(float)
