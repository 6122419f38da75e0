"""Drift changes what it says, for whom it says, when it says, and nothing else; the same on every run."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage, stats

from muster.errors import BadConfig
from muster.records import Samples
from muster.systems.federation.clients import Clients
from muster.systems.federation.concepts import KINDS, TILT, Items, kind_of
from muster.systems.federation.drifting import Drifting
from muster.systems.federation.scenario import OFF, ON, RAMP, Concept, Scenario, drift, from_matrix, then
from tests.systems.worlds import blobs, calm, population

FITTING = [(name, nature) for name, kind in KINDS.items() for nature in kind.natures]
every_kind = pytest.mark.parametrize(("name", "nature"), FITTING)
SEED = 4


def _samples(nature: str, classes: int = 4) -> Samples:
    return blobs(400, classes=classes, features=64, nature=nature)


def _clients(nature: str, classes: int = 4) -> Clients:
    return population(_samples(nature, classes), 4, minimum=20)


def _of(clients: Clients, scenario: Scenario, seed: int = SEED) -> Drifting:
    return Drifting.of(clients, clients.train, scenario, seed)


def _after(clients: Clients, scenario: Scenario, number: int, seed: int = SEED) -> Drifting:
    """The items as they are in a round, counted from 1."""
    made = _of(clients, scenario, seed)
    made.at(number - 1)
    return made


def _sudden(name: str, severity: float = 0.6, **options: Any) -> Scenario:
    given = {"rounds": 6, "clients": 4, "start": 3, "affected": [1, 2], **options}
    return drift(Concept(name, severity), given.pop("pattern", "sudden"), **given)


def _changed(made: Drifting, before: Drifting) -> NDArray[np.bool_]:
    """Which items are not what they were."""
    return (made.x != before.x).any(1) | (made.y != before.y)


@every_kind
def test_a_kind_changes_what_it_says_and_nothing_else(name: str, nature: str) -> None:
    clients = _clients(nature)
    before, made = _of(clients, _sudden(name)), _after(clients, _sudden(name), 3)
    hit = np.isin(made.held.owner, [1, 2])
    family = KINDS[name].family

    assert _changed(made, before)[hit].any()
    assert not _changed(made, before)[~hit].any()
    assert made.x.dtype == np.float32
    assert made.y.dtype == np.int64
    assert np.isfinite(made.x).all()
    assert made.y.min() >= 0
    assert made.y.max() < 4
    if family == "covariate":
        assert (made.y == before.y).all()
    if family == "concept":
        assert (made.x == before.x).all()
    if nature == "image":
        assert made.x.min() >= 0
        assert made.x.max() <= 1
    if nature == "text":
        assert np.linalg.norm(made.x, axis=1) == pytest.approx(1, abs=1e-5)


@every_kind
def test_nothing_before_it_begins_and_no_items_of_the_data_set_are_touched(name: str, nature: str) -> None:
    clients = _clients(nature)
    x, y = clients.samples.x.copy(), clients.samples.y.copy()
    made = _of(clients, _sudden(name))
    for row in (0, 1):
        assert made.at(row).size == 0
        assert not _changed(made, _of(clients, calm(6, 4))).any()
    assert made.at(2).tolist() == [1, 2]
    assert made.at(3).size == 0
    assert (clients.samples.x == x).all()
    assert (clients.samples.y == y).all()


@every_kind
def test_train_and_test_items_drift_alike(name: str, nature: str) -> None:
    """The law is one: what a kind does to an item depends on the item alone, or on the client's pool."""
    clients = _clients(nature)
    scenario = _sudden(name)
    both = []
    for held in (clients.train, clients.test):
        made = Drifting.of(clients, held, scenario, SEED)
        made.at(2)
        both.append(made)
    if name == "label_swap":
        hits = [np.isin(made.held.owner, [1, 2]) for made in both]
        was = np.concatenate([clients.samples.y[m.held.items[h]] for m, h in zip(both, hits, strict=True)])
        now = np.concatenate([made.y[hit] for made, hit in zip(both, hits, strict=True)])
        assert len(set(zip(was.tolist(), now.tolist(), strict=True))) == len(np.unique(was))
    for made in both:
        assert _changed(made, Drifting.of(clients, made.held, scenario, SEED)).any()


