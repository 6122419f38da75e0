"""Two models over the same units: the difference of every measure, paired, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from muster.kernels.codes import tabulate
from muster.kernels.interval import quantile
from muster.kernels.paired import difference_apart, difference_paired
from muster.kernels.resample import jackknife
from muster.kernels.types import Floats
from muster.measures.accuracy import ACCURACY, right_and_rows
from muster.measures.confusion import counts_of
from muster.measures.loss import LOG_LOSS
from muster.records import Block, Estimate, Measure, Table, Tallies, Tally
from muster.summaries.estimates import Units
from muster.summaries.pairing import Paired

GROUPS = 400
UNPAIRED = "no interval: too few shared units, and no shared items"
Span = tuple[float, float, float]
BY_ITEM = (ACCURACY.count, LOG_LOSS.count)


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """The sums of both models in the same groups of units or of items, and how often each draw takes each."""

    a: Tallies
    b: Tallies
    weights: Floats

    def differences(self, finish: Callable[[Tallies], Floats], weights: Floats) -> Floats:
        """The second less the first, for each row of weights."""
        b, a = (
            finish({s: Tally(weights @ t.total, weights @ t.weight) for s, t in side.items()})
            for side in (self.b, self.a)
        )
        return b - a


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """By units, where they are a sample and at least two are shared; and by items, where they are shared."""

    units: Grouped | None
    items: Grouped | None


def grouped(of: Paired, classes: int, *, draws: int, seed: int, units: Units) -> Groups:
    """What can be resampled of a pair of models."""
    rng = np.random.default_rng(seed)
    by_units = _weighed(_of_groups(of.a), _of_groups(of.b), draws, rng)
    by_items = None if of.items is None else _weighed(*_of_items(of.items, classes), draws, rng)
    return Groups(by_units if units == "sampled" and of.units.size > 1 else None, by_items)


def _weighed(a: Tallies, b: Tallies, draws: int, rng: np.random.Generator) -> Grouped:
    many = len(next(iter(a.values())).total)
    return Grouped(a, b, rng.multinomial(many, np.full(many, 1 / many), draws).astype(np.float64))


def differences(of: Paired, measures: Sequence[Measure], groups: Groups, *, level: float) -> list[Estimate]:
    """The second model less the first, for each measure: value, interval, p-value, how it was paired.

    Units and items both bound how sure a difference is: the wider ends are taken, and a p-value
    is not below what its interval allows.
    """
    return [_difference(of, m, groups, level) for m in measures if m.shape == "unit" and m.adds]


def _difference(of: Paired, measure: Measure, groups: Groups, level: float) -> Estimate:
    value = apart(of, measure)
    facts: dict[str, Any] = {
        "measure": measure.name, "summary": "difference", "level": level, "units": int(of.units.size),
        "n": int(counts_of(of.b.tallies).sum()),
    }  # fmt: skip
    if np.isnan(value):
        return Estimate(value=value, reason=f"undefined for one of the models: {measure.undefined}", **facts)
    found = [
        _over(groups.units, measure, value, level, sampled=True),
        _over(groups.items if _by_item(measure, groups) else None, measure, value, level, sampled=False),
    ]
    spans = [span for span in found if span is not None]
    if not spans:
        return Estimate(value=value, method=UNPAIRED, **facts)
    if groups.units is not None and measure.is_share and spans[0][0] == spans[0][1]:
        spans.append(_floor(of, level))
    low, high, p = (pick(part) for pick, part in zip((min, max, max), zip(*spans, strict=True), strict=True))
    p = max(p, 1 - level) if low <= 0 <= high and value else p
    method = f"paired bootstrap of {'units' if groups.units is not None else 'items'}"
    return Estimate(value=value, low=low, high=high, p_value=p, method=method, **facts)


def _by_item(measure: Measure, groups: Groups) -> bool:
    """Can the measure be told by answers, or by log loss where that was kept?"""
    known = groups.items is not None and "log_loss" in groups.items.a
    return measure.count is ACCURACY.count or (measure.count is LOG_LOSS.count and known)


def _over(by: Grouped | None, measure: Measure, value: float, level: float, *, sampled: bool) -> Span | None:
    """Ends and p-value: of draws, and of units, which are few, by Student's t with each left out too."""
    if by is None:
        return None
    tail = (1 - level) / 2
    drawn = by.differences(measure.finish, by.weights) if len(by.weights) else np.zeros(0)
    ends = np.nanquantile(drawn, (tail, 1 - tail)) if drawn.size else np.array([value, value])
    error, freedom = float(np.nanstd(drawn)) if drawn.size else 0.0, np.inf
    if sampled:
        many = by.weights.shape[-1]
        left, of = jackknife(by.differences(measure.finish, np.ones((many, many)) - np.eye(many)))
        error, freedom = float(left), float(of)
        reach = float(stdtrit(freedom, 1 - tail)) * error
        ends = np.array([min(ends[0], value - reach), max(ends[1], value + reach)])
    if error == 0:
        return value, value, 1.0 if value == 0 else 0.0
    beyond = stdtr(freedom, -abs(value) / error) if sampled else ndtr(-abs(value) / error)
    return float(min(ends[0], value)), float(max(ends[1], value)), 2 * float(beyond)


def _floor(of: Paired, level: float) -> Span:
    """Where all units differ alike, units are not certain: how sure the rows are."""
    items = of.discordant()
    if items is None:
        (right_a, rows_a), (right_b, rows_b) = (right_and_rows(block.tallies) for block in (of.a, of.b))
        whole = (np.asarray(part.sum()) for part in (right_a, rows_a, right_b, rows_b))
        low, high = difference_apart(*whole, level=level)
    else:
        lost, won, rows = (np.asarray(part.sum()) for part in items)
        low, high = difference_paired(lost, won, rows, quantile(level))
    return float(low), float(high), 0.0


def apart(of: Paired, measure: Measure) -> float:
    """The second model less the first, all shared units together."""
    return float(_whole(of.b, measure.finish) - _whole(of.a, measure.finish))


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
