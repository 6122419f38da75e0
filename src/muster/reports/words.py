"""Numbers to words, once, so that every renderer says the same."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate

from muster.records import Cell, Estimate, Field, Status

NUMERIC = {"number", "count", "interval"}
SIGNS = {Status.BREACH: "✗", Status.WATCH: "!", Status.UNKNOWN: "?", Status.OK: "✓"}


def number(value: float | None, digits: int = 4) -> str:
    """A number as it reads; an undefined one is a dash.

    >>> number(0.81111), number(float("nan")), number(12345.6), number(0.00001)
    ('0.8111', '-', '12,346', '1e-05')
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value != 0 and abs(value) < 0.5 * 10**-digits:
        return f"{value:.0e}"
    return f"{value:.{digits}f}"


def interval(low: float, high: float) -> str:
    """An interval as it reads.

    >>> interval(0.7, 0.9), interval(float("nan"), 1.0)
    ('[0.7000, 0.9000]', '-')
    """
    return "-" if math.isnan(low) or math.isnan(high) else f"[{number(low)}, {number(high)}]"


def sized(estimate: Estimate) -> str:
    """An estimate with its interval.

    >>> sized(Estimate(measure="accuracy", summary="min", value=0.75, low=0.7, high=0.8))
    '0.7500 [0.7000, 0.8000]'
    """
    span = interval(estimate.low, estimate.high)
    return number(estimate.value) if span == "-" else f"{number(estimate.value)} {span}"


def told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Names that were cut short may be alike; those are numbered.

    >>> told_apart(["a", "b", "a"])
    ('a (1)', 'b', 'a (3)')
    """
    return tuple(name if names.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(names))


def counted(many: int, what: str) -> str:
    """So many of something.

    >>> counted(1, "unit"), counted(1200, "unit")
    ('1 unit', '1,200 units')
    """
    return f"{many:,} {what}{'' if many == 1 else 's'}"


def short(text: str, width: int = 30) -> str:
    """A name that has room in a picture: cut between characters, without those that only steer.

    Vega would cut too, but through the middle of an emoji, which is an error in the drawing.

    >>> short("client-1"), short("x" * 99, 8), short("\U0001f642" * 9, 8)
    ('client-1', 'xxxxxxx…', '🙂🙂🙂…')
    """
    plain = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text)
    spans = accumulate(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)
    ends = list(spans)
    if not ends or ends[-1] <= width:
        return plain
    return plain[: sum(end < width for end in ends)] + "…"


def listed(names: Iterable[object], shown: int = 8) -> str:
    """The first of many names.

    >>> listed("abcd", 2)
    'a, b and 2 more'
    """
    every = [str(name) for name in names]
    more = f" and {len(every) - shown} more" if len(every) > shown else ""
    return ", ".join(every[:shown]) + more


def cell(value: Cell, field: Field) -> str:
    """A cell of a grid as text."""
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return interval(*value)
    if field.kind == "count" and isinstance(value, int | float):
        return "-" if math.isnan(value) else f"{int(value):,}"
    return number(value) if isinstance(value, float) else str(value)
