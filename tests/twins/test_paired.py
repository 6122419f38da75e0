"""Paired tests against SciPy; intervals against what is published, and against known truths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from muster.kernels import paired


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 1), (3, 11), (20, 20), (140, 101), (0, 0)])
def test_mcnemar_is_the_exact_binomial_test(only_a: int, only_b: int) -> None:
    theirs = stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0

    assert paired.mcnemar(np.array(float(only_a)), np.array(float(only_b))) == pytest.approx(theirs)


@pytest.mark.parametrize("units", [2, 5, 12, 25])
def test_wilcoxon_is_exact_for_few(units: int, rng: np.random.Generator) -> None:
    x = rng.normal(0.3, 1, units)

    assert paired.wilcoxon(x) == pytest.approx(stats.wilcoxon(x, method="exact").pvalue)


@pytest.mark.parametrize("ties", [False, True])
def test_wilcoxon_is_normal_for_many_and_for_ties(ties: bool, rng: np.random.Generator) -> None:
    x = rng.normal(0.2, 1, 60)
    x = np.round(x, 1) if ties else x

    assert paired.wilcoxon(x) == pytest.approx(stats.wilcoxon(x, method="approx", correction=False).pvalue)


def test_nothing_that_differs_is_no_evidence() -> None:
    assert paired.wilcoxon(np.zeros(9)) == 1.0
    assert paired.wilcoxon(np.array([np.nan, 0.0])) == 1.0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
    ],
)
def test_newcombe_as_published(counts: tuple[int, ...], expected: tuple[float, float]) -> None:
    """Newcombe (1998), table II, method 10: first less second."""
    right_a, rows_a, right_b, rows_b = (np.array(float(x)) for x in counts)
    low, high = paired.difference_apart(right_a, rows_a, right_b, rows_b, level=0.95)

    assert (-high, -low) == pytest.approx(expected, abs=5e-5)


def test_the_paired_interval_holds_the_truth(rng: np.random.Generator) -> None:
    shares, rows = np.array([0.05, 0.08, 0.8, 0.07]), 60
    drawn = rng.multinomial(rows, shares, 4000).astype(float)
    low, high = paired.difference_paired(drawn[:, 0], drawn[:, 1], np.full(4000, float(rows)), 1.96)

    assert ((low <= 0.03) & (high >= 0.03)).mean() == pytest.approx(0.95, abs=0.03)