@pytest.mark.parametrize("nature", ["image", "text", "table"])
def test_prior_drift_takes_items_from_the_clients_own_pool(nature: str) -> None:
    clients = _clients(nature)
    scenario = _sudden("class_share", 1.0)
    made, before = _after(clients, scenario, 3), _of(clients, scenario)
    for client in range(4):
        rows = slice(made.held.starts[client], made.held.starts[client + 1])
        pool = {(x.tobytes(), int(y)) for x, y in zip(before.x[rows], before.y[rows], strict=True)}
        assert {(x.tobytes(), int(y)) for x, y in zip(made.x[rows], made.y[rows], strict=True)} <= pool


@pytest.mark.parametrize("severity", [0.3, 1.0])
def test_class_shares_move_by_the_stated_factor(severity: float) -> None:
    """Half of the classes become e^(3 severity) times as frequent against the other half."""
    samples = blobs(40_000, classes=6, features=2)
    place = np.arange(40_000)
    items = Items(samples.x, samples.y, place, samples)
    taken = KINDS["class_share"].change(items, np.full(40_000, severity), SEED)
    shares = np.bincount(samples.y[taken], minlength=6) / 40_000
    factor = math.exp(TILT * severity)
    high = 1 / 3 * factor / (1 + factor)

    assert np.sort(shares) == pytest.approx([1 / 3 - high] * 3 + [high] * 3, abs=0.01)


def test_hardly_any_move_of_class_shares_hardly_changes_the_items() -> None:
    """Else every detector sees the draw, at any severity, and takes it for the drift."""
    samples = blobs(200, classes=4, features=2)
    items = Items(samples.x, samples.y, np.arange(200), samples)
    taken = KINDS["class_share"].change(items, np.full(200, 1e-6), SEED)

    assert len(np.unique(taken)) >= 195


@pytest.mark.parametrize("classes", [2, 4, 10])
def test_label_swap_at_full_severity_is_an_involution_without_fixed_points(classes: int) -> None:
    samples = _samples("table", classes)
    items = Items(samples.x, samples.y, np.arange(400), samples)
    change, full = KINDS["label_swap"].change, np.ones(400)
    once = change(items, full, SEED)
    twice = change(Items(samples.x, once, np.arange(400), samples), full, SEED)

    assert (once != samples.y).all()
    assert (twice == samples.y).all()
    assert all(len(np.unique(once[samples.y == k])) == 1 for k in range(classes))


@pytest.mark.parametrize(("severity", "pairs"), [(0.05, 1), (0.2, 1), (0.4, 2), (0.6, 3), (1.0, 5)])
def test_label_swap_exchanges_the_share_of_pairs_that_severity_says(severity: float, pairs: int) -> None:
    samples = _samples("table", 11)
    items = Items(samples.x, samples.y, np.arange(400), samples)
    made = KINDS["label_swap"].change(items, np.full(400, severity), SEED)

    assert len(np.unique(samples.y[made != samples.y])) == 2 * pairs


@pytest.mark.parametrize("severity", [0.1, 0.5, 1.0])
def test_label_noise_strikes_its_share_and_every_other_class_alike(severity: float) -> None:
    samples = blobs(20_000, classes=5, features=1)
    items = Items(samples.x, samples.y, np.arange(20_000), samples)
    made = KINDS["label_noise"].change(items, np.full(20_000, severity), SEED)
    struck = made != samples.y
    step = np.bincount((made - samples.y)[struck] % 5, minlength=5)

    assert struck.mean() == pytest.approx(severity, abs=0.012)
    assert step[0] == 0
    assert stats.chisquare(step[1:]).pvalue > 0.001


