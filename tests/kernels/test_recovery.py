"""Recovery: the usual numbers where they are right, and the honest ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kernels import recovery

RISING = [0.85, 0.86, 0.85, 0.84, 0.85, 0.70, 0.72, 0.75, 0.78, 0.82, 0.84, 0.85]
levels = st.floats(0.05, 1, allow_subnormal=False)
NAMES = {
    "pre_drift_accuracy", "pre_drift_std", "at_drift_accuracy", "mitigation_start_round",
    "stabilization_round", "post_recovery_accuracy", "recovery_speed_rounds", "performance_lost",
    "performance_recovered", "recovery_completeness", "recovery_quality_score", "overshoot", "undershoot",
    "stability_post_recovery", "full_recovery_achieved", "accuracy_recovery_rate", "drift_injection_round",
}  # fmt: skip


def _example(rounds: int = 50) -> np.ndarray:
    """Before .853, at the drift in round 25 .702, at rest after seven rounds at .833."""
    values = np.full(rounds, 0.833)
    values[:25] = 0.853
    values[25:33] = np.linspace(0.702, 0.833, 8)
    return values


def _series(*values: float) -> np.ndarray:
    return np.array(values, float)


@pytest.mark.parametrize(
    ("values", "how", "place"),
    [
        ([0.8, 0.8, 0.8, 0.81, 0.8], {"threshold": 0.02}, 0),
        ([0.7, 0.75, 0.78, 0.8, 0.81, 0.81, 0.81], {}, 4),
        ([0.5, 0.6, 0.7, 0.8, 0.81, 0.81, 0.81], {"start": 3}, 4),
        ([0.75, 0.78, 0.81, 0.83, 0.84, 0.845, 0.847, 0.848], {}, 4),
        ([0.7, 0.75, 0.8, 0.81, 0.81, 0.82], {}, np.nan),
        ([0.7, 0.75, 0.8, 0.85, 0.9], {}, np.nan),
        ([0.7, 0.8, 0.8], {"window": 2}, 1),
        ([0.8, 0.8], {}, np.nan),
        ([0.8, 0.8, 0.8], {"start": 5}, np.nan),
        ([np.nan, 0.8, 0.8, 0.8], {}, 1),
        (RISING, {"start": 5}, np.nan),
    ],
)
def test_stabilised(values: list[float], how: dict[str, float], place: float) -> None:
    assert recovery.stabilised(np.array(values), **how) == pytest.approx(place, nan_ok=True)


def test_a_step_of_the_threshold_is_not_below_it_however_it_is_rounded() -> None:
    for low in np.arange(60, 90) / 100:
        assert np.isnan(recovery.stabilised(np.array([low, low + 0.01, low + 0.01])))
        assert recovery.stabilised(np.array([low, low + 0.009999, low + 0.009999])) == 0


def test_the_published_example() -> None:
    found = recovery.seed_recovery(_example(), 25, 27)

    assert set(found) == NAMES
    assert found["stabilization_round"] == 32
    assert found["mitigation_start_round"] == 27
    assert found["recovery_speed_rounds"] == 7
    assert found["performance_lost"] == pytest.approx(0.151)
    assert found["performance_recovered"] == pytest.approx(0.131)
    assert found["recovery_completeness"] == pytest.approx(0.8675, abs=5e-5)
    assert found["recovery_quality_score"] == pytest.approx(3.615, abs=5e-4)
    assert found["undershoot"] == pytest.approx(0.020)
    assert found["overshoot"] == 0.0
    assert found["full_recovery_achieved"] == 1.0
    assert found["accuracy_recovery_rate"] == pytest.approx(0.833 / 0.853)


def test_the_quality_score_depends_on_how_long_one_watches_and_the_time_back_does_not() -> None:
    short, long = _example(50), _example(500)
    scores = [recovery.seed_recovery(x, 25)["recovery_quality_score"] for x in (short, long)]

    assert scores == pytest.approx([3.61, 7.61], abs=0.01)
    assert recovery.honest(short, 25)["rounds_to_tolerance"] == 7
    assert recovery.honest(long, 25)["rounds_to_tolerance"] == 7


def test_a_series_that_never_rests_says_so() -> None:
    found = recovery.seed_recovery(np.array(RISING), 5)

    assert found["pre_drift_accuracy"] == pytest.approx(0.85)
    assert found["pre_drift_std"] == pytest.approx(0.006325, abs=5e-7)
    assert found["performance_lost"] == pytest.approx(0.15)
    told = {"pre_drift_accuracy", "pre_drift_std", "at_drift_accuracy", "performance_lost"}
    assert {name for name, value in found.items() if not np.isnan(value)} == told | {"drift_injection_round"}


def test_the_same_series_watched_until_it_rests() -> None:
    found = recovery.seed_recovery(np.array([*RISING, 0.85, 0.85]), 5)

    assert found["stabilization_round"] == 11
    assert found["recovery_completeness"] == pytest.approx(1.0)
    assert found["stability_post_recovery"] == 0.0
    assert recovery.honest(np.array(RISING), 5, end_rounds=1)["completeness"] == pytest.approx(1.0)


def test_the_usual_rule_of_full_recovery_has_two_sides() -> None:
    better = _series(0.8, 0.8, 0.6, 0.9, 0.9, 0.9)
    found = recovery.seed_recovery(better, 2)

    assert found["full_recovery_achieved"] == 0.0
    assert found["overshoot"] == pytest.approx(0.1)
    assert found["recovery_completeness"] == pytest.approx(1.5)


def test_nothing_lost_is_not_complete() -> None:
    found = recovery.seed_recovery(np.full(10, 0.8), 5)

    assert np.isnan(found["recovery_completeness"])
    assert np.isnan(found["recovery_quality_score"])
    assert found["full_recovery_achieved"] == 1.0


def test_further_loss_is_below_nothing() -> None:
    assert recovery.seed_recovery(_series(0.8, 0.6, 0.4, 0.4, 0.4), 1)["recovery_completeness"] == (
        pytest.approx(-1.0)
    )
    assert recovery.honest(_series(0.8, 0.6, 0.5, 0.4, 0.4), 1, end_rounds=2)["completeness"] < 0


def test_without_a_round_before_the_drift_there_is_no_baseline() -> None:
    assert np.isnan(recovery.seed_recovery(np.full(5, 0.8), 0)["recovery_completeness"])
    found = recovery.honest(np.full(5, 0.8), 0)

    assert [name for name, value in found.items() if not np.isnan(value)] == ["end"]


def test_the_honest_numbers_of_a_step_that_heals() -> None:
    values = _series(0.5, *[0.8] * 5, 0.6, 0.65, 0.7, 0.79, 0.77, 0.79, 0.8, 0.81, 0.8, 0.8)
    found = {name: float(value) for name, value in recovery.honest(values, 6).items()}

    assert found["baseline"] == pytest.approx(0.8)
    assert found["depth"] == pytest.approx(0.2)
    assert found["area_lost"] == pytest.approx(0.2 + 0.15 + 0.1 + 0.01 + 0.03 + 0.01)
    assert found["rounds_to_tolerance"] == 5
    assert found["end"] == pytest.approx(0.8)
    assert found["completeness"] == pytest.approx(1.0)


def test_at_the_tolerance_is_within_it() -> None:
    values = _series(0.853, 0.853, 0.702, 0.833, 0.833, 0.833)

    assert recovery.honest(values, 2)["rounds_to_tolerance"] == 1


def test_never_back_is_censored() -> None:
    found = recovery.honest(_series(0.8, 0.8, 0.6, 0.6, 0.6), 2)

    assert np.isnan(found["rounds_to_tolerance"])
    assert found["completeness"] == pytest.approx(0.0)


def test_back_in_the_last_round_is_back() -> None:
    assert recovery.honest(_series(0.8, 0.8, 0.6, 0.6, 0.8), 2)["rounds_to_tolerance"] == 2


def test_to_end_above_the_baseline_is_recovery() -> None:
    found = recovery.honest(_series(0.8, 0.8, 0.6, 0.9, 0.9), 2, end_rounds=2)

    assert found["rounds_to_tolerance"] == 1
    assert found["completeness"] == pytest.approx(1.5)


def test_a_loss_within_the_tolerance_is_nothing_to_recover_from() -> None:
    found = recovery.honest(_series(0.8, 0.8, 0.78, 0.79, 0.8), 2)

    assert np.isnan(found["completeness"])
    assert found["rounds_to_tolerance"] == 0


def test_a_loss_that_sets_in_late_is_waited_for() -> None:
    values = _series(*[0.8] * 5, *[0.8] * 4, *np.linspace(0.75, 0.5, 6), *[0.8] * 3)

    assert recovery.honest(values, 5)["rounds_to_tolerance"] == 10
    assert recovery.honest(values[:-3], 5)["rounds_to_tolerance"] == pytest.approx(np.nan, nan_ok=True)


def test_one_bad_round_late_is_not_a_loss() -> None:
    values = np.full(20, 0.8)
    values[15] = 0.7

    assert recovery.honest(values, 5)["rounds_to_tolerance"] == 0


def test_rounds_that_nobody_reported_prove_nothing() -> None:
    values = _series(0.8, 0.8, np.nan, 0.6, np.nan, 0.8, np.nan, 0.8)
    found = recovery.honest(values, 2)

    assert found["rounds_to_tolerance"] == 3
    assert found["area_lost"] == pytest.approx(6 * 0.2 / 3)
    assert np.isnan(list(recovery.honest(np.full(8, np.nan), 2).values())).all()


@given(level=levels, rounds=st.integers(2, 30), onset=st.integers(1, 29))
def test_a_constant_loses_nothing(level: float, rounds: int, onset: int) -> None:
    found = recovery.honest(np.full(rounds, level), min(onset, rounds - 1))

    assert found["area_lost"] == pytest.approx(0.0, abs=1e-12)
    assert found["depth"] == pytest.approx(0.0, abs=1e-12)
    assert found["rounds_to_tolerance"] == 0
    assert np.isnan(found["completeness"])


@given(seed=st.integers(0, 2**32 - 1))
def test_series_together_are_series_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.6, 0.9, (2, 3, 20))
    values[rng.random(values.shape) < 0.1] = np.nan
    found = recovery.honest(values, 8)
    for at in np.ndindex(2, 3):
        alone = recovery.honest(values[at], 8)
        for name, value in found.items():
            np.testing.assert_allclose(value[at], alone[name], rtol=1e-12)
    assert (np.nan_to_num(found["area_lost"]) >= 0).all()


@given(seed=st.integers(0, 2**32 - 1), level=st.floats(-0.3, 0.3))
def test_only_differences_from_the_baseline_count(seed: int, level: float) -> None:
    values = np.random.default_rng(seed).uniform(0.6, 0.9, (4, 20))
    here, there = (recovery.honest(x, 8, tolerance=0.0501234) for x in (values, values + level))
    for name in ("depth", "area_lost", "completeness", "rounds_to_tolerance"):
        np.testing.assert_allclose(here[name], there[name], atol=1e-6)


def test_against_a_control_and_a_twin() -> None:
    control, twin = _series(0.8, 0.8, *[0.6] * 6), np.full(8, 0.8)
    values = _series(0.8, 0.8, 0.6, 0.65, *[0.75] * 4)
    found = {name: float(x) for name, x in recovery.against(values, control, twin, 2, end_rounds=4).items()}

    assert found == pytest.approx(
        {"gain_end": 0.15, "gain_area": 0.65, "share_regained": 0.75, "gap_to_twin": 0.05}
    )


def test_against_what_cost_nothing_no_share_is_regained() -> None:
    flat = np.full(8, 0.8)

    assert np.isnan(recovery.against(flat, flat, flat, 2)["share_regained"])
    assert np.isnan(recovery.against(flat, flat, flat - 0.1, 2)["share_regained"])
    without = recovery.against(flat, flat, None, 2)
    assert np.isnan([without["share_regained"], without["gap_to_twin"]]).all()
    assert without["gain_end"] == 0.0
