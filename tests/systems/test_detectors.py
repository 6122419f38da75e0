"""How often detectors are wrong when nothing happens, and that they see what happens; by simulation.

Rounds are drawn from a law that is known, without any training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from muster.errors import BadConfig
from muster.kernels import mmd
from muster.kernels.evidence import accumulated, evidence, predictive_p, predictive_t, shown, tail
from muster.records import ALARM, QUIET, UNKNOWN
from muster.systems.detectors.adwin import Adwin
from muster.systems.detectors.answer import Answer
from muster.systems.detectors.columns import Against, Columns, hold
from muster.systems.detectors.combined import Combined, Reference
from muster.systems.detectors.embedding import Discrepancy
from muster.systems.detectors.sketches import Seen, Sketch, outer, sketch
from muster.systems.federation.monitor import Watching, most_varied
from tests.systems.worlds import World, joined

FALSE = 0.02
Whole, Units = NDArray[np.int8], NDArray[np.int8]


def _stream(
    seed: int, rounds: int = 40, *, reference: int = 10, views: Any = None, world: Any = None, **moves: Any
) -> tuple[Whole, Units]:
    """What the combined detector says of rounds after the reference: of the whole, and of clients."""
    made = World(seed, **(world or {}))
    watch = Combined() if views is None else Combined(views=views)
    state = watch.init(made.reference(reference))
    whole, units = [], []
    for _ in range(rounds):
        state, answer = watch.step(state, made.sent(**moves))
        whole.append(answer.whole)
        units.append(answer.units)
    return np.array(whole, np.int8), np.array(units)


def _false(streams: int, **options: Any) -> tuple[float, float]:
    """Shares of rounds, and of rounds and clients, with an alarm when nothing happens."""
    found = [_stream(seed, **options) for seed in range(streams)]
    return (
        float(np.mean([(whole == ALARM).mean() for whole, _ in found])),
        float(np.mean([(units == ALARM).mean() for _, units in found])),
    )


WORLDS: dict[str, tuple[dict[str, Any], int]] = {
    "ten clients": ({}, 24), "three clients": ({"clients": 3}, 24), "fifty clients": ({"clients": 50}, 6),
    "unequal": ({"unequal": True}, 24), "sure of themselves": ({"loss": "sure"}, 24),
    "never wrong": ({"error": 0.0}, 16),
}  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_combined_is_seldom_wrong(name: str) -> None:
    """Of rounds without drift at most 2 % have an alarm, and of clients 2 %."""
    world, streams = WORLDS[name]

    assert max(_false(streams, world=world)) <= FALSE


@pytest.mark.slow
def test_combined_is_seldom_wrong_over_many_streams() -> None:
    """Two hundred and forty streams of forty rounds, and in late rounds not more often than in early ones."""
    found = np.array([_stream(seed)[0] == ALARM for seed in range(1000, 1240)])

    assert found.mean() <= FALSE
    assert found[:, 20:].mean() <= FALSE


@pytest.mark.slow
def test_combined_is_seldom_wrong_with_the_shortest_reference() -> None:
    """Five rounds, as settings allow: the research found 2.3 %."""
    assert _false(120, reference=5, rounds=30)[0] <= 2 * FALSE


def test_combined_is_seldom_wrong_with_the_fewest_items() -> None:
    """Fifty, as settings allow; with fewer than thirty there is not enough data."""
    assert _false(24, world={"items": 50}, rounds=30)[0] <= FALSE


def test_combined_is_seldom_wrong_where_losses_have_long_tails() -> None:
    assert max(_false(24, world={"loss": "long"})) <= 1.5 * FALSE


def test_combined_names_nobody_for_a_single_wrong_answer() -> None:
    """No answer of twenty thousand was wrong, then one is: of a client with 200 items that is 0.5 %."""
    world, watch = World(5, error=0.0), Combined(views=("loss",))
    state = watch.init(world.reference())
    sent = world.sent()
    sent.wrong[3] += 1

    assert watch.step(state, sent)[1].units[3] == QUIET


FEW = np.array([1.0] * 3 + [0.0] * 7)
MOVES: dict[str, tuple[str, dict[str, Any]]] = {
    "embedding": ("moved", {"moved": 0.3}),
    "guess": ("guessed", {"guessed": 0.3}),
    "loss": ("missed", {"missed": 0.3}),
    "truth": ("tilted", {"tilted": 0.3}),
}


@pytest.mark.parametrize("view", MOVES)
@pytest.mark.parametrize("few", [False, True])
def test_combined_sees_a_shift_in_each_view(view: str, few: bool) -> None:
    """Of everybody, or of three in ten: the whole has an alarm at once, and those who moved are named."""
    (name, value), hit = next(iter(MOVES[view][1].items())), FEW if few else np.ones(10)
    for seed in range(5):
        whole, units = _stream(seed, 6, **{name: value * hit})
        assert (whole == ALARM).all()
        assert (units[2:, hit > 0] == ALARM).mean() > 0.95
        assert (units[:, hit == 0] == ALARM).mean() <= 0.1 if few else True


@pytest.mark.parametrize("view", MOVES)
def test_each_view_sees_what_it_is_for_and_the_label_free_ones_no_change_of_names(view: str) -> None:
    for seed in range(4):
        whole, _ = _stream(seed, 4, views=(view,), **MOVES[view][1])
        assert (whole[1:] == ALARM).all()
    if view in {"embedding", "truth"}:
        blind = [(_stream(seed, 4, views=(view,), missed=0.3)[0] == ALARM).mean() for seed in range(5)]
        assert np.mean(blind) <= 0.1


def test_a_loss_that_falls_is_no_drift() -> None:
    """A model that improves: only a rise counts."""
    found = [_stream(seed, 20, views=("loss",), missed=-0.09)[0] == ALARM for seed in range(10)]

    assert np.mean(found) == 0


def test_drift_that_goes_away_is_forgotten() -> None:
    """Not at once: evidence is kept up to thirty times what an alarm takes."""
    whole, units = [], []
    for seed in range(12):
        world, watch = World(seed), Combined()
        state = watch.init(world.reference())
        for _ in range(6):
            state, answer = watch.step(state, world.sent(moved=0.5))
        assert answer.whole == ALARM
        for _ in range(20):
            state, answer = watch.step(state, world.sent())
        whole.append(answer.whole == ALARM)
        units.append((answer.units == ALARM).mean())

    assert np.mean(whole) <= 0.25
    assert np.mean(units) <= 0.15


def test_names_are_forgotten_as_fast_as_the_whole() -> None:
    """Six rounds of calm, as recurrent drift has: hardly anybody who moved is named any more."""
    named = []
    for seed in range(8):
        world, watch = World(seed), Combined()
        state = watch.init(world.reference())
        for moved in [0.5] * 6 + [0.0] * 6:
            state, answer = watch.step(state, world.sent(moved=moved))
        named.append((answer.units == ALARM).mean())

    assert np.mean(named) <= 0.5


def test_combined_does_not_know_without_enough_data() -> None:
    few_items, alone, world = World(0, items=19), World(0, clients=1), World(0)
    cases: list[tuple[Any, Any]] = [
        (few_items.reference(), few_items.sent()), (world.reference(4), world.sent()),
        (world.reference(), _without(world.sent(), 6)), (alone.reference(), alone.sent()),
    ]  # fmt: skip
    for reference, sent in cases:
        watch = Combined()
        before = watch.init(reference)
        state, answer = watch.step(before, sent)
        assert answer.whole == UNKNOWN
        assert state is before

    watch = Combined()
    state = watch.init(world.reference())
    _, answer = watch.step(state, _without(world.sent(), 4))
    assert answer.whole == QUIET
    assert answer.units.tolist() == [UNKNOWN] * 4 + [QUIET] * 6


def _without(sent: Sketch, clients: int) -> Sketch:
    """The first clients sent nothing."""
    rows = sent.rows.copy()
    rows[:clients] = 0
    return replace(sent, rows=rows)


def test_clients_whose_reference_is_not_full_are_not_known_and_harm_nobody() -> None:
    """Their sums are zeros, as those of clients that have not joined."""
    world = World(1)
    whole = world.reference()
    held = whole.sketch
    empty = {name: getattr(held, name).copy() for name in held.__dataclass_fields__}
    for part in empty.values():
        part[:, :3] = 0
    partly = whole._replace(sketch=Sketch(**empty))
    watch = Combined()
    state = watch.init(partly)
    for _ in range(5):
        state, answer = watch.step(state, world.sent())
        assert answer.units.tolist() == [UNKNOWN] * 3 + [QUIET] * 7
        assert answer.whole == QUIET


def test_a_client_of_one_class_that_says_always_the_same_is_no_alarm() -> None:
    """Views without any spread: nothing moves, and rounding is not a move."""
    for clients in (2, 3, 7):
        world = World(2, clients=clients, error=0.0)
        world.mix = np.eye(10)[np.arange(clients) % 10]
        watch = Combined()
        state = watch.init(world.reference())
        for _ in range(20):
            state, answer = watch.step(state, world.sent())
            assert answer.whole == QUIET


def test_items_that_are_all_alike_are_no_alarm() -> None:
    """The embedding never moves, not even by chance."""
    world, watch = World(2), Combined()

    def dull(seen: Seen) -> Sketch:
        same = np.broadcast_to(np.float32(0.3), seen.embedding.shape)
        return sketch(replace(seen, embedding=same, loss=np.full(seen.loss.shape, 0.1)), 10, world.by)

    seen = [world.seen() for _ in range(10)]
    parts = [dull(one) for one in seen]
    stacked = {n: np.stack([getattr(part, n) for part in parts]) for n in Sketch.__dataclass_fields__}
    same = replace(seen[0], embedding=np.full(seen[0].embedding.shape, 0.3, np.float32))
    state = watch.init(Reference(Sketch(**stacked), 10 * outer(same, world.by)))
    alarms = []
    for _ in range(20):
        state, answer = watch.step(state, dull(world.seen()))
        alarms.append(answer.whole)
    assert np.mean(np.array(alarms) == ALARM) <= 0.1


def test_combined_of_what_is_not_a_number_is_not_known_and_is_got_over() -> None:
    world, watch = World(0), Combined()
    state = watch.init(world.reference())
    sent = world.sent()
    sent.loss[2] = np.nan
    state, answer = watch.step(state, sent)
    assert answer.units[2] == UNKNOWN
    for _ in range(3):
        state, answer = watch.step(state, world.sent(moved=0.5))
    assert answer.whole == ALARM


def test_bandwidth_of_items_that_are_mostly_alike(rng: np.random.Generator) -> None:
    """A model embeds one item a little otherwise in each place of a batch: rounding is no distance."""
    one = rng.normal(size=(1, 16)) * 3 * (1 + 1e-7 * rng.normal(size=(90, 16)))
    few = np.concatenate([one, rng.normal(size=(10, 16)) * 3]).astype(np.float32)

    assert mmd.median_bandwidth(few) > 1
    bandwidth = mmd.median_bandwidth(one.astype(np.float32))
    assert np.isnan(bandwidth) or bandwidth > 1e-3


def _pooled(rng: np.random.Generator, like: Sketch) -> Callable[[], Sketch]:
    """Rounds of items drawn with replacement from a pool of each client, as the simulator does."""
    sizes, error = rng.integers(20, 100, 10), 0.03 * np.exp(rng.normal(size=10))
    wrong = [rng.random(n) < share for n, share in zip(sizes, error, strict=True)]
    loss = [rng.exponential(np.where(own, 3.0, 0.03)) for own in wrong]

    def sent() -> Sketch:
        at = [rng.integers(0, n, 200) for n in sizes]
        losses = np.array([pool[own] for pool, own in zip(loss, at, strict=True)])
        errors = np.array([pool[own].sum() for pool, own in zip(wrong, at, strict=True)], float)
        return replace(like, loss=losses.sum(1), loss_squares=(losses**2).sum(1), wrong=errors)

    return sent


def test_clients_that_fare_worse_are_not_named_for_it() -> None:
    """Some of ten are never wrong, others in a tenth; loss and error rise and fall together."""
    named = []
    for seed in range(40):
        world = World(seed)
        base, sent = world.reference(), _pooled(np.random.default_rng([seed, 55]), world.sent())
        rounds = [sent() for _ in range(10)]
        stacked = {n: np.stack([getattr(one, n) for one in rounds]) for n in Sketch.__dataclass_fields__}
        watch = Combined(views=("loss",))
        state, found = watch.init(base._replace(sketch=Sketch(**stacked))), False
        for _ in range(30):
            state, answer = watch.step(state, sent())
            found |= bool((answer.units == ALARM).any())
        named.append(found)

    assert np.mean(named) <= 0.3


def test_sketches_add(rng: np.random.Generator) -> None:
    """The sketch of items together is the sum of the sketches of parts of them."""
    world = World(4, clients=3, items=60)
    seen = world.seen()
    whole = sketch(seen, 10, world.by)
    parts = [
        sketch(Seen(**{n: getattr(seen, n)[:, a:b] for n in Seen.__dataclass_fields__}), 10, world.by)
        for a, b in ((0, 13), (13, 60))
    ]
    summed = parts[0] + parts[1]
    for name in Sketch.__dataclass_fields__:
        assert getattr(summed, name) == pytest.approx(getattr(whole, name), rel=1e-5, abs=1e-4)
    assert whole.rows.tolist() == [60] * 3
    assert whole.truth.sum(1).tolist() == [60] * 3
    assert whole.numbers == 4 + 10 + 10 + 64


def test_evidence_is_worth_at_most_one_when_nothing_happens() -> None:
    """The e-value's mean over uniform p is 1 (numerically, by the integral of its three powers)."""
    p = (np.arange(2_000_000) + 0.5) / 2_000_000

    assert evidence(p).mean() == pytest.approx(1, abs=0.15)
    assert evidence(p).mean() <= 1
    assert (np.diff(evidence(np.sort(p[::1000]))) < 0).all()
    assert np.isfinite(evidence(np.zeros(1))).all()


