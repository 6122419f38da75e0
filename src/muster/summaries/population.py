"""One value a unit: what the population is like, and how much of its spread is noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from muster.errors import BadConfig
from muster.kernels import inequality, resample
from muster.kernels.interval import quantile
from muster.kernels.types import Floats
from muster.measures.confusion import count, counts_of
from muster.records import Block, Estimate, Measure, Table, Tally
from muster.summaries.estimates import Units
from muster.summaries.redraw import Noise, of_errors, of_shares, of_tables

TROUBLE = {
    "min": "below", "p10": "below", "worst_tenth": "below", "gap": "above",
    "variance_ddof0": "above", "variance_ddof1": "above", "std_ddof0": "above", "std_ddof1": "above",
    "cov": "above", "jain": "below", "gini": "above", "gini_error": "above", "under": "above",
    "max_deviation": "above", "max_shortfall": "above",
}  # fmt: skip
NAMES = (*inequality.SPREADS, "under", "max_deviation", "max_shortfall")
LEVELS = ("mean", "min", "p10", "worst_tenth", "median", "max")
EXTREMES = ("min", "max", "gap", "max_deviation", "max_shortfall")
OF_THESE = (*EXTREMES, "under")
LEVEL, NOT_REDRAWN = 0.95, "not redrawn"
TABLES, DRAWN, LEAST, EQUALS = 1_000_000, 30_000_000, 100, 199


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Population:
    """Defined values of one measure over units, and how noisy they are; ``ends`` are their intervals.

    ``naive`` are the values of a model that always names the most frequent class, where that
    is known; ``chance`` is what it would score on all rows.
    """

    measure: str
    values: Floats
    rows: Floats
    noise: Noise
    ends: tuple[Floats, Floats] | None = None
    bounds: tuple[float, float] = (0.0, 1.0)
    chance: float = np.nan
    naive: Floats | None = None
    undefined: int = 0

    @property
    def level(self) -> Floats:
        """The mean over units, by rows: of shares, the pooled value."""
        return np.asarray((self.values * self.rows).sum() / self.rows.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Indices of drawn populations: of the truth behind the values, with all units equal, and at chance."""

    truth: Mapping[str, Floats] = field(default_factory=dict)
    equal: Mapping[str, Floats] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    method: str = NOT_REDRAWN


def population(block: Block, measure: Measure, level: float = LEVEL) -> Population:
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
    known = np.flatnonzero(~np.isnan(values))
    whole = {stat: tally.sum() for stat, tally in block.tallies.items()}
    counts = counts[known]
    low, high = measure.interval(block.where(known).tallies, level)
    return Population(
        measure=measure.name,
        values=values[known],
        rows=counts.sum((-1, -2)),
        noise=_noise(block.where(known), measure, values[known], counts),
        ends=(low, high),
        bounds=measure.bounds,
        chance=float(measure.chance(whole)) if measure.chance else np.nan,
        naive=_naive(measure, counts) if measure.count is count else None,
        undefined=values.size - known.size,
    )


def _noise(block: Block, measure: Measure, values: Floats, counts: Floats) -> Noise:
    rows = counts.sum((-1, -2))
    if measure.is_share:
        return of_shares(values, rows, float((values * rows).sum() / max(rows.sum(), 1)))
    if measure.count is count and counts.size <= TABLES:
        return of_tables(counts, partial(_read, measure))
    return of_errors(values, _errors(block, measure, values), rows)


def _read(measure: Measure, counts: Floats) -> Floats:
    """A measure that is read off confusion counts."""
    return measure.finish({"confusion": Tally(counts.reshape(*counts.shape[:-2], -1), np.empty(0))})


def _naive(measure: Measure, counts: Floats) -> Floats:
    """What always naming the most frequent class of all units would score in each."""
    answers = np.zeros(counts.shape[-1])
    answers[counts.sum((0, 2)).argmax()] = 1
    found = _read(measure, counts.sum(-1)[..., None] * answers)
    return found[~np.isnan(found)]


def _errors(block: Block, measure: Measure, values: Floats) -> Floats:
    if measure.error is not None:
        return measure.error(block.tallies)
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
    """Every index, its interval, what it would be if all units were equal, and at chance.

    The interval is of the index without noise: values are drawn between the mean and what was
    seen, as near to the latter as noise leaves it known, and units are resampled. With
    ``units="fixed"`` the units are the population itself; the worst, the best and what is read
    off them are of these units either way. Where equal units could show as much, the interval
    reaches to equality. It is widened, where need be, to hold the value seen.
    """
    if not of.values.size:
        return [_undefined(of, name, "no unit has a value") for name in NAMES]
    values = inequality.indices(np.sort(of.values), of.level, share)
    drawn = _drawn(of, draws, np.random.default_rng(seed), units, share) if draws else Drawn()
    drawn = replace(drawn, chance=_at_chance(of, share))
    return [_estimate(of, name, float(value), drawn, level) for name, value in values.items()]


