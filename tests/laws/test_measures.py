"""Laws of the whole catalogue: a measure is under them the moment it is listed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kernels.types import Floats
from muster.measures import CATALOG, count
from muster.records import Measure, Tallies, merge
from tests.populations import labelled, part

seeds = st.integers(0, 2**32 - 1)
every = pytest.mark.parametrize("measure", CATALOG.values(), ids=CATALOG)
adding = pytest.mark.parametrize("measure", [m for m in CATALOG.values() if m.adds], ids=lambda m: m.name)
TOLERANCE = 1e-9


def _pieces(seed: int, times: int) -> list[Tallies]:
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(0, 5))
    return [
        count(labelled(rng, rows=int(rng.integers(1, 40)), coarse=steps), CATALOG.values())
        for _ in range(times)
    ]


def _same(a: Floats, b: Floats) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE, equal_nan=True)


@every
@given(seed=seeds)
def test_pooling_is_a_commutative_monoid(measure: Measure, seed: int) -> None:
    a, b, c = _pieces(seed, 3)

    _same(measure.finish(merge(a, b)), measure.finish(merge(b, a)))
    _same(measure.finish(merge(merge(a, b), c)), measure.finish(merge(a, merge(b, c))))
    _same(measure.finish(merge(a, {})), measure.finish(a))
    _same(measure.finish(merge({}, a)), measure.finish(a))


@adding
@given(seed=seeds)
def test_counting_parts_is_counting_all_rows(measure: Measure, seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = labelled(rng, coarse=int(rng.integers(0, 6)))
    cut = int(rng.integers(0, len(seen) + 1))
    rows = np.arange(len(seen))
    halves = [count(part(seen, half), [measure, CATALOG["confusion"]]) for half in (rows[:cut], rows[cut:])]
    whole = count(seen, [measure, CATALOG["confusion"]])

    _same(measure.finish(merge(*halves)), measure.finish(whole))


@every
@given(seed=seeds)
def test_the_order_of_rows_does_not_matter(measure: Measure, seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = labelled(rng, coarse=int(rng.integers(0, 6)))
    shuffled = part(seen, rng.permutation(len(seen)))

    _same(measure.finish(measure.count(seen)), measure.finish(measure.count(shuffled)))


@every
@given(seed=seeds)
def test_a_value_is_within_bounds_and_its_interval(measure: Measure, seed: int) -> None:
    (tallies,) = _pieces(seed, 1)
    value = measure.finish(tallies)
    known = ~np.isnan(value)
    low, high = measure.bounds

    assert ((value[known] >= low - TOLERANCE) & (value[known] <= high + TOLERANCE)).all()
    if measure.interval:
        below, above = measure.interval(tallies, 0.95)
        held = known & ~np.isnan(below)
        assert (below[held] >= low).all()
        assert (above[held] <= high).all()
        assert (below[held] <= value[held] + TOLERANCE).all()
        assert (above[held] >= value[held] - TOLERANCE).all()


@every
def test_nothing_is_undefined_not_zero(measure: Measure, rng: np.random.Generator) -> None:
    seen = labelled(rng, cells=2)
    nobody = part(seen, np.arange(0))

    assert np.isnan(measure.finish(measure.count(nobody))).all()


@every
def test_an_empty_unit_leaves_the_others_alone(measure: Measure, rng: np.random.Generator) -> None:
    seen = labelled(rng, cells=3)
    only = part(seen, np.flatnonzero(seen.cell != 1))
    value = measure.finish(measure.count(only))

    assert np.isnan(value[1]).all()
    _same(value[[0, 2]], measure.finish(measure.count(seen))[[0, 2]])


@every
def test_the_catalogue_says_what_a_reader_must_know(measure: Measure) -> None:
    assert CATALOG[measure.name] is measure
    assert measure.title
    assert measure.definition.endswith(".")
    assert measure.undefined
    assert measure.better in {"higher", "lower", "neither"}
    assert measure.bounds[0] < measure.bounds[1]
    assert measure.version >= 1
    assert bool(measure.interval) == bool(measure.method)


@adding
@given(seed=seeds)
def test_chance_and_noise_are_within_bounds(measure: Measure, seed: int) -> None:
    tallies = _pieces(seed, 1)[0]
    low, high = measure.bounds
    for told in (measure.chance, measure.expected):
        if told:
            value = told(tallies)
            known = ~np.isnan(value)
            assert ((value[known] >= low) & (value[known] <= high)).all()


TOLD = [m for m in CATALOG.values() if m.chance and m.name != "matthews"]


@pytest.mark.parametrize("measure", TOLD, ids=lambda m: m.name)
@given(seed=seeds)
def test_chance_is_what_a_model_that_knows_nothing_scores(measure: Measure, seed: int) -> None:
    """It gives each row how often the classes occur. Matthews is left out: there it is undefined."""
    rng = np.random.default_rng(seed)
    seen = labelled(rng, cells=1, rows=int(rng.integers(1, 60)))
    rows = np.bincount(seen.truth, minlength=seen.classes)
    often = np.repeat((rows / rows.sum())[:, None], len(seen), 1)
    most = np.full(len(seen), rows.argmax())
    ignorant = replace(seen, scores=often, guess=most, confidence=often.max(0))
    tallies = count(ignorant, [measure, CATALOG["confusion"]])
    value = measure.finish(tallies)
    told = np.broadcast_to(measure.chance(tallies).T, value.T.shape).T

    _same(told[~np.isnan(value)], value[~np.isnan(value)])