def test_evidence_adds_up_and_alarms_come_seldom(rng: np.random.Generator) -> None:
    """Uniform p-values: the first alarm takes 1 / alpha rounds on average, or longer."""
    held, first = np.zeros(3000), np.full(3000, 400)
    for number in range(400):
        held = accumulated(held, evidence(rng.random(3000)), 3000.0)
        first = np.where((held >= 100) & (first == 400), number + 1, first)

    assert first.mean() >= 100
    assert accumulated(np.array(0.5), np.array(2.0), 10.0) == 2
    assert accumulated(np.array(4.0), np.array(9.0), 10.0) == 10


@pytest.mark.parametrize("rounds", [5, 10, 20])
@pytest.mark.parametrize("parts", [1, 9, 60])
def test_p_of_a_quadratic_score_is_near_its_level(parts: int, rounds: int, rng: np.random.Generator) -> None:
    """Chi-square scores: 1 % and 5 % within what the research measured (1.0-1.5 % and 5.5-6 %)."""
    reference = rng.chisquare(parts, (40_000, rounds))
    p = predictive_p(rng.chisquare(parts, 40_000), reference)

    assert 0.006 <= (p <= 0.01).mean() <= 0.02
    assert 0.04 <= (p <= 0.05).mean() <= 0.07


def test_p_of_a_normal_score_is_exact(rng: np.random.Generator) -> None:
    p = predictive_t(rng.normal(5, 3, 50_000), rng.normal(5, 3, (50_000, 8)))

    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert tail(np.array([1.3]), 7) == pytest.approx(stats.t.sf(1.3, 7))


