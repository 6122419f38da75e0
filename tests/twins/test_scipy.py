"""Intervals and tests against SciPy; and how often intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from muster.kernels import confusion, interval, significance, slopes
from muster.kernels.ranking import auroc, auroc_error, ranks
from muster.measures import CATALOG
from muster.records import Labelled
from muster.summaries.association import with_size

FOURS = [
    (1, 4, 9, 10),
    (0, 1, 970, 1000),
    (700, 1000, 7500, 10_000),
    (5, 5, 0, 9),
    (9000, 10_000, 1000, 10_000),
    (1900, 2000, 10, 2000),
    (4, 10, 40, 100),
    (0, 3, 0, 5),
]


@pytest.mark.parametrize(("right", "rows"), [(0, 1), (0, 10), (7, 10), (10, 10), (812, 1000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson(right: int, rows: int, level: float) -> None:
    theirs = stats.binomtest(right, rows).proportion_ci(level, method="wilson")
    ours = interval.wilson(np.array(float(right)), np.array(float(rows)), level)

    assert [float(end) for end in ours] == pytest.approx([theirs.low, theirs.high])


def test_student(rng: np.random.Generator) -> None:
    x = rng.normal(size=12)
    theirs = stats.t.interval(0.9, 11, x.mean(), stats.sem(x))
    ours = interval.student(x.sum(), (x**2).sum(), np.array(12.0), 0.9)

    assert [float(end) for end in ours] == pytest.approx(theirs)


def test_below_is_the_exact_binomial_test() -> None:
    theirs = stats.binomtest(3, 20, 0.4, alternative="less").pvalue

    assert significance.below(np.array([3.0]), np.array([20.0]), 0.4).item() == pytest.approx(theirs)


@pytest.mark.parametrize("counts", FOURS)
def test_fewer_is_the_exact_test_of_fisher(counts: tuple[int, int, int, int]) -> None:
    right, rows, others_right, others_rows = counts
    table = [[right, rows - right], [others_right, others_rows - others_right]]

    assert significance.fewer(*counts) == pytest.approx(stats.fisher_exact(table, alternative="less").pvalue)


def test_homogeneity_is_the_chi_square_test_of_a_table() -> None:
    right, rows = np.array([80.0, 60, 91]), np.array([100.0, 90, 120])
    theirs = stats.chi2_contingency(np.stack([right, rows - right]), correction=False)

    assert significance.homogeneity(right, rows) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_homogeneity_of_few_rows_rejects_as_seldom_as_it_says(rng: np.random.Generator) -> None:
    """The chi-square distribution would reject 18 % of these equal populations."""
    rows = np.array([1.0] * 20 + [1000.0])
    p = [significance.homogeneity(rng.binomial(rows.astype(int), 0.99) * 1.0, rows)[1] for _ in range(300)]

    assert np.mean(np.array(p) < 0.05) <= 0.08


def test_correlation_has_the_interval_of_pearson(rng: np.random.Generator) -> None:
    size = rng.integers(10, 500, 30).astype(float)
    values = 0.5 + size / 2000 + rng.normal(0, 0.05, 30)
    pearson, spearman = with_size(values * size, size, draws=0)
    theirs = stats.pearsonr(size, values)
    span = theirs.confidence_interval(0.95)

    assert (pearson.value, pearson.low, pearson.high) == pytest.approx(
        (theirs.statistic, span.low, span.high)
    )
    assert spearman.value == pytest.approx(stats.spearmanr(size, values).statistic)
    assert ranks(values).tolist() == stats.rankdata(values).tolist()


ERRORS = {
    "balanced accuracy": (
        lambda c: confusion.mean_defined(confusion.recall(c)),
        slopes.balanced_accuracy_error,
    ),
    "macro F1": (lambda c: confusion.mean_defined(confusion.f1(c)), slopes.macro_f1_error),
    "weighted F1": (confusion.weighted_f1, slopes.weighted_f1_error),
    "F1 of a class": (lambda c: confusion.f1(c)[..., 0], lambda c: slopes.f1_errors(c)[..., 0]),
    "Matthews": (confusion.matthews, slopes.matthews_error),
    "kappa": (confusion.kappa, slopes.kappa_error),
}


@pytest.mark.parametrize("name", ERRORS)
def test_delta_errors_are_the_spread_of_redrawn_items(name: str, rng: np.random.Generator) -> None:
    share = np.array([[0.30, 0.05, 0.02], [0.04, 0.25, 0.03], [0.06, 0.05, 0.20]])
    drawn = rng.multinomial(2000, share.ravel(), 4000).reshape(-1, 3, 3).astype(float)
    value, error = ERRORS[name]

    assert error(drawn).mean() == pytest.approx(value(drawn).std(), rel=0.06)


def test_delong_error_is_the_spread_of_redrawn_items(rng: np.random.Generator) -> None:
    low, high = np.array([4.0, 3, 2, 1]) / 10, np.array([1.0, 2, 3, 4]) / 10
    negatives, positives = rng.multinomial(80, low, 4000), rng.multinomial(60, high, 4000)
    value, error = (of(negatives.astype(float), positives.astype(float)) for of in (auroc, auroc_error))

    assert value.std() <= error.mean() <= 1.1 * value.std()


@pytest.mark.parametrize("name", ERRORS)
def test_a_table_without_errors_is_not_certain(name: str) -> None:
    _, error = ERRORS[name]
    counts = np.diag([7.0, 7, 6])

    assert error(counts) == pytest.approx(0)
    assert 0.03 < error(slopes.softened(counts)) < 0.12


def test_ranking_without_errors_is_not_certain() -> None:
    assert 0.1 < auroc_error(np.array([2.0, 0]), np.array([0.0, 2])) < 0.5


@pytest.mark.parametrize("measure", ["balanced_accuracy", "macro_f1", "matthews", "kappa", "auroc"])
def test_intervals_hold_the_truth_of_a_model_that_is_nearly_always_right(
    measure: str, rng: np.random.Generator
) -> None:
    """Twenty rows, 98 % right: without softening seven in ten intervals have no width."""
    truth, rows, units = 0.98, 20, 2000
    cell = np.repeat(np.arange(units), rows)
    labels = np.tile(np.arange(2), units * rows // 2)
    right = rng.random(cell.size) < truth
    sure = rng.uniform(0.5, 1, cell.size)
    guess = np.where(right, labels, 1 - labels)
    scores = np.where(np.arange(2)[:, None] == guess, sure, 1 - sure)
    seen = Labelled(cell, units, labels, guess, 2, scores)
    found = CATALOG[measure]
    tallies = found.count(seen)
    whole = {stat: tally.sum()[None] for stat, tally in tallies.items()}
    low, high = found.interval(tallies, 0.95)

    expected = found.finish(whole).item()
    assert ((low <= expected) & (expected <= high)).mean() > 0.9


def test_wilson_holds_the_truth_as_often_as_it_says(rng: np.random.Generator) -> None:
    rows = 40
    share = rng.random(50_000)
    low, high = interval.wilson(rng.binomial(rows, share).astype(float), np.full(share.size, float(rows)))

    assert ((low <= share) & (share <= high)).mean() == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("apart", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("rows", [(10, 40), (100, 1000)])
def test_the_interval_of_average_precision_holds_the_truth(
    apart: float, rows: tuple[int, int], rng: np.random.Generator
) -> None:
    """Two classes whose scores are normal, `apart` from one another; the truth is that of a large sample."""

    def drawn(units: int, times: int = 1) -> tuple[np.ndarray, Labelled]:
        truth = np.tile(np.repeat([1, 0], np.array(rows) * times), units)
        cell = np.repeat(np.arange(units), sum(rows) * times)
        score = 1 / (1 + np.exp(-rng.normal(apart * truth, 1)))
        scores = np.stack([1 - score, score])
        return cell, Labelled(cell, units, truth, scores.argmax(0), 2, scores)

    found = CATALOG["average_precision_class"]
    truth = found.finish(found.count(drawn(1, 300)[1]))[0, 1]
    low, high = (end[:, 1] for end in found.interval(found.count(drawn(400)[1]), 0.95))

    assert ((low <= truth) & (truth <= high)).mean() > 0.92
