"""How often what is said of a population whose truth is known is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import muster
from muster.kernels import inequality
from muster.measures import CATALOG, count, lookup
from muster.records import Block, Estimate, Labelled, Table
from muster.summaries.estimates import pooled
from muster.summaries.groups import fairness
from muster.summaries.population import Population, summarise
from muster.summaries.redraw import of_shares
from muster.summaries.underserved import list_units
from muster.verdicts.judge import against_chance, of_units

TIMES = 100
SPREADS = ("std_ddof1", "gini", "gap", "jain", "cov", "worst_tenth", "min", "mean")


def _beta(rng: np.random.Generator, units: int, sd: float, mean: float = 0.8) -> np.ndarray:
    """Shares of units around a mean, with this standard deviation."""
    if not sd:
        return np.full(units, mean)
    size = mean * (1 - mean) / sd**2 - 1
    return rng.beta(mean * size, (1 - mean) * size, units)


def _summary(truth: np.ndarray, rows: int, rng: np.random.Generator, **how: Any) -> dict[str, Estimate]:
    sizes = np.full(truth.size, float(rows))
    values = rng.binomial(rows, truth) / rows
    of = Population(
        measure="accuracy", values=values, rows=sizes, noise=of_shares(values, sizes, values.mean())
    )
    return {e.summary: e for e in summarise(of, draws=300, seed=int(rng.integers(2**31)), **how)}


@pytest.mark.parametrize("units", ["sampled", "fixed"])
@pytest.mark.parametrize("many", [11, 29])
def test_intervals_of_extremes_hold_the_truth_where_one_unit_is_unlike_all_others(
    many: int, units: str, rng: np.random.Generator
) -> None:
    truth = np.array([0.95] * many + [0.5])
    told = inequality.indices(np.sort(truth), np.asarray(truth.mean()), 0.8)
    held = dict.fromkeys(("min", "max", "gap", "max_shortfall", "max_deviation"), 0)
    for _ in range(60):
        cell = np.repeat(np.arange(many + 1), 100)
        right = rng.random(cell.size) < np.repeat(truth, 100)
        run = muster.evaluate(
            truth=np.zeros(cell.size, int), guess=np.where(right, 0, 1), unit=cell, units=units, draws=200,
            measures=["accuracy"],
        )  # fmt: skip
        for name in held:
            seen = run.estimate("accuracy", name)
            held[name] += seen.low <= told[name] <= seen.high

    assert min(held.values()) >= 51, held


def test_a_couple_of_rows_do_not_show_skill() -> None:
    run = muster.evaluate(truth=[0, 1], guess=[0, 1], unit=["a", "b"], draws=50)

    assert [v.status.value for v in run.verdicts if v.summary == "over_chance"] == ["unknown"]


def _held(found: Iterator[tuple[dict[str, Estimate], dict[str, Any]]]) -> dict[str, float]:
    """For each index, how often the interval held the truth."""
    hits = [
        {name: seen[name].low - 1e-9 <= truth[name] <= seen[name].high + 1e-9 for name in SPREADS}
        for seen, truth in found
    ]
    return {name: float(np.mean([hit[name] for hit in hits])) for name in SPREADS}


@pytest.mark.parametrize("sd", [0.0, 0.03, 0.1])
@pytest.mark.parametrize(("units", "rows"), [(5, 100), (10, 20), (40, 200), (200, 20)])
def test_intervals_of_spreads_hold_the_truth_of_these_units(
    units: int, rows: int, sd: float, rng: np.random.Generator
) -> None:
    """Redrawing around the values seen would hold the truth of equal units never, of few rows seldom."""

    def found() -> Iterator[Any]:
        for _ in range(TIMES):
            truth = _beta(rng, units, sd)
            sorted_, level = np.sort(truth), np.asarray(truth.mean())
            yield (
                _summary(truth, rows, rng, units="fixed"),
                inequality.indices(sorted_, level, 0.8),
            )

    held = _held(found())

    assert min(held.values()) > 0.84, held
    assert np.mean(list(held.values())) > 0.9, held


@pytest.mark.parametrize("sd", [0.0, 0.1])
@pytest.mark.parametrize(("units", "rows"), [(10, 100), (40, 20), (100, 500)])
def test_intervals_of_spreads_hold_the_truth_of_the_population_units_come_from(
    units: int, rows: int, sd: float, rng: np.random.Generator
) -> None:
    large = np.sort(_beta(rng, 20_000, sd))
    truth = inequality.indices(large, np.asarray(large.mean()), 0.8)

    def found() -> Iterator[Any]:
        for _ in range(TIMES):
            own = _beta(rng, units, sd)
            these = inequality.indices(np.sort(own), np.asarray(own.mean()), 0.8)
            yield _summary(own, rows, rng), truth | {name: these[name] for name in ("gap", "min")}

    held = _held(found())

    assert min(held.values()) > 0.82, held
    assert np.mean(list(held.values())) > 0.9, held


def test_p_values_of_equal_units_are_uniform_enough(rng: np.random.Generator) -> None:
    p = [_summary(_beta(rng, 12, 0), 60, rng)["gini"].p_value for _ in range(300)]

    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.09
    assert 0.42 <= np.mean(p) <= 0.6


def test_at_chance_is_what_always_naming_the_most_frequent_class_scores(rng: np.random.Generator) -> None:
    """Units of unequal class mixes: the model that knows nothing is itself uneven."""
    unit, truth = np.repeat(np.arange(10), 200), rng.integers(0, 5, 2000) * rng.integers(0, 2, 2000)
    truth = np.where(unit < 3, rng.integers(1, 5, 2000), truth)
    run = muster.evaluate(truth=truth, guess=np.zeros(2000, int), unit=unit, classes=range(5), draws=100)

    for name in ("mean", "min", "gap", "jain", "gini", "std_ddof1", "max_deviation"):
        found = run.estimate("accuracy", name)
        assert found.chance == pytest.approx(found.value), name


@pytest.mark.parametrize(("units", "rows", "sd"), [(10, 1000, 0.1), (40, 200, 0.05), (200, 100, 0.1)])
@pytest.mark.parametrize("measure", ["accuracy", "macro_f1"])
def test_the_pooled_interval_holds_the_truth_of_the_population(
    measure: str, units: int, rows: int, sd: float, rng: np.random.Generator
) -> None:
    """Row by row, the interval would hold it one time in five, where units differ much."""
    held = {"sampled": 0, "fixed": 0}
    for _ in range(TIMES):
        counts = _counts(_beta(rng, units, sd), rows, rng)
        for kind in held:
            found = pooled(counts, CATALOG[measure], 0.95, kind)  # type: ignore[arg-type]
            held[kind] += found.low <= 0.8 <= found.high

    assert held["sampled"] > 0.88 * TIMES
    assert held["fixed"] < held["sampled"] - 10


def _counts(shares: np.ndarray, rows: int, rng: np.random.Generator) -> Block:
    cell = np.repeat(np.arange(shares.size), rows)
    truth = np.tile([0, 1], cell.size // 2)
    right = rng.random(cell.size) < np.repeat(shares, rows)
    seen = Labelled(cell, shares.size, truth, np.where(right, truth, 1 - truth), 2)
    names = {"model": "m", "time": "", "slice": ""}
    keys = {name: np.full(shares.size, value, dtype=object) for name, value in names.items()}
    keys["unit"] = np.array([str(i) for i in range(shares.size)], dtype=object)
    return Block(Table.of(keys), count(seen, lookup(["accuracy"])))


def test_no_interval_of_a_few_rows_without_a_mistake_is_certain() -> None:
    run = muster.evaluate(truth=[0, 1] * 8, guess=[0, 1] * 8, unit=list("aabbccdd") * 2, draws=200)

    assert run.estimate("accuracy", "per_unit").low < 0.9
    assert run.estimate("accuracy", "per_sample").low < 0.9
    assert run.estimate("accuracy", "min").low < 0.95


@pytest.mark.parametrize("apart", [0.0, 0.2])
def test_intervals_of_group_fairness_hold_the_truth(apart: float, rng: np.random.Generator) -> None:
    held = dict.fromkeys(("demographic_parity", "equal_opportunity", "equalized_odds"), 0)
    for _ in range(TIMES):
        rates = np.array([[0.7, 0.3], [0.7 - apart, 0.3]])
        given = rng.binomial(80, rates[:, ::-1])
        counts = np.stack([80 - given, given], -1).astype(float)
        found = {e.summary: e for e in fairness(counts, 1, draws=300, seed=int(rng.integers(2**31)))}
        for name in held:
            truth = apart / 2 if name == "demographic_parity" else apart
            e = found[f"{name}_difference"]
            held[name] += e.low - 1e-9 <= truth <= e.high + 1e-9

    assert min(held.values()) >= 0.88 * TIMES, held


UNSEEN: list[tuple[list[float], list[int]]] = [
    ([0.9] * 9 + [0.68], [100] * 10),
    ([0.9] * 50 + [0.1] * 50, [20] * 100),
    ([0.9] * 9 + [0.8], [20] * 10),
]


@pytest.mark.parametrize(("shares", "rows"), UNSEEN)
def test_every_unit_is_ok_only_where_none_could_be_below_the_line(
    shares: list[float], rows: list[int]
) -> None:
    n = np.array(rows, float)
    units = list_units(np.arange(n.size).astype(str).astype(object), np.rint(np.array(shares) * n), n)

    assert "ok" not in [verdict.status.value for verdict in of_units(units, 0.8)]


def test_every_unit_is_ok_where_there_is_evidence() -> None:
    n = np.full(10, 500.0)
    (verdict,) = of_units(list_units(np.arange(10).astype(str).astype(object), 0.9 * n, n), 0.8)

    assert verdict.status.value == "ok"


def test_the_line_is_that_of_the_other_units() -> None:
    """Of two units at .9 and .7, the second is below 0.8 of the first, not of the mean of both."""
    n = np.full(2, 100_000.0)
    units = list_units(np.array(["a", "b"], dtype=object), np.array([0.9, 0.7]) * n, n)
    (verdict,) = of_units(units, 0.8)

    assert units["line"].tolist() == pytest.approx([0.56, 0.72])
    assert "is below 0.72, 0.8 of the mean over the other units" in verdict.why


def test_a_good_model_of_a_seldom_class_is_not_called_useless(rng: np.random.Generator) -> None:
    """95 rows of 100 are of one class: naming it always is more accurate than a model that is of use."""
    truth = (rng.random(6000) < 0.05).astype(int)
    guess = (rng.random(6000) < np.where(truth, 0.9, 0.06)).astype(int)
    run = muster.evaluate(truth=truth, guess=guess, unit=rng.integers(0, 10, 6000), draws=100)
    (verdict,) = (v for v in run.verdicts if v.summary == "over_chance")

    assert run.value("accuracy") < run.estimate("accuracy").chance
    assert verdict.status.value == "watch"
    assert "tells the classes apart: kappa" in verdict.why
    assert "at_chance" not in {finding.kind for finding in run.findings}


@pytest.mark.parametrize(("kappa", "status"), [(-0.1, "breach"), (0.1, "watch")])
def test_less_accurate_than_naming_one_class(kappa: float, status: str) -> None:
    gain = Estimate(measure="accuracy", summary="over_chance", value=-0.1, low=-0.2, high=-0.05, chance=0.9)
    of = Estimate(measure="kappa", summary="per_sample", value=kappa, low=kappa, high=kappa, n=99)

    assert against_chance(gain, of).status.value == status


def test_one_unit_far_below_a_thousand_is_not_called_noise(rng: np.random.Generator) -> None:
    unit, truth = np.repeat(np.arange(1000), 20), rng.integers(0, 2, 20_000)
    right = rng.random(20_000) < np.where(unit == 7, 0.1, 0.9)
    run = muster.evaluate(truth=truth, guess=np.where(right, truth, 1 - truth), unit=unit, draws=100)

    assert [(f.kind, f.subject) for f in run.findings if f.subject != "model"] == [("one_bad_unit", "7")]
    assert run.status.value == "breach"


def test_a_second_bad_unit_is_not_hidden_behind_the_first(rng: np.random.Generator) -> None:
    unit, truth = np.repeat(np.arange(10), 400), rng.integers(0, 2, 4000)
    right = rng.random(4000) < np.select([unit == 0, unit == 1], [0.3, 0.7], 0.9)
    run = muster.evaluate(truth=truth, guess=np.where(right, truth, 1 - truth), unit=unit, draws=100)
    (found,) = (f for f in run.findings if f.kind == "one_bad_unit")

    assert found.text.startswith("Above all one bad unit: 0 at")
    assert "falls by" in found.text


def test_few_draws_do_not_turn_a_breach_into_noise(rng: np.random.Generator) -> None:
    unit, truth = np.repeat(np.arange(10), 1000), rng.integers(0, 2, 10_000)
    right = rng.random(10_000) < np.where(unit < 5, 0.3, 0.95)
    guess = np.where(right, truth, 1 - truth)
    for draws in (50, 100, 1000):
        run = muster.evaluate(truth=truth, guess=guess, unit=unit, draws=draws, measures=["accuracy"])
        of = {v.summary: v.status.value for v in run.verdicts}
        assert of["std_ddof1"] == "breach", draws


def test_noise_on_top_of_a_small_spread_is_not_a_breach(rng: np.random.Generator) -> None:
    """True standard deviation .125, seen with noise above .15, the edge of a breach."""
    breaches = 0
    for _ in range(20):
        shares = _beta(rng, 400, 0.125)
        cell = np.repeat(np.arange(400), 27)
        right = rng.random(cell.size) < np.repeat(shares, 27)
        run = muster.evaluate(
            truth=np.zeros(cell.size, int),
            guess=np.where(right, 0, 1),
            unit=cell,
            measures=["accuracy"],
            draws=100,
        )
        breaches += any(v.summary == "std_ddof1" and v.status.value == "breach" for v in run.verdicts)

    assert breaches <= 1


@pytest.mark.parametrize("width", [(0.4, 0.185), (0.32, 0.34)])
@pytest.mark.parametrize("name", ["auroc", "average_precision"])
def test_binned_intervals_hold_the_exact_value_of_squeezed_scores(
    name: str, width: tuple[float, float], rng: np.random.Generator
) -> None:
    low, span = width
    truth = rng.integers(0, 2, 20_000)
    score = low + span / (1 + np.exp(-rng.normal(3 * (2 * truth - 1) * 0.7, 1)))
    run = muster.evaluate(
        truth=truth, scores=np.stack([1 - score, score], 1), measures=[name, f"{name}_exact"], draws=0
    )
    found = run.estimate(name)

    assert found.low <= run.value(f"{name}_exact") <= found.high


def test_expected_of_auroc_is_noise(rng: np.random.Generator) -> None:
    """Equal units of seldom positives: what is expected is what is seen on the mean."""
    seen, told = [], []
    for _ in range(15):
        unit, truth = np.repeat(np.arange(20), 60), (rng.random(1200) < 0.2).astype(int)
        score = 1 / (1 + np.exp(-rng.normal(1.5 * truth, 1)))
        run = muster.evaluate(
            truth=truth, scores=np.stack([1 - score, score], 1), unit=unit,
            measures=["auroc"], spread_of=["auroc"], draws=200,
        )  # fmt: skip
        seen.append(run.value("auroc", "gap"))
        told.append(run.estimate("auroc", "gap").expected)

    assert np.mean(told) == pytest.approx(np.mean(seen), rel=0.3)