def test_shown_keeps_the_share_of_wrong_ones(rng: np.random.Generator) -> None:
    """e-BH by its definition; and of e-values with mean 1, wrong ones are at most a share alpha."""
    for _ in range(50):
        e = rng.exponential(300, 12) * (rng.random(12) < 0.5)
        wanted = max((k for k in range(1, 13) if np.sort(e)[-k] * k * 0.1 >= 12), default=0)
        assert shown(e, 0.1).sum() == wanted
    assert shown(np.array([np.nan, 5000.0]), 0.01).tolist() == [False, True]
    assert not shown(np.array([np.nan, np.nan]), 0.01).any()


ERRORS = 50


def test_adwin_is_silent_on_ten_clients_and_ten_thousand_items(rng: np.random.Generator) -> None:
    watch, fired = Adwin(), 0
    state = watch.init(10)
    for _ in range(50):
        state, answer = watch.step(state, rng.random((10, 200)) < 0.2, np.ones(10, bool))
        fired += int((answer.units == ALARM).sum())
        assert (answer.units != UNKNOWN).all()

    assert fired == 0
    assert (watch.latched(state, np.ones(10, bool)).units == QUIET).all()


def test_adwin_sees_errors_of_a_half_within_two_hundred_items(rng: np.random.Generator) -> None:
    watch = Adwin()
    state = watch.init(10)
    for _ in range(20):
        state, _ = watch.step(state, rng.random((10, 200)) < 0.2, np.ones(10, bool))
    error = np.where(np.arange(10) < 3, 0.5, 0.2)[:, None]
    state, answer = watch.step(state, rng.random((10, 200)) < error, np.ones(10, bool))

    assert answer.units.tolist() == [ALARM] * 3 + [QUIET] * 7
    assert answer.whole == ALARM
    for _ in range(5):
        state, answer = watch.step(state, rng.random((10, 200)) < error, np.ones(10, bool))
    assert watch.latched(state, np.ones(10, bool)).units.tolist() == [ALARM] * 3 + [QUIET] * 7
    assert (answer.units == QUIET).all()


