"""Every classification measure against scikit-learn, unit by unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from muster.measures import CATALOG
from muster.records import Labelled
from tests.populations import labelled, part

CLASSES = 4
LABELS = range(CLASSES)
Twin = Callable[[Any, Any, Any], Any]


def _by_class(metric: Callable[[Any, Any], float]) -> Twin:
    """Of each class against the rest; undefined where all rows are, or none is, of the class."""

    def twin(truth: Any, _: Any, scores: Any) -> Any:
        held = [0 < (truth == k).sum() < len(truth) for k in LABELS]
        return [
            metric(truth == k, scores[:, k]) if some else np.nan for k, some in zip(LABELS, held, strict=True)
        ]

    return twin


def _scored(average: str | None, metric: Callable[..., Any]) -> Twin:
    return lambda t, g, _: metric(t, g, labels=LABELS, average=average, zero_division=np.nan)


def _present(metric: Callable[..., Any]) -> Twin:
    """The mean over classes that occur or are the answer."""
    return lambda t, g, _: metric(t, g, labels=np.union1d(t, g), average="macro", zero_division=np.nan)


TWINS: dict[str, Twin] = {
    "accuracy": lambda t, g, _: metrics.accuracy_score(t, g),
    "micro_f1": lambda t, g, _: metrics.f1_score(t, g, average="micro"),
    "weighted_f1": lambda t, g, _: metrics.f1_score(t, g, average="weighted", zero_division=0.0),
    "macro_f1": _present(metrics.f1_score),
    "matthews": lambda t, g, _: metrics.matthews_corrcoef(t, g),
    "kappa": lambda t, g, _: metrics.cohen_kappa_score(t, g),
    "recall": _scored(None, metrics.recall_score),
    "precision": _scored(None, metrics.precision_score),
    "f1": _scored(None, metrics.f1_score),
    "top_2": lambda t, _, p: metrics.top_k_accuracy_score(t, p, k=2, labels=LABELS),
    "top_3": lambda t, _, p: metrics.top_k_accuracy_score(t, p, k=3, labels=LABELS),
    "log_loss": lambda t, _, p: metrics.log_loss(t, p, labels=LABELS),
    "brier": lambda t, _, p: ((p - np.eye(CLASSES)[t]) ** 2).sum(1).mean(),
    "auroc_exact": lambda *a: np.nanmean(_by_class(metrics.roc_auc_score)(*a)),
    "average_precision_exact": lambda *a: np.nanmean(_by_class(metrics.average_precision_score)(*a)),
    "confusion": lambda t, g, _: metrics.confusion_matrix(t, g, labels=LABELS, normalize="true").ravel(),
    "confidence_mean": lambda _, g, p: p[np.arange(len(g)), g].mean(),
    "confidence_std": lambda _, g, p: p[np.arange(len(g)), g].std(),
}


def _units(rng: np.random.Generator, coarse: int) -> Labelled:
    return labelled(rng, rows=600, cells=6, classes=CLASSES, coarse=coarse)


def _compare(name: str, seen: Labelled, twin: Twin, within: float = 1e-9) -> None:
    found = CATALOG[name].finish(CATALOG[name].count(seen))
    for cell in range(seen.cells):
        own = seen.cell == cell
        expected = twin(seen.truth[own], seen.guess[own], seen.scores[:, own].T)
        np.testing.assert_allclose(found[cell], expected, rtol=0, atol=within, err_msg=f"{name}, unit {cell}")


TIES_OTHERWISE = {"top_2", "top_3"}
ABSENT_OTHERWISE = {"confusion", "average_precision_exact"}


@pytest.mark.parametrize("name", TWINS)
def test_measure_equals_its_twin(name: str, rng: np.random.Generator) -> None:
    _compare(name, _units(rng, 0), TWINS[name])


@pytest.mark.parametrize("name", sorted(TWINS.keys() - TIES_OTHERWISE))
def test_measure_equals_its_twin_where_scores_are_tied(name: str, rng: np.random.Generator) -> None:
    """But for top-k: scikit-learn takes the last of equal scores."""
    _compare(name, _units(rng, 4), TWINS[name])


@pytest.mark.parametrize("name", sorted(TWINS.keys() - ABSENT_OTHERWISE))
def test_measure_equals_its_twin_where_classes_are_absent(name: str, rng: np.random.Generator) -> None:
    """But for two: scikit-learn gives an absent class a row of zeros, and a precision."""
    seen = _units(rng, 0)
    few = np.flatnonzero((seen.truth < 2) & (seen.cell == 0))
    alone = replace(part(seen, few), cell=np.zeros(few.size, int), cells=1)

    _compare(name, alone, TWINS[name])


def test_balanced_accuracy_is_the_mean_recall_of_the_classes_that_occur(rng: np.random.Generator) -> None:
    _compare("balanced_accuracy", _units(rng, 0), lambda t, g, _: metrics.balanced_accuracy_score(t, g))


@pytest.mark.parametrize(
    ("binned", "metric"),
    [("auroc_class", metrics.roc_auc_score), ("average_precision_class", metrics.average_precision_score)],
)
@pytest.mark.parametrize("power", [0.2, 1, 30], ids=["flat", "plain", "near 0 and 1"])
def test_binned_ranking_is_within_its_bound(
    binned: str, metric: Callable[[Any, Any], float], power: float, rng: np.random.Generator
) -> None:
    seen = _units(rng, 0)
    sharp = seen.scores**power
    seen = Labelled(seen.cell, seen.cells, seen.truth, seen.guess, CLASSES, sharp / sharp.sum(0))
    measure = CATALOG[binned]
    tallies = measure.count(seen)
    value, bound = measure.finish(tallies), measure.bound(tallies)
    for cell in range(seen.cells):
        own = seen.cell == cell
        exact = np.array(_by_class(metric)(seen.truth[own], None, seen.scores[:, own].T))
        assert (np.abs(value[cell] - exact) <= bound[cell] + 1e-12).all()
    if power == 1:
        assert np.nanmax(bound) < 0.12


def test_top_k_takes_the_first_of_equal_scores() -> None:
    scores = np.full((3, 3), 1 / 3)
    seen = Labelled(np.zeros(3, int), 1, np.array([0, 1, 2]), np.zeros(3, int), 3, scores)

    assert CATALOG["top_2"].finish(CATALOG["top_2"].count(seen)).tolist() == [2 / 3]


def test_the_roc_curve_goes_through_points_of_the_exact_one(rng: np.random.Generator) -> None:
    """At an edge of the bins both have the same rates."""
    from muster.kernels import ranking

    truth = rng.integers(0, 2, 500)
    score = np.clip(rng.normal(0.4 + 0.2 * truth, 0.2), 0, 1)
    rows, positives = ranking.histograms(np.zeros(500, int), np.stack([1 - score, score]), truth, 1)
    fpr, tpr = (rate[0, 1] for rate in ranking.roc(rows - positives, positives))
    their_fpr, their_tpr, _ = metrics.roc_curve(truth, score, drop_intermediate=False)
    exact = set(zip(their_fpr.round(9).tolist(), their_tpr.round(9).tolist(), strict=True))

    assert set(zip(fpr.round(9).tolist(), tpr.round(9).tolist(), strict=True)) <= exact
    assert (fpr[-1], tpr[-1]) == (1, 1)
