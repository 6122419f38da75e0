"""Which classes there are, and which of them a label means. No label is dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadData


@dataclass(frozen=True, slots=True)
class Classes:
    """The class names in order, and where each distinct label of truth and guess lies among them."""

    names: tuple[str, ...]
    truth: NDArray[np.intp]
    guess: NDArray[np.intp]
    note: str = ""


def text(label: Any) -> str:
    """A label as it is written: 5, 5.0 and "5" are one class, and so are True and 1.

    >>> text(5.0), text("cat"), text(np.int64(5)), text(True)
    ('5', 'cat', '5', '1')
    """
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def resolve(
    truth: Sequence[Any], guess: Sequence[Any], scores: Sequence[str] | int, declared: Sequence[Any] = ()
) -> Classes:
    """Match labels with the classes of the scores; `scores` is their names, or how many there are.

    >>> resolve([5, 7, 9], [], ["5", "7", "9"]).truth.tolist()
    [0, 1, 2]
    >>> resolve([5, 7, 9], [], 3).note
    'scores 1 to 3 were taken as the classes 5, 7, 9 in this order'
    """
    seen = sorted({text(label) for label in [*truth, *guess]}, key=_order)
    names, note = _names(seen, scores, [text(label) for label in declared])
    place = {name: i for i, name in enumerate(names)}
    unknown = [label for label in seen if label not in place]
    if unknown:
        raise BadData(
            f"labels outside the classes: {', '.join(unknown[:8])}{' ...' if len(unknown) > 8 else ''}; "
            f"the classes are {', '.join(names[:12])}{' ...' if len(names) > 12 else ''}"
            " (name them in the order of the scores with classes=, or --classes)"
        )
    codes = [np.array([place[text(label)] for label in labels], np.intp) for labels in (truth, guess)]
    return Classes(tuple(names), codes[0], codes[1], note)


def _names(seen: list[str], scores: Sequence[str] | int, declared: list[str]) -> tuple[list[str], str]:
    width = scores if isinstance(scores, int) else len(scores)
    if declared:
        if width not in {0, 1, len(declared)}:
            raise BadData(f"{len(declared)} classes were named, but there are {width} scores a row")
        return declared, ""
    if width == 0:
        return seen, ""
    if width == 1:
        return _pair(seen)
    given = [str(i) for i in range(width)] if isinstance(scores, int) else list(scores)
    if set(seen) <= set(given):
        return given, ""
    if len(seen) == width:
        listed = ", ".join(seen)
        return seen, f"scores 1 to {width} were taken as the classes {listed} in this order"
    return given, ""


def _pair(seen: list[str]) -> tuple[list[str], str]:
    if set(seen) <= {"0", "1"}:
        return ["0", "1"], ""
    if len(seen) != 2:
        raise BadData(
            f"one score a row is the score of the second of two classes, but the labels are {', '.join(seen)}"
        )
    return seen, f"the score was taken as the score of {seen[1]!r}, not of {seen[0]!r}"


def _order(name: str) -> tuple[int, float, str]:
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
