"""Two models over the same units: indices of the population, each unit, single items, repeated runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from muster.kernels import inequality
from muster.kernels.confusion import ratio
from muster.kernels.interval import quantile, wilson
from muster.kernels.paired import difference_apart, difference_paired, mcnemar, two_sided
from muster.kernels.resample import truths
from muster.kernels.significance import fewer, holm
from muster.kernels.types import Floats
from muster.measures.accuracy import right_and_rows
from muster.records import Estimate, Table
from muster.summaries.estimates import Units
from muster.summaries.pairing import Paired
from muster.summaries.population import EXTREMES, OF_THESE, of_extremes
from muster.summaries.redraw import of_shares

INDICES = ("mean", "min", "p10", "worst_tenth", "std_ddof1", "gap", "gini", "jain")


def of_indices(of: Paired, *, level: float, draws: int, seed: int, units: Units) -> list[Estimate]:
    """How the indices of accuracy over units differ, noise taken off both; the mean, by Student's t.

    Units are resampled, for both models together, where they are a sample; but not for the
    worst, the best and what is read off them.
    """
    a, b, rows = *(ratio(*right_and_rows(block.tallies)) for block in (of.a, of.b)), _rows(of)
    facts: dict[str, Any] = {"measure": "accuracy", "units": a.size, "level": level}
    if a.size < 2:
        reason = "fewer than two shared units"
        return [Estimate(value=np.nan, reason=reason, summary=name, **facts) for name in INDICES]
    fixed = _truths((a, b), rows, draws, seed, sampled=False)
    sampled = _truths((a, b), rows, draws, seed, sampled=True) if units == "sampled" else fixed
    found = []
    for name in INDICES:
        index, own = inequality.SPREADS[name], facts | {"summary": name}
        value = float(index(np.sort(b)) - index(np.sort(a)))
        if name == "mean":
            found.append(_of_means(b - a, level, own))
        elif not draws:
            found.append(Estimate(value=value, method="no interval: nothing was redrawn", **own))
        else:
            before, after = fixed if name in OF_THESE else sampled
            how = "items" if units == "fixed" or name in OF_THESE else "units and items"
            drawn = index(after) - index(before)
            low, high = np.nanquantile(drawn, (0.5 - level / 2, 0.5 + level / 2))
            if name in EXTREMES:
                down, up = _of_extremes(of, name, level)
                low, high = min(low, value - down), max(high, value + up)
            own |= {"low": float(min(low, value)), "high": float(max(high, value))}
            own |= {"p_value": max(two_sided(drawn), 1 - level if low <= 0 <= high and value else 0.0)}
            found.append(Estimate(value=value, method=f"bootstrap of {how}, less noise", **own))
    return found


def _of_extremes(of: Paired, name: str, level: float) -> tuple[float, float]:
    """How far the difference of an extreme may lie below and above what was seen (Zou and Donner 2008)."""
    sides = []
    for block in (of.a, of.b):
        right, rows = right_and_rows(block.tallies)
        x = ratio(right, rows)
        low, high = of_extremes(x, wilson(right, rows, level), float(right.sum() / rows.sum()))[name]
        value = float(inequality.SPREADS[name](np.sort(x)))
        sides.append((value - low, high - value))
    (down_a, up_a), (down_b, up_b) = sides
    return float(np.hypot(down_b, up_a)), float(np.hypot(up_b, down_a))


def _rows(of: Paired) -> tuple[Floats, Floats]:
    return right_and_rows(of.a.tallies)[1], right_and_rows(of.b.tallies)[1]


def _truths(
    values: tuple[Floats, Floats], rows: tuple[Floats, Floats], draws: int, seed: int, *, sampled: bool
) -> list[Floats]:
    """What the accuracies of both models may be without noise, sorted; the same units in each draw."""
    found = []
    for i, (x, n) in enumerate(zip(values, rows, strict=True)):
        noise = of_shares(x, n, float(x @ n / n.sum()))
        picks = np.random.default_rng(seed) if sampled else None
        drawn = truths(x, noise.errors, n, max(draws, 1), np.random.default_rng([seed, i]), units=picks)
        found.append(np.clip(np.concatenate([block for block, _ in drawn]), 0, 1))
    return found


def _of_means(differences: Floats, level: float, facts: Mapping[str, Any]) -> Estimate:
    many, value = differences.size, float(differences.mean())
    error = float(differences.std(ddof=1) / np.sqrt(many))
    reach = float(stdtrit(many - 1, 0.5 + level / 2)) * error
    p = 2 * float(stdtr(many - 1, -abs(value) / error)) if error else float(value == 0)
    own = {**facts, "low": value - reach, "high": value + reach, "p_value": p}
    return Estimate(value=value, method="Student over units", **own)


def of_units(of: Paired, level: float) -> Table:
    """One row a shared unit: both accuracies, their difference with interval, and what may be said of it."""
    (right_a, rows_a), (right_b, rows_b) = (right_and_rows(block.tallies) for block in (of.a, of.b))
    a, b = ratio(right_a, rows_a), ratio(right_b, rows_b)
    items = of.discordant()
    if items is None:
        low, high = difference_apart(right_a, rows_a, right_b, rows_b, level=level)
        each = zip(right_a, rows_a, right_b, rows_b, strict=True)
        p = np.array([min(2 * min(fewer(w, x, y, z), fewer(y, z, w, x)), 1.0) for w, x, y, z in each])
        same = np.zeros(a.size, bool)
    else:
        lost, won, rows = items
        low, high = difference_paired(lost, won, rows, quantile(level))
        p, same = mcnemar(lost, won), (lost + won) == 0
    held = holm(p)
    sure = held < 1 - level
    said = np.select([same, sure & (b > a), sure & (b < a)], ["the same", "better", "worse"], "not shown")
    return Table.of(
        {
            "unit": of.units, "n": rows_b.astype(np.int64), "before": a, "after": b, "difference": b - a,
            "low": low, "high": high, "p": held, "said": said.astype(object),
        }
    )  # fmt: skip


def over_items(of: Paired) -> tuple[int, int, float] | None:
    """Items that only the first, and only the second, model got right, and McNemar's p-value."""
    items = of.discordant()
    if items is None:
        return None
    lost, won = (part.sum() for part in items[:2])
    return int(lost), int(won), float(mcnemar(lost, won))


def over_seeds(values: Sequence[float], measure: str, level: float) -> Estimate:
    """The mean difference over repeated runs, with Student's interval (ddof 1).

    >>> found = over_seeds([0.01, 0.02, 0.03], "accuracy", 0.95)
    >>> round(found.value, 3), round(found.low, 4), found.units
    (0.02, -0.0048, 3)
    """
    x = np.array(values)
    many, mean = x.size, float(x.mean())
    reach = float(stdtrit(many - 1, 0.5 + level / 2) * x.std(ddof=1) / np.sqrt(many)) if many > 1 else np.nan
    facts: dict[str, Any] = {"measure": measure, "summary": "seeds", "units": many, "level": level}
    return Estimate(
        value=mean, low=mean - reach, high=mean + reach, method="Student over repeated runs", **facts
    )
