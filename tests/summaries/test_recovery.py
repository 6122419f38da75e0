"""Arms over the same seeds, and the usual numbers of one log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from muster.errors import BadRecord, UnknownName
from muster.records import Rounds, Table
from muster.summaries.recovery import WHO, recover, seed_table

ROUNDS, UNITS, MOVED, ONSET = 30, 20, 5, 10
SEEDS = 6


def _log(seed: int, level: float, *, healthy: float = 0.8, drifted: bool = True) -> Rounds:
    """The first units fall by .3 at the onset; five rounds on they are at `level`, others at `healthy`."""
    rng = np.random.default_rng(seed)
    values = 0.8 + rng.normal(0, 0.005, (ROUNDS, UNITS)) + rng.normal(0, 0.01)
    late = np.arange(ROUNDS)[:, None] >= ONSET + 5
    moved = (np.arange(ROUNDS)[:, None] >= ONSET) & (np.arange(UNITS) < MOVED) & drifted
    values += np.where(moved, np.where(late, level - 0.8, -0.3), np.where(late, healthy - 0.8, 0.0))
    return Rounds(
        rounds=np.arange(1, ROUNDS + 1), units=np.array([f"u{i}" for i in range(UNITS)], object),
        values=values, drifted=moved,
        rows=np.where(np.arange(UNITS) < MOVED, 100.0, 50.0) * np.ones((ROUNDS, 1)),
    )  # fmt: skip


def _arms() -> dict[str, list[Rounds]]:
    return {
        "nothing": [_log(seed, 0.5) for seed in range(SEEDS)],
        "retrain": [_log(seed, 0.8) for seed in range(SEEDS)],
        "favour": [_log(seed, 0.8, healthy=0.7) for seed in range(SEEDS)],
        "no drift": [_log(seed, 0.5, drifted=False) for seed in range(SEEDS)],
    }


def _of(table: Table, arm: str, who: str, quantity: str) -> dict[str, Any]:
    chosen = (table["arm"] == arm) & (table["who"] == who) & (table["quantity"] == quantity)
    (row,) = table.where(chosen).rows()
    return row


@pytest.fixture(scope="module")
def table() -> Table:
    return recover(_arms(), "nothing", "no drift")


def test_the_table_is_tidy(table: Table) -> None:
    assert list(table.columns) == [
        "arm", "who", "quantity", "value", "low", "high", "reached", "seeds", "reason",
    ]  # fmt: skip
    assert len(table) == 4 * len(WHO) * 10
    undefined = np.isnan(table["value"])
    assert all(table["reason"][undefined])
    assert not any(table["reason"][~undefined])


def test_who_fell_and_how_far(table: Table) -> None:
    depth = {who: _of(table, "nothing", who, "depth")["value"] for who in WHO}

    assert depth["drifted units"] == pytest.approx(0.3, abs=0.01)
    assert depth["stable units"] == pytest.approx(0.0, abs=0.01)
    assert depth["all"] == pytest.approx(0.3 * 500 / 1250, abs=0.01)
    assert depth["worst tenth"] == pytest.approx(0.3, abs=0.02)


def test_the_arm_that_helped(table: Table) -> None:
    assert _of(table, "retrain", "drifted units", "completeness")["value"] == pytest.approx(1, abs=0.05)
    assert _of(table, "retrain", "drifted units", "area_lost")["value"] == pytest.approx(5 * 0.3, abs=0.05)
    back = _of(table, "retrain", "drifted units", "rounds_to_tolerance")
    assert (back["value"], back["reached"], back["seeds"]) == (5.0, SEEDS, SEEDS)
    assert _of(table, "retrain", "all", "share_regained")["value"] == pytest.approx(1.0)
    assert _of(table, "retrain", "all", "gap_to_twin")["value"] == pytest.approx(0.0)
    assert _of(table, "retrain", "drifted units", "gain_area")["value"] == pytest.approx(15 * 0.3)


def test_the_arm_that_did_nothing(table: Table) -> None:
    back = _of(table, "nothing", "drifted units", "rounds_to_tolerance")

    assert np.isnan(back["value"])
    assert (back["reached"], back["reason"]) == (0, "6 of 6 seeds never came back to within 0.02")
    assert _of(table, "nothing", "all", "harm")["reason"] == "this is the control"
    assert _of(table, "nothing", "all", "gap_to_twin")["value"] == pytest.approx(0.12)


def test_help_for_some_may_harm_others(table: Table) -> None:
    assert _of(table, "favour", "drifted units", "harm")["value"] == pytest.approx(0.3)
    assert _of(table, "favour", "stable units", "harm")["value"] == pytest.approx(-0.1)
    assert _of(table, "retrain", "stable units", "harm")["value"] == pytest.approx(0.0)


def test_differences_are_paired_by_seed(table: Table) -> None:
    """The level of a seed moves the end by far more than the difference of two arms of one seed."""
    harm, end = (_of(table, "retrain", "drifted units", name) for name in ("harm", "end"))

    assert harm["high"] - harm["low"] < 1e-9
    assert end["high"] - end["low"] > 0.003


def test_the_interval_is_students() -> None:
    arms = _arms()
    logs = arms["retrain"]
    ends = [log.pooled[-5:].mean() for log in logs]
    found = _of(recover(arms, "nothing", None), "retrain", "all", "end")
    theirs = stats.t.interval(0.95, SEEDS - 1, np.mean(ends), stats.sem(ends))

    assert (found["value"], found["low"], found["high"]) == pytest.approx((np.mean(ends), *theirs))


def test_one_seed_has_no_interval_and_no_twin_no_gap() -> None:
    arms = {name: logs[:1] for name, logs in _arms().items() if name != "no drift"}
    table = recover(arms, "nothing", None)
    found = _of(table, "retrain", "all", "end")

    assert np.isnan([found["low"], found["high"]]).all()
    assert not np.isnan(found["value"])
    assert not set(table["quantity"]) & {"gap_to_twin", "share_regained"}


def test_a_twin_has_nothing_to_recover_from(table: Table) -> None:
    found = _of(table, "no drift", "drifted units", "completeness")

    assert found["reason"] == "no seed lost more than 0.02"
    assert _of(table, "no drift", "all", "gap_to_twin")["reason"] == "this is the twin"
    assert _of(table, "no drift", "drifted units", "harm")["value"] == pytest.approx(0.3)


def test_half_of_the_seeds_must_come_back_for_a_median() -> None:
    arms = _arms()
    arms["mixed"] = [*arms["retrain"][:3], *arms["nothing"][3:]]
    found = _of(recover(arms, "nothing", None), "mixed", "drifted units", "rounds_to_tolerance")
    assert (found["value"], found["reached"]) == (5.0, 3)

    arms["mixed"] = [*arms["retrain"][:2], *arms["nothing"][2:]]
    found = _of(recover(arms, "nothing", None), "mixed", "drifted units", "rounds_to_tolerance")
    assert np.isnan(found["value"])
    assert (found["reached"], found["seeds"]) == (2, 6)


def test_nobody_stable_is_undefined() -> None:
    def all_moved(log: Rounds) -> Rounds:
        return Rounds(
            rounds=log.rounds, units=log.units[:MOVED], values=log.values[:, :MOVED],
            rows=log.rows[:, :MOVED], drifted=log.drifted[:, :MOVED],
        )  # fmt: skip

    arms = {name: [all_moved(log) for log in logs] for name, logs in _arms().items()}
    table = recover(arms, "nothing", "no drift")
    for quantity in ("baseline", "depth", "area_lost", "rounds_to_tolerance", "end", "completeness"):
        found = _of(table, "retrain", "stable units", quantity)
        assert np.isnan(found["value"])
        assert found["reason"] == "none of these units reported in the last rounds"


def test_units_that_were_not_there_are_left_out() -> None:
    arms = _arms()
    before = _of(recover(arms, "nothing", None), "retrain", "stable units", "harm")["value"]
    for log in (log for logs in arms.values() for log in logs):
        log.values[ONSET::2, MOVED::2] = np.nan
        log.rows[ONSET::2, MOVED::2] = 0
    table = recover(arms, "nothing", None)

    assert _of(table, "retrain", "stable units", "harm")["value"] == pytest.approx(before, abs=1e-9)
    assert _of(table, "retrain", "worst tenth", "end")["value"] > 0.7


def test_the_order_of_units_does_not_matter() -> None:
    order = np.random.default_rng(3).permutation(UNITS)

    def mixed(log: Rounds) -> Rounds:
        return Rounds(
            rounds=log.rounds, units=log.units[order], values=log.values[:, order],
            rows=log.rows[:, order], drifted=log.drifted[:, order],
        )  # fmt: skip

    arms = _arms()
    there = {name: [mixed(log) for log in logs] for name, logs in arms.items()}
    for name in ("value", "low", "high"):
        np.testing.assert_allclose(
            recover(arms, "nothing", "no drift")[name],
            recover(there, "nothing", "no drift")[name],
            atol=1e-12,
        )


def test_arms_that_cannot_be_compared_are_refused() -> None:
    arms = _arms()
    with pytest.raises(UnknownName, match="did you mean 'nothing'"):
        recover(arms, "noting", None)
    with pytest.raises(UnknownName, match="no arm"):
        recover(arms, "nothing", "twin")
    with pytest.raises(BadRecord, match="no unit drifts"):
        recover(arms, "no drift", None)
    with pytest.raises(BadRecord, match="has 2 logs"):
        recover(arms | {"short": arms["retrain"][:2]}, "nothing", None)
    with pytest.raises(BadRecord, match="has no logs"):
        recover({"nothing": []}, "nothing", None)
    other = Rounds(
        rounds=np.arange(ROUNDS), units=np.array(["x"], object), values=np.ones((ROUNDS, 1)),
        rows=np.ones((ROUNDS, 1)),
    )  # fmt: skip
    with pytest.raises(BadRecord, match="other units or rounds"):
        recover({"nothing": arms["nothing"][:1], "odd": [other]}, "nothing", None)


def _example(mitigated: np.ndarray | None = None, *, drift: bool = True) -> Rounds:
    values = np.full(50, 0.833)
    values[:25] = 0.853
    values[25:33] = np.linspace(0.702, 0.833, 8)
    return Rounds(
        rounds=np.arange(1, 51), units=np.array(["a"], object), values=values[:, None], rows=np.ones((50, 1)),
        drifted=(np.arange(50)[:, None] >= 25) & drift, mitigated=mitigated,
    )  # fmt: skip


def _numbers(log: Rounds) -> tuple[dict[str, float], dict[str, str]]:
    table = seed_table(log)
    names = table["quantity"].tolist()
    return dict(zip(names, table["value"], strict=True)), dict(zip(names, table["reason"], strict=True))


def test_the_published_example_in_round_numbers() -> None:
    value, reason = _numbers(_example(np.isin(np.arange(50), [3, 27, 28])))

    assert len(value) == 17
    assert value["drift_injection_round"] == 26
    assert value["mitigation_start_round"] == 28
    assert value["stabilization_round"] == 33
    assert value["recovery_speed_rounds"] == 7
    assert value["recovery_completeness"] == pytest.approx(0.8675, abs=5e-5)
    assert value["recovery_quality_score"] == pytest.approx(3.615, abs=5e-4)
    assert not any(reason.values())


def test_what_is_undefined_says_why() -> None:
    value, reason = _numbers(_example())
    assert np.isnan(value["mitigation_start_round"])
    assert reason["mitigation_start_round"] == "no mitigation is known"
    assert _numbers(_example(np.zeros(50, bool)))[1]["mitigation_start_round"] == "mitigation never started"

    rising = _example()
    rising.values[25:, 0] = np.linspace(0.3, 0.8, 25)
    value, reason = _numbers(rising)
    assert reason["recovery_completeness"] == reason["full_recovery_achieved"] == "never stabilised"
    assert reason["performance_lost"] == ""

    flat = _example()
    flat.values[:] = 0.8
    assert _numbers(flat)[1]["recovery_completeness"] == "nothing was lost"

    value, reason = _numbers(_example(drift=False))
    assert np.isnan(list(value.values())).all()
    assert set(reason.values()) == {"no drift is known"}