def histogram(values: Floats, bins: int = 10) -> Table:
    """How many units have a value in each tenth of the way from 0 to 1.

    >>> histogram(np.array([0.81, 0.86, 1.0, np.nan]))["units"].tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 2, 1]
    """
    units, edges = np.histogram(values[~np.isnan(values)], bins, (0, 1))
    return Table.of({"from": edges[:-1], "up_to": edges[1:], "units": units})


def _drawn(of: Population, draws: int, rng: np.random.Generator, units: Units, share: float) -> Drawn:
    many, noise = of.values.size, of.noise
    times = min(draws, max(DRAWN // many, LEAST))
    equals = max(min(draws // 2, DRAWN // (many * noise.width)), EQUALS)

    def indices(blocks: Iterable[resample.Drawn]) -> dict[str, Floats]:
        found = [inequality.indices(values, whole, share) for values, whole in blocks]
        return {name: np.concatenate([one[name] for one in found]) for name in found[0]}

    def truth(*, resampled: bool) -> dict[str, Floats]:
        units_ = rng if resampled else None
        blocks = resample.truths(of.values, noise.errors, of.rows, times, rng, units=units_)
        return indices((np.clip(values, *of.bounds), whole) for values, whole in blocks)

    these = truth(resampled=False)
    sampled = truth(resampled=True) if units == "sampled" else these
    return Drawn(
        {name: (these if name in OF_THESE else sampled)[name] for name in NAMES},
        indices(resample.populations(noise.equal, of.rows, equals, rng, noise.width)),
        method=f"bootstrap of {'units and ' if units == 'sampled' else ''}items, less noise",
    )


def _estimate(of: Population, name: str, value: float, drawn: Drawn, level: float) -> Estimate:
    if np.isnan(value):
        few = of.values.size < 2
        return _undefined(of, name, "fewer than two units" if few else "the values are all zero")
    expected, p = _against_equals(name, value, drawn)
    low, high = _interval(name, value, drawn, level, p) if drawn.truth else (np.nan, np.nan)
    if drawn.truth and of.ends is not None and name in EXTREMES:
        own = of_extremes(of.values, of.ends, float(of.level))[name]
        low, high = min(low, own[0]), max(high, own[1])
    return Estimate(
        measure=of.measure,
        summary=name,
        value=value,
        low=low,
        high=high,
        level=level,
        expected=expected,
        chance=drawn.chance.get(name, of.chance if name in LEVELS else np.nan),
        p_value=p,
        n=int(of.rows.sum()),
        units=int(of.values.size),
        method=drawn.method,
    )


def _against_equals(name: str, value: float, drawn: Drawn) -> tuple[float, float]:
    """What equal units would show, and how often they would show as much."""
    if name not in TROUBLE or name not in drawn.equal:
        return np.nan, np.nan
    equal = drawn.equal[name]
    worse = equal >= value - 1e-9 if TROUBLE[name] == "above" else equal <= value + 1e-9
    return float(np.nanmean(equal)), float((1 + worse.sum()) / (1 + equal.size))


def _interval(name: str, value: float, drawn: Drawn, level: float, p: float) -> tuple[float, float]:
    beyond = (1 - level) / 2
    low, high = np.nanquantile(drawn.truth[name], (beyond, 1 - beyond))
    if p > beyond:
        if TROUBLE[name] == "above":
            low = 0.0
        elif name in LEVELS:
            high = max(high, np.nanquantile(drawn.truth["mean"], 1 - beyond))
        else:
            high = 1.0
    return float(min(low, value)), float(max(high, value))


def of_extremes(values: Floats, ends: tuple[Floats, Floats], level: float) -> dict[str, tuple[float, float]]:
    """Intervals of the worst and the best unit's own, and of what lies between them (Zou and Donner 2008).

    Drawing towards the mean is right for most units, and wrong for one that is unlike all others.
    """
    worst, best = int(values.argmin()), int(values.argmax())
    (down, below), (above, up) = (
        (float(values[i] - ends[0][i]), float(ends[1][i] - values[i])) for i in (worst, best)
    )
    low, high = float(values[worst]), float(values[best])
    gap, short, over = high - low, level - low, high - level
    return {
        "min": (low - down, low + below),
        "max": (high - above, high + up),
        "gap": (max(gap - math.hypot(above, below), 0), gap + math.hypot(up, down)),
        "max_shortfall": (max(short - below, 0), short + down),
        "max_deviation": (max(short - below, over - above, 0), max(short + down, over + up)),
    }


def _at_chance(of: Population, share: float) -> dict[str, float]:
    """The indices of a model that always names the most frequent class."""
    if of.naive is None or not of.naive.size:
        return {}
    found = inequality.indices(np.sort(of.naive), np.asarray(of.chance), share)
    return {name: float(value) for name, value in found.items()}


def _undefined(of: Population, name: str, reason: str) -> Estimate:
    units, n = int(of.values.size), int(of.rows.sum())
    return Estimate(measure=of.measure, summary=name, value=np.nan, n=n, units=units, reason=reason)
