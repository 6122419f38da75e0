"""Group fairness over a sensitive attribute: does the model treat groups alike?

``positive`` is the answer that is good to get. Of each group: how often it is
given (selection), given to those who deserve it (true positive rate), to those
who do not (false positive rate), and deserved when given (precision).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.resample import shares
from muster.kernels.types import Floats
from muster.records import Estimate

CRITERIA: Mapping[str, tuple[str, ...]] = {
    "demographic_parity": ("selection",),
    "equal_opportunity": ("true_positive",),
    "equalized_odds": ("true_positive", "false_positive"),
    "predictive_parity": ("precision",),
}


def rates(counts: Floats, positive: int) -> dict[str, tuple[Floats, Floats]]:
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
    items of each group; ``expected`` is what equal groups would show.
    """
    found = rates(counts, positive)
    rng = np.random.default_rng(seed)
    n, groups = int(counts.sum()), len(counts)
    estimates = []
    for criterion, parts in CRITERIA.items():
        for form in ("difference", "ratio"):
            name = f"{criterion}_{form}"
            value = _worst([_spread(ratio(*found[part])[None], form) for part in parts], form)[0]
            if np.isnan(value):
                estimates.append(_undefined(name, found, parts, n, groups))
                continue
            seen, equal = (_drawn(found, parts, form, draws, rng, pooled=pooled) for pooled in (False, True))
            low, high = np.nanquantile(seen, (0.5 - level / 2, 0.5 + level / 2))
            worse = equal >= value if form == "difference" else equal <= value
            estimates.append(
                Estimate(
                    measure="group_fairness",
                    summary=name,
                    value=float(value),
                    low=float(low),
                    high=float(high),
                    level=level,
                    expected=float(np.nanmean(equal)),
                    p_value=float((1 + worse.sum()) / (1 + draws)),
                    n=n,
                    units=groups,
                    method="bootstrap of items",
                )
            )
    return estimates


def _drawn(
    found: Mapping[str, tuple[Floats, Floats]],
    parts: tuple[str, ...],
    form: str,
    draws: int,
    rng: np.random.Generator,
    *,
    pooled: bool,
) -> Floats:
    spreads = []
    for part in parts:
        top, bottom = found[part]
        rate = np.full(top.shape, top.sum() / bottom.sum()) if pooled else ratio(top, bottom)
        drawn = shares(rate, bottom)(slice(None), (draws, rate.size), rng)
        spreads.append(_spread(drawn, form))
    return _worst(spreads, form)


def _spread(rate: Floats, form: str) -> Floats:
    low, high = rate.min(-1), rate.max(-1)
    return high - low if form == "difference" else ratio(low, high)


def _worst(spreads: list[Floats], form: str) -> Floats:
    stacked = np.stack(spreads)
    return np.asarray(stacked.max(0) if form == "difference" else stacked.min(0))


def _undefined(
    name: str, found: Mapping[str, tuple[Floats, Floats]], parts: tuple[str, ...], n: int, groups: int
) -> Estimate:
    if groups < 2:
        reason = "fewer than two groups"
    elif any((found[part][1] == 0).any() for part in parts):
        reason = "a group has no rows to take the rate from"
    else:
        reason = "the rate is 0 in every group"
    return Estimate(measure="group_fairness", summary=name, value=np.nan, n=n, units=groups, reason=reason)
