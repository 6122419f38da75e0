"""Detectors over logs whose drift is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from muster.errors import BadRecord
from muster.records import Alarms, Rounds, Table
from muster.summaries.detection import ALWAYS, NEVER, TOGETHER, attribution, controls, per_unit, score

UNITS, ONSET = 4, 15
WINDOWS = {"concept": 12, "data": 4, "embedding": 14}


def _log(rounds: int = 30, moved: int = 2, **detectors: np.ndarray) -> Rounds:
    """The first units drift from the onset on; each detector says of them, and of the whole, the same."""
    drifted = (np.arange(rounds)[:, None] >= ONSET) & (np.arange(UNITS) < moved)
    alarms = {}
    for name, said in detectors.items():
        whole = np.asarray(said).astype(np.int8)
        units = np.where(np.arange(UNITS) < max(moved, 1), whole[:, None], 0).astype(np.int8)
        alarms[name] = Alarms(units=units, whole=whole)
    ones = np.ones((rounds, UNITS))
    names = np.array([f"client {i}" for i in range(UNITS)], object)
    return Rounds(
        rounds=np.arange(1, rounds + 1), units=names, values=ones, rows=ones, drifted=drifted, alarms=alarms
    )


def _three() -> Rounds:
    place = np.arange(30)
    return _log(
        concept=(place > 15) & (place % 3 == 0),
        data=place > 18,
        embedding=(place > 20) & (place % 2 == 0),
    )


def _noisy(seed: int, moved: int = 2) -> Rounds:
    rng = np.random.default_rng(seed)
    late = (np.arange(30) >= ONSET) & (moved > 0)
    return _log(moved=moved, data=rng.random(30) < np.where(late, 0.7, 0.05))


def _row(table: Table, detector: str, scope: str = "") -> dict[str, Any]:
    (row,) = [
        row for row in table.rows() if row["detector"] == detector and row.get("scope", "") in {scope, ""}
    ]
    return row


def test_three_detectors_of_thirty_rounds() -> None:
    table = score([_three()], window=10)
    found = {name: _row(table, name, "population") for name in ("concept", "data", "embedding", TOGETHER)}

    assert [row["tp"] for row in found.values()] == [4, 11, 4, 19]
    assert [row["fn"] for row in found.values()] == [11, 4, 11, 26]
    assert [row["fp"] for row in found.values()] == [0, 0, 0, 0]
    assert [row["delay"] for row in found.values()] == [3, 4, 7, 4]
    assert [row["f1"] for row in found.values()] == pytest.approx(
        [0.421053, 0.846154, 0.421053, 0.59375], abs=5e-7
    )
    assert found[TOGETHER]["recall"] == pytest.approx(0.422222, abs=5e-7)


def test_what_needs_no_data_stands_below() -> None:
    table = score([_log(rounds=30, data=np.arange(30) == ONSET + 1)])
    always, never = (_row(table, name, "population") for name in (ALWAYS, NEVER))

    assert table["detector"].tolist() == ["data", TOGETHER, ALWAYS, NEVER, "data", ALWAYS, NEVER]
    assert always["f1"] == pytest.approx(2 / 3)
    assert (always["already_on"], always["false_alarms_per_1000"]) == (1, 1000.0)
    assert (never["missed_share"], never["f1"]) == (1.0, 0.0)
    assert np.isnan([never["precision"], never["delay"]]).all()
    assert _row(table, "data", "population")["hits"] == 1


def test_a_window_makes_a_late_alarm_a_miss() -> None:
    table = score([_three()], window=5)

    assert [_row(table, name, "population")["hits"] for name in ("concept", "data", "embedding")] == [1, 1, 0]
    assert np.isnan(_row(table, "embedding", "population")["delay"])


def test_an_alarm_on_a_healthy_unit_is_false() -> None:
    log = _log(data=np.arange(30) >= ONSET)
    log.alarms["data"].units[:, 3] = 1
    table = score([log])

    assert _row(table, "data", "population")["precision"] == 1.0
    found = _row(table, "data", "units")
    assert (found["tp"], found["fp"], found["tn"], found["fn"]) == (30, 30, 60, 0)
    assert (found["events"], found["hits"]) == (2, 2)
    assert found["false_alarms_per_1000"] == pytest.approx(1000 * 30 / 90)


def test_no_answer_is_no_answer() -> None:
    log = _log(data=np.where(np.arange(30) < 20, -1, 1))
    found = _row(score([log], window=3), "data", "population")

    assert (found["tp"], found["fp"], found["tn"], found["fn"], found["unknown"]) == (10, 0, 0, 0, 20)
    assert (found["hits"], found["unanswered"]) == (0, 1)
    assert np.isnan(found["false_alarms_per_1000"])


def test_the_interval_of_f1_needs_five_logs() -> None:
    logs = [_noisy(seed) for seed in range(8)]
    few, many = (_row(score(some), "data", "population") for some in (logs[:4], logs))

    assert np.isnan([few["low_f1"], few["high_f1"]]).all()
    assert 0.5 < many["low_f1"] < many["f1"] < many["high_f1"] < 1
    assert many == _row(score(logs), "data", "population")
    assert many["logs"] == 8
    assert sum(many[name] for name in ("tp", "fp", "tn", "fn", "unknown")) == 8 * 30


def test_seeds_are_pooled_not_averaged() -> None:
    logs = [_noisy(seed) for seed in range(3)]
    alone = [_row(score([log]), "data", "population") for log in logs]
    together = _row(score(logs), "data", "population")

    for name in ("tp", "fp", "tn", "fn", "events", "hits"):
        assert together[name] == sum(row[name] for row in alone)


def test_controls_are_the_logs_without_drift() -> None:
    still = [_log(moved=0, data=np.isin(np.arange(30), places)) for places in ([4, 5], [9], [20, 21, 22])]
    table = controls([_three_of_one(), *still])
    found = _row(table, "data", "population")

    assert (found["logs"], found["rounds"], found["false_rounds"]) == (3, 90, 6)
    assert found["false_share"] == pytest.approx(6 / 90)
    assert (found["first_false"], found["without"]) == (9.0, 0.0)
    assert _row(table, "data", "units")["without"] == pytest.approx(0.75)
    assert _row(table, ALWAYS, "population")["false_share"] == 1.0
    assert np.isnan(_row(table, NEVER, "population")["first_false"])


def _three_of_one() -> Rounds:
    return _log(data=np.arange(30) > 18)


def test_without_controls_nothing_is_known_of_them() -> None:
    found = _row(controls([_three()]), "data", "population")

    assert (found["logs"], found["false_rounds"]) == (0, 0)
    assert np.isnan([found["false_share"], found["first_false"], found["without"]]).all()


def test_who_is_blamed() -> None:
    log = _log(data=np.arange(30) >= ONSET)
    log.alarms["data"].units[ONSET + 3, 3] = 1
    log.alarms["data"].units[:, 1] = 0
    log.alarms["data"].units[ONSET + 6, 1] = 1
    table = attribution([log, _log(data=np.zeros(30, bool)), _log(moved=0, data=np.ones(30, bool))], window=5)
    found = _row(table, "data")

    assert found["precision"] == pytest.approx(0.5)
    assert found["recall"] == pytest.approx(0.25)
    assert (found["logs"], found["named"], found["flagged"], found["drifted"]) == (2, 1, 1.0, 2.0)
    assert _row(table, ALWAYS)["precision"] == pytest.approx(0.5)
    assert np.isnan(_row(table, NEVER)["precision"])


def test_one_row_a_unit() -> None:
    table = per_unit(_three(), window=5)

    assert len(table) == 3 * UNITS
    data = table.where(table["detector"] == "data")
    assert data["unit"].tolist() == [f"client {i}" for i in range(UNITS)]
    assert data["events"].tolist() == [1, 1, 0, 0]
    assert data["delay"].tolist() == pytest.approx([4, 4, np.nan, np.nan], nan_ok=True)
    assert data["false_rounds"].tolist() == [0] * UNITS
    assert data["quiet_rounds"].tolist() == [15, 15, 30, 30]


def test_the_order_of_units_does_not_matter() -> None:
    log = _noisy(5)
    order = np.array([2, 0, 3, 1])
    alarms = {name: Alarms(units=a.units[:, order], whole=a.whole) for name, a in log.alarms.items()}
    mixed = Rounds(
        rounds=log.rounds, units=log.units[order], values=log.values, rows=log.rows,
        drifted=log.drifted[:, order], alarms=alarms,
    )  # fmt: skip

    for one, other in zip(score([log]).rows(), score([mixed]).rows(), strict=True):
        assert one == pytest.approx(other, nan_ok=True)


@pytest.mark.parametrize("ask", [score, controls, attribution])
def test_what_cannot_be_scored_is_refused(ask: Any) -> None:
    blind = Rounds(
        rounds=np.arange(2), units=np.array(["a"], object), values=np.ones((2, 1)), rows=np.ones((2, 1))
    )
    with pytest.raises(BadRecord, match="no logs"):
        ask([])
    with pytest.raises(BadRecord, match="does not say what drifted"):
        ask([blind])
    with pytest.raises(BadRecord, match="log 1 has detectors"):
        ask([_three(), _three_of_one()])
