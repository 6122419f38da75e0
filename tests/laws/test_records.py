"""Laws of tallies and tables: adding is pooling, and spelling out loses nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muster.measures import CATALOG, count
from muster.records import Block, Table, Tally, merge, spell, stack, unspell
from muster.summaries.pool import pool
from tests.populations import labelled

sums = st.lists(st.integers(0, 1000), min_size=6, max_size=6).map(lambda v: np.array(v, float).reshape(2, 3))
tallies = st.builds(Tally, sums, sums)


def _equal(a: Tally, b: Tally) -> bool:
    return np.array_equal(a.total, b.total) and np.array_equal(a.weight, b.weight)


@given(a=tallies, b=tallies, c=tallies)
def test_tallies_add_in_any_order(a: Tally, b: Tally, c: Tally) -> None:
    assert _equal(a + b, b + a)
    assert _equal((a + b) + c, a + (b + c))
    assert _equal(merge({"s": a}, {"s": b})["s"], a + b)
    assert _equal(a.sum() + b.sum(), (a + b).sum())


@given(a=tallies)
def test_a_mean_of_nothing_is_undefined(a: Tally) -> None:
    assert np.array_equal(np.isnan(a.mean()), a.weight == 0)


def _block(seed: int) -> Block:
    rng = np.random.default_rng(seed)
    keys = Table.of(
        {
            "model": ["m"] * 6,
            "unit": np.array(["a", "b", "c"] * 2, dtype=object),
            "time": np.repeat([1, 2], 3),
            "slice": [""] * 6,
        }
    )
    return Block(keys, count(labelled(rng, rows=40, cells=6), CATALOG.values()))


@given(seed=st.integers(0, 2**32 - 1))
def test_a_block_spelled_out_and_read_back_is_the_same(seed: int) -> None:
    block = _block(seed)
    parts = {stat: tally.parts for stat, tally in block.tallies.items()}
    back = unspell(spell(block), parts)
    order = [list(zip(b.keys["unit"], b.keys["time"], strict=True)) for b in (block, back)]
    held = [order[0].index(key) for key in order[1]]

    assert all(_equal(back.tallies[stat], block.tallies[stat][held]) for stat in parts)


@given(seed=st.integers(0, 2**32 - 1))
def test_reading_two_tables_is_pooling_two_blocks(seed: int) -> None:
    a, b = _block(seed), _block(seed + 1)
    parts = {stat: tally.parts for stat, tally in a.tallies.items()}
    read = pool(unspell(stack([spell(a), spell(b)]), parts), ("unit", "time"))
    whole = merge(*(pool(block, ("unit", "time")).tallies for block in (a, b)))

    for stat in parts:
        np.testing.assert_allclose(read.tallies[stat].total, whole[stat].total, atol=1e-9)
        np.testing.assert_allclose(read.tallies[stat].weight, whole[stat].weight, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_pooling_over_units_then_time_is_pooling_over_both(seed: int) -> None:
    block = _block(seed)
    steps, once = pool(pool(block), ("time",)), pool(block, ("unit", "time"))

    for stat, tally in once.tallies.items():
        np.testing.assert_allclose(steps.tallies[stat].total, tally.total, atol=1e-9)
    assert once.units.tolist() == [6]
