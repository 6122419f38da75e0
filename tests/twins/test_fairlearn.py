"""Group fairness against fairlearn."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn import metrics

from muster.kernels import confusion
from muster.summaries.groups import fairness

TWINS = {
    "demographic_parity_difference": metrics.demographic_parity_difference,
    "demographic_parity_ratio": metrics.demographic_parity_ratio,
    "equal_opportunity_difference": metrics.equal_opportunity_difference,
    "equal_opportunity_ratio": metrics.equal_opportunity_ratio,
    "equalized_odds_difference": metrics.equalized_odds_difference,
    "equalized_odds_ratio": metrics.equalized_odds_ratio,
}


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("groups", [2, 4])
def test_criterion_equals_its_twin(name: str, groups: int, rng: np.random.Generator) -> None:
    group = rng.integers(0, groups, 800)
    truth = rng.integers(0, 2, 800)
    guess = np.where(rng.random(800) < 0.5 + 0.1 * group, truth, 1 - truth)
    counts = confusion.count(group, truth, guess, groups, 2)
    found = {estimate.summary: estimate.value for estimate in fairness(counts, 1, draws=0)}

    assert found[name] == pytest.approx(TWINS[name](truth, guess, sensitive_features=group))


def test_predictive_parity_is_the_spread_of_precision(rng: np.random.Generator) -> None:
    group, truth, guess = rng.integers(0, 3, 600), rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    frame = metrics.MetricFrame(
        metrics=metrics.selection_rate, y_true=guess, y_pred=truth, sensitive_features=group
    )
    precision = [truth[(group == g) & (guess == 1)].mean() for g in range(3)]
    counts = confusion.count(group, truth, guess, 3, 2)
    found = {estimate.summary: estimate.value for estimate in fairness(counts, 1, draws=0)}

    assert len(frame.by_group) == 3
    assert found["predictive_parity_difference"] == pytest.approx(max(precision) - min(precision))
    assert found["predictive_parity_ratio"] == pytest.approx(min(precision) / max(precision))


def test_equal_groups_are_told_from_unequal_ones(rng: np.random.Generator) -> None:
    group, truth = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    equal = confusion.count(group, truth, np.where(rng.random(2000) < 0.8, truth, 1 - truth), 2, 2)
    worse = np.where(rng.random(2000) < 0.8 - 0.3 * group, truth, 1 - truth)
    unequal = confusion.count(group, truth, worse, 2, 2)

    def opportunity(counts: np.ndarray) -> float:
        return {e.summary: e.p_value for e in fairness(counts, 1)}["equal_opportunity_difference"]

    assert opportunity(equal) > 0.05
    assert opportunity(unequal) < 0.01


def test_a_missing_group_is_undefined_and_not_fair() -> None:
    one = fairness(np.array([[[5.0, 5.0], [5.0, 5.0]]]), 1)
    empty = fairness(np.array([[[5.0, 5.0], [5.0, 5.0]], [[4.0, 4.0], [0.0, 0.0]]]), 1)
    of = {estimate.summary: estimate for estimate in empty}

    assert {estimate.reason for estimate in one} == {"fewer than two groups"}
    assert np.isnan(of["equal_opportunity_difference"].value)
    assert of["equal_opportunity_difference"].reason == "a group has no rows to take the rate from"
    assert of["demographic_parity_difference"].value == 0
