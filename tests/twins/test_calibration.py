"""Calibration against the seed's formula, written out; temperature against a general minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from muster.kernels import calibration
from muster.kernels.calibration import cool, fit_temperature
from muster.measures import CATALOG, count, lookup
from muster.measures.calibration import BINS
from muster.records import Labelled, Tallies
from tests.populations import labelled, rows_of


def _ece(confidence: np.ndarray, right: np.ndarray, bins: int) -> float:
    """The loop of the seed, but for the first bin, which here holds a confidence of exactly 0."""
    edges, total = np.linspace(0, 1, bins + 1), 0.0
    for i in range(bins):
        held = (confidence > edges[i]) & (confidence <= edges[i + 1])
        if i == 0:
            held |= confidence == 0
        if held.any():
            total += held.sum() * abs(right[held].mean() - confidence[held].mean())
    return total / len(confidence)


def test_equal_width_ece_is_the_formula(rng: np.random.Generator) -> None:
    seen = labelled(rng, rows=2000, cells=5, coarse=20)
    found = CATALOG["ece"].finish(CATALOG["ece"].count(seen))

    for cell in range(5):
        own = seen.cell == cell
        assert found[cell] == pytest.approx(_ece(seen.confidence[own], seen.right[own], BINS), abs=1e-12)


def test_confidences_of_exactly_0_and_1_are_counted() -> None:
    confidence, right = np.array([0.0, 1.0, 1.0]), np.array([True, True, False])
    bins = calibration.equal_width(confidence, BINS)
    rows, hits, sure = calibration.sums((np.zeros(3, int), bins), (1, BINS), right, confidence)

    assert rows.sum() == 3
    assert rows[0, [0, -1]].tolist() == [1, 2]
    assert calibration.ece(rows, hits, sure).item() == pytest.approx((1 + 1) / 3)


def test_every_edge_falls_into_the_bin_below_it() -> None:
    for bins in range(2, 40):
        edges = np.linspace(0, 1, bins + 1)[1:]

        assert calibration.equal_width(edges, bins).tolist() == list(range(bins))


def test_classwise_ece_is_the_mean_over_classes_of_the_formula(rng: np.random.Generator) -> None:
    seen = labelled(rng, rows=900, cells=1)
    found = CATALOG["ece_class"].finish(CATALOG["ece_class"].count(seen)).item()

    assert found == pytest.approx(
        np.mean([_ece(score, seen.truth == k, BINS) for k, score in enumerate(seen.scores)])
    )


def test_equal_mass_bins_are_those_of_the_sorted_confidences(rng: np.random.Generator) -> None:
    """Fine bins are never split, so groups differ from those of a sort by few rows."""
    given = rows_of(rng, rows=20_000, units=1, sharpness=2.0)
    sure, right = given["scores"].max(1), given["truth"] == given["guess"]
    order = np.array_split(np.argsort(sure, kind="stable"), BINS)
    exact = sum(abs(right[part].sum() - sure[part].sum()) for part in order) / sure.size
    zero = np.zeros(sure.size, int)
    seen = Labelled(zero, 1, given["truth"], given["guess"], 3, confidence=sure)

    assert CATALOG["ece_mass"].finish(CATALOG["ece_mass"].count(seen)).item() == pytest.approx(
        exact, abs=2e-3
    )


def test_mce_is_the_largest_gap_of_a_bin_with_rows() -> None:
    rows, right, sure = np.array([[10.0, 0, 4]]), np.array([[5.0, 0, 4]]), np.array([[6.0, 0, 1.2]])

    assert calibration.mce(rows, right, sure).item() == pytest.approx(0.7)


def _population(rng: np.random.Generator, rows: int, gap: float, units: int = 600) -> Tallies:
    """Units of confidences even over [1/3, 1], right as often as they say, less `gap`."""
    sure = 1 - 2 / 3 * rng.random(units * rows)
    right = rng.random(sure.size) < np.clip(sure - gap, 0, 1)
    cell = np.repeat(np.arange(units), rows)
    seen = Labelled(cell, units, np.zeros_like(cell), np.where(right, 0, 1), 2, confidence=sure)
    return count(seen, lookup(["ece"]))


@pytest.mark.parametrize(("rows", "shown"), [(50, 0.146), (100, 0.105), (500, 0.048)])
def test_a_calibrated_model_shows_an_ece_from_noise_alone_and_that_is_said(
    rows: int, shown: float, rng: np.random.Generator
) -> None:
    tallies = _population(rng, rows, 0.0)
    ece = CATALOG["ece"]

    assert ece.finish(tallies).mean() == pytest.approx(shown, rel=0.02)
    assert ece.expected(tallies).mean() == pytest.approx(shown, rel=0.03)
    assert CATALOG["ece_debiased"].finish(tallies).mean() == pytest.approx(0.59 * shown, rel=0.05)


@pytest.mark.parametrize("gap", [0.1, 0.15])
def test_the_debiased_form_is_nearer_to_the_truth_than_the_plain_one(
    gap: float, rng: np.random.Generator
) -> None:
    tallies = _population(rng, 100, gap)
    plain, debiased = (CATALOG[name].finish(tallies).mean() for name in ("ece", "ece_debiased"))

    assert abs(debiased - gap) < 0.5 * abs(plain - gap)


@pytest.mark.parametrize("gap", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("rows", [20, 200, 2000])
def test_the_interval_of_ece_holds_the_truth(gap: float, rows: int, rng: np.random.Generator) -> None:
    low, high = CATALOG["ece"].interval(_population(rng, rows, gap), 0.95)

    assert ((low <= gap) & (gap <= high)).mean() > 0.93


@pytest.mark.parametrize("sharpness", [0.4, 1.0, 2.5])
def test_temperature_is_the_one_a_minimiser_finds(sharpness: float, rng: np.random.Generator) -> None:
    given = rows_of(rng, rows=3000, sharpness=sharpness)
    scores, truth = np.ascontiguousarray(given["scores"].T), given["truth"]
    row = np.arange(truth.size)

    def loss(temperature: float) -> float:
        return float(-np.log(cool(scores, temperature)[truth, row]).mean())

    best = minimize_scalar(loss, bounds=(0.05, 20), method="bounded", options={"xatol": 1e-8}).x

    assert fit_temperature(scores, truth) == pytest.approx(best, rel=1e-4)
    assert fit_temperature(scores, truth) == pytest.approx(sharpness, rel=0.1)


def test_a_model_that_is_always_right_is_kept_from_temperature_0() -> None:
    scores = np.array([[0.6, 0.4], [0.4, 0.6]])

    assert fit_temperature(scores, np.array([0, 1])) == pytest.approx(np.exp(-5), rel=1e-6)
