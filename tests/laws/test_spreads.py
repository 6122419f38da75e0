"""Laws of the indices of a population: permutation, scale, bounds, and equality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kernels import inequality
from muster.kernels.inequality import SPREADS

values = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=30).map(lambda v: np.sort(np.array(v)))
every = pytest.mark.parametrize("name", SPREADS)
OF_SPREAD = ("gap", "variance_ddof0", "variance_ddof1", "std_ddof0", "std_ddof1", "cov", "gini")


@pytest.mark.parametrize("name", OF_SPREAD)
@given(level=st.floats(0.1, 1.0), units=st.integers(2, 50))
def test_equals_have_no_spread(name: str, level: float, units: int) -> None:
    assert SPREADS[name](np.full(units, level)) == pytest.approx(0, abs=1e-7)
    assert inequality.jain(np.full(units, level)) == pytest.approx(1)


@given(x=values, times=st.floats(0.1, 10))
def test_relative_indices_ignore_the_scale(x: np.ndarray, times: float) -> None:
    for index in (inequality.gini, inequality.jain, inequality.cov):
        assert index(times * x) == pytest.approx(index(x), abs=1e-9)


@given(x=values)
def test_bounds_and_identities(x: np.ndarray) -> None:
    n = x.size

    assert 0 <= inequality.gini(x) <= (n - 1) / n + 1e-12
    assert 1 / n - 1e-12 <= inequality.jain(x) <= 1 + 1e-12
    assert inequality.jain(x) == pytest.approx(1 / (1 + inequality.cov(x) ** 2))
    assert inequality.worst_tenth(x) <= inequality.mean(x) + 1e-12
    assert inequality.minimum(x) <= inequality.worst_tenth(x) <= inequality.maximum(x)


@given(x=values)
def test_gini_three_ways(x: np.ndarray) -> None:
    n, rank = x.size, np.arange(1, x.size + 1)
    by_sums = (n + 1 - 2 * (np.cumsum(x) / x.sum()).sum()) / n
    by_pairs = np.abs(x[:, None] - x).sum() / (2 * n * n * x.mean())
    by_ranks = 2 * (rank * x).sum() / (n * x.sum()) - (n + 1) / n

    assert inequality.gini(x) == pytest.approx(by_sums)
    assert inequality.gini(x) == pytest.approx(by_pairs)
    assert inequality.gini(x) == pytest.approx(by_ranks)


@every
def test_many_populations_at_once_are_each_alone(name: str, rng: np.random.Generator) -> None:
    x = np.sort(rng.random((5, 20)), -1)

    np.testing.assert_allclose(SPREADS[name](x), [SPREADS[name](row) for row in x])


@every
def test_nobody_is_undefined(name: str) -> None:
    assert np.isnan(SPREADS[name](np.zeros(0)))
