"""One value a unit: what the population is like, and how much of its spread is noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from muster.errors import BadData
from muster.kernels import inequality, resample
from muster.kernels.interval import quantile
from muster.kernels.types import Floats
from muster.measures.confusion import counts_of
from muster.records import Block, Estimate, Measure

Units = Literal["sampled", "fixed"]
TROUBLE = {
    "min": "below", "p10": "below", "worst_tenth": "below", "gap": "above",
    "variance_ddof0": "above", "variance_ddof1": "above", "std_ddof0": "above", "std_ddof1": "above",
    "cov": "above", "jain": "below", "gini": "above", "gini_error": "above", "under": "above",
    "max_deviation": "above", "max_shortfall": "above",
}  # fmt: skip
LEVELS = ("mean", "min", "p10", "worst_tenth", "median", "max")


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Defined values of one measure over units. ``shares`` says that they are right answers over rows."""

    measure: str
    values: Floats
    errors: Floats
    rows: Floats
    shares: bool
    pooled: float
    chance: float
    undefined: int = 0


def population(block: Block, measure: Measure, level: float = 0.95) -> Population:
    """The units of a block, each finished."""
    if measure.better != "higher" or measure.shape != "unit":
        raise BadData(
            f"a population is summarised by one value a unit where more is better, not by {measure.name}"
        )
    values, rows = measure.finish(block.tallies), counts_of(block.tallies).sum((-1, -2))
    shares = measure.name in {"accuracy", "micro_f1"}
    if shares:
        errors = np.sqrt(values * (1 - values) / np.maximum(rows - 1, 1))
    elif measure.interval:
        low, high = measure.interval(block.tallies, level)
        errors = (high - low) / 2 / quantile(level)
    else:
        errors = np.zeros(len(values))
    whole = {stat: tally.sum() for stat, tally in block.tallies.items()}
    known = ~np.isnan(values) & ~np.isnan(errors)
    chance = measure.chance(whole) if measure.chance else np.nan
    return Population(
        measure.name,
        values[known],
        errors[known],
        rows[known],
        shares,
        float(measure.finish(whole)),
        float(chance),
        int((~known).sum()),
    )


def plain(x: Floats, level: Floats) -> dict[str, Floats]:
    """Every index of sorted values ``[..., units]``; `level` is the pooled value."""
    found = {name: index(x) for name, index in inequality.SPREADS.items()}
    found["max_deviation"] = inequality.max_deviation(x, level)
    found["max_shortfall"] = inequality.max_shortfall(x, level)
    return found


def summarise(
    of: Population, *, draws: int = 1000, seed: int = 0, level: float = 0.95, units: Units = "sampled"
) -> list[Estimate]:
    """Every index, its interval, and what it would be if all units were equal, or at chance.

    The interval comes from redrawn units and items: accuracies are pulled
    together until only the spread beyond noise is left, units are resampled,
    and items redrawn, so that noise is counted once. With ``units="fixed"``
    the units are the population itself and only items are redrawn. The
    interval is widened, where need be, to hold the value.
    """
    if not of.values.size:
        return [_undefined(of, name, "no unit has a value") for name in [*inequality.SPREADS, *TROUBLE]]
    values = plain(np.sort(of.values), np.asarray(of.pooled))
    if not draws:
        return [_estimate(of, name, float(value), level) for name, value in values.items()]
    rng = np.random.default_rng(seed)
    shrunk = resample.shrink(of.values, of.errors)
    if of.shares:
        shrunk = np.clip(shrunk, 0, 1)
    seen = _redraw(of, shrunk, draws, rng, units=units == "sampled")
    equal = _redraw(of, np.full(of.values.size, of.pooled), max(draws // 2, 1), rng, units=False)
    chance = _at_chance(of, max(draws // 5, 1), rng)
    return [_estimate(of, name, float(value), level, seen, equal, chance) for name, value in values.items()]


def _redraw(
    of: Population, centre: Floats, draws: int, rng: np.random.Generator, *, units: bool
) -> dict[str, Floats]:
    draw = resample.shares(centre, of.rows) if of.shares else resample.normals(centre, of.errors)
    blocks = resample.populations(draw, of.rows, draws, rng, units=units)
    found = [plain(drawn, pooled) for drawn, pooled in blocks]
    return {name: np.concatenate([one[name] for one in found]) for name in found[0]}


def _at_chance(of: Population, draws: int, rng: np.random.Generator) -> dict[str, Floats]:
    if not of.shares or np.isnan(of.chance):
        return {}
    return _redraw(of, np.full(of.values.size, of.chance), draws, rng, units=False)


def _estimate(
    of: Population,
    name: str,
    value: float,
    level: float,
    seen: dict[str, Floats] | None = None,
    equal: dict[str, Floats] | None = None,
    chance: dict[str, Floats] | None = None,
) -> Estimate:
    if np.isnan(value):
        few = of.values.size < 2
        return _undefined(of, name, "fewer than two units" if few else "the values are all zero")
    low, high = np.nanquantile(seen[name], (0.5 - level / 2, 0.5 + level / 2)) if seen else (np.nan, np.nan)
    expected, p = np.nan, np.nan
    if equal and name in TROUBLE:
        drawn = equal[name]
        worse = drawn >= value if TROUBLE[name] == "above" else drawn <= value
        expected, p = float(np.nanmean(drawn)), (1 + worse.sum()) / (1 + drawn.size)
    return Estimate(
        measure=of.measure,
        summary=name,
        value=value,
        low=float(np.fmin(low, value)) if seen else np.nan,
        high=float(np.fmax(high, value)) if seen else np.nan,
        level=level,
        expected=float(expected),
        chance=float(np.nanmean(chance[name])) if chance else of.chance if name in LEVELS else np.nan,
        p_value=float(p),
        n=int(of.rows.sum()),
        units=int(of.values.size),
        method="bootstrap of units and items" if seen else "no interval",
    )


def _undefined(of: Population, name: str, reason: str) -> Estimate:
    return Estimate(
        measure=of.measure,
        summary=name,
        value=np.nan,
        n=int(of.rows.sum()),
        units=int(of.values.size),
        reason=reason,
    )
