"""How sure a confusion measure is, by the slope of the measure in each count.

A measure that stays the same when all counts are multiplied varies over redrawn
items by ``sum(count * slope**2)`` (the delta method for multinomial counts). For
every measure here the slope in ``counts[t, g]`` is ``row[t] + column[g]``, plus
``diagonal[t]`` where t = g, so a population's errors take one pass.

The slopes of a table without errors are 0, which is not certainty: `softened` adds a
few rows first, as Agresti and Coull (1998) do for a share.
"""

from __future__ import annotations

import numpy as np

from muster.kernels import confusion
from muster.kernels.confusion import ratio
from muster.kernels.types import Floats


def softened(counts: Floats) -> Floats:
    """Four rows more, spread over the classes that occur: half of them right, half wrong.

    >>> softened(np.array([[8.0, 0.0], [0.0, 8.0]])).tolist()
    [[9.0, 1.0], [1.0, 9.0]]
    """
    present = (counts.sum(-1) > 0).astype(float)
    among = np.maximum(present.sum(-1), 1)[..., None, None]
    named = ((counts.sum(-2) > 0) | (present > 0)).astype(float)
    wrong = present[..., :, None] * named[..., None, :] * (1 - np.eye(counts.shape[-1]))
    right = present[..., :, None] * np.eye(counts.shape[-1])
    more: Floats = 2 * right / among + 2 * wrong / np.maximum(wrong.sum((-1, -2)), 1)[..., None, None]
    return counts + more


def error(counts: Floats, row: Floats, column: Floats, diagonal: Floats) -> Floats:
    """Standard error from the slopes."""
    slope = row[..., :, None] + column[..., None, :]
    slope = slope + np.eye(counts.shape[-1]) * diagonal[..., :, None]
    return np.asarray(np.sqrt((counts * slope**2).sum((-1, -2))))


def balanced_accuracy_error(counts: Floats) -> Floats:
    """Of the mean recall over the classes that occur."""
    rows, recall = counts.sum(-1), confusion.recall(counts)
    present = (rows > 0).sum(-1).astype(float)
    return ratio(np.sqrt(np.nansum(ratio(recall * (1 - recall), rows), -1)), present)


def f1_errors(counts: Floats) -> Floats:
    """Of the F1 of each class: ``[..., classes]``."""
    rows, columns, hits = counts.sum(-1), counts.sum(-2), np.diagonal(counts, axis1=-2, axis2=-1)
    both, f1 = rows + columns, confusion.f1(counts)
    return np.sqrt(ratio(hits * (2 - 2 * f1) ** 2 + (both - 2 * hits) * f1**2, both**2))


def macro_f1_error(counts: Floats) -> Floats:
    """Of the mean F1 over the classes that occur or are named."""
    both, f1 = counts.sum(-1) + counts.sum(-2), confusion.f1(counts)
    share = np.nan_to_num(ratio(np.ones_like(both), both)) / np.maximum((both > 0).sum(-1), 1)[..., None]
    side = -np.nan_to_num(f1) * share
    return _known(counts, error(counts, side, side, 2 * share))


def weighted_f1_error(counts: Floats) -> Floats:
    """Of the F1 weighed by how often each class occurs."""
    rows, n = counts.sum(-1), counts.sum((-1, -2))
    both, f1 = rows + counts.sum(-2), np.nan_to_num(confusion.f1(counts))
    side = -np.nan_to_num(ratio(rows * f1, both))
    whole = np.maximum(n, 1)[..., None]
    row = (f1 + side - confusion.weighted_f1(counts)[..., None]) / whole
    return _known(counts, error(counts, row, side / whole, 2 * np.nan_to_num(ratio(rows, both)) / whole))


def matthews_error(counts: Floats) -> Floats:
    """Of the Matthews correlation."""
    rows, columns = counts.sum(-1), counts.sum(-2)
    n, hits = counts.sum((-1, -2))[..., None], np.trace(counts, axis1=-2, axis2=-1)[..., None]
    of_truth = n**2 - (rows**2).sum(-1, keepdims=True)
    of_guess = n**2 - (columns**2).sum(-1, keepdims=True)
    root, value = np.sqrt(of_truth * of_guess), confusion.matthews(counts)[..., None]
    row = ratio(hits - columns, root) - value * ratio(n - rows, of_truth)
    column = -ratio(rows, root) - value * ratio(n - columns, of_guess)
    return error(counts, row, column, ratio(n + 0 * rows, root))


def kappa_error(counts: Floats) -> Floats:
    """Of Cohen's kappa."""
    rows, columns = counts.sum(-1), counts.sum(-2)
    n, hits = counts.sum((-1, -2))[..., None], np.trace(counts, axis1=-2, axis2=-1)[..., None]
    bottom = n**2 - (rows * columns).sum(-1, keepdims=True)
    value = confusion.kappa(counts)[..., None]
    row = ratio(hits - columns - value * (2 * n - columns), bottom)
    column = ratio(value * rows - rows, bottom)
    return error(counts, row, column, ratio(n + 0 * rows, bottom))


def _known(counts: Floats, values: Floats) -> Floats:
    return np.where(counts.sum((-1, -2)) > 0, values, np.nan)
