"""Numbers to words, once, so that every renderer says the same."""

from __future__ import annotations

import math
from collections.abc import Iterable

from muster.records import Cell, Estimate, Field


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
