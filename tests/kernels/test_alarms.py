"""Counts of rounds and events: known numbers, scikit-learn, and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from muster.kernels import alarms

seeds = st.integers(0, 2**32 - 1)
COUNTS = ("events", "hits", "already_on", "unanswered", "false_rounds", "quiet_rounds", "false_alarms")


def _on(rounds: int, *places: int) -> np.ndarray:
    on = np.zeros(rounds, bool)
    on[list(places)] = True
    return on


def _drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Alarms, drift in runs, and answers of a few units."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 6)), int(rng.integers(1, 30)))
    drifted = (np.cumsum(rng.random(shape) < 0.15, -1) % 2).astype(bool)
    return rng.random(shape) < 0.3, drifted, rng.random(shape) < rng.choice([0.5, 0.9, 1.0])


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((80, 10, 85, 5), (0.888889, 0.941176, 0.914286, 0.105263, 0.058824)),
        ((8, 2, 18, 2), (0.8, 0.8, 0.8, 0.1, 0.2)),
        ((20, 2, 23, 5), (0.9091, 0.8, 0.8511, 0.08, 0.2)),
        ((0, 0, 10, 10), (np.nan, 0.0, 0.0, 0.0, 1.0)),
        ((0, 0, 10, 0), (np.nan, np.nan, np.nan, 0.0, np.nan)),
        ((0, 0, 0, 0), (np.nan,) * 5),
    ],
)
def test_rates(counts: tuple[int, ...], expected: tuple[float, ...]) -> None:
    found = alarms.rates(np.array(counts, float))

    assert list(found) == ["precision", "recall", "f1", "false_positive_rate", "false_negative_rate"]
    assert [float(rate) for rate in found.values()] == pytest.approx(expected, abs=5e-5, nan_ok=True)


def test_by_round_one_perfect_alarm_is_far_below_always_alarm() -> None:
    drifted = np.arange(50) >= 25
    both = np.stack([_on(50, 26), np.ones(50, bool)])

    assert alarms.rates(alarms.confusion(both, drifted))["f1"] == pytest.approx([0.077, 0.667], abs=5e-4)


def test_by_event_always_alarm_is_seen_through() -> None:
    drifted = np.broadcast_to(np.arange(50) >= 25, (2, 50))
    found = alarms.events(np.stack([_on(50, 26), np.ones(50, bool)]), drifted, 5)

    assert found.hits.tolist() == [1, 1]
    assert found.delays.tolist() == [1.0, 0.0]
    assert found.already_on.tolist() == [0, 1]
    assert (found.false_rounds / found.quiet_rounds).tolist() == [0.0, 1.0]


def test_three_detectors_of_thirty_rounds() -> None:
    place = np.arange(30)
    each = np.stack([(place > 15) & (place % 3 == 0), place > 18, (place > 20) & (place % 2 == 0)])
    counts = alarms.confusion(each, place >= 15)

    assert alarms.delay(each, 15).tolist() == [3.0, 4.0, 7.0]
    assert counts.tolist() == [[4, 0, 15, 11], [11, 0, 15, 4], [4, 0, 15, 11]]
    assert alarms.rates(counts)["f1"] == pytest.approx([0.421053, 0.846154, 0.421053], abs=5e-7)
    pooled = alarms.rates(counts.sum(0))
    assert float(pooled["recall"]) == pytest.approx(0.422222, abs=5e-7)
    assert float(pooled["f1"]) == pytest.approx(0.59375)


def test_an_answer_that_is_not_known_is_not_counted() -> None:
    alarm, drifted = _on(4, 0, 2), _on(4, 2, 3)

    assert alarms.confusion(alarm, drifted, ~_on(4, 0, 3)).tolist() == [1, 0, 1, 0]


def test_a_drift_that_was_never_seen_has_no_delay() -> None:
    assert np.isnan(alarms.delay(_on(5, 1), 2))
    assert np.isnan(alarms.delay(_on(5, 1), 5))
    assert float(alarms.delay(_on(5, 1, 4), 1)) == 0.0


@pytest.mark.parametrize(
    ("on", "starts", "ends"),
    [([], [], []), ([0, 0], [], []), ([1, 1], [0], [2]), ([0, 1, 0, 1, 1], [1, 3], [2, 5])],
)
def test_episodes(on: list[int], starts: list[int], ends: list[int]) -> None:
    found = alarms.episodes(np.array(on, bool))

    assert [part.tolist() for part in found] == [starts, ends]


def test_the_window_is_inclusive() -> None:
    drifted = np.arange(20) >= 10

    assert alarms.events(_on(20, 13), drifted, 3).delays.tolist() == [3.0]
    assert np.isnan(alarms.events(_on(20, 14), drifted, 3).delays).tolist() == [True]


def test_the_window_ends_where_the_next_episode_starts() -> None:
    found = alarms.events(_on(20, 8), _on(20, 5, 8, 9), 5)

    assert (int(found.events), int(found.hits)) == (2, 1)
    assert found.delays.tolist() == pytest.approx([np.nan, 0.0], nan_ok=True)


def test_an_alarm_soon_after_a_short_episode_is_neither_false_nor_late() -> None:
    found = alarms.events(_on(20, 7), _on(20, 5), 2)

    assert (int(found.hits), int(found.false_rounds), int(found.quiet_rounds)) == (1, 0, 17)
    assert int(alarms.events(_on(20, 8), _on(20, 5), 2).false_rounds) == 1


def test_an_alarm_that_ended_before_the_onset_is_no_hit() -> None:
    found = alarms.events(_on(20, 9), np.arange(20) >= 10, 5)

    assert (int(found.hits), int(found.already_on), int(found.false_rounds)) == (0, 0, 1)


def test_an_alarm_that_never_clears_is_false_for_long_but_rises_once() -> None:
    found = alarms.events(np.arange(20) >= 3, _on(20, 3, 4), 2)

    assert (int(found.hits), int(found.false_rounds), int(found.false_alarms)) == (1, 13, 0)
    assert int(alarms.events(_on(20, 0, 1, 9), _on(20, 5), 2).false_alarms) == 2


def test_rounds_without_an_answer_do_not_split_an_alarm() -> None:
    alarm, known = _on(9, 0, 1, 4), ~_on(9, 2, 3)
    found = alarms.events(alarm, np.zeros(9, bool), 2, known)

    assert (int(found.false_rounds), int(found.false_alarms), int(found.quiet_rounds)) == (3, 1, 7)


def test_a_miss_for_want_of_answers_is_told_from_a_miss() -> None:
    drifted = np.broadcast_to(np.arange(10) >= 5, (2, 10))
    known = np.stack([np.arange(10) < 5, np.ones(10, bool)])
    found = alarms.events(np.zeros((2, 10), bool), drifted, 2, known)

    assert found.hits.tolist() == [0, 0]
    assert found.unanswered.tolist() == [1, 0]


def test_the_median_delay_is_censored() -> None:
    delays = np.array([5.0, 1.0, 3.0, np.nan, 2.0, np.nan, np.nan])
    found = alarms.median_delay(delays, np.array([0, 0, 0, 1, 1, 2, 2]), 4)

    assert found.tolist() == pytest.approx([3.0, 2.0, np.nan, np.nan], nan_ok=True)


@given(seed=seeds)
def test_rates_are_those_of_scikit_learn(seed: int) -> None:
    alarm, drifted, _ = _drawn(seed)
    found = alarms.rates(alarms.confusion(alarm, drifted))
    for i, (said, true) in enumerate(zip(alarm, drifted, strict=True)):
        how = {"y_true": true, "y_pred": said, "zero_division": np.nan}
        theirs = metrics.precision_score(**how), metrics.recall_score(**how), metrics.f1_score(**how)
        ours = [float(found[name][i]) for name in ("precision", "recall", "f1")]
        assert ours == pytest.approx(theirs, nan_ok=True)


@given(seed=seeds)
def test_counts_sum_to_the_rounds_with_an_answer(seed: int) -> None:
    alarm, drifted, known = _drawn(seed)

    assert (alarms.confusion(alarm, drifted).sum(-1) == alarm.shape[-1]).all()
    assert (alarms.confusion(alarm, drifted, known).sum(-1) == known.sum(-1)).all()


@given(seed=seeds)
def test_units_are_scored_as_if_alone_whatever_their_order(seed: int) -> None:
    alarm, drifted, known = _drawn(seed)
    order = np.random.default_rng(seed).permutation(len(alarm))
    found = alarms.events(alarm, drifted, 3, known)
    mixed = alarms.events(alarm[order], drifted[order], 3, known[order])
    for name in COUNTS:
        assert getattr(mixed, name).tolist() == getattr(found, name)[order].tolist()
    for i, each in enumerate(zip(alarm, drifted, strict=True)):
        alone = alarms.events(*each, 3, known[i])
        assert [int(getattr(alone, name)) for name in COUNTS] == [
            int(getattr(found, name)[i]) for name in COUNTS
        ]
        np.testing.assert_array_equal(alone.delays, found.delays[found.series == i])


@given(seed=seeds, window=st.integers(0, 6))
def test_events_are_those_of_a_plain_loop(seed: int, window: int) -> None:
    alarm, drifted, known = (part[0] for part in _drawn(seed))
    found = alarms.events(alarm, drifted, window, known)
    starts, ends = (part.tolist() for part in alarms.episodes(drifted))
    near = {t for end in ends for t in range(end, end + window)}
    quiet = [t for t in range(alarm.size) if not drifted[t] and t not in near and known[t]]
    delays = []
    for start, following in zip(starts, [*starts[1:], alarm.size], strict=False):
        span = range(start, min(start + window + 1, following))
        delays.append(next((t - start for t in span if alarm[t] and known[t]), np.nan))

    assert found.delays.tolist() == pytest.approx(delays, nan_ok=True)
    assert (int(found.events), int(found.quiet_rounds)) == (len(starts), len(quiet))
    assert int(found.false_rounds) == sum(bool(alarm[t]) for t in quiet)
    assert 0 <= found.already_on <= found.hits <= found.events - found.unanswered
    assert found.false_alarms <= found.false_rounds <= found.quiet_rounds
