"""A federation over rounds: the same every time, the same when it is stopped, and what mitigations do."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muster.errors import BadConfig, BadData
from muster.records import ALARM, QUIET, UNKNOWN
from muster.store.checkpoint import read_arrays, write_arrays
from muster.systems.detectors.answer import Answer
from muster.systems.federation import mitigation
from muster.systems.federation.clients import Clients
from muster.systems.federation.mitigation import MITIGATIONS, Memory, Rule, assigned, decide
from muster.systems.federation.monitor import Watching
from muster.systems.federation.networks import Network
from muster.systems.federation.plan import Plan, Takes, taking
from muster.systems.federation.resuming import restore, state_of
from muster.systems.federation.scenario import Concept, Scenario, drift
from muster.systems.federation.simulate import Federation
from muster.systems.federation.training import Local
from muster.systems.federation.watch import DETECTORS
from tests.systems.worlds import blobs, calm, population

ROUNDS, CLIENTS, START = 28, 6, 14
HIT = [1, 4]
NETWORK = Network((8, 6, 4))


@cache
def _clients(seed: int = 0, items: int = 900) -> Clients:
    return population(blobs(items, classes=4, seed=seed), CLIENTS, minimum=60, seed=seed)


def _plan(**options: Any) -> Plan:
    given: dict[str, Any] = {
        "rounds": ROUNDS, "warmup": 5, "local": Local(epochs=1, batch=16, lr=0.1),
        "watching": Watching(items=200, reference=10, columns=4), **options,
    }  # fmt: skip
    return Plan(**given)


def _swapped(pattern: Any = "sudden", rounds: int = ROUNDS, hit: Any = HIT, start: int = START) -> Scenario:
    return drift(
        Concept("label_swap", 1.0), pattern, rounds=rounds, clients=CLIENTS, start=start, affected=hit
    )


def _made(plan: Plan, scenario: Scenario | None = None, clients: Clients | None = None) -> Federation:
    scenario = _swapped(rounds=plan.rounds) if scenario is None else scenario
    return Federation(clients or _clients(), NETWORK, scenario, plan)


def _accuracy(run: Federation) -> Any:
    return run.log.right / np.maximum(run.log.rows, 1)


def _same(one: Federation, other: Federation) -> None:
    """All that is written down, and all that later rounds would depend on, bit for bit."""
    first, second = state_of(one), state_of(other)
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert value.dtype == second[name].dtype, name
        assert value.tobytes() == second[name].tobytes(), name
    assert one.events == other.events
    assert one.watch.windows.fed.tolist() == other.watch.windows.fed.tolist()


SHORT = Watching(items=60, reference=6, columns=4)
BUSY = Takes(fraction=0.8, dropout=0.2, stragglers=0.4, joins={2: 4, 5: 15})


def test_same_plan_same_bytes() -> None:
    plan = _plan(takes=BUSY, detectors=tuple(DETECTORS), watching=SHORT, rule=Rule(name="cluster"))

    _same(_made(plan).run(), _made(plan).run())


_DIGEST = """
import hashlib
from tests.systems.test_simulate import BUSY, DETECTORS, SHORT, Rule, _made, _plan, state_of
plan = _plan(takes=BUSY, detectors=tuple(DETECTORS), watching=SHORT, rule=Rule(name="cluster"))
found = state_of(_made(plan).run())
print(hashlib.sha256(b"".join(found[name].tobytes() for name in sorted(found))).hexdigest())
"""


def test_same_bytes_in_every_process() -> None:
    root = Path(__file__).parents[2]
    found = [
        subprocess.run(
            [sys.executable, "-c", _DIGEST], cwd=root, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert found[0] == found[1] != ""


def test_another_seed_is_another_run() -> None:
    one, other = (_made(_plan(seed=seed)).run() for seed in (0, 1))

    assert (one.models[0]["w0"] != other.models[0]["w0"]).any()


STRATEGY = {"none": "fedavgm", "trimmed_mean": "fedadam", "median": "afl", "cluster": "fedyogi"}


@pytest.mark.parametrize("name", MITIGATIONS)
def test_stopped_and_gone_on_with_is_never_stopped(name: str, tmp_path: Path) -> None:
    """Every mitigation, every detector, drop-outs, stragglers and late joiners, drift that comes and goes."""
    plan = _plan(
        takes=BUSY, detectors=tuple(DETECTORS), rule=Rule(name=name, quiet=2, cool_down=1), watching=SHORT,
        strategy=STRATEGY.get(name, "fedavg"),
    )  # fmt: skip
    scenario = _swapped("recurrent")
    whole = _made(plan, scenario).run()
    file = tmp_path / "deep" / "state.npz"
    run = _made(plan, scenario)
    for stop in (-2, 0, 3, 6, 11, 14, 15, 17, 19, 23, ROUNDS):
        run.run(until=stop)
        write_arrays(file, state_of(run))
        run = restore(_made(plan, scenario), read_arrays(file))
        assert run.number == stop
    _same(run.run(), whole)
    assert name == "none" or any(event["event"] == "mitigation begun" for event in whole.events)
    found, wanted = run.rounds(), whole.rounds()
    np.testing.assert_array_equal(found.values, wanted.values)
    for detector in DETECTORS:
        np.testing.assert_array_equal(found.alarms[detector].units, wanted.alarms[detector].units)


def test_a_state_stays_what_it_was_while_the_run_goes_on() -> None:
    """A state held in memory is one of its moment."""
    plan = _plan(detectors=("combined", "adwin"))
    run = _made(plan).run(until=9)
    state = state_of(run)
    before = {name: value.copy() for name, value in state.items()}
    run.run()
    for name, value in before.items():
        np.testing.assert_array_equal(state[name], value, err_msg=name)


def test_a_file_that_is_no_state_is_refused(tmp_path: Path) -> None:
    whole = tmp_path / "state.npz"
    write_arrays(whole, state_of(_made(_plan()).run(until=2)))
    (tmp_path / "text.npz").write_text("no state")
    for file in (tmp_path / "text.npz", tmp_path / "none.npz"):
        with pytest.raises(BadData, match="no state of a run"):
            read_arrays(file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.npz", "text.npz"]


def test_a_state_that_was_cut_off_is_refused_and_closed(tmp_path: Path) -> None:
    write_arrays(tmp_path / "state.npz", state_of(_made(_plan()).run(until=2)))
    cut = tmp_path / "cut.npz"
    cut.write_bytes((tmp_path / "state.npz").read_bytes()[:2000])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(BadData, match="no state of a run"):
            read_arrays(cut)
        gc.collect()
    assert [str(one.message) for one in said] == []


def test_rounds_are_measured_before_they_train() -> None:
    """Round 1 is scored by the model that the warm-up left, on the test items of round 1, by hand."""
    run = _made(_plan(detectors=()))
    run.run(until=0)
    model = {name: value.copy() for name, value in run.models[0].items()}
    run.run(until=1)
    held, samples = run.clients.test, run.clients.samples
    logits, _ = NETWORK.answer(model, samples.x[held.items])
    right = logits.argmax(1) == samples.y[held.items]

    assert run.log.right[0].tolist() == [right[held.owner == c].sum() for c in range(CLIENTS)]
    assert run.log.rows[0].tolist() == held.sizes.tolist()


def test_the_truth_is_that_of_the_scenario() -> None:
    scenario = _swapped("recurrent")
    log = _made(_plan(detectors=()), scenario).run().rounds()

    assert log.drifted is not None
    assert (log.drifted == scenario.drifted).all()
    assert log.onset == START - 1
    assert log.rounds.tolist() == list(range(1, ROUNDS + 1))


def test_drift_hurts_and_only_those_who_drift() -> None:
    clients = _clients()
    hurt = _accuracy(_made(_plan(detectors=())).run())
    calm_ = _accuracy(_made(_plan(detectors=()), calm(ROUNDS, CLIENTS)).run())

    assert (hurt[: START - 1] == calm_[: START - 1]).all()
    assert (hurt[START - 1, HIT] <= 0.2).all()
    others = np.setdiff1d(np.arange(CLIENTS), HIT)
    assert (hurt[START - 1, others] == calm_[START - 1, others]).all()
    assert len(clients) == CLIENTS


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5, 1.0])
def test_a_fraction_of_the_clients_is_asked(fraction: float) -> None:
    plan = Plan(takes=Takes(fraction=fraction))
    found = [taking(plan, np.arange(40), number)[0] for number in range(200)]

    assert {len(who) for who in found} == {round(40 * fraction)}
    assert all((np.diff(who) > 0).all() for who in found)
    often = np.bincount(np.concatenate(found), minlength=40)
    assert np.abs(often - 200 * fraction).max() <= 5 * np.sqrt(200 * fraction * (1 - fraction)) + 1e-9


def test_some_drop_out_and_some_do_half() -> None:
    plan = Plan(takes=Takes(dropout=0.3, stragglers=0.25))
    found = [taking(plan, np.arange(50), number) for number in range(200)]

    assert np.mean([len(who) for who, _ in found]) == pytest.approx(35, abs=1)
    assert np.mean(np.concatenate([done for _, done in found]) == 0.5) == pytest.approx(0.25, abs=0.02)


def test_who_is_asked_does_not_depend_on_where_it_is_asked_from() -> None:
    """Round 7 asks the same clients in a run of 10 rounds and of 50, with another warm-up."""
    one, other = (Plan(rounds=r, warmup=w, takes=Takes(fraction=0.5)) for r, w in ((10, 0), (50, 20)))

    assert taking(one, np.arange(9), 7)[0].tolist() == taking(other, np.arange(9), 7)[0].tolist()


def test_who_joins_late_is_not_there_before_and_not_known_at_first() -> None:
    run = _made(_plan(takes=Takes(joins={3: 8}), watching=SHORT), calm(ROUNDS, CLIENTS)).run()
    log = run.rounds()
    alarms = log.alarms["combined"]

    assert (log.rows[:7, 3] == 0).all()
    assert np.isnan(log.values[:7, 3]).all()
    assert (log.rows[7:, 3] > 0).all()
    assert np.isnan(run.log.loss[:7, 3]).all()
    assert (alarms.units[:6] == UNKNOWN).all()
    assert (alarms.whole[6:] != UNKNOWN).all()
    others = np.setdiff1d(np.arange(CLIENTS), [3])
    assert (alarms.units[6:, others] != UNKNOWN).all()
    assert (alarms.units[:13, 3] == UNKNOWN).all()
    assert (alarms.units[13:, 3] != UNKNOWN).all()


def test_who_has_not_joined_has_no_part_in_the_model() -> None:
    """Until it joins, a run with a late joiner is the same whatever that client holds."""
    run = _made(_plan(detectors=(), takes=Takes(joins={3: 8})), calm(ROUNDS, CLIENTS)).run(until=7)
    other = _made(_plan(detectors=(), takes=Takes(joins={3: 8})), _swapped(hit=[3], start=1)).run(until=7)

    assert (run.models[0]["w0"] == other.models[0]["w0"]).all()
    assert not other.rounds().drifted[:7].any()  # type: ignore[index]


def test_nobody_trains_when_all_drop_out() -> None:
    run = _made(_plan(takes=Takes(dropout=1.0)), calm(ROUNDS, CLIENTS)).run()

    assert all((run.models[0][name] == value).all() for name, value in NETWORK.start(0).items())
    assert sum(event["event"] == "nobody trained" for event in run.events) == ROUNDS + 5
    assert len({row.tobytes() for row in run.log.right}) == 1


def test_everybody_may_join_late() -> None:
    """Rounds without anybody: nothing is known of them, and the run goes on."""
    takes = Takes(joins=dict.fromkeys(range(CLIENTS), 4))
    run = _made(_plan(takes=takes, watching=SHORT), calm(ROUNDS, CLIENTS)).run()
    log = run.rounds()

    assert np.isnan(log.pooled[:3]).all()
    assert (log.pooled[12:] > 0.5).all()
    assert (log.alarms["combined"].whole[:9] == UNKNOWN).all()


def test_numbers_sent() -> None:
    model = 8 * 6 + 6 + 6 * 4 + 4

    assert _made(_plan(detectors=())).numbers_sent == model
    assert _made(_plan(detectors=("combined",))).numbers_sent == model + 4 + 2 * 4 + 64
    assert _made(_plan(detectors=("mmd",))).numbers_sent == model + 201 * 256


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(BadConfig, match="scenario is of"):
        _made(_plan(rounds=9), _swapped())
    with pytest.raises(BadConfig, match=r"clients \[6, 99\] join, and there are only 6"):
        _made(_plan(takes=Takes(joins={6: 2, 1: 2, 99: 3})))
    with pytest.raises(KeyError, match="did you mean 'combined'"):
        _made(_plan(detectors=("combind",)))


def _rule(name: str, **options: Any) -> Rule:
    return Rule(name=name, **options)


def _noted(run: Federation, event: str) -> list[int]:
    return [one["round"] for one in run.events if one["event"] == event]


@pytest.mark.parametrize("seed", range(5))
def test_without_drift_nothing_is_done(seed: int) -> None:
    plan = _plan(rounds=20, seed=seed, rule=_rule("cluster"))
    run = _made(plan, calm(20, CLIENTS), _clients(seed)).run()

    assert not run.log.mitigated.any()
    assert len(run.models) == 1
    assert _noted(run, "mitigation begun") == []


def test_clusters_follow_drift_and_come_back_when_it_goes() -> None:
    """Labels are exchanged for six rounds of twelve: those two get a model of their own, and give it up."""
    plan = _plan(rounds=40, rule=_rule("cluster"))
    scenario = _swapped("recurrent", 40)
    run, control = _made(plan, scenario).run(), _made(_plan(rounds=40, detectors=()), scenario).run()
    own = run.log.of

    assert _noted(run, "own model")[0] == START
    assert (own[: START - 1] == 0).all()
    assert (own[START : START + 5, HIT] > 0).all()
    others = np.setdiff1d(np.arange(CLIENTS), HIT)
    assert (own[:, others] == 0).all()
    assert (own[START + 6 + 3, HIT] == 0).all()
    assert _noted(run, "back to the common model")
    there, without = _accuracy(run), _accuracy(control)
    assert (there[START + 3, HIT] > without[START + 3, HIT] + 0.1).all()
    assert there[START:, others].mean() >= without[START:, others].mean() - 0.01


def test_clusters_of_a_lasting_drift_stay() -> None:
    run = _made(_plan(rule=_rule("cluster"))).run()
    others = np.setdiff1d(np.arange(CLIENTS), HIT)

    assert (run.of[HIT] == 1).all()
    assert (run.of[others] == 0).all()
    assert len(run.models) == 2
    assert _accuracy(run)[-1, HIT].min() > 0.9


def test_drift_of_everybody_is_that_of_the_common_model() -> None:
    run = _made(_plan(rule=_rule("cluster")), _swapped(hit=[])).run()

    assert _noted(run, "mitigation begun") == [START]
    assert len(run.models) == 1
    assert _accuracy(run)[-1].mean() > 0.9


@pytest.mark.parametrize("name", ["trimmed_mean", "median"])
def test_the_server_switches_and_switches_back(name: str) -> None:
    plan = _plan(rounds=40, rule=_rule(name, quiet=2))
    which = np.where((np.arange(40) // 7 == 2)[:, None], 1, np.zeros((40, CLIENTS), np.int64))
    scenario = Scenario((Concept("label_swap", 1.0),), which, which.astype(float))
    run, used = _made(plan, scenario), []
    for number in range(1, 41):
        run.run(until=number)
        used.append(run._strategy().name)
    active = run.log.mitigated

    assert [one == name for one in used] == active.tolist()
    assert set(used) == {name, "fedavg"}
    assert active[14]
    assert not active[:14].any()
    assert not active[-1]
    assert _noted(run, "mitigation ended")


def test_fine_tuning_serves_copies_to_those_who_drifted_and_leaves_the_common_model() -> None:
    run, control = _made(_plan(rule=_rule("fine_tune"))).run(), _made(_plan()).run()

    assert sorted(run.personal) == HIT
    assert all((run.models[0][part] == value).all() for part, value in control.models[0].items())
    others = np.setdiff1d(np.arange(CLIENTS), HIT)
    assert (_accuracy(run)[:, others] == _accuracy(control)[:, others]).all()
    assert (_accuracy(run)[START, HIT] > _accuracy(control)[START, HIT] + 0.2).all()


def test_recency_weighs_those_whose_data_changed() -> None:
    run = _made(_plan(rule=_rule("recency", factor=4.0))).run(until=START)
    work = run._work()
    assert work is not None
    assert work.weight.tolist() == [4.0 if c in HIT else 1.0 for c in range(CLIENTS)]
    assert (work.rate == 0.1).all()
    before = _made(_plan(rule=_rule("recency", factor=4.0))).run(until=START - 1)._work()
    assert before is not None
    assert (before.weight == 1).all()


def test_a_boost_lasts_some_rounds() -> None:
    run, rates = _made(_plan(rule=_rule("lr_boost", factor=2.0))), []
    for number in range(1, ROUNDS + 1):
        run.run(until=number)
        work = run._work()
        assert work is not None
        rates.append(work.rate)
    boosted = [number for number, rate in enumerate(rates, 1) if (rate == 0.2).all()]

    assert boosted == list(range(START, START + mitigation.BOOSTED))
    assert all((rate == 0.1).all() for number, rate in enumerate(rates, 1) if number not in boosted)


def test_a_reset_begins_anew() -> None:
    run = _made(_plan(rule=_rule("reset"), strategy="fedavgm"))
    run.run(until=START - 1)
    assert run.kept[0]
    trained, fresh = run.models[0]["w0"].copy(), NETWORK.start(START)["w0"]
    run.run(until=START)

    assert np.abs(run.models[0]["w0"] - fresh).mean() < 0.5 * np.abs(run.models[0]["w0"] - trained).mean()
    assert _noted(run, "mitigation begun") == [START]


def _says(units: list[int], whole: int = QUIET) -> Answer:
    return Answer(whole, np.array(units, np.int8))


def test_triggers() -> None:
    one = [ALARM, QUIET, QUIET, QUIET]
    two = [ALARM, ALARM, QUIET, QUIET]
    table = {
        ("quorum", 0): [False, True], ("quorum", 1): [False, True], ("global", 0): [False, False],
        ("global", 1): [True, True], ("combined", 0): [False, True], ("combined", 1): [True, True],
    }  # fmt: skip
    for (trigger, whole), wanted in table.items():
        rule = Rule(name="cluster", trigger=trigger, quorum=0.3)  # type: ignore[arg-type]
        assert [rule.triggered(_says(units, whole)) for units in (one, two)] == wanted
    assert not Rule(name="cluster").triggered(_says([UNKNOWN] * 4, UNKNOWN))
    assert Rule(name="cluster", trigger="quorum").triggered(_says([ALARM, UNKNOWN, UNKNOWN, QUIET]))


def test_a_rule_begins_widens_ends_and_cools_down() -> None:
    rule, memory = Rule(name="cluster", quiet=2, cool_down=3), Memory(np.zeros(3, bool))
    said = [
        _says([0, 0, 0]), _says([1, 0, 0], 1), _says([1, 1, 0], 1), _says([0, 0, 1], 0), _says([0, 0, 0]),
        _says([0, 0, 0]), _says([1, 0, 0], 1), _says([1, 0, 0], 1), _says([1, 0, 0], 1), _says([1, 0, 0], 1),
    ]  # fmt: skip
    happened = [decide(rule, memory, answer, number) for number, answer in enumerate(said, 1)]

    assert happened == ["", "begun", "widened", "widened", "", "ended", "", "", "", "begun"]
    assert memory.flagged.tolist() == [True, False, False]


def test_no_rule_does_nothing() -> None:
    memory = Memory(np.zeros(2, bool))
    assert [decide(Rule(), memory, _says([1, 1], 1), number) for number in range(5)] == [""] * 5


def test_models_are_chosen_by_loss() -> None:
    losses = np.array([[1.0, 1.0, 0.2, np.inf], [0.5, 0.96, 1.0, 0.4], [0.4, 2.0, 2.0, 0.1]])
    of = np.array([0, 1, 1, 0])

    assert assigned(of, losses, [0, 3, 3], 9).tolist() == [2, 0, 0, 2]
    assert assigned(of, losses, [0, 3, 8], 9).tolist() == [1, 0, 0, 1]
    assert assigned(np.array([2, 2, 2, 2]), losses, [0, 3, 8], 9).tolist() == [2, 2, 2, 2]


def test_who_has_not_joined_keeps_no_model_alive() -> None:
    """A group of clients lives by clients that are there."""
    plan = _plan(rule=_rule("cluster"), takes=Takes(joins={3: 25}))
    scenario = _swapped(hit=[1, 3, 4])
    run = _made(plan, scenario).run(until=20)

    assert run.of[3] == 0


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_drift_that_everybody_sees(detector: str) -> None:
    """Noise on all features and another name for every class, in two of six clients."""
    which = np.where((np.arange(ROUNDS) >= START - 1)[:, None] & np.isin(np.arange(CLIENTS), HIT), 1, 0)
    kind = "shift" if "adwin" not in detector and detector != "chi-square" else "label_swap"
    scenario = Scenario((Concept(kind, 1.0),), which, which.astype(float))
    plan = _plan(detectors=(detector,), watching=Watching(items=120, reference=6, columns=8))
    run = _made(plan, scenario).run()
    said = run.log.units[detector]

    assert (run.log.whole[detector][START - 1 : START + 1] == ALARM).any()
    assert (said[START - 1 : START + 1, HIT] == ALARM).any(0).all()


def test_first_detector_decides() -> None:
    """What others say is written down, and nothing is done about it."""
    plan = _plan(detectors=("ks", "combined"), rule=_rule("cluster", trigger="global"))
    run = _made(plan).run()

    assert (run.log.whole["combined"][START:] == ALARM).all()
    assert run.log.mitigated.any() == (run.log.whole["ks"] == ALARM).any()
