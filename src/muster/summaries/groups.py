"""Group fairness over a sensitive attribute: does the model treat groups alike?

``positive`` is the answer that is good to get. Of each group: how often it is
given (selection), given to those who deserve it (true positive rate), to those
who do not (false positive rate), and deserved when given (precision).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.resample import Drawn, truths
from muster.kernels.types import Floats
from muster.records import Estimate
from muster.summaries.redraw import of_shares

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

    Equalized odds takes the worse of its two rates. The interval is of the rates without
    noise, and reaches to equality where equal groups could show as much; ``expected`` is what
    they would show. One group alone, or one without rows to take the rate from, is undefined.

    >>> counts = np.array([[[40.0, 10.0], [10.0, 40.0]], [[45.0, 5.0], [30.0, 20.0]]])
    >>> {e.summary: round(e.value, 2) for e in fairness(counts, 1)}["equal_opportunity_difference"]
    0.4
    """
    found = rates(counts, positive)
    facts = {"measure": "group_fairness", "n": int(counts.sum()), "units": len(counts), "level": level}
    drawn = {name: _drawn(*rate, draws, seed) for name, rate in found.items()} if draws else {}
    return [
        _criterion(found, parts, form, drawn, facts | {"summary": f"{criterion}_{form}"})
        for criterion, parts in CRITERIA.items()
        for form in FORMS
    ]


def _criterion(
    found: Rates, parts: tuple[str, ...], form: Form, drawn: Mapping[str, Drawn], facts: Any
) -> Estimate:
    value = float(_worst([_spread(ratio(*found[part])[None], form) for part in parts], form)[0])
    if np.isnan(value):
        return Estimate(value=value, reason=_reason(found, parts), **facts)
    if not drawn:
        return Estimate(value=value, method="no interval", **facts)
    truth, equal = (_worst([_spread(drawn[part][i], form) for part in parts], form) for i in (0, 1))
    beyond = (1 - facts["level"]) / 2
    low, high = np.nanquantile(truth, (beyond, 1 - beyond))
    worse = equal >= value - 1e-9 if form == "difference" else equal <= value + 1e-9
    p = float((1 + worse.sum()) / (1 + worse.size))
    if p > beyond:
        low, high = (0.0, high) if form == "difference" else (low, 1.0)
    return Estimate(
        value=value,
        low=float(min(low, value)),
        high=float(max(high, value)),
        expected=float(np.nanmean(equal)),
        p_value=p,
        method="bootstrap of items, less noise",
        **facts,
    )


def _drawn(top: Floats, bottom: Floats, draws: int, seed: int) -> Drawn:
    """What the rates of the groups may be without noise, and what equal groups would show."""
    none: Floats = np.full((1, top.size), np.nan)
    if not bottom.all():
        return none, none
    rng, rate = np.random.default_rng(seed), top / bottom
    noise = of_shares(rate, bottom, float(top.sum() / bottom.sum()))
    blocks = [values for values, _ in truths(rate, noise.errors, bottom, draws, rng)]
    return np.clip(np.concatenate(blocks), 0, 1), noise.equal((draws, rate.size), rng)


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
