"""One value a unit: what the population is like, and how much of its spread is noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from muster.errors import BadConfig
from muster.kernels import inequality, resample
from muster.kernels.interval import quantile
from muster.kernels.resample import Draw
from muster.kernels.types import Floats
from muster.measures.confusion import count, counts_of
from muster.records import Block, Estimate, Measure, Table, Tally
from muster.summaries.redraw import Redraw, of_errors, of_shares, of_tables

Units = Literal["sampled", "fixed"]
TROUBLE = {
    "min": "below", "p10": "below", "worst_tenth": "below", "gap": "above",
    "variance_ddof0": "above", "variance_ddof1": "above", "std_ddof0": "above", "std_ddof1": "above",
    "cov": "above", "jain": "below", "gini": "above", "gini_error": "above", "under": "above",
    "max_deviation": "above", "max_shortfall": "above",
}  # fmt: skip
NAMES = (*inequality.SPREADS, "under", "max_deviation", "max_shortfall")
LEVEL, NOT_REDRAWN = 0.95, "not redrawn"
TABLES, DRAWN, LEAST = 1_000_000, 30_000_000, 100
LEVELS = ("mean", "min", "p10", "worst_tenth", "median", "max")


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Defined values of one measure over units, and how they would vary if items were drawn again."""

    measure: str
    values: Floats
    rows: Floats
    redraw: Redraw
    chance: float = np.nan
    undefined: int = 0

    @property
    def level(self) -> Floats:
        """The mean over units, by rows: of shares, the pooled value."""
        return np.asarray((self.values * self.rows).sum() / self.rows.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Indices of redrawn populations: as seen, with all units equal, and at chance."""

    seen: Mapping[str, Floats] = field(default_factory=dict)
    equal: Mapping[str, Floats] = field(default_factory=dict)
    chance: Mapping[str, Floats] = field(default_factory=dict)
    method: str = NOT_REDRAWN


def population(block: Block, measure: Measure) -> Population:
    """The units of a block, each finished.

    >>> from muster.measures import count, lookup
    >>> from muster.records import Labelled, Table
    >>> seen = Labelled(np.array([0, 0, 1]), 2, np.array([0, 1, 1]), np.array([0, 0, 1]), 2)
    >>> (accuracy,) = lookup(["accuracy"])
    >>> population(Block(Table({}), count(seen, [accuracy])), accuracy).values
    array([0.5, 1. ])
    """
    if measure.better != "higher" or measure.shape != "unit" or measure.interval is None:
        raise BadConfig(
            f"a population is summarised by one value a unit, with its interval, where more is better: "
            f"not by {measure.name}"
        )
    values, counts = measure.finish(block.tallies), counts_of(block.tallies)
    known, rows = np.flatnonzero(~np.isnan(values)), counts.sum((-1, -2))
    whole = {stat: tally.sum() for stat, tally in block.tallies.items()}
    chance = float(measure.chance(whole)) if measure.chance and measure.is_share else np.nan
    found, n, pooled = values[known], rows[known], float(measure.finish(whole))
    if measure.is_share:
        redraw = of_shares(found, n, pooled, chance)
    elif measure.count is count and counts[known].size <= TABLES:
        redraw = of_tables(counts[known], found, partial(_read, measure))
    else:
        redraw = of_errors(found, _errors(block.where(known), measure, found), pooled)
    return Population(measure.name, found, n, redraw, chance, values.size - known.size)


def _read(measure: Measure, counts: Floats) -> Floats:
    """A measure that is read off confusion counts."""
    return measure.finish({"confusion": Tally(counts.reshape(*counts.shape[:-2], -1), np.empty(0))})


def _errors(block: Block, measure: Measure, values: Floats) -> Floats:
    if measure.interval is None:
        return np.zeros(values.size)
    low, high = measure.interval(block.tallies, LEVEL)
    return np.maximum(high - values, values - low) / quantile(LEVEL)


def summarise(
    of: Population,
    *,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    units: Units = "sampled",
    share: float = 0.8,
) -> list[Estimate]:
    """Every index, its interval, and what it would be if all units were equal, or at chance.

    The interval comes from redrawn units and items: values are pulled together
    until only the spread beyond noise is left, units are resampled, and items
    redrawn, so that noise is counted once. With ``units="fixed"`` the units are
    the population itself and only items are redrawn. The interval is widened,
    where need be, to hold the value.
    """
    if not of.values.size:
        return [_undefined(of, name, "no unit has a value") for name in NAMES]
    values = inequality.indices(np.sort(of.values), of.level, share)
    drawn = _redrawn(of, draws, np.random.default_rng(seed), units, share) if draws else Drawn()
    return [_estimate(of, name, float(value), drawn, level) for name, value in values.items()]


def histogram(values: Floats, bins: int = 10) -> Table:
    """How many units have a value in each tenth of the way from 0 to 1.

    >>> histogram(np.array([0.81, 0.86, 1.0, np.nan]))["units"].tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 2, 1]
    """
    units, edges = np.histogram(values[~np.isnan(values)], bins, (0, 1))
    return Table.of({"from": edges[:-1], "up_to": edges[1:], "units": units})


def _redrawn(of: Population, draws: int, rng: np.random.Generator, units: Units, share: float) -> Drawn:
    many = of.values.size
    times = min(draws, max(DRAWN // (many * of.redraw.width), LEAST))

    def draw(maker: Draw, times: int, *, resampled: bool = False) -> dict[str, Floats]:
        width = of.redraw.width
        blocks = resample.populations(maker, of.rows, max(times, 1), rng, units=resampled, width=width)
        found = [inequality.indices(values, whole, share) for values, whole in blocks]
        return {name: np.concatenate([one[name] for one in found]) for name in found[0]}

    sampled = units == "sampled"
    stretch = np.sqrt(many / max(many - 1, 1)) if sampled else 1.0
    seen = draw(of.redraw.seen(stretch), times, resampled=sampled)
    equal = draw(of.redraw.equal, times // 2)
    chance = draw(of.redraw.chance, times // 5) if of.redraw.chance else {}
    what = "bootstrap of units and items" if sampled else "bootstrap of items"
    return Drawn(seen, equal, chance, what if times == draws else f"{what}, {times} draws")


def _estimate(of: Population, name: str, value: float, drawn: Drawn, level: float) -> Estimate:
    if np.isnan(value):
        few = of.values.size < 2
        return _undefined(of, name, "fewer than two units" if few else "the values are all zero")
    low, high, expected, p = np.nan, np.nan, np.nan, np.nan
    if name in drawn.seen:
        low, high = np.nanquantile(drawn.seen[name], (0.5 - level / 2, 0.5 + level / 2))
    if name in drawn.equal and name in TROUBLE:
        equal = drawn.equal[name]
        worse = equal >= value - 1e-9 if TROUBLE[name] == "above" else equal <= value + 1e-9
        expected, p = float(np.nanmean(equal)), (1 + worse.sum()) / (1 + equal.size)
    chance = float(np.nanmean(drawn.chance[name])) if name in drawn.chance else np.nan
    return Estimate(
        measure=of.measure,
        summary=name,
        value=value,
        low=float(min(low, value)),
        high=float(max(high, value)),
        level=level,
        expected=expected,
        chance=of.chance if np.isnan(chance) and name in LEVELS else chance,
        p_value=float(p),
        n=int(of.rows.sum()),
        units=int(of.values.size),
        method=drawn.method,
    )


def _undefined(of: Population, name: str, reason: str) -> Estimate:
    units, n = int(of.values.size), int(of.rows.sum())
    return Estimate(measure=of.measure, summary=name, value=np.nan, n=n, units=units, reason=reason)
