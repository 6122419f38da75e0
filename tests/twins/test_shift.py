"""Tests of one feature against SciPy; how often they cry wolf, and how often they see one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from muster.errors import BadRecord
from muster.kernels import scans, shift

SHAPES = [(1, 1), (1, 7), (5, 3), (40, 40), (200, 17), (60, 250)]
LEVEL = 0.05


def _samples(rng: np.random.Generator, n: int, m: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Six rows of either side, sorted; many ties where the values are whole."""
    both = rng.normal(size=(6, n)), rng.normal(0.3, 1.2, size=(6, m))
    if kind == "whole":
        both = tuple(np.round(side * 2) for side in both)
    if kind == "float32":
        both = tuple(side.astype(np.float32) for side in both)
    return np.sort(both[0], -1), np.sort(both[1], -1)


@pytest.mark.parametrize("kind", ["normal", "whole", "float32"])
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_d_and_w1(n: int, m: int, kind: str, rng: np.random.Generator) -> None:
    reference, current = _samples(rng, n, m, kind)
    d, w1 = shift.ks_w1(reference, current)
    sides = list(zip(reference, current, strict=True))

    assert d == pytest.approx([stats.ks_2samp(*side, method="exact").statistic for side in sides], abs=1e-12)
    assert w1 == pytest.approx([stats.wasserstein_distance(*side) for side in sides], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", ["normal", "whole", "float32"])
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_the_compiled_walk_gives_the_bits_of_numpy(
    n: int, m: int, kind: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    reference, current = _samples(rng, n, m, kind)
    reference[2, -1], current[4, -1], current[5, 0] = np.inf, np.nan, -np.inf
    monkeypatch.setattr(scans, "worth", lambda _: False)
    plain = shift.ks_w1(reference[:3], current.reshape(2, 3, m))
    monkeypatch.setattr(scans, "worth", lambda _: True)
    compiled = shift.ks_w1(reference[:3], current.reshape(2, 3, m))

    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_compiler_is_taken_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(scans.sys.modules, "numba", raising=False)
    assert scans.worth(scans.WORTH)
    assert not scans.worth(scans.WORTH - 1)
    monkeypatch.setattr(scans, "find_spec", lambda _: None)
    assert not scans.worth(1 << 40)
    monkeypatch.setitem(scans.sys.modules, "numba", scans)
    assert scans.worth(1 << 20)
    assert not scans.worth(100)


def test_blocks_of_rows_make_no_difference(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    reference, current = np.sort(rng.normal(size=(5, 30)), -1), np.sort(rng.normal(size=(7, 5, 20)), -1)
    monkeypatch.setattr(scans, "worth", lambda _: False)
    whole = shift.ks_w1(reference, current)
    monkeypatch.setattr(scans, "_BLOCK", 150)

    np.testing.assert_array_equal(shift.ks_w1(reference, current), whole)
    np.testing.assert_array_equal([found[4] for found in whole], shift.ks_w1(reference, current[4]))


def test_laws_of_distance(rng: np.random.Generator) -> None:
    x, y = _samples(rng, 50, 30, "whole")
    d, w1 = shift.ks_w1(x, y)

    np.testing.assert_array_equal(d, shift.ks_w1(y, x)[0])
    assert w1 == pytest.approx(shift.ks_w1(y, x)[1])
    assert (d >= 0).all()
    assert (d <= 1).all()
    assert not np.any(shift.ks_w1(x, x))
    assert not np.any(shift.ks_w1(x, np.repeat(x, 3, axis=-1)))
    apart = shift.ks_w1(x, x + 100)
    assert apart[0].tolist() == [1.0] * 6
    assert apart[1] == pytest.approx(100)


def test_whole_numbers_are_taken() -> None:
    d, w1 = shift.ks_w1(np.array([[1, 2, 3]]), np.array([[1, 2, 3]]))

    assert (d.item(), w1.item()) == (0, 0)


def test_what_is_not_a_number_is_not_a_distance() -> None:
    reference = np.array([[0.0, 1.0], [0.0, np.nan], [0.0, np.inf]])
    d, w1 = shift.ks_w1(reference, np.tile([0.0, 1.0], (3, 1)))

    np.testing.assert_array_equal(d, [0, np.nan, 0.5])
    np.testing.assert_array_equal(w1, [0, np.nan, np.nan])
    for empty in (np.zeros((2, 0)), np.zeros((2, 3))), (np.zeros((2, 3)), np.zeros((2, 0))):
        assert np.isnan(shift.ks_w1(*empty)).all()


def test_a_reference_of_other_features_is_refused() -> None:
    with pytest.raises(BadRecord, match="does not serve"):
        shift.ks_w1(np.zeros((3, 5)), np.zeros((4, 5)))


@pytest.mark.parametrize(("n", "m", "off"), [(2000, 200, 0.006), (200, 200, 0.019), (2000, 2000, 0.006)])
def test_stephens_is_near_the_exact_distribution(n: int, m: int, off: float) -> None:
    root = np.sqrt(n * m / (n + m))
    d = np.ceil(np.linspace(0.4, 2.2, 40) / root * n) / n
    sides = [(np.arange(n) / n, (np.arange(m) + 0.5) / m + one) for one in d]
    exact = np.array([stats.ks_2samp(*side, method="exact").pvalue for side in sides])
    seen, _ = shift.ks_w1(*(np.stack(side) for side in zip(*sides, strict=True)))

    p = shift.ks_p(seen, n, m)
    assert p == pytest.approx(exact, abs=off)
    assert p[exact < 0.1] == pytest.approx(exact[exact < 0.1], abs=off * 0.4)


def test_stephens_takes_arrays_and_leaves_nothing_undefined_as_a_number() -> None:
    p = shift.ks_p(np.array([0.1, 0.1, np.nan]), np.array([10.0, 1000.0, 10.0]), 100)

    assert p[:2] == pytest.approx([1, 0.308], abs=0.01)
    assert np.isnan(p[2])
    assert np.isnan(shift.ks_p(np.array(0.1), 0, 10))


def test_chi_square(rng: np.random.Generator) -> None:
    reference, current = rng.integers(1, 60, (2, 20, 5)).astype(float)
    reference[:5, 1] = 0
    reference[3:8, 2] = current[3:8, 2] = 0
    statistic, p = shift.chi_square(reference, current)
    for row, pair in enumerate(np.stack([reference, current], 1)):
        theirs = stats.chi2_contingency(pair[:, pair.sum(0) > 0], correction=False)
        assert (statistic[row], p[row]) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_chi_square_of_one_class_and_of_none() -> None:
    assert [float(x) for x in shift.chi_square(np.array([5.0, 0]), np.array([7.0, 0]))] == [0, 1]
    assert np.isnan(shift.chi_square(np.array([0.0, 0]), np.array([7.0, 1]))).all()


def test_psi_is_the_divergence_of_jeffreys(rng: np.random.Generator) -> None:
    counts = rng.integers(1, 50, (2, 8)).astype(float)
    p, q = counts / counts.sum(1, keepdims=True)

    assert shift.psi(*counts) == pytest.approx(stats.entropy(p, q) + stats.entropy(q, p))
    assert shift.psi(*counts) == pytest.approx(shift.psi(*counts[::-1]))
    assert shift.psi(*counts) == pytest.approx(shift.psi(*counts[:, rng.permutation(8)]))
    assert shift.psi(counts[0], 3 * counts[0]) == pytest.approx(0)
    assert shift.psi(np.array([9.0, 1, 0]), np.array([10.0, 0, 0])) == pytest.approx(
        0.1 * np.log(1 / 0.9) + 0.0999 * np.log(1000)
    )
    assert np.isnan(shift.psi(counts[0], np.zeros(8)))


def test_p_of_psi() -> None:
    assert shift.psi_p(np.array(0.2), 1000, 100, 10) == pytest.approx(stats.chi2.sf(0.2 / 0.011, 9))
    assert np.isnan(shift.psi_p(np.array(np.nan), 0, 100, 10))


def _p_values(rng: np.random.Generator, moved: float) -> dict[str, np.ndarray]:
    """400 features, 500 rows against 200."""
    reference, current = (
        np.sort(rng.normal(size=(400, 500)), -1),
        np.sort(rng.normal(moved, 1, (400, 200)), -1),
    )
    edges = stats.norm.ppf(np.linspace(0, 1, 9)[1:-1])
    bins = [
        np.stack([np.bincount(np.searchsorted(edges, row), minlength=8) for row in side]).astype(float)
        for side in (reference, current)
    ]
    return {
        "ks": shift.ks_p(shift.ks_w1(reference, current)[0], 500, 200),
        "psi": shift.psi_p(shift.psi(*bins), 500, 200, 8),
        "chi_square": shift.chi_square(*bins)[1],
    }


def test_level(rng: np.random.Generator) -> None:
    low, high = stats.binom.ppf([0.001, 0.999], 400, LEVEL) / 400
    for name, p in _p_values(rng, 0).items():
        assert low <= (p <= LEVEL).mean() <= high, name


def test_power(rng: np.random.Generator) -> None:
    for name, p in _p_values(rng, 0.6).items():
        assert (p <= LEVEL).mean() > 0.99, name


@pytest.mark.parametrize("combine", [shift.simes, shift.bonferroni])
def test_level_of_many_at_once(combine: object, rng: np.random.Generator) -> None:
    p = combine(rng.random((4000, 16)))

    assert stats.binom.ppf(0.001, 4000, 0.04) <= (p <= LEVEL).sum() <= stats.binom.ppf(0.999, 4000, LEVEL)


def test_simes_and_bonferroni(rng: np.random.Generator) -> None:
    p = rng.random((3, 5, 4))
    theirs = stats.false_discovery_control(p, axis=1).min(1)

    assert shift.simes(p, axis=1) == pytest.approx(theirs)
    assert (shift.simes(p) <= shift.bonferroni(p)).all()
    assert shift.bonferroni(p, axis=1) == pytest.approx(np.minimum(5 * p.min(1), 1))
    assert shift.simes(np.array([0.03, np.nan, 0.5])) == pytest.approx(0.06)
    for combine in (shift.simes, shift.bonferroni):
        assert np.isnan(combine(np.array([np.nan, np.nan])))
        assert np.isnan(combine(np.zeros((2, 0)))).all()


def test_the_rule_of_evidently_cries_wolf(rng: np.random.Generator) -> None:
    """Nothing differs; 200 rows, a large reference: a third of the columns, most rounds."""
    reference = np.sort(rng.normal(size=(1, 5000)), -1)
    current = np.sort(rng.normal(size=(50, 160, 1, 200)), -1)
    _, w1 = shift.ks_w1(reference, current)
    columns = shift.evidently_rule(np.ones(w1.shape), w1 / reference.std(), 5000)[..., 0]

    assert 0.2 < columns.mean() < 0.4
    assert shift.dataset_drift(columns.reshape(50, 10, 16)).any(1).mean() > 0.5


def test_no_columns_are_no_answer() -> None:
    with pytest.raises(BadRecord, match="no columns"):
        shift.dataset_drift(np.zeros((2, 0), bool))
