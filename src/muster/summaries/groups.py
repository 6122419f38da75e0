"""Group fairness over a sensitive attribute: does the model treat groups alike?

``positive`` is the answer that is good to get. Of each group: how often it is
given (selection), given to those who deserve it (true positive rate), to those
who do not (false positive rate), and deserved when given (precision).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.resample import shares, shrink
from muster.kernels.types import Floats
from muster.records import Estimate

Form: TypeAlias = Literal["difference", "ratio"]
Rates: TypeAlias = Mapping[str, tuple[Floats, Floats]]
FORMS: tuple[Form, ...] = ("difference", "ratio")
CRITERIA: Mapping[str, tuple[str, ...]] = {
    "demographic_parity": ("selection",),
    "equal_opportunity": ("true_positive",),
    "equalized_odds": ("true_positive", "false_positive"),
    "predictive_parity": ("precision",),
}


def rates(counts: Floats, positive: int) -> Rates:
    """Counts over counts of each rate, from confusion counts ``[groups, truth, guess]``.

    >>> top, bottom = rates(np.array([[[50.0, 10.0], [5.0, 35.0]]]), 1)["true_positive"]
    >>> top.tolist(), bottom.tolist()
    ([35.0], [40.0])
    """
    given, due = counts[..., positive].sum(-1), counts[..., positive, :].sum(-1)
    both, n = counts[..., positive, positive], counts.sum((-1, -2))
    return {
        "selection": (given, n),
        "true_positive": (both, due),
        "false_positive": (given - both, n - due),
        "precision": (both, given),
    }


def fairness(
    counts: Floats, positive: int, *, level: float = 0.95, draws: int = 1000, seed: int = 0
) -> list[Estimate]:
    """Difference (largest minus smallest) and ratio (smallest over largest) of every criterion.

    Equalized odds takes the worse of its two rates. The interval redraws the
    items of each group; ``expected`` is what equal groups would show. One group
    alone, or a group without rows to take the rate from, is undefined.

    >>> counts = np.array([[[40.0, 10.0], [10.0, 40.0]], [[45.0, 5.0], [30.0, 20.0]]])
    >>> {e.summary: round(e.value, 2) for e in fairness(counts, 1)}["equal_opportunity_difference"]
    0.4
    """
    found = rates(counts, positive)
    rng = np.random.default_rng(seed)
    facts = {"measure": "group_fairness", "n": int(counts.sum()), "units": len(counts), "level": level}
    redraw = partial(_drawn, found, draws=draws, rng=rng) if draws else None
    return [
        _criterion(found, parts, form, redraw, facts | {"summary": f"{criterion}_{form}"})
        for criterion, parts in CRITERIA.items()
        for form in FORMS
    ]


def _criterion(
    found: Rates, parts: tuple[str, ...], form: Form, redraw: Callable[..., Floats] | None, facts: Any
) -> Estimate:
    value = float(_worst([_spread(ratio(*found[part])[None], form) for part in parts], form)[0])
    if np.isnan(value):
        return Estimate(value=value, reason=_reason(found, parts), **facts)
    if redraw is None:
        return Estimate(value=value, method="no interval", **facts)
    seen, equal = (redraw(parts, form, pooled=pooled) for pooled in (False, True))
    low, high = np.nanquantile(seen, (0.5 - facts["level"] / 2, 0.5 + facts["level"] / 2))
    worse = equal >= value - 1e-9 if form == "difference" else equal <= value + 1e-9
    return Estimate(
        value=value,
        low=float(min(low, value)),
        high=float(max(high, value)),
        expected=float(np.nanmean(equal)),
        p_value=float((1 + worse.sum()) / (1 + worse.size)),
        method="bootstrap of items",
        **facts,
    )


def _drawn(
    found: Rates, parts: tuple[str, ...], form: Form, *, draws: int, rng: np.random.Generator, pooled: bool
) -> Floats:
    spreads = []
    for part in parts:
        top, bottom = found[part]
        rate = np.full(top.shape, top.sum() / bottom.sum()) if pooled else _without_noise(top, bottom)
        drawn = shares(rate, bottom)(slice(None), (draws, rate.size), rng)
        spreads.append(_spread(drawn, form))
    return _worst(spreads, form)


def _without_noise(top: Floats, bottom: Floats) -> Floats:
    """Rates of the groups pulled together by what noise adds to their spread."""
    rate = ratio(top, bottom)
    errors = np.sqrt(rate * (1 - rate) / np.maximum(bottom - 1, 1))
    return np.clip(shrink(rate, errors), 0, 1)


def _spread(rate: Floats, form: Form) -> Floats:
    if rate.shape[-1] < 2:
        return np.full(rate.shape[:-1], np.nan)
    low, high = rate.min(-1), rate.max(-1)
    return high - low if form == "difference" else ratio(low, high)


def _worst(spreads: list[Floats], form: Form) -> Floats:
    stacked = np.stack(spreads)
    return np.asarray(stacked.max(0) if form == "difference" else stacked.min(0))


def _reason(found: Rates, parts: tuple[str, ...]) -> str:
    if len(found[parts[0]][0]) < 2:
        return "fewer than two groups"
    if any((found[part][1] == 0).any() for part in parts):
        return "a group has no rows to take the rate from"
    return "the rate is 0 in every group"
