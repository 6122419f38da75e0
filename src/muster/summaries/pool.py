"""Count a source, and pool what was counted over any part of the key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from muster.errors import BadData
from muster.measures import count, width
from muster.measures.accuracy import ACCURACY
from muster.records import Block, Labelled, Measure, Tally, grouped, merge, same, stack
from muster.sources.predictions import Predictions

LARGEST, FREELY = 4 << 30, 1 << 30


def tally(
    found: Predictions,
    measures: Sequence[Measure],
    tick: Callable[[int], None] | None = None,
    keep: Callable[[Labelled], None] | None = None,
) -> Block:
    """Count every block of rows; the entries of all cuts stand one after the other.

    `tick` is told how many rows each block held, `keep` is given them.
    """
    if not found.whole and any(not measure.adds for measure in measures):
        named = ", ".join(measure.name for measure in measures if not measure.adds)
        raise BadData(f"{named} need all rows of a unit at once, and {found.rows:,} rows are read in blocks")
    _refuse_unaffordable(found, measures)
    merged: list[dict[str, Tally]] = [{} for _ in found.keys]
    for block in found.blocks():
        for i, seen in enumerate(block):
            merged[i] = merge(merged[i], count(seen, measures))
        if keep:
            keep(block[0])
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


def cost(measures: Sequence[Measure], cells: int, classes: int) -> int:
    """Bytes of the tallies of these measures; what is counted once costs once.

    >>> from muster.measures import lookup
    >>> cost(lookup(["accuracy", "macro_f1", "kappa"]), 1000, 10)
    1600000
    """
    counts = {measure.count: width(measure, classes) for measure in measures}
    return 16 * cells * sum(counts.values())


def affordable(measures: Sequence[Measure], cells: int, classes: int) -> tuple[list[Measure], list[Measure]]:
    """Those that fit into `FREELY` together, and those left out, the costliest first."""
    kept, left = list(measures), []
    while cost(kept, cells, classes) > FREELY:
        dearest = max(kept, key=lambda measure: width(measure, classes))
        if dearest.count is ACCURACY.count:
            break
        left += [measure for measure in kept if measure.count is dearest.count]
        kept = [measure for measure in kept if measure.count is not dearest.count]
    return kept, left


def _refuse_unaffordable(found: Predictions, measures: Sequence[Measure]) -> None:
    """Refuse tallies that would not fit, before counting a row."""
    cells, classes = len(found.all_keys), len(found.classes)
    size = cost(measures, cells, classes)
    if size > LARGEST:
        raise BadData(
            f"{cells:,} units and times x {classes} classes need {size / 2**30:.1f} GB of tallies "
            f"(at most {LARGEST / 2**30:.0f}); ask for fewer measures, such as accuracy alone, or evaluate "
            "fewer units, times or slices in one run"
        )
