"""From scores of reference rounds to p-values, from p-values to evidence that adds up over time."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from muster.kernels.types import Floats

_LEAST = 1e-12
_POWERS = np.array([0.1, 0.25, 0.5])


def predictive_p(score: Floats, reference: Floats) -> Floats:
    """How likely one more score as high as `score` is, given those of `reference` (last axis).

    The cube root makes a quadratic score nearly normal (Wilson and Hilferty 1931); then the
    prediction interval of Student's t. Leading axes of `reference` are broadcast against `score`.

    >>> predictive_p(np.array([1.0, 30.0]), np.array([1.0, 2.0, 1.5, 0.7, 1.2])).round(3).tolist()
    [0.665, 0.0]
    """
    kept, new = np.cbrt(np.maximum(reference, 0)), np.cbrt(np.maximum(score, 0))
    return predictive_t(new, kept)


def predictive_t(score: Floats, reference: Floats) -> Floats:
    """The same for scores that are nearly normal as they are."""
    rounds = reference.shape[-1]
    spread = np.maximum(reference.std(-1, ddof=1) * np.sqrt(1 + 1 / rounds), _LEAST)
    return tail((score - reference.mean(-1)) / spread, rounds - 1)


def tail(z: Floats, freedom: float) -> Floats:
    """How likely Student's t is to be as high as `z`; never quite 0."""
    return np.asarray(np.clip(stdtr(freedom, -z), _LEAST, 1.0))


def evidence(p: Floats) -> Floats:
    """The e-value of a p-value: the mean of ``k p^(k - 1)`` over k = 0.1, 0.25, 0.5 (Vovk and Wang 2021).

    When nothing has changed its expectation is at most 1. Means of e-values are e-values, however
    they depend on one another.

    >>> evidence(np.array([1.0, 0.001])).round(1).tolist()
    [0.3, 36.8]
    """
    return np.asarray((_POWERS * np.maximum(p, _LEAST)[..., None] ** (_POWERS - 1)).mean(-1))


def accumulated(held: Floats, new: Floats, most: float) -> Floats:
    """The e-detector (Shin et al. 2023): ``M = e max(M, 1)``, kept below `most` so that it can fall.

    An alarm while ``M >= 1 / alpha`` comes, when nothing changes, after ``1 / alpha`` rounds on
    average or later.

    >>> accumulated(np.array(0.2), np.array(3.0), 100.0).item()
    3.0
    """
    return np.asarray(np.minimum(new * np.maximum(held, 1.0), most))


def shown(held: Floats, alpha: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which have evidence enough: at most a share `alpha` of them wrongly (e-BH, Wang and Ramdas 2022).

    The k with most evidence are taken if each has ``n / (alpha k)``. Undefined evidence counts as none.

    >>> shown(np.array([400.0, 1.0, 300.0]), 0.01).tolist()
    [True, False, True]
    >>> shown(np.array([150.0, 1.0, 1.0]), 0.01).tolist()
    [False, False, False]
    """
    known = np.where(np.isnan(held), 0.0, held)
    falling = -np.sort(-known)
    enough = falling * np.arange(1, known.size + 1) * alpha >= known.size
    least = falling[np.flatnonzero(enough)[-1]] if enough.any() else np.inf
    return np.asarray(known >= least)
