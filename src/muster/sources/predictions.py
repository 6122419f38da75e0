"""Predictions, ready to be counted: who, which classes, and blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from muster.errors import BadData
from muster.kernels.answers import best, of
from muster.kernels.codes import encode
from muster.kernels.types import Codes, Scores
from muster.records import Column, Labelled, Table, stack
from muster.sources.cells import Cut, cut
from muster.sources.classes import Classes
from muster.sources.columns import SLICE

Blocks = Callable[[], Iterator[tuple[Labelled, ...]]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Predictions:
    """``blocks()`` gives the rows, one `Labelled` a cut: all rows first, then each slicing column.

    ``whole`` says that all rows of a unit come in one block. Looking for
    duplicates and taking the fingerprint read the rows again, so they wait to be called.
    """

    keys: tuple[Table, ...]
    classes: tuple[str, ...]
    rows: int
    has: frozenset[str]
    blocks: Blocks
    whole: bool
    note: str
    duplicates: Callable[[], str]
    fingerprint: Callable[[], Mapping[str, str]]

    @property
    def all_keys(self) -> Table:
        """The keys of every cut, in the order in which their tallies are stacked."""
        return stack(self.keys)


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Rows as codes: unit, time, slices, truth and guess by name; scores class-major."""

    codes: Mapping[str, Codes]
    scores: Scores | None = None
    confidence: Scores | None = None
    item: Codes | None = None


def label(rows: Coded, cuts: tuple[Cut, ...], classes: Classes) -> tuple[Labelled, ...]:
    """The rows as each cut sees them. Without a guess, the answer is the class of the highest score."""
    truth = _through(classes.truth, rows.codes["truth"])
    scores = rows.scores
    if scores is not None and len(scores) == 1:
        scores = np.concatenate([1 - scores, scores])
    guess, sure = _answers(rows, scores, classes)
    confidence = rows.confidence if rows.confidence is not None else sure
    return tuple(
        Labelled(
            one.place(rows.codes),
            len(one.combined),
            truth,
            guess,
            len(classes.names),
            scores,
            confidence,
            rows.item,
        )
        for one in cuts
    )


def cuts_of(
    slices: tuple[str, ...], levels: Mapping[str, Column], codes: Mapping[str, Codes]
) -> tuple[Cut, ...]:
    """The cut of all rows, then one for each slicing column."""
    return tuple(cut(column, levels, codes) for column in ("", *(SLICE + name for name in slices)))


def levels_of(columns: Mapping[str, Column]) -> tuple[dict[str, Column], dict[str, Codes]]:
    """Every column as codes, and the values they stand for."""
    levels, codes = {}, {}
    for name, column in columns.items():
        codes[name], levels[name] = encode(column)
    return levels, codes


def alone(codes: Mapping[str, Codes], rows: int) -> dict[str, Codes]:
    """Codes with the unit and the time that were not given: one of each, which takes no memory."""
    one = np.broadcast_to(np.zeros(1, np.int32), (rows,))
    return {"unit": one, "time": one, **codes}


def named_alone(levels: Mapping[str, Column]) -> dict[str, Column]:
    """What the codes of a unit and a time that were not given stand for."""
    found = {"unit": np.array(["all"], dtype=object), "time": np.array([""], dtype=object), **levels}
    if found["unit"][:1].tolist() == [""]:
        raise BadData("a unit has an empty name: that is how all units together are named")
    return found


def _answers(rows: Coded, scores: Scores | None, classes: Classes) -> tuple[Codes, Scores | None]:
    """The answer of each row, and the score behind it where there are scores."""
    if "guess" in rows.codes:
        guess = _through(classes.guess, rows.codes["guess"])
        return guess, None if scores is None else of(scores, guess)
    if scores is None:
        raise BadData("predictions need the answers (guess) or the scores of the classes (scores), or both")
    return best(scores)


def _through(place: Codes, codes: Codes) -> Codes:
    """Codes of labels to codes of classes; the identity costs nothing."""
    if np.array_equal(place, np.arange(place.size)):
        return codes
    return place.astype(np.int32)[codes]
