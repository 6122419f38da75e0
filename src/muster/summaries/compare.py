"""Two models over the same units: every difference is paired, and says how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from muster.kernels import inequality
from muster.kernels.codes import tabulate
from muster.kernels.confusion import ratio
from muster.kernels.interval import quantile
from muster.kernels.paired import difference_apart, difference_paired, mcnemar, two_sided
from muster.kernels.significance import fewer, holm
from muster.kernels.types import Codes, Floats
from muster.measures.accuracy import ACCURACY, right_and_rows
from muster.measures.confusion import counts_of
from muster.measures.loss import LOG_LOSS
from muster.records import Block, Estimate, Measure, Table, Tally
from muster.summaries.estimates import Units
from muster.summaries.pairing import Paired
from muster.summaries.population import OF_THESE

FEW, GROUPS = 5, 400
UNPAIRED = "no interval: too few shared units, and no shared items"
INDICES = ("mean", "min", "p10", "worst_tenth", "std_ddof1", "gap", "gini", "jain")
BY_ITEM = (ACCURACY.count, LOG_LOSS.count)


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """The sums of both models in the same groups, of units or of items, and the weights of each draw."""

    a: Mapping[str, Tally]
    b: Mapping[str, Tally]
    weights: Floats
    method: str

    def differences(self, finish: Callable[..., Floats]) -> Floats:
        """The second less the first, for each draw."""
        drawn = (
            finish({s: Tally(self.weights @ t.total, self.weights @ t.weight) for s, t in side.items()})
            for side in (self.b, self.a)
        )
        b, a = drawn
        return b - a


def resampled(of: Paired, classes: int, *, draws: int, seed: int, units: Units) -> Resampled | None:
    """Units where they are a sample and at least five are shared; else items; else nothing."""
    if not draws:
        return None
    if units == "sampled" and of.units.size >= FEW:
        sides, method = (_of_groups(of.a), _of_groups(of.b)), "paired bootstrap of units"
    elif of.items is not None:
        sides, method = _of_items(of.items, classes), "paired bootstrap of items"
    else:
        return None
    groups = len(next(iter(sides[0].values())).total)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(groups, np.full(groups, 1 / groups), draws).astype(np.float64)
    return Resampled(*sides, weights, method)


def differences(
    of: Paired, measures: Sequence[Measure], drawn: Resampled | None, *, level: float
) -> list[Estimate]:
    """The second model less the first, for each measure: value, interval, p-value, how it was paired."""
    return [_difference(of, m, drawn, level) for m in measures if m.shape == "unit" and m.adds]


def _difference(of: Paired, measure: Measure, drawn: Resampled | None, level: float) -> Estimate:
    value = float(_whole(of.b, measure.finish) - _whole(of.a, measure.finish))
    facts: dict[str, Any] = {
        "measure": measure.name, "summary": "difference", "level": level, "units": int(of.units.size),
        "n": int(counts_of(of.b.tallies).sum()),
    }  # fmt: skip
    if np.isnan(value):
        return Estimate(value=value, reason=f"undefined for one of the models: {measure.undefined}", **facts)
    if drawn is None or (drawn.method.endswith("items") and measure.count not in BY_ITEM):
        return Estimate(value=value, method=UNPAIRED, **facts)
    if measure.count is LOG_LOSS.count and "log_loss" not in drawn.a:
        return Estimate(value=value, method=UNPAIRED, **facts)
    return _estimate(value, drawn.differences(measure.finish), drawn.method, facts)


def _estimate(value: float, drawn: Floats, method: str, facts: Mapping[str, Any]) -> Estimate:
    tail = (1 - facts["level"]) / 2
    low, high = np.nanquantile(drawn, (tail, 1 - tail))
    return Estimate(
        value=value,
        low=float(min(low, value)),
        high=float(max(high, value)),
        p_value=two_sided(drawn),
        method=method,
        **facts,
    )


def _whole(block: Block, finish: Callable[..., Floats]) -> Floats:
    return np.asarray(finish({stat: tally.sum()[None] for stat, tally in block.tallies.items()})[0])


def _of_groups(block: Block) -> dict[str, Tally]:
    """The sums of each unit; of many units, of groups."""
    group = np.arange(len(block)) % min(len(block), GROUPS)
    order = np.argsort(group, kind="stable")
    start = np.flatnonzero(np.diff(group[order], prepend=-1))
    return {
        stat: Tally(*(np.add.reduceat(part[order], start) for part in (tally.total, tally.weight)))
        for stat, tally in block.tallies.items()
    }


def _of_items(items: Table, classes: int) -> tuple[dict[str, Tally], dict[str, Tally]]:
    """The sums of the shared items in groups: answers, and log loss where it is known."""
    group = np.arange(len(items)) % min(len(items), GROUPS)
    many = int(group.max()) + 1
    rows = np.bincount(group, minlength=many).astype(np.float64)[:, None]
    sides = []
    for name in ("a", "b"):
        counts = tabulate((group, items["truth"], items[f"guess_{name}"]), (many, classes, classes))
        held = np.broadcast_to(counts.sum(-1, keepdims=True), counts.shape)
        found = {"confusion": Tally(counts.reshape(many, -1), held.reshape(many, -1))}
        loss = items[f"loss_{name}"]
        if not np.isnan(loss).any():
            both = [np.bincount(group, weight, many) for weight in (loss, loss**2)]
            sums = np.stack(both, -1).astype(np.float64)
            found["log_loss"] = Tally(sums, np.repeat(rows, 2, 1))
        sides.append(found)
    return sides[0], sides[1]


def of_indices(of: Paired, *, level: float, draws: int, seed: int, units: Units) -> list[Estimate]:
    """How the indices of accuracy over units differ; both models are redrawn together.

    Items are redrawn in their units where both models named them; units are resampled where
    they are a sample, but not for the worst, the best and what is read off them.
    """
    a, b = (ratio(*right_and_rows(block.tallies)) for block in (of.a, of.b))
    known = np.flatnonzero(~(np.isnan(a) | np.isnan(b)))
    facts: dict[str, Any] = {"measure": "accuracy", "units": known.size, "level": level}
    if known.size < 2:
        reason = "fewer than two shared units"
        return [Estimate(value=np.nan, reason=reason, summary=name, **facts) for name in INDICES]
    rng = np.random.default_rng(seed)
    these = _redrawn(of, known, draws, rng)
    pick = rng.integers(0, known.size, (draws, known.size))
    resampled_ = [np.take_along_axis(side, pick, 1) for side in these or _seen(a, b, known, draws)]
    found = []
    for name in INDICES:
        index, own = inequality.SPREADS[name], facts | {"summary": name}
        value = float(index(np.sort(b[known])) - index(np.sort(a[known])))
        fixed = units == "fixed" or name in OF_THESE
        sides = these if fixed else resampled_
        if sides is None or not draws or (known.size < FEW and not fixed):
            found.append(Estimate(value=value, method=UNPAIRED, **own))
        else:
            drawn = index(np.sort(sides[1], -1)) - index(np.sort(sides[0], -1))
            method = f"paired bootstrap of {'items' if fixed else 'units and items' if these else 'units'}"
            found.append(_estimate(value, drawn, method, own))
    return found


def _seen(a: Floats, b: Floats, known: Codes, draws: int) -> list[Floats]:
    return [np.broadcast_to(side[known], (draws, known.size)) for side in (a, b)]


def _redrawn(of: Paired, known: Codes, draws: int, rng: np.random.Generator) -> list[Floats] | None:
    """Accuracies of both models where the shared items of each unit are drawn again; None without items."""
    items = of.discordant()
    if items is None or not draws or not (items[2][known] > 0).all():
        return None
    lost, won, rows = (part[known] for part in items)
    right = ratio(right_and_rows(of.a.tallies)[0], right_and_rows(of.a.tallies)[1])[known] * rows
    both = np.clip(right - lost, 0, rows - lost - won)
    shares = np.stack([lost, won, both, rows - lost - won - both], -1) / rows[:, None]
    drawn = rng.multinomial(np.broadcast_to(rows.astype(np.int64), (draws, rows.size)), shares)
    return [(drawn[..., 2] + drawn[..., own]) / rows for own in (0, 1)]


def of_units(of: Paired, level: float) -> Table:
    """One row a shared unit: both accuracies, their difference with interval, and what may be said of it."""
    (right_a, rows_a), (right_b, rows_b) = (right_and_rows(block.tallies) for block in (of.a, of.b))
    a, b = ratio(right_a, rows_a), ratio(right_b, rows_b)
    items = of.discordant()
    if items is None:
        low, high = difference_apart(right_a, rows_a, right_b, rows_b, level)
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