def test_adwin_does_not_mind_a_model_that_learns(rng: np.random.Generator) -> None:
    watch = Adwin()
    state = watch.init(5)
    for number in range(40):
        error = 0.6 if number < 20 else 0.1
        state, answer = watch.step(state, rng.random((5, 200)) < error, np.ones(5, bool))
        assert (answer.units == QUIET).all()


def test_adwin_cannot_fire_on_one_number_a_round() -> None:
    """Even if everything is right for 24 rounds and nothing for 26: fed one item a round it is silent."""
    watch = Adwin(least=1)
    state = watch.init(1)
    for number in range(50):
        state, answer = watch.step(state, np.array([[number >= 24]]), np.array([True]))
        assert answer.whole == QUIET or number > 24
    few = Adwin()
    state = few.init(1)
    for _ in range(50):
        state, answer = few.step(state, np.array([[False]]), np.array([True]))
    assert answer.whole == UNKNOWN


def test_adwin_does_not_know_of_who_is_not_there(rng: np.random.Generator) -> None:
    watch = Adwin()
    state = watch.init(2)
    state, answer = watch.step(state, rng.random((2, 200)) < 0.5, np.array([True, False]))
    assert answer.units.tolist() == [QUIET, UNKNOWN]
    state, answer = watch.step(state, rng.random((2, 200)) < 0.5, np.array([False, False]))
    assert answer.whole == UNKNOWN


