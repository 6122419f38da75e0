"""Maximum mean discrepancy against plain loops; level and power of its permutation tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist, pdist

from muster.kernels import mmd

LEVEL = 0.05
TESTS = [mmd.permutation_test, mmd.fourier_test]


def _looped(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.exp(-((a - b) ** 2).sum() / (2 * bandwidth**2)))

    n, m = len(x), len(y)
    within = sum(kernel(x[i], x[j]) for i in range(n) for j in range(n) if i != j)
    own = sum(kernel(y[i], y[j]) for i in range(m) for j in range(m) if i != j)
    across = sum(kernel(a, b) for a in x for b in y)
    return within / (n * (n - 1)) + own / (m * (m - 1)) - 2 * across / (n * m)


@pytest.fixture
def sides(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(23, 4)), rng.normal(0.4, 1.1, size=(17, 4))


def test_distances(sides: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = sides

    assert mmd.squared_distances(x, y) == pytest.approx(cdist(x, y, "sqeuclidean"))
    assert mmd.squared_distances(x) == pytest.approx(cdist(x, x, "sqeuclidean"))
    assert mmd.squared_distances(np.array([[0], [3]])).tolist() == [[0, 9], [9, 0]]


def test_distances_far_from_zero_keep_their_digits(rng: np.random.Generator) -> None:
    near = rng.normal(size=(30, 3))
    far = (near + 1000).astype(np.float32)
    found = mmd.squared_distances(far)

    assert found.dtype == np.float32
    assert found == pytest.approx(cdist(far.astype(float), far.astype(float), "sqeuclidean"), rel=1e-4)


def test_bandwidth(rng: np.random.Generator) -> None:
    x = rng.normal(size=(40, 3))

    assert mmd.median_bandwidth(x) == pytest.approx(np.sqrt(np.median(pdist(x, "sqeuclidean")) / 2))
    assert mmd.median_bandwidth(x, most=10) == mmd.median_bandwidth(x[:10])
    drawn = [mmd.median_bandwidth(x, most=10, rng=np.random.default_rng(3)) for _ in range(2)]
    assert drawn[0] == drawn[1] != mmd.median_bandwidth(x, most=10)
    assert mmd.median_bandwidth(np.array([[0.0]] * 9 + [[2.0]])) == pytest.approx(np.sqrt(2))
    assert np.isnan(mmd.median_bandwidth(np.zeros((5, 2))))
    assert np.isnan(mmd.median_bandwidth(np.zeros((1, 2))))


def test_mmd2_is_the_plain_loop(sides: tuple[np.ndarray, np.ndarray]) -> None:
    for bandwidth in (0.3, 1.0, 5.0):
        assert mmd.mmd2(*sides, bandwidth) == pytest.approx(_looped(*sides, bandwidth), abs=1e-12)


def test_mmd2_knows_no_order_and_no_side(
    sides: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> None:
    x, y = sides
    value = mmd.mmd2(x, y, 1.5)

    assert mmd.mmd2(y, x, 1.5) == pytest.approx(value)
    assert mmd.mmd2(rng.permutation(x), rng.permutation(y), 1.5) == pytest.approx(value)
    assert mmd.mmd2(x + 7, y + 7, 1.5) == pytest.approx(value)
    assert mmd.mmd2(2 * x, 2 * y, 3.0) == pytest.approx(value)
    assert mmd.mmd2(x, x, 1.5) <= 0


def test_mmd2_is_unbiased(rng: np.random.Generator) -> None:
    found = [mmd.mmd2(*rng.normal(size=(2, 20, 3)), 1.7) for _ in range(500)]

    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(500)


@pytest.mark.parametrize(("n", "m"), [(3, 5), (60, 30), (500, 501)])
def test_every_split_is_as_large_as_the_one_seen(n: int, m: int, rng: np.random.Generator) -> None:
    members = mmd.memberships(n, m, 99, rng)

    assert members.dtype == np.float32
    assert members[0].tolist() == [0] * n + [1] * m
    assert members.sum(1).tolist() == [m] * 100
    assert np.unique(members).tolist() == [0, 1]


def test_every_row_is_as_often_current(rng: np.random.Generator) -> None:
    often = mmd.memberships(6, 4, 20_000, rng)[1:].sum(0)

    assert stats.chisquare(often).pvalue > 0.001


def test_the_statistic_of_every_split_is_that_of_its_rows(
    sides: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> None:
    both = np.concatenate(sides)
    members = mmd.memberships(23, 17, 9, rng)
    kernel = np.exp(-cdist(both, both, "sqeuclidean") / 2).astype(np.float32)
    found = mmd._splits(kernel, members)
    expected = [mmd.mmd2(both[split == 0], both[split == 1], 1.0) for split in members]

    assert found == pytest.approx(expected, abs=1e-7)


def test_the_statistic_is_mmd2(sides: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> None:
    value, p = mmd.permutation_test(*sides, 1.5, rng, permutations=99)

    assert value == pytest.approx(mmd.mmd2(*sides, 1.5), abs=1e-7)
    assert round(p * 100) == pytest.approx(p * 100)
    far = [side + 1e6 for side in sides]
    assert mmd.permutation_test(*far, 1.5, rng)[0] == pytest.approx(value, abs=1e-6)


def test_few_rows_have_every_split(rng: np.random.Generator) -> None:
    """Six rows, three a side: 20 splits, two of which are as far apart as the one seen."""
    x, y = np.array([[0.0], [1.0], [2.0]]), np.array([[10.0], [11.0], [12.0]])

    for test in TESTS:
        assert test(x, y, 1.0, rng, permutations=9999)[1] == pytest.approx(0.1, abs=0.015)


def test_features_are_the_kernel_on_average(sides: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = sides
    mapped = mmd.fourier(4, 1.5, np.random.default_rng(0), 20_000)
    found = mmd.features_of(x, *mapped) @ mmd.features_of(y, *mapped).T

    assert found.dtype == np.float32
    assert found == pytest.approx(np.exp(-cdist(x, y, "sqeuclidean") / 4.5), abs=0.04)


def test_sums_are_those_of_the_rows(rng: np.random.Generator) -> None:
    seen, new = rng.random((7, 5)), rng.random((4, 5))
    members = mmd.memberships(7, 4, 19, rng)
    sums, total = mmd.permuted_sums(seen, new, members)
    statistics, p = mmd.p_of_sums(sums, total, 7, 4)

    assert sums[0] == pytest.approx(new.sum(0), rel=1e-6)
    assert total == pytest.approx(seen.sum(0) + new.sum(0), rel=1e-6)
    assert statistics[0] == pytest.approx(((new.mean(0) - seen.mean(0)) ** 2).sum(), rel=1e-5)
    assert p == pytest.approx((statistics >= statistics[0]).mean())


def test_sums_of_clients_are_the_sums_of_all(rng: np.random.Generator) -> None:
    """Three clients of other sizes, each permuted on its own, summed at the server: rows stay at home."""
    sizes, mapped = [(30, 15), (80, 40), (10, 5)], mmd.fourier(3, 1.5, rng, 64)
    clients = [tuple(mmd.features_of(rng.normal(size=(k, 3)), *mapped) for k in size) for size in sizes]
    members = [mmd.memberships(*size, 49, rng) for size in sizes]
    sent = [mmd.permuted_sums(*client, split) for client, split in zip(clients, members, strict=True)]
    at_server = mmd.p_of_sums(sum(one for one, _ in sent), sum(one for _, one in sent), 120, 60)

    seen, new = (np.concatenate(side) for side in zip(*clients, strict=True))
    parts = zip(members, sizes, strict=True)
    split = np.hstack(
        [np.hstack(x) for x in zip(*(np.split(one, [n], 1) for one, (n, _) in parts), strict=True)]
    )
    together = mmd.p_of_sums(*mmd.permuted_sums(seen, new, split), 120, 60)

    assert at_server[0] == pytest.approx(together[0], rel=1e-5)
    assert at_server[1] == together[1]


def test_clients_of_one_size_go_together(rng: np.random.Generator) -> None:
    seen, new = rng.random((5, 8, 6)), rng.random((5, 4, 6))
    members = mmd.memberships(8, 4, 19, rng)
    sums, total = mmd.permuted_sums(seen, new, members)
    statistics, p = mmd.p_of_sums(sums, total, 8, 4)

    assert (sums.shape, total.shape, p.shape) == ((5, 20, 6), (5, 6), (5,))
    for k in range(5):
        one = mmd.permuted_sums(seen[k], new[k], members)
        assert sums[k] == pytest.approx(one[0], rel=1e-6)
        assert statistics[k] == pytest.approx(mmd.p_of_sums(*one, 8, 4)[0], rel=1e-4, abs=1e-7)


def test_centred_sums_of_one_client_give_the_same_test(rng: np.random.Generator) -> None:
    sums, total = mmd.permuted_sums(
        rng.random((30, 6)), rng.random((10, 6)), mmd.memberships(30, 10, 99, rng)
    )
    plain, centred = (
        mmd.p_of_sums(*one, 30, 10) for one in ((sums, total), mmd.centred(sums, total, 30, 10))
    )

    assert plain[0] == pytest.approx(centred[0])
    assert plain[1] == centred[1]


def _federated(rng: np.random.Generator, moved: float) -> tuple[float, float]:
    """P-values, plain and centred, of two clients that differ and send different shares of current rows."""
    mapped, plain, level = mmd.fourier(2, 2.0, np.random.default_rng(1), 32), [], []
    for n, m, place in ((60, 20, -2.0), (20, 60, 2.0)):
        sides = rng.normal(place, 1, (n, 2)), rng.normal(place, 1, (m, 2)) + np.array([moved, -moved])
        sent = mmd.permuted_sums(
            *(mmd.features_of(x, *mapped) for x in sides), mmd.memberships(n, m, 99, rng)
        )
        plain.append(sent)
        level.append(mmd.centred(*sent, n, m))
    return tuple(
        float(mmd.p_of_sums(*(sum(parts) for parts in zip(*sent, strict=True)), 80, 80)[1])
        for sent in (plain, level)
    )


def test_clients_with_other_shares_of_current_rows_are_centred(rng: np.random.Generator) -> None:
    null = np.array([_federated(rng, 0) for _ in range(300)])
    moved = np.array([_federated(rng, 0.5) for _ in range(100)])

    assert ((null <= LEVEL).sum(0) <= stats.binom.ppf(0.999, 300, LEVEL)).all()
    assert (moved[:, 1] <= LEVEL).mean() > (moved[:, 0] <= LEVEL).mean() + 0.1


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("whole", [False, True])
def test_level(test: object, whole: bool, rng: np.random.Generator) -> None:
    """Also of whole numbers, where many splits are equal."""

    def drawn(rows: int) -> np.ndarray:
        x = rng.normal(size=(rows, 3))
        return np.round(x) if whole else x

    p = np.array([test(drawn(30), drawn(20), 1.7, rng, permutations=99)[1] for _ in range(400)])
    low, high = stats.binom.ppf([0.001, 0.999], 400, LEVEL) / 400

    assert low <= (p <= LEVEL).mean() <= high
    assert p.min() >= 0.01
    if not whole:
        assert stats.kstest(p, "uniform").pvalue > 0.001


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(("moved", "spread"), [(0.4, 1.0), (0.0, 1.4)])
def test_power(test: object, moved: float, spread: float, rng: np.random.Generator) -> None:
    p = [
        test(rng.normal(size=(100, 8)), rng.normal(moved, spread, (100, 8)), 2.8, rng, permutations=99)[1]
        for _ in range(40)
    ]

    assert (np.array(p) <= LEVEL).mean() > 0.9


@pytest.mark.parametrize("test", TESTS)
def test_a_seed_gives_one_answer(test: object, sides: tuple[np.ndarray, np.ndarray]) -> None:
    assert test(*sides, 1.5, np.random.default_rng(5)) == test(*sides, 1.5, np.random.default_rng(5))


@pytest.mark.parametrize("test", TESTS)
def test_what_cannot_be_said_is_not_a_number(test: object, rng: np.random.Generator) -> None:
    x = rng.normal(size=(10, 2))
    torn = x.copy()
    torn[3, 1] = np.nan

    assert np.isnan(test(x, torn, 1.0, rng)).all()
    assert np.isnan(test(x, x[:0], 1.0, rng)).all()
    assert np.isnan(test(x, x, float("nan"), rng)).all()


def test_one_row_a_side_has_no_unbiased_estimate(rng: np.random.Generator) -> None:
    assert np.isnan(mmd.mmd2(np.zeros((1, 2)), np.zeros((9, 2)), 1.0))
    assert np.isnan(mmd.permutation_test(np.zeros((9, 2)), np.zeros((1, 2)), 1.0, rng)).all()
