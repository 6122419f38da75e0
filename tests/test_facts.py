"""Numbers known to be right, some of them where the documents that name the formula give a wrong one."""

from __future__ import annotations

import numpy as np
import pytest

import muster
from muster.kernels import confusion, inequality
from muster.kernels.inequality import SPREADS
from muster.records import Block, Table, Tally
from muster.summaries.pool import pool
from muster.summaries.population import Population, summarise
from muster.summaries.redraw import of_shares


@pytest.mark.parametrize(
    ("values", "weights", "expected"),
    [([0.8, 0.9, 0.7], [100, 200, 150], 0.811111), ([0.9, 0.8, 0.7], [100, 500, 400], 0.77)],
)
def test_weighted_mean(values: list[float], weights: list[float], expected: float) -> None:
    rows = np.array(weights, float)[:, None]
    keys = Table.of({"model": [""] * 3, "unit": ["a", "b", "c"], "time": [1] * 3, "slice": [""] * 3})
    pooled = pool(Block(keys, {"right": Tally(np.array(values)[:, None] * rows, rows)}))

    assert pooled.tallies["right"].mean().item() == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("index", "values", "expected"),
    [
        ("gini", [0.9, 0.8, 0.7, 0.6], 0.083333),
        ("gini", [0.95, 0.5, 0.3, 0.1], 0.371622),
        ("gini", [0.9, 0.5, 0.1], 0.355556),
        ("gini", [1, 0, 0, 0], 0.75),
        ("gini", [1, 0], 0.5),
        ("gini", [0.99, 0.98, 0.97, 0.90], 0.018229),
        ("gini_error", [0.99, 0.98, 0.97, 0.90], 0.4375),
        ("jain", [0.8, 0.7, 0.6], 0.98658),
        ("jain", [0.9, 0.5, 0.2], 0.775758),
        ("jain", [1, 0, 0, 0], 0.25),
        ("jain", [0.8, 0.85, 0.75, 0.9, 0.7], 0.992248),
        ("std_ddof0", [0.8, 0.85, 0.75, 0.9, 0.7], 0.0707107),
        ("gap", [0.8, 0.85, 0.75, 0.9, 0.7], 0.2),
        ("variance_ddof1", [0.85, 0.83, 0.87, 0.84, 0.86], 0.00025),
        ("std_ddof1", [0.85, 0.83, 0.87, 0.84, 0.86], 0.0158114),
        ("variance_ddof1", [0.9, 0.7, 0.5], 0.04),
        ("p10", list(np.linspace(0.5, 0.95, 20)), 0.545),
        ("worst_tenth", list(np.linspace(0.5, 0.95, 20)), 0.511842),
        ("worst_tenth", list(np.linspace(0.5, 0.95, 19)), 0.5),
    ],
)
def test_spread(index: str, values: list[float], expected: float) -> None:
    assert SPREADS[index](np.sort(np.array(values, float))) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("values", "level", "expected"),
    [([0.8, 0.82, 0.78], 0.8, 0.02), ([0.9, 0.8, 0.7], 0.8, 0.1), ([0.85, 0.75], 0.8, 0.05)],
)
def test_equalized_accuracy(values: list[float], level: float, expected: float) -> None:
    x = np.sort(np.array(values))

    assert inequality.max_deviation(x, np.array(level)) == pytest.approx(expected)


def test_jain_is_told_by_the_coefficient_of_variation() -> None:
    for cov, jain in ((0.1, 0.990), (0.2, 0.962), (0.3, 0.917)):
        x = np.sort(np.array([1 - cov, 1 + cov]))

        assert inequality.cov(x) == pytest.approx(cov)
        assert inequality.jain(x) == pytest.approx(jain, abs=5e-4)


def _equals(units: int, rows: int, share: float = 0.8) -> Population:
    values, sizes = np.full(units, share), np.full(units, float(rows))
    return Population(measure="accuracy", values=values, rows=sizes, noise=of_shares(values, sizes, share))


@pytest.mark.parametrize(
    ("units", "rows", "gap", "gini"),
    [
        (10, 20, 0.271, 0.056),
        (10, 50, 0.172, 0.036),
        (10, 200, 0.086, 0.018),
        (10, 1000, 0.039, 0.008),
        (3, 100, 0.069, None),
        (100, 100, 0.199, None),
        (1000, 100, 0.256, None),
    ],
)
def test_what_noise_alone_shows(units: int, rows: int, gap: float, gini: float | None) -> None:
    found = {e.summary: e for e in summarise(_equals(units, rows), draws=20_000 if units < 1000 else 2000)}

    assert found["gap"].expected == pytest.approx(gap, rel=0.03)
    if gini:
        assert found["gini"].expected == pytest.approx(gini, abs=6e-4)
    assert found["gap"].excess == pytest.approx(found["gap"].value - found["gap"].expected)


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [
        ((80, 10, 85, 5), 0.888889, 0.941176, 0.914286),
        ((8, 2, 18, 2), 0.8, 0.8, 0.8),
        ((20, 2, 23, 5), 0.9091, 0.8, 0.8511),
        ((0, 0, 10, 10), np.nan, 0.0, 0.0),
    ],
)
def test_detection_counts(counts: tuple[int, ...], precision: float, recall: float, f1: float) -> None:
    tp, fp, tn, fn = counts
    table = np.array([[tn, fp], [fn, tp]], float)

    assert confusion.precision(table)[1] == pytest.approx(precision, abs=5e-5, nan_ok=True)
    assert confusion.recall(table)[1] == pytest.approx(recall, abs=5e-5)
    assert confusion.f1(table)[1] == pytest.approx(f1, abs=5e-5)


def test_a_model_that_knows_nothing_has_a_high_jain_index_and_is_said_to_know_nothing(
    rng: np.random.Generator,
) -> None:
    """Ten clients of 125 rows, ten classes, no training: Jain .94, which means nothing."""
    unit, truth = np.repeat(np.arange(10), 125), rng.integers(0, 10, 1250)
    run = muster.evaluate(truth=truth, guess=rng.integers(0, 10, 1250), unit=unit)
    kinds = {finding.kind: finding for finding in run.findings}

    assert run.value("accuracy", "jain") == pytest.approx(0.94, abs=0.04)
    assert "means nothing here" in kinds["at_chance"].text
    assert run.status.value == "breach"


def test_an_absent_class_is_not_a_class_that_is_always_wrong() -> None:
    found = muster.per_unit(truth=[0, 0, 1], guess=[0, 0, 1], classes=[0, 1, 2], measures=["macro_f1"])

    assert found["macro_f1"].tolist() == [1.0]