LAWS: dict[str, Any] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "long tails": lambda rng, size: np.exp(1.5 * rng.normal(size=size)),
    "pixels": lambda rng, size: np.where(rng.random(size) < 0.7, 0, rng.integers(1, 17, size)) / 16,
    "mostly zero": lambda rng, size: np.where(rng.random(size) < 0.95, 0, rng.integers(1, 17, size)) / 16,
    "hardly ever": lambda rng, size: (rng.random(size) < 0.005).astype(float),
    "words": lambda rng, size: np.where(rng.random(size) < 0.97, 0, rng.random(size)),
}


def _columns(values: Any, truth: Any = None) -> Seen:
    truth = np.zeros(values.shape[:2], np.int64) if truth is None else truth
    values = values.astype(np.float32)
    return Seen(truth=truth, guess=truth, loss=np.zeros(truth.shape), values=values, embedding=values)


def _answers(
    test: Any, draw: Any, streams: int, *, rounds: int = 20, reference: int = 10, move: Any = None
) -> list[Answer]:
    """What a test of columns says of rounds that `draw` makes, after a reference of the same."""
    found = []
    for seed in range(streams):
        rng = np.random.default_rng([seed, 8])
        held = hold(draw(rng, reference), reference, 10, [test])
        for _ in range(rounds):
            now = draw(rng, 1) if move is None else move(draw(rng, 1))
            clients = np.arange(len(now.truth))
            found.append(Columns(test).step(Against(held, now, clients), np.ones(clients.size, bool)))
    return found


def _drawn(law: str, *, clients: int = 10, items: int = 200, columns: int = 12) -> Any:
    return lambda rng, rounds: _columns(LAWS[law](rng, (clients, rounds * items, columns)))


def _alarms(answers: list[Answer]) -> tuple[float, float]:
    return (
        float(np.mean([one.whole == ALARM for one in answers])),
        float(np.mean([(one.units == ALARM).mean() for one in answers])),
    )


MOST = 0.09


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("test", ["ks", "psi", "w1"])
def test_columns_are_seldom_wrong(test: str, law: str) -> None:
    """1 % of the rounds by name; of 120 rounds up to 9 % are let pass: what this guards against is 30 %.

    Measured over 500 rounds: KS 0, PSI 1 to 4 %, W1 3 to 5 %. With ties and without.
    """
    assert _alarms(_answers(test, _drawn(law), 6))[0] <= MOST


@pytest.mark.parametrize("law", ["normal", "pixels"])
@pytest.mark.parametrize("test", ["ks", "psi", "w1"])
def test_columns_of_few_items_are_seldom_wrong(test: str, law: str) -> None:
    assert _alarms(_answers(test, _drawn(law, items=50), 6))[0] <= MOST