def test_noise_is_normal_of_the_stated_size_and_of_its_item() -> None:
    zeros = np.zeros((500, 40), np.float32)
    samples = Samples(name="zero", nature="table", x=zeros, y=np.zeros(500, np.int64), classes=("a",))
    change = KINDS["noise"].change
    whole = change(Items(samples.x, samples.y, np.arange(500), samples), np.full(500, 0.5), SEED)
    some = np.array([3, 250, 77])
    part = change(Items(samples.x[some], samples.y[some], some, samples), np.full(3, 0.5), SEED)

    assert stats.kstest(whole.ravel() / 0.5, "norm").pvalue > 0.001
    assert (part == whole[some]).all()
    assert (change(Items(samples.x, samples.y, np.arange(500), samples), np.full(500, 0.5), 5) != whole).any()


def test_images_are_changed_as_scipy_does_one_by_one() -> None:
    samples = _samples("image")
    items = Items(samples.x, samples.y, np.arange(400), samples)
    severity = np.where(np.arange(400) % 2, 0.4, 0.0)
    found: dict[str, Callable[[Any], Any]] = {
        "blur": lambda image: 0.6 * image + 0.4 * ndimage.gaussian_filter(image, 1.5, mode="nearest"),
        "rotation": lambda image: ndimage.rotate(
            image, 45 * 0.4, axes=(0, 1), reshape=False, order=1, mode="nearest"
        ),
        "contrast": lambda image: image.mean() + (image - image.mean()) * (1 - 0.8 * 0.4),
        "brightness": lambda image: image + 0.5 * 0.4,
    }
    for name, alone in found.items():
        made = KINDS[name].change(items, severity, SEED)
        assert (made[::2] == samples.x[::2]).all() or made[::2] == pytest.approx(samples.x[::2], abs=1e-6)
        for k in (1, 33, 399):
            wanted = np.clip(alone(samples.x[k].reshape(8, 8)), 0, 1)
            assert made[k] == pytest.approx(wanted.ravel(), abs=1e-5)


def test_tables_are_scaled_and_shifted_as_stated() -> None:
    samples = _samples("table")
    items = Items(samples.x, samples.y, np.arange(400), samples)
    scaled = KINDS["scale"].change(items, np.full(400, 0.5), SEED)
    moved = KINDS["shift"].change(items, np.full(400, 0.5), SEED) - samples.x

    assert scaled == pytest.approx(1.5 * samples.x)
    assert moved == pytest.approx(np.broadcast_to(moved[0], moved.shape), abs=1e-5)
    assert np.sqrt((moved[0] ** 2).mean()) == pytest.approx(0.5 * 2, rel=1e-5)


def test_words_become_other_words() -> None:
    """The same ones in all texts, as many as severity says; nothing is lost."""
    samples = _samples("text")
    items = Items(samples.x, samples.y, np.arange(400), samples)
    for severity in (0.25, 1.0):
        made = KINDS["vocabulary"].change(items, np.full(400, severity), SEED)
        moved = (made != samples.x).any(0)

        assert moved.sum() == round(64 * severity)
        assert (np.sort(made, 1) == np.sort(samples.x, 1)).all()
        columns = [tuple(column) for column in samples.x.T]
        assert [tuple(column) for column in made.T] != columns
        assert sorted(tuple(column) for column in made.T) == sorted(columns)


@pytest.mark.parametrize(("name", "nature"), [pair for pair in FITTING if pair[0] != "class_share"])
def test_severity_grows(name: str, nature: str) -> None:
    """The more of it, the further from what it was."""
    clients = _clients(nature)
    before = _of(clients, _sudden(name))
    far = []
    for severity in (0.05, 0.5, 1.0):
        made = _after(clients, _sudden(name, severity), 3)
        far.append(float(np.abs(made.x - before.x).sum() + (made.y != before.y).sum()))

    assert far[0] < far[-1]
    assert far[0] <= far[1] * 1.02


