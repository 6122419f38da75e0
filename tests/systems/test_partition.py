"""Items dealt to clients: all of them, once, as the way says; and what cannot be dealt is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from muster.errors import BadConfig, BadData
from muster.kernels import skew
from muster.records import Samples
from muster.systems.federation.clients import heterogeneity, split
from muster.systems.federation.partition import WAYS, deal, topped_up
from tests.systems.worlds import blobs

EVERY = [*WAYS, "natural"]


def _many(items: int, classes: int = 10) -> Samples:
    """Items of which only the classes matter."""
    return Samples(
        name="many", nature="table", x=np.zeros((items, 1), np.float32), y=np.arange(items) % classes,
        classes=tuple(map(str, range(classes))),
    )  # fmt: skip


def _owned(items: int = 400, *, units: int = 6, classes: int = 4) -> Samples:
    samples = blobs(items, classes=classes)
    named = np.array([f"site {k}" for k in np.random.default_rng(1).integers(0, units, items)], object)
    return replace(samples, unit=named)


@pytest.mark.parametrize("way", EVERY)
@pytest.mark.parametrize("alpha", [0.1, 1.0, 2.0])
def test_every_item_is_dealt_once(way: str, alpha: float) -> None:
    samples = _owned()
    owner, names = deal(samples, way, 6, alpha=alpha, minimum=12, seed=3)  # type: ignore[arg-type]
    clients = split(samples, owner, names, seed=3)
    held = np.concatenate([clients.train.items, clients.test.items])

    assert len(names) == 6 == len(set(names.tolist()))
    assert sorted(held.tolist()) == list(range(400))
    for part in (clients.train, clients.test):
        assert (owner[part.items] == part.owner).all()
        assert part.starts[0] == 0
        assert part.starts[-1] == len(part.items)
    assert (clients.train.sizes + clients.test.sizes == np.bincount(owner)).all()
    assert np.bincount(owner).min() >= 12
    assert clients.test.sizes.min() >= 1
    assert clients.train.sizes.min() >= 1
    assert clients.counts.sum(0).tolist() == np.bincount(samples.y).tolist()


@pytest.mark.parametrize("way", EVERY)
def test_same_seed_same_bytes_other_seed_others(way: str) -> None:
    samples = _owned()
    first, again, other = (deal(samples, way, 6, alpha=1, minimum=12, seed=s)[0] for s in (3, 3, 4))  # type: ignore[arg-type]

    assert first.tobytes() == again.tobytes()
    if way not in {"natural", "feature"}:
        assert first.tobytes() != other.tobytes()


def test_minimum_holds_where_clients_would_be_empty() -> None:
    """Dirichlet .01 over 100 clients left 41 of them without any of 50,000 items."""
    samples = _many(50_000)
    owner, names = deal(samples, "dirichlet", 100, alpha=0.01, minimum=50)
    clients = split(samples, owner, names)
    dealt = WAYS["dirichlet"](samples, 100, 0.01, np.random.default_rng(0))

    assert (np.bincount(dealt, minlength=100) == 0).sum() > 10
    assert np.bincount(owner, minlength=100).min() == 50
    assert clients.test.sizes.min() == 15


def test_power_law_sizes_are_those_of_the_facts() -> None:
    owner, _ = deal(_many(60_000), "quantity", 100, alpha=1.0, minimum=2)
    sizes = np.bincount(owner)

    assert sizes[[0, 9, 49, 99]] == pytest.approx([11567, 1157, 231, 115], abs=1)
    assert (np.abs(sizes - skew.power_sizes(60_000, 100, 1.0)) <= 1).all()


def test_iid_is_even_and_mixed() -> None:
    samples = _many(5000)
    owner, names = deal(samples, "iid", 7, minimum=2)
    found = heterogeneity(split(samples, owner, names))

    assert np.ptp(np.bincount(owner)) <= 1
    assert found["tv"].max() < 0.08
    assert found["entropy"].min() > math.log(10) - 0.02


@pytest.mark.parametrize("each", [1, 2, 3])
def test_shards_hold_few_classes(each: int) -> None:
    """Ten clients with `each` of the shards: as many classes, or one more where a shard crosses a border."""
    samples = _many(6000)
    owner, names = deal(samples, "shards", 10, alpha=each, minimum=2, seed=5)
    found = heterogeneity(split(samples, owner, names))

    assert np.bincount(owner).tolist() == [600] * 10
    assert found["classes"].max() <= each


def test_dirichlet_nears_iid_as_alpha_grows() -> None:
    samples = _many(20_000)
    apart = []
    for alpha in (0.05, 0.5, 5.0, 500.0):
        owner, names = deal(samples, "dirichlet", 20, alpha=alpha, minimum=2, seed=1)
        apart.append(float(heterogeneity(split(samples, owner, names))["tv"].mean()))

    assert apart == sorted(apart, reverse=True)
    assert apart[0] > 0.6
    assert apart[-1] < 0.1


def test_dirichlet_shares_have_the_variance_of_their_law() -> None:
    """Shares of a class over K clients: mean 1/K, variance (K-1) / (K^2 (K alpha + 1))."""
    samples = _many(100_000, classes=200)
    dealt = WAYS["dirichlet"](samples, 8, 0.5, np.random.default_rng(3))
    shares = np.bincount(dealt * 200 + samples.y, minlength=1600).reshape(8, 200) / 500
    expected = 7 / (64 * (8 * 0.5 + 1))

    assert shares.mean(1) == pytest.approx(np.full(8, 1 / 8), abs=5 * math.sqrt(expected / 200))
    assert shares.var() == pytest.approx(expected, rel=0.15)


def test_feature_deals_by_the_first_principal_direction() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 5)).astype(np.float32)
    x[:, 2] *= 10
    samples = Samples(name="long", nature="table", x=x, y=np.arange(300) % 2, classes=("a", "b"))
    owner, _ = deal(samples, "feature", 5, minimum=2)
    direction = np.linalg.svd(x - x.mean(0), full_matrices=False)[2][0]
    rank = np.argsort(np.argsort(x @ direction))
    wanted = rank * 5 // 300

    assert np.bincount(owner).tolist() == [60] * 5
    assert max((owner == wanted).mean(), (owner == 4 - wanted).mean()) > 0.99


def test_natural_is_the_column() -> None:
    samples = _owned()
    owner, names = deal(samples, "natural", 99)

    assert samples.unit is not None
    assert [names[k] for k in owner] == samples.unit.tolist()


def test_natural_of_one_unit_is_no_federation() -> None:
    samples = replace(blobs(50), unit=np.array(["here"] * 50, object))
    with pytest.raises((BadConfig, BadData), match="2 clients"):
        deal(samples, "natural", 5)


REFUSED = {
    "alpha must be above 0": {"alpha": 0.0},
    "alpha must be": {"alpha": float("nan")},
    "at least 2 clients": {"clients": 1},
    "names no units": {"way": "natural"},
    "500 clients with at least 2 items each need 1000; blobs has 400": {"clients": 500, "minimum": 2},
    "5 clients with at least 100 items each need 500; blobs has 400": {"minimum": 100},
    "alpha must be above": {"alpha": -1.0, "way": "shards"},
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_dealt_is_refused(words: str) -> None:
    asked = {"way": "dirichlet", "clients": 5, "alpha": 1.0, "minimum": 10, **REFUSED[words]}
    way, clients = asked.pop("way"), asked.pop("clients")
    with pytest.raises((BadConfig, BadData), match=words):
        deal(blobs(400), way, clients, **asked)  # type: ignore[arg-type]


def test_clients_with_fewer_than_two_items_are_named() -> None:
    samples = blobs(20)
    owner = np.where(np.arange(20) < 19, 0, 1)
    with pytest.raises(BadData, match=r"2 of 3 clients hold fewer than 2 items.*q \(1\), r \(0\)"):
        split(samples, owner, np.array(["p", "q", "r"], object))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2, 1.5])
def test_a_share_of_tests_lies_between(share: float) -> None:
    with pytest.raises(BadConfig, match="test_share"):
        split(blobs(20), np.arange(20) % 2, np.array(["p", "q"], object), test_share=share)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.99])
def test_everybody_learns_and_is_tested(share: float) -> None:
    samples = blobs(31)
    owner = np.minimum(np.arange(31) // 2, 9)
    clients = split(samples, owner, np.array([str(k) for k in range(10)], object), test_share=share)
    sizes = np.bincount(owner)

    assert clients.test.sizes.tolist() == np.clip(np.rint(sizes * share), 1, sizes - 1).tolist()
    assert clients.train.sizes.min() >= 1
    assert not set(clients.train.items) & set(clients.test.items)


def test_items_of_nobody_stay_out() -> None:
    samples = blobs(30)
    owner = np.arange(30) % 3 - 1
    clients = split(samples, owner, np.array(["p", "q"], object))

    assert sorted([*clients.train.items, *clients.test.items]) == np.flatnonzero(owner >= 0).tolist()


def test_heterogeneity_by_hand() -> None:
    """Six items of a and two of b, and two of b alone: shares .75/.25 and 0/1, of all .6/.4."""
    samples = Samples(
        name="hand", nature="table", x=np.zeros((10, 1), np.float32),
        y=np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1]), classes=("a", "b"),
    )  # fmt: skip
    found = heterogeneity(split(samples, np.array([0] * 8 + [1] * 2), np.array(["p", "q"], object)))

    assert found["tv"] == pytest.approx([0.15, 0.6])
    assert found["entropy"] == pytest.approx([-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), 0])
    assert found["classes"].tolist() == [2, 1]
    assert (found["train"] + found["test"]).tolist() == [8, 2]


def test_skew_of_nothing_is_not_a_number() -> None:
    counts = np.array([[4.0, 0.0], [0.0, 0.0]])

    assert skew.total_variation(counts)[0] == 0
    assert np.isnan(skew.total_variation(counts)[1])
    assert np.isnan(skew.entropy(counts)[1])


def test_topping_up_takes_from_the_rich_and_leaves_them_the_minimum() -> None:
    rng = np.random.default_rng(0)
    owner = topped_up(np.array([0] * 21 + [1] * 7 + [2] * 2), 5, 6, rng)

    assert np.bincount(owner).sum() == 30
    assert np.bincount(owner).tolist() == [6] * 5


def test_a_class_may_be_without_items() -> None:
    samples = replace(_many(400, 4), classes=tuple("abcdef"))
    for way in WAYS:
        owner, names = deal(samples, way, 5, alpha=1.0, minimum=10)  # type: ignore[arg-type]
        assert np.isfinite(heterogeneity(split(samples, owner, names))["entropy"]).all()