@pytest.mark.parametrize("alpha", [5.0, 0.3, 0.1])
def test_chi_square_is_seldom_wrong(alpha: float) -> None:
    """Also where some classes are rare, as with Dirichlet clients they are."""

    def draw(rng: np.random.Generator, rounds: int) -> Seen:
        mix = np.random.default_rng(17).dirichlet(np.full(10, alpha), 10)
        drawn = (rng.random((10, rounds * 200, 1)) > np.cumsum(mix, 1)[:, None, :-1]).sum(-1)
        return _columns(np.zeros((*drawn.shape, 1)), drawn)

    assert _alarms(_answers("chi_square", draw, 20))[0] <= float(stats.binom.ppf(0.999, 400, 0.02) / 400)


@pytest.mark.parametrize("test", ["ks", "psi", "w1"])
def test_columns_see_one_client_whose_feature_moves(test: str) -> None:
    def moved(seen: Seen) -> Seen:
        values = seen.values.copy()
        values[3, :, 5] += 2
        return replace(seen, values=values)

    answers = _answers(test, _drawn("normal"), 3, rounds=5, move=moved)

    assert all(one.whole == ALARM for one in answers)
    assert all(one.units[3] == ALARM for one in answers)
    assert np.mean([one.units[[0, 1, 2, 4, 5, 6, 7, 8, 9]] == ALARM for one in answers]) <= 0.03


def test_chi_square_sees_another_mix() -> None:
    def draw(rng: np.random.Generator, rounds: int) -> Seen:
        return _columns(np.zeros((5, rounds * 200, 1)), rng.integers(0, 10, (5, rounds * 200)))

    def moved(seen: Seen) -> Seen:
        truth = seen.truth.copy()
        truth[1, :60] = 0
        return replace(seen, truth=truth)

    answers = _answers("chi_square", draw, 3, rounds=5, move=moved)
    assert all((one.units == ALARM).tolist() == [False, True, False, False, False] for one in answers)


def test_columns_that_never_change_are_no_alarm() -> None:
    """A pixel that is always 0, in all clients: nothing to test, and nothing found."""
    for test in ("ks", "psi", "w1", "evidently", "chi_square"):
        answers = _answers(test, lambda _, rounds: _columns(np.zeros((4, rounds * 50, 3))), 1, rounds=5)
        assert all(one.whole == QUIET for one in answers)


def test_a_column_that_was_constant_and_is_not_is_an_alarm() -> None:
    for test in ("ks", "psi", "w1"):
        answers = _answers(
            test, lambda _, rounds: _columns(np.zeros((4, rounds * 200, 3))), 1, rounds=2,
            move=lambda seen: replace(seen, values=seen.values + np.float32(0.5)),
        )  # fmt: skip
        assert all(one.whole == ALARM for one in answers)


def test_evidently_rule_is_wrong_all_the_time_and_says_so() -> None:
    """Against a large reference, 200 normal rows reach a third of a deviation in a third of the columns."""
    found = _alarms(_answers("evidently", _drawn("normal", columns=16), 4))[0]
    assert 0.6 <= found <= 0.97


def test_columns_do_not_know_of_clients_without_a_reference() -> None:
    rng = np.random.default_rng(0)
    draw = _drawn("normal", clients=4)
    held, now = hold(draw(rng, 10), 10, 10, ["ks"]), draw(rng, 1)
    known = np.array([True, False, True, False])
    answer = Columns("ks").step(Against(held, now, np.flatnonzero(known)), known)
    assert answer.units.tolist() == [QUIET, UNKNOWN, QUIET, UNKNOWN]
    nobody = Columns("ks").step(Against(held, now, np.flatnonzero(~known & known)), ~known & known)
    assert nobody.whole == UNKNOWN