def test_gradual_strikes_more_and_more_and_lets_nobody_go() -> None:
    clients = population(blobs(4000, classes=4, features=4), 4)
    scenario = _sudden("noise", 1.0, pattern="gradual", rounds=25, affected=[1])
    made, before = _of(clients, scenario), _of(clients, scenario)
    whole = _after(clients, _sudden("noise", 1.0, affected=[1]), 3)
    own = made.held.owner == 1
    struck = np.zeros(len(before.y), bool)
    for row in range(25):
        made.at(row)
        now = _changed(made, before)
        share = min(max((row - 1) / RAMP, 0), 1)
        assert (struck <= now).all()
        assert now[own].mean() == pytest.approx(share, abs=4 * math.sqrt(0.25 / own.sum()))
        assert (made.x[now] == whole.x[now]).all()
        assert not now[~own].any()
        struck = now
    assert struck[own].all()


def test_incremental_scales_the_severity_of_all_items() -> None:
    clients = _clients("table")
    scenario = _sudden("shift", 0.9, pattern="incremental", rounds=25, affected=[1])
    made, before = _of(clients, scenario), _of(clients, scenario)
    own = made.held.owner == 1
    whole = (_after(clients, _sudden("shift", 0.9, affected=[1]), 3).x - before.x)[own]
    for row in range(25):
        made.at(row)
        share = min(max((row - 1) / RAMP, 0), 1)
        assert (made.x - before.x)[own] == pytest.approx(share * whole, abs=1e-5)


@every_kind
def test_recurrent_goes_back_to_the_very_same_bytes(name: str, nature: str) -> None:
    clients = _clients(nature)
    scenario = _sudden(name, pattern="recurrent", rounds=30)
    made, seen = _of(clients, scenario), []
    before = _of(clients, scenario)
    for row in range(30):
        made.at(row)
        there = row >= 2 and (row - 2) % (ON + OFF) < ON
        assert scenario.drifted[row].tolist() == [False, there, there, False]
        if not there:
            assert made.x.tobytes() == before.x.tobytes()
            assert made.y.tobytes() == before.y.tobytes()
        else:
            seen.append(made.x.tobytes() + made.y.tobytes())
    assert len(seen) == 16
    assert len(set(seen)) == 1


@pytest.mark.parametrize("pattern", ["sudden", "gradual", "incremental", "recurrent"])
@pytest.mark.parametrize("start", [1, 30])
def test_drift_may_begin_in_the_first_round_or_the_last(pattern: Any, start: int) -> None:
    made = _sudden("noise", pattern=pattern, rounds=30, start=start)

    assert made.drifted[start - 1].tolist() == [False, True, True, False]
    assert not made.drifted[: start - 1].any()


def test_a_second_drift_takes_the_place_of_the_first() -> None:
    clients = _clients("table")
    one = _sudden("noise", rounds=8, affected=[0, 1])
    two = drift(Concept("label_swap", 1.0), "sudden", rounds=8, clients=4, start=6, affected=[1, 2])
    both = then(one, two)

    assert both.which.tolist() == [[0] * 4] * 2 + [[1, 1, 0, 0]] * 3 + [[1, 2, 2, 0]] * 3
    assert [c.kind for c in both.concepts] == ["noise", "label_swap"]
    before, late = _of(clients, both), _after(clients, both, 8)
    owner = late.held.owner
    noisy, swapped = (late.x != before.x).any(1), late.y != before.y
    assert [bool(noisy[owner == c].any()) for c in range(4)] == [True, False, False, False]
    assert [bool(swapped[owner == c].all()) for c in range(4)] == [False, True, True, False]


def test_a_matrix_says_who_has_which_concept_when() -> None:
    clients = _clients("table")
    which = np.array([[0, 0, 1, 0], [2, 0, 1, 0], [2, 1, 0, 0]])
    made = from_matrix(which, [Concept("noise", 0.5), Concept("label_swap", 1.0)])

    assert (made.drifted == (which > 0)).all()
    data, before = _of(clients, made), _of(clients, made)
    for row in range(3):
        data.at(row)
        for client in range(4):
            own = data.held.owner == client
            assert bool((data.x != before.x)[own].any()) == (which[row, client] == 1)
            assert bool((data.y != before.y)[own].any()) == (which[row, client] == 2)


