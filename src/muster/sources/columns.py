"""Which column is what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from muster.errors import BadConfig, BadData, nearest

SLICE = "slice:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a table of predictions, by their part.

    ``scores`` names one column a class, or gives a pattern with one star, which
    stands for the class: ``p_*``. One score column alone is the score of the
    second of two classes.
    """

    truth: str = "truth"
    guess: str | None = None
    scores: tuple[str, ...] = ()
    confidence: str | None = None
    unit: str | None = None
    time: str | None = None
    slices: tuple[str, ...] = ()
    item: str | None = None

    def asked(self, there: list[str]) -> set[str]:
        """The names, of those that are there, that are asked for by name or by the pattern of scores."""
        return {
            name for name in there if name in self.named() or any(fnmatchcase(name, s) for s in self.scores)
        }

    def named(self) -> dict[str, str]:
        """Every column asked for, and the part it plays."""
        single = {"unit": self.unit, "truth": self.truth, "guess": self.guess, "time": self.time}
        single |= {"confidence": self.confidence, "item": self.item}
        named = {column: part for part, column in single.items() if column is not None}
        return named | dict.fromkeys(self.slices, "slice") | dict.fromkeys(self.scores, "score")


def keyed(slices: Any) -> dict[str, Any]:
    """Slicing columns under keys of their own: one may be named like a part.

    >>> keyed({"unit": ["kg", "lb"]})
    {'slice:unit': ['kg', 'lb']}
    """
    if slices is not None and not hasattr(slices, "items"):
        raise BadConfig("slices: expected a mapping from names to arrays of one value a row")
    return {} if slices is None else {f"{SLICE}{name}": values for name, values in slices.items()}


def match(columns: Columns, there: list[str], where: str) -> tuple[Columns, list[str]]:
    """Columns with the pattern of scores spelled out, and the class each score is of.

    >>> match(Columns(scores=("p_*",)), ["truth", "p_cat", "p_dog"], "a.csv")[1]
    ['cat', 'dog']
    """
    if columns.guess is None and not columns.scores:
        raise BadConfig("predictions need the answers (guess) or the scores of the classes (scores), or both")
    scores, classes = list(columns.scores), list(columns.scores)
    if len(scores) == 1 and "*" in scores[0]:
        pattern = scores[0]
        before, _, after = pattern.partition("*")
        scores = [name for name in there if fnmatchcase(name, pattern)]
        classes = [name[len(before) : len(name) - len(after)] for name in scores]
        if not scores:
            raise BadData(f"{where}: no column matches {pattern!r}; there are: {', '.join(there)}")
    found = replace(columns, scores=tuple(scores))
    for name, part in found.named().items():
        if name not in there:
            near = nearest(name, there)
            raise BadData(
                f"{where}: no column {name!r} (asked for as {part}){near}; there are: {', '.join(there)}"
            )
    return found, classes