def _embedded(rng: np.random.Generator, clients: int, rows: int, moved: Any = 0.0) -> Seen:
    values = rng.normal(size=(clients, rows, 6)) + np.broadcast_to(moved, clients)[:, None, None]
    return _columns(values + np.arange(clients)[:, None, None])


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("clients", [1, 5])
def test_mmd_is_wrong_in_one_round_of_a_hundred(exact: bool, clients: int, rng: np.random.Generator) -> None:
    by, test = mmd.fourier(6, 2.5, np.random.default_rng(1), 64), Discrepancy(exact=exact)
    answers = [
        test.step(by, _embedded(rng, clients, 60), _embedded(rng, clients, 30), np.ones(clients, bool), rng)
        for _ in range(300)
    ]
    whole = np.mean([one.whole == ALARM for one in answers])
    units = np.mean([(one.units == ALARM).mean() for one in answers])

    assert whole <= stats.binom.ppf(0.999, 300, 0.01) / 300
    assert units <= stats.binom.ppf(0.999, 300, 0.01) / 300


@pytest.mark.parametrize(("exact", "clients"), [(False, 2), (False, 10), (True, 2), (True, 10)])
def test_mmd_sees_embeddings_that_move(exact: bool, clients: int, rng: np.random.Generator) -> None:
    by, test = mmd.fourier(6, 2.5, np.random.default_rng(1), 256), Discrepancy(exact=exact)
    moved = np.where(np.arange(clients) < 2, 1.0, 0.0)
    for _ in range(5):
        answer = test.step(
            by, _embedded(rng, clients, 100), _embedded(rng, clients, 50, moved), np.ones(clients, bool), rng
        )
        assert answer.whole == ALARM
        assert (answer.units[:2] == ALARM).all()


def test_mmd_with_an_encoder_that_changes_every_round(rng: np.random.Generator) -> None:
    """Both sides embedded again by the encoder of the round: the research found no alarm at all, where a
    stored embedding gave 61 to 94 %."""
    encoder, raw = rng.normal(size=(6, 6)), rng.normal(size=(5, 120, 6))
    stored, test = raw @ encoder, Discrepancy()
    by, again, kept = mmd.fourier(6, 5.0, np.random.default_rng(1)), [], []
    for _ in range(60):
        encoder = encoder + 0.1 * rng.normal(size=(6, 6))
        now = _columns(rng.normal(size=(5, 60, 6)) @ encoder)
        for before, found in ((_columns(raw @ encoder), again), (_columns(stored), kept)):
            found.append(test.step(by, before, now, np.ones(5, bool), rng).whole == ALARM)

    assert np.mean(again) <= 0.1
    assert np.mean(kept) >= 0.5


def test_mmd_does_not_know_of_nobody(rng: np.random.Generator) -> None:
    by = mmd.fourier(6, 2.5, rng, 16)
    answer = Discrepancy().step(by, _embedded(rng, 3, 20), _embedded(rng, 3, 10), np.zeros(3, bool), rng)

    assert answer.whole == UNKNOWN
    assert (answer.units == UNKNOWN).all()


@pytest.mark.parametrize("exact", [False, True])
def test_mmd_of_what_is_not_a_number_is_not_known(exact: bool, rng: np.random.Generator) -> None:
    """A model that has diverged says nothing: that is not "no drift"."""
    by, now = mmd.fourier(6, 2.5, rng, 16), _embedded(rng, 3, 10)
    torn = replace(now, embedding=np.full_like(now.embedding, np.nan))
    answer = Discrepancy(exact=exact).step(by, _embedded(rng, 3, 20), torn, np.ones(3, bool), rng)

    assert answer.whole != QUIET
    assert (answer.units != QUIET).all()


def test_watching_more_than_fits_is_refused_beforehand() -> None:
    with pytest.raises(BadConfig, match=r"watching 100,000 clients .* take fewer items or rounds"):
        Watching().refuse(100_000, 784)
    Watching().refuse(10, 784)


def test_features_that_vary_most_are_tested() -> None:
    spread = np.array([1, 9, 2, 7, 0, 3])
    x = (np.random.default_rng(0).normal(size=(3, 50, 6)) * spread).astype(np.float32)

    assert most_varied(x, 3).tolist() == [1, 3, 5]
    assert most_varied(x, 99).tolist() == [0, 1, 2, 3, 4, 5]


def test_any_client_with_an_alarm_is_an_alarm() -> None:
    for units, whole in (([0, 1, -1], ALARM), ([0, 0, -1], QUIET), ([-1, -1, -1], UNKNOWN)):
        assert Answer.any_of(np.array(units, np.int8)).whole == whole


def test_joined_rounds_keep_their_order() -> None:
    world = World(0, clients=2, items=3)
    rounds = [world.seen() for _ in range(4)]

    assert (joined(rounds).truth[:, 3:6] == rounds[1].truth).all()