def test_rounds_may_be_looked_at_in_any_order() -> None:
    """A run that is resumed looks at its round without those before it."""
    clients = _clients("table")
    scenario = then(
        _sudden("noise", pattern="gradual", rounds=20),
        drift(Concept("class_share", 1.0), "recurrent", rounds=20, clients=4, start=9, affected=[2]),
    )
    there = _of(clients, scenario)
    for row in (19, 3, 0, 11, 7, 7, 15):
        there.at(row)
        fresh = _after(clients, scenario, row + 1)
        assert there.x.tobytes() == fresh.x.tobytes()
        assert there.y.tobytes() == fresh.y.tobytes()


def test_the_control_has_no_drift() -> None:
    clients = _clients("table")
    scenario = _sudden("noise").calm()
    made = _after(clients, scenario, 6)

    assert not scenario.drifted.any()
    assert not _changed(made, _of(clients, scenario)).any()


@every_kind
def test_other_seeds_other_drift(name: str, nature: str) -> None:
    """Where anything is drawn."""
    clients = _clients(nature)
    one, other = (_after(clients, _sudden(name, 0.5), 3, seed) for seed in (1, 2))
    drawn = name not in {"blur", "rotation", "contrast", "brightness", "scale"}

    assert ((one.x != other.x).any() or (one.y != other.y).any()) == drawn


_ALL = """
import hashlib, sys
import numpy as np
from muster.systems.federation.concepts import KINDS
from tests.systems.test_drift import FITTING, _clients, _sudden, _after
digest = hashlib.sha256()
for name, nature in FITTING:
    made = _after(_clients(nature), _sudden(name, pattern="gradual", rounds=9), 9)
    digest.update(made.x.tobytes() + made.y.tobytes())
print(digest.hexdigest())
"""


def test_the_same_bytes_in_every_process() -> None:
    """Whatever order the sets and dictionaries of a process have."""
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", _ALL], cwd=root, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    here = hashlib.sha256()
    for name, nature in FITTING:
        made = _after(_clients(nature), _sudden(name, pattern="gradual", rounds=9), 9)
        here.update(made.x.tobytes() + made.y.tobytes())

    assert found == {here.hexdigest()}


@pytest.mark.parametrize("severity", [0.0, -0.5, 1.01, float("nan")])
def test_severity_lies_between(severity: float) -> None:
    with pytest.raises(BadConfig, match="severity of noise must be above 0 and at most 1"):
        Concept("noise", severity)


@pytest.mark.parametrize("start", [0, -1, 7])
def test_a_round_that_does_not_exist(start: int) -> None:
    with pytest.raises(BadConfig, match=f"drift in round {start}: the rounds are 1 to 6"):
        _sudden("noise", start=start)


@pytest.mark.parametrize("affected", [[4], [-1], [0, 9]])
def test_a_client_that_does_not_exist(affected: list[int]) -> None:
    with pytest.raises(BadConfig, match="the clients are 0 to 3"):
        _sudden("noise", affected=affected)


def test_a_kind_that_does_not_fit_says_which_do() -> None:
    with pytest.raises(BadConfig, match="blur is drift of image, blobs is table; for it there are noise"):
        kind_of("blur", _samples("table"))
    with pytest.raises(BadConfig, match="no drift 'label_swop'; did you mean 'label_swap'"):
        kind_of("label_swop", _samples("table"))
    with pytest.raises(BadConfig, match="vocabulary is drift of text"):
        _of(_clients("image"), _sudden("vocabulary"))


def test_a_matrix_of_concepts_that_do_not_exist() -> None:
    for which in ([[0, 2]], [[-1, 0]]):
        with pytest.raises(BadConfig, match=r"there are 0 .none. to 1"):
            from_matrix(np.array(which), [Concept("noise", 0.5)])


@every_kind
def test_one_class_and_one_item_do_not_break_it(name: str, nature: str) -> None:
    samples = _samples(nature, 1)
    items = Items(samples.x[:1], samples.y[:1], np.array([0]), samples)
    made = KINDS[name].change(items, np.ones(1), SEED)

    assert len(made) == 1
    assert np.isfinite(made).all()
