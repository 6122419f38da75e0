"""Count a source, and pool what was counted over any part of the key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from muster.errors import BadData
from muster.measures import count
from muster.records import Block, Measure, Tally, grouped, merge, same, stack
from muster.sources.predictions import Predictions

LARGEST = 4 << 30


def tally(
    found: Predictions, measures: Sequence[Measure], tick: Callable[[int], None] | None = None
) -> Block:
    """Count every block of rows; the entries of all cuts stand one after the other.

    `tick` is told how many rows each block held.
    """
    if not found.whole and any(not measure.adds for measure in measures):
        named = ", ".join(measure.name for measure in measures if not measure.adds)
        raise BadData(f"{named} need all rows of a unit at once, and {found.rows:,} rows are read in blocks")
    _affordable(found, measures)
    merged: list[dict[str, Tally]] = [{} for _ in found.keys]
    for block in found.blocks():
        for i, seen in enumerate(block):
            merged[i] = merge(merged[i], count(seen, measures))
        if tick:
            tick(len(block[0]))
    tallies = {}
    for stat in merged[0]:
        parts = [one[stat] for one in merged]
        tallies[stat] = Tally(
            np.concatenate([p.total for p in parts]), np.concatenate([p.weight for p in parts])
        )
    return Block(stack(found.keys), tallies)


def pool(block: Block, over: Sequence[str] = ("unit",)) -> Block:
    """Sum away the columns named in `over`; in the keys they become "".

    >>> from muster.records import Table
    >>> keys = Table.of({"model": ["m", "m"], "unit": ["a", "b"], "time": [1, 1], "slice": ["", ""]})
    >>> pool(Block(keys, {"right": Tally.of([[3], [1]], [[4], [6]])})).tallies["right"].mean()
    array([[0.4]])
    """
    group, sample = grouped(block.keys, tuple(name for name in block.keys.columns if name not in over))
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    keys = block.keys.where(sample)
    keys = keys.with_columns(**{name: same("", len(keys)) for name in over})
    tallies = {
        stat: Tally(*(np.add.reduceat(part[order], first) for part in (tally.total, tally.weight)))
        for stat, tally in block.tallies.items()
    }
    return Block(keys, tallies, np.add.reduceat(block.units[order], first))


def _affordable(found: Predictions, measures: Sequence[Measure]) -> None:
    """Refuse tallies that would not fit, before counting a row."""
    cells, classes = len(found.all_keys), len(found.classes)
    needed = {"auroc": 160 * classes, "ece_mass": 1280, "ece_class": 30 * classes, "confusion": classes**2}
    size = sum(16 * cells * parts for name, parts in needed.items() if any(m.name == name for m in measures))
    if size > LARGEST:
        raise BadData(
            f"{cells:,} units and times x {classes} classes need {size / 2**30:.1f} GB of tallies "
            f"(at most {LARGEST / 2**30:.0f}); ask for fewer measures, such as measures=['accuracy', 'ece']"
        )
