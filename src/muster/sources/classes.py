"""Which classes there are, and which of them a label means. No label is dropped in silence."""

from __future__ import annotations

import re
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
    """A label as it is written: 5, 5.0, "5" and "5.0" are one class, and so are True and 1.

    >>> text(5.0), text("cat"), text(np.int64(5)), text(True), text("5.0")
    ('5', 'cat', '5', '1', '5')
    """
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return re.sub(r"^(-?\d+)\.0+$", r"\1", str(label))


def resolve(
    truth: Sequence[Any], guess: Sequence[Any], scores: Sequence[str] | int, declared: Sequence[Any] = ()
) -> Classes:
    """Match labels with the classes of the scores; `scores` is their names, or how many there are.

    >>> resolve([5, 7, 9], [], ["5", "7", "9"]).truth.tolist()
    [0, 1, 2]
    >>> resolve([5, 7, 9], [], 3).note
    'scores 1 to 3 were taken as the classes 5, 7, 9 in this order'
    """
    written = _written([*truth, *guess, *declared, *(() if isinstance(scores, int) else scores)])
    seen = sorted({written[label] for label in [*truth, *guess]}, key=_order)
    named = scores if isinstance(scores, int) else [written[name] for name in scores]
    names, note = _names(seen, named, [written[label] for label in declared])
    place = {name: i for i, name in enumerate(names)}
    if len(place) < len(names):
        raise BadData(f"a class is named twice: {', '.join(names)}")
    unknown = [label for label in seen if label not in place]
    if unknown:
        raise BadData(
            f"labels outside the classes: {', '.join(unknown[:8])}{' ...' if len(unknown) > 8 else ''}; "
            f"the classes are {', '.join(names[:12])}{' ...' if len(names) > 12 else ''}"
            " (name them in the order of the scores with classes=, or --class)"
        )
    if guess and not {written[label] for label in truth} & {written[label] for label in guess}:
        note = "no answer is ever a class that occurs: are truth and guess written alike?"
    codes = [np.array([place[written[label]] for label in labels], np.intp) for labels in (truth, guess)]
    return Classes(tuple(names), codes[0], codes[1], note)


def _written(labels: Sequence[Any]) -> dict[Any, str]:
    """How each label is written; true and false are 1 and 0 where there is nothing else."""
    found = {label: text(label) for label in labels}
    if {name.lower() for name in found.values()} <= {"true", "false", "0", "1"}:
        return {label: {"true": "1", "false": "0"}.get(name.lower(), name) for label, name in found.items()}
    return found


def _names(seen: list[str], scores: Sequence[str] | int, declared: list[str]) -> tuple[list[str], str]:
    width = scores if isinstance(scores, int) else len(scores)
    if declared:
        if width not in {0, len(declared)} and (width, len(declared)) != (1, 2):
            raise BadData(f"{len(declared)} classes were named, but there are {width} scores a row")
        return declared, ""
    if width == 0:
        return seen, ""
    if width == 1:
        return _pair(seen)
    return _counted(seen, width) if isinstance(scores, int) else _matched(seen, list(scores))


def _counted(seen: list[str], width: int) -> tuple[list[str], str]:
    """Scores without names: classes 0, 1, ... where the labels allow it, else the labels in order."""
    given = [str(i) for i in range(width)]
    if set(seen) <= set(given):
        absent = "0" not in seen and width > 1
        note = f"scores 1 to {width} were taken as the classes 0 to {width - 1}; class 0 never occurs"
        return given, note if absent else ""
    if len(seen) == width:
        return seen, f"scores 1 to {width} were taken as the classes {', '.join(seen)} in this order"
    return given, ""


def _matched(seen: list[str], given: list[str]) -> tuple[list[str], str]:
    """Scores with names: the classes, or what is left of the names without what they share."""
    if set(seen) <= set(given):
        return given, ""
    before = _shared(given)
    after = _shared([name[before:][::-1] for name in given])
    stripped = [name[before : len(name) - after] for name in given]
    written = _written([*stripped, *seen])
    own = [written[name] for name in stripped]
    if set(seen) <= set(own):
        return own, ""
    if own in (list(map(str, range(len(own)))), list(map(str, range(1, len(own) + 1)))):
        return _counted(seen, len(own))
    raise BadData(
        f"the scores {', '.join(given[:8])} do not name the classes {', '.join(seen[:8])}; "
        "say which is which: classes=, or --class, in the order of the scores"
    )


def _shared(names: list[str]) -> int:
    """How many characters all names begin with, up to the last that is neither letter nor digit."""
    alike = [set(letters) for letters in zip(*names, strict=False)]
    end = next((i for i, letters in enumerate(alike) if len(letters) > 1), len(alike))
    return max((i + 1 for i in range(end) if not names[0][i].isalnum()), default=0)


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
