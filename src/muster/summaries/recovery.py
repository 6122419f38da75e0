"""How a population came back from drift: arms over the same seeds, against one that does nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from muster.errors import BadRecord, UnknownName
from muster.kernels.alarms import median_delay
from muster.kernels.confusion import ratio
from muster.kernels.recovery import EXACT, LEAST_GAP, against, honest, seed_recovery
from muster.kernels.types import Floats
from muster.records import Rounds, Table
from muster.summaries.compare_units import over_seeds

WHO = ("all", "drifted units", "stable units", "worst tenth")
OWN = ("baseline", "depth", "area_lost", "rounds_to_tolerance", "end", "completeness")
GAINS, OF_TWIN = ("harm", "gain_area"), ("share_regained", "gap_to_twin")


def recover(
    arms: Mapping[str, Sequence[Rounds]],
    control: str,
    twin: str | None,
    *,
    baseline_rounds: int = 5,
    tolerance: float = 0.02,
    stay: int = 3,
    end_rounds: int = 5,
    level: float = 0.95,
) -> Table:
    """One row an arm, part of the population and quantity; an arm has one log a seed, in one order.

    The `control` gets no mitigation, the `twin` no drift. Which units drift, and when the first
    does, is read off the control for every arm, so that all are compared over the same units.
    ``all``, ``drifted units`` and ``stable units`` are pooled by rows; ``worst tenth`` is the mean
    of the lowest tenth of the values of each round, not always of the same units.

    Values are means over the seeds that have one (``reached``, of ``seeds``), with Student's
    interval; ``rounds_to_tolerance`` is the median of censored times, with how many came back.
    ``harm`` is the end less the end of the control with the same seed: below 0 the arm did harm.
    `honest` and `against` of `muster.kernels.recovery` say what the others mean.

    >>> def log(*values: float) -> Rounds:
    ...     column, drifted = np.array(values)[:, None], np.arange(4)[:, None] > 1
    ...     return Rounds(rounds=np.arange(4), units=np.array(["a"], object), values=column,
    ...                   rows=np.ones((4, 1)), drifted=drifted)
    >>> arms = {"nothing": [log(0.9, 0.9, 0.5, 0.5)], "retrain": [log(0.9, 0.9, 0.5, 0.75)]}
    >>> table = recover(arms, "nothing", None, end_rounds=1)
    >>> table.where((table["arm"] == "retrain") & (table["quantity"] == "harm"))["value"].tolist()
    [0.25, 0.25, nan, 0.25]
    """
    _check(arms, control, twin)
    tell = partial(
        honest, baseline_rounds=baseline_rounds, tolerance=tolerance, stay=stay, end_rounds=end_rounds
    )
    plain, rows = arms[control], []
    series = {
        arm: [_series(log, other) for log, other in zip(logs, plain, strict=True)]
        for arm, logs in arms.items()
    }
    for arm, own in series.items():
        each = []
        for i, values in enumerate(own):
            onset, best = plain[i].onset or 0, series[twin][i] if twin else None
            gains = against(values, series[control][i], best, onset, end_rounds)
            gains["harm"] = gains.pop("gain_end")
            each.append(tell(values, onset) | gains)
        itself = dict.fromkeys((*GAINS, OF_TWIN[0]), "this is the control") if arm == control else {}
        itself |= dict.fromkeys(OF_TWIN, "this is the twin") if arm == twin else {}
        quantities = (*OWN, *GAINS, *(OF_TWIN if twin else ()))
        for i, who in enumerate(WHO):
            found = {name: np.array([one[name][i] for one in each]) for name in quantities}
            rows += [{"arm": arm, "who": who} | row for row in _finished(found, itself, tolerance, level)]
    return Table.of({name: [row[name] for row in rows] for name in rows[0]})


def seed_table(log: Rounds, *, tolerance: float = 0.02, threshold: float = 0.01, window: int = 3) -> Table:
    """The seventeen usual numbers of the pooled values of one log, rounds as the log numbers them.

    Mitigation starts in the first round from the onset on in which the log says that it was on.
    `seed_recovery` of `muster.kernels.recovery` says what they mean and where they mislead.

    >>> values = np.array([0.8, 0.8, 0.6, 0.7, 0.75, 0.75, 0.75])[:, None]
    >>> log = Rounds(rounds=np.arange(1, 8), units=np.array(["a"], object), values=values,
    ...              rows=np.ones((7, 1)), drifted=np.arange(7)[:, None] > 1)
    >>> table = seed_table(log)
    >>> dict(zip(table["quantity"], table["value"]))["stabilization_round"].item()
    5.0
    """
    how: dict[str, Any] = {"tolerance": tolerance, "threshold": threshold, "window": window}
    if log.onset is None:
        names = list(seed_recovery(np.full(1, np.nan), 0))
        return Table.of(
            {"quantity": names, "value": [np.nan] * len(names), "reason": ["no drift is known"] * len(names)}
        )
    on = np.zeros(0, bool) if log.mitigated is None else log.mitigated[log.onset :]
    start = log.onset + int(on.argmax()) if on.any() else None
    found = seed_recovery(log.pooled, log.onset, start, **how)
    reasons = [_seed_reason(name, found, log) if np.isnan(found[name]) else "" for name in found]
    for name in ("drift_injection_round", "mitigation_start_round", "stabilization_round"):
        found[name] += float(log.rounds[0])
    return Table.of({"quantity": list(found), "value": list(found.values()), "reason": reasons})


def _check(arms: Mapping[str, Sequence[Rounds]], control: str, twin: str | None) -> None:
    """Arms are there, and as many logs, units and rounds in each."""
    for name in (control, *([twin] if twin else [])):
        if name not in arms:
            raise UnknownName("arm", name, arms)
    plain = arms[control]
    if not plain:
        raise BadRecord(f"arm {control} has no logs")
    for i, log in enumerate(plain):
        if log.onset is None:
            raise BadRecord(f"arm {control}, log {i}: no unit drifts, so there is nothing to recover from")
    for arm, logs in arms.items():
        if len(logs) != len(plain):
            raise BadRecord(
                f"arm {arm} has {len(logs)} logs, {control} has {len(plain)}: one a seed is expected"
            )
        for i, (log, other) in enumerate(zip(logs, plain, strict=True)):
            same = (log.units.tolist(), log.rounds.tolist()) == (other.units.tolist(), other.rounds.tolist())
            if not same:
                raise BadRecord(f"arm {arm}, log {i}: other units or rounds than log {i} of {control}")


def _series(log: Rounds, control: Rounds) -> Floats:
    """The value of each round of every part of the population, ``[WHO, rounds]``."""
    drifted = np.asarray(control.drifted).any(0)
    pooled = [replace(log, rows=log.rows * part).pooled for part in (True, drifted, ~drifted)]
    return np.stack([*pooled, _worst_tenth(np.where(log.rows > 0, log.values, np.nan))])


def _worst_tenth(values: Floats) -> Floats:
    """The mean of the lowest tenth, at least one, of those that were there in each round."""
    known = (~np.isnan(values)).sum(1)
    many = np.where(known > 0, np.maximum(known // 10, 1), 0)
    lowest = np.arange(values.shape[1]) < many[:, None]
    return ratio(np.where(lowest, np.sort(values, 1), 0.0).sum(1), many.astype(np.float64))


def _finished(
    found: Mapping[str, Floats], itself: Mapping[str, str], tolerance: float, level: float
) -> Iterator[dict[str, Any]]:
    """Every quantity over seeds; `itself` says why an arm is not compared with itself."""
    for quantity, seen in found.items():
        values = np.full_like(seen, np.nan) if quantity in itself else seen
        known, value, low, high = values[~np.isnan(values)], np.nan, np.nan, np.nan
        if quantity == "rounds_to_tolerance":
            value = float(median_delay(values, np.zeros(values.size, np.intp), 1)[0])
        elif known.size:
            mean = over_seeds(known.tolist(), quantity, level)
            value, low, high = mean.value, mean.low, mean.high
        reason = "" if not np.isnan(value) else itself.get(quantity) or _reason(quantity, found, tolerance)
        yield {
            "quantity": quantity, "value": value, "low": low, "high": high,
            "reached": known.size, "seeds": values.size, "reason": reason,
        }  # fmt: skip


def _reason(quantity: str, found: Mapping[str, Floats], tolerance: float) -> str:
    """Why a quantity is undefined in every seed, or censored in most."""
    late = (found["depth"] > tolerance + EXACT).any()
    never, seeds = int(np.isnan(found["rounds_to_tolerance"]).sum()), found["end"].size
    reasons = {
        "rounds_to_tolerance": f"{never} of {seeds} seeds never came back to within {tolerance:g}",
        "completeness": "the loss came after the first rounds of drift" if late
        else f"no seed lost more than {tolerance:g}",
        "share_regained": f"drift cost the control less than {LEAST_GAP:g}",
    }  # fmt: skip
    if np.isnan(found["end"]).all():
        return "none of these units reported in the last rounds"
    if np.isnan(found["baseline"]).all() and quantity in OWN:
        return "none of these units reported before the drift"
    return reasons.get(quantity, "the arm it is compared with did not report")


def _seed_reason(name: str, found: Mapping[str, float], log: Rounds) -> str:
    if name == "mitigation_start_round":
        return "no mitigation is known" if log.mitigated is None else "mitigation never started"
    if name.startswith("pre_drift"):
        return "nobody reported before the drift"
    if name == "at_drift_accuracy":
        return "nobody reported in the round of the drift"
    if np.isnan(found["stabilization_round"]) and name != "performance_lost":
        return "never stabilised"
    if found["performance_lost"] <= EXACT:
        return "nothing was lost"
    return "nobody reported before the drift, or in its round"
