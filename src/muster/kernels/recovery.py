"""How deep a value falls when drift sets in, what that costs, and how far it comes back.

The last axis is rounds, `onset` the place of the first round with drift. A round that nobody
reported is ``nan``: it is left out of means and neither breaks nor proves a stay.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from muster.kernels.alarms import Flags
from muster.kernels.confusion import mean_defined, ratio
from muster.kernels.types import Floats

EXACT = 1e-9
LEAST_GAP = 1e-3


def stabilised(values: Floats, start: int = 0, threshold: float = 0.01, window: int = 3) -> float:
    """The first place from `start` on where `window` values change by less than `threshold` each time.

    A change that differs from the threshold by rounding only is not less. ``nan`` if there is no
    such place. This tells rest, not recovery: a value at rest at the bottom has stabilised.

    >>> stabilised(np.array([0.7, 0.75, 0.78, 0.8, 0.81, 0.81, 0.81]))
    4.0
    """
    late = values[start:]
    if late.size < window:
        return float("nan")
    calm = np.abs(np.diff(sliding_window_view(late, window))) < threshold - EXACT
    found = np.flatnonzero(calm.all(-1))
    return float(start + found[0]) if found.size else float("nan")


def seed_recovery(
    values: Floats,
    onset: int,
    mitigated: int | None = None,
    *,
    tolerance: float = 0.02,
    threshold: float = 0.01,
    window: int = 3,
) -> dict[str, float]:
    """The usual seventeen numbers of one series by their usual definitions; rounds are places.

    Known faults, which `honest` has not: a value at rest at the bottom has "stabilised", the
    quality score grows with the length of the series, and more than `tolerance` above the
    baseline is no full recovery. What follows from stabilisation is ``nan`` if there was none;
    completeness, which is not clipped, if nothing was lost.

    >>> found = seed_recovery(np.array([0.8, 0.8, 0.6, 0.7, 0.75, 0.75, 0.75]), onset=2)
    >>> found["stabilization_round"], round(found["recovery_completeness"], 6)
    (4.0, 0.75)
    """
    before, at = values[:onset], float(values[onset])
    pre = float(mean_defined(before))
    place = stabilised(values, max(onset, mitigated or 0), threshold, window)
    after = values[:0] if np.isnan(place) else values[int(place) :]
    post = float(after[0]) if after.size else float("nan")
    lost, speed = pre - at, place - onset
    complete = (post - at) / lost if lost > EXACT else float("nan")
    unknown = np.isnan(post - pre)
    return {
        "drift_injection_round": float(onset),
        "pre_drift_accuracy": pre,
        "pre_drift_std": _spread(before),
        "at_drift_accuracy": at,
        "mitigation_start_round": float("nan") if mitigated is None else float(mitigated),
        "stabilization_round": place,
        "post_recovery_accuracy": post,
        "recovery_speed_rounds": speed,
        "performance_lost": lost,
        "performance_recovered": post - at,
        "recovery_completeness": complete,
        "recovery_quality_score": complete / (speed / values.size + 0.1),
        "overshoot": float(np.maximum(post - pre, 0.0)),
        "undershoot": float(np.maximum(pre - post, 0.0)),
        "stability_post_recovery": _spread(after),
        "full_recovery_achieved": float("nan") if unknown else float(abs(post - pre) <= tolerance + EXACT),
        "accuracy_recovery_rate": post / pre if pre else float("nan"),
    }


def honest(
    values: Floats,
    onset: int,
    *,
    baseline_rounds: int = 5,
    tolerance: float = 0.02,
    stay: int = 3,
    end_rounds: int = 5,
) -> dict[str, Floats]:
    """Depth, cost, time and share of recovery of ``[..., rounds]``; to end above the baseline is recovery.

    - ``baseline``: mean of the last `baseline_rounds` rounds before the onset.
    - ``depth``: baseline less the lowest value from the onset on.
    - ``area_lost``: shortfall below the baseline, summed over the rounds from the onset on; a round
      that is ``nan`` counts as the mean of the others.
    - ``rounds_to_tolerance``: rounds from the onset until the value is back at the baseline less
      `tolerance` and stays there `stay` rounds, or to the end; 0 if it never left, ``nan``
      (censored) if it never came back. A loss of `stay` rounds that sets in late, as in gradual
      drift, is waited for.
    - ``end``: mean of the last `end_rounds` rounds.
    - ``completeness``: ``(end - worst) / (baseline - worst)``, where ``worst`` is the lowest of the
      first `end_rounds` rounds from the onset. Below 0 it went on falling. ``nan`` where baseline
      less worst is at most `tolerance`: there was nothing to recover from.

    >>> found = honest(np.array([0.8, 0.8, 0.6, 0.7, 0.8, 0.8]), onset=2, end_rounds=2)
    >>> {name: round(float(value), 3) for name, value in found.items()}
    {'baseline': 0.8, 'depth': 0.2, 'area_lost': 0.3, 'rounds_to_tolerance': 2.0,
     'end': 0.8, 'completeness': 1.0}
    """
    late = values[..., onset:]
    baseline = mean_defined(values[..., max(onset - baseline_rounds, 0) : onset])
    end, worst = mean_defined(late[..., -end_rounds:]), _lowest(late[..., :end_rounds])
    lost = baseline - worst
    short = np.where(np.isnan(late), np.nan, np.maximum(baseline[..., None] - late, 0.0))
    return {
        "baseline": baseline,
        "depth": baseline - _lowest(late),
        "area_lost": mean_defined(short) * late.shape[-1],
        "rounds_to_tolerance": _back(late, baseline - tolerance - EXACT, stay),
        "end": end,
        "completeness": np.where(lost > tolerance + EXACT, ratio(end - worst, lost), np.nan),
    }


def against(
    values: Floats, control: Floats, twin: Floats | None, onset: int, end_rounds: int = 5
) -> dict[str, Floats]:
    """What mitigation gained over the same series without it, and what it left to one without drift.

    Pair the three by seed. ``gain_end`` and ``gap_to_twin`` compare means of the last `end_rounds`
    rounds, ``gain_area`` sums the gain over all rounds from the onset on. ``share_regained`` is
    the gain over what drift cost the control; ``nan`` where that is less than .001.

    >>> found = against(np.array([0.8, 0.7]), np.array([0.8, 0.6]), np.array([0.8, 0.8]), onset=1)
    >>> {name: round(float(value), 3) for name, value in found.items()}
    {'gain_end': 0.1, 'gain_area': 0.1, 'share_regained': 0.5, 'gap_to_twin': 0.1}
    """
    ends = [mean_defined(x[..., onset:][..., -end_rounds:]) for x in (values, control)]
    end, without = ends
    best = np.full_like(end, np.nan) if twin is None else mean_defined(twin[..., onset:][..., -end_rounds:])
    cost = best - without
    return {
        "gain_end": end - without,
        "gain_area": mean_defined((values - control)[..., onset:]) * (values.shape[-1] - onset),
        "share_regained": np.where(cost >= LEAST_GAP, ratio(end - without, cost), np.nan),
        "gap_to_twin": best - end,
    }


def _back(late: Floats, bound: Floats, stay: int) -> Floats:
    """The first place from which the value is at the bound or above and does not fall below for a while."""
    below, at_least = late < bound[..., None], late >= bound[..., None]
    fallen = np.logical_or.accumulate(_lasting(below, stay), -1)
    waited = fallen | ~fallen.any(-1, keepdims=True)
    found = at_least & waited & ~_any_of_next(below, stay)
    return np.where(found.any(-1), found.argmax(-1), np.nan)


def _lasting(on: Flags, stay: int) -> Flags:
    """Where `stay` rounds in a row begin."""
    inside: Flags = np.arange(on.shape[-1]) <= on.shape[-1] - stay
    return ~_any_of_next(~on, stay) & inside


def _any_of_next(on: Flags, stay: int) -> Flags:
    """Whether any of the next `stay` rounds is on, this one included; fewer at the end."""
    padded = np.concatenate([on, np.zeros((*on.shape[:-1], stay - 1), bool)], -1)
    return np.asarray(sliding_window_view(padded, stay, -1).any(-1))


def _lowest(values: Floats) -> Floats:
    lowest = np.where(np.isnan(values), np.inf, values).min(-1, initial=np.inf)
    return np.where(np.isinf(lowest), np.nan, lowest)


def _spread(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.std()) if known.size else float("nan")
