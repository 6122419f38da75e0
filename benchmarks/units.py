"""A million rows, a thousand units, ten classes, from arrays: every unit's numbers.

The peers get the same arrays and must give the same values. Fairlearn's `MetricFrame`
calls one function a unit, as does a pandas ``groupby``; the functions are those of
scikit-learn, and for ECE, which scikit-learn lacks, 15 bins in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss, roc_auc_score

import muster
from benchmarks.timing import Figure, cost, cpu, faster

ROWS, UNITS, CLASSES, BINS = 1_000_000, 1_000, 10, 15
LABELS = range(CLASSES)
EVERYTHING = ("accuracy", "confusion", "macro_f1", "ece", "log_loss", "auroc")


def run() -> Iterator[Figure]:
    """Accuracy and F1, ECE, AUROC, and all together."""
    rng = np.random.default_rng(0)
    unit = rng.integers(0, UNITS, ROWS)
    truth = rng.integers(0, CLASSES, ROWS)
    scores = rng.dirichlet(np.ones(CLASSES), ROWS)
    scores[np.arange(ROWS), truth] += 0.3
    scores /= scores.sum(1, keepdims=True)
    guess, sure = scores.argmax(1), scores.max(1)
    given = {"truth": truth, "unit": unit}

    plain = given | {"guess": guess}
    ours = cpu(lambda: muster.per_unit(**plain, measures=["accuracy", "macro_f1"]))
    frame = cpu(lambda: _frame({"accuracy": accuracy_score, "macro_f1": _f1}, truth, guess, unit))
    same(plain, "macro_f1", _frame({"m": _f1}, truth, guess, unit)["m"])
    yield faster("accuracy + macro F1", ours, "fairlearn MetricFrame + scikit-learn", frame, 1000)

    confident = plain | {"confidence": sure}
    ours = cpu(lambda: muster.per_unit(**confident, measures=["ece"]))
    right = (truth == guess).astype(float)
    frame = cpu(lambda: _frame({"ece": _ece}, right, sure, unit))
    same(confident, "ece", _frame({"m": _ece}, right, sure, unit)["m"])
    yield faster("ECE, 15 bins", ours, "fairlearn MetricFrame + NumPy", frame, 150)

    scored = given | {"scores": scores}
    row = np.arange(ROWS)
    auroc = _of_rows(truth, scores, lambda t, p: roc_auc_score(t, p, multi_class="ovr", labels=LABELS))
    frame = cpu(lambda: _frame({"auroc": auroc}, truth, row, unit))
    theirs = _frame({"m": auroc}, truth, row, unit)["m"]
    same(scored, "auroc", theirs, within=0.02)
    same(scored, "auroc_exact", theirs)
    for name, floor in (("auroc", 20.0), ("auroc_exact", None)):
        ours = cpu(lambda name=name: muster.per_unit(**scored, measures=[name]))
        what = "AUROC, binned" if name == "auroc" else "AUROC, exact"
        yield faster(what, ours, "fairlearn MetricFrame + scikit-learn", frame, floor)

    ours = cpu(lambda: muster.per_unit(**scored, measures=EVERYTHING))
    table = pd.DataFrame(scores).assign(unit=unit, truth=truth, guess=guess, sure=sure)
    theirs = cpu(lambda: table.groupby("unit").apply(_everything), 1)
    yield faster(" + ".join(EVERYTHING), ours, "pandas groupby.apply + scikit-learn", theirs, 10)
    read = cpu(lambda: [array.sum() for array in (unit, truth, scores)])
    yield cost(" + ".join(EVERYTHING), ours, "reading the arrays once", read)


def same(given: dict[str, Any], measure: str, theirs: pd.Series, within: float = 1e-9) -> None:
    """Refuse a figure whose values differ."""
    found = muster.per_unit(**given, measures=[measure])
    apart = np.abs(found[measure] - theirs.loc[found["unit"]].to_numpy()).max()
    if not apart <= within:
        raise AssertionError(f"{measure}: values differ by {apart:.3g}")


def _frame(metrics: dict[str, Callable[..., float]], truth: Any, given: Any, unit: Any) -> pd.DataFrame:
    return MetricFrame(metrics=metrics, y_true=truth, y_pred=given, sensitive_features=unit).by_group


def _f1(truth: Any, guess: Any) -> float:
    return float(f1_score(truth, guess, average="macro", zero_division=np.nan))


def _ece(right: Any, sure: Any) -> float:
    bins = np.clip(np.ceil(np.asarray(sure) * BINS).astype(int) - 1, 0, BINS - 1)
    gap = np.bincount(bins, np.asarray(right) - np.asarray(sure), BINS)
    return float(np.abs(gap).sum() / len(bins))


def _of_rows(truth: Any, scores: Any, metric: Callable[..., float]) -> Callable[..., float]:
    """MetricFrame takes one prediction a row: here the number of the row, whose scores are looked up."""
    return lambda _, rows: float(metric(truth[rows], scores[rows]))


def _everything(group: pd.DataFrame) -> pd.Series:
    truth, guess = group["truth"].to_numpy(), group["guess"].to_numpy()
    scores = group[list(LABELS)].to_numpy()
    return pd.Series(
        {
            "accuracy": accuracy_score(truth, guess),
            "confusion": confusion_matrix(truth, guess, labels=LABELS),
            "macro_f1": _f1(truth, guess),
            "ece": _ece(truth == guess, group["sure"]),
            "log_loss": log_loss(truth, scores, labels=LABELS),
            "auroc": roc_auc_score(truth, scores, multi_class="ovr", labels=LABELS),
        }
    )
