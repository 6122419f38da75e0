"""Top-k accuracy: is the true class among the k highest scores?"""

from __future__ import annotations

import numpy as np

from muster.kernels.answers import of
from muster.kernels.confusion import majority
from muster.kernels.interval import wilson
from muster.measures.confusion import reads
from muster.records import Labelled, Measure, Tallies, Tally


def top_k(k: int) -> Measure:
    """The measure for one k. Of equal scores the class that comes first ranks first.

    >>> top_k(3).name
    'top_3'
    """
    stat = f"top_{k}"

    def count(seen: Labelled) -> Tallies:
        if seen.scores is None:
            raise ValueError(f"{stat} needs scores")
        own = of(seen.scores, seen.truth)
        ahead = np.zeros(len(seen), np.int32)
        for label, score in enumerate(seen.scores):
            ahead += (score > own) | ((score == own) & (label < seen.truth))
        hits = np.bincount(seen.cell[ahead < k], minlength=seen.cells).astype(float)
        rows = np.bincount(seen.cell, minlength=seen.cells).astype(float)
        return {stat: Tally(hits[:, None], rows[:, None])}

    return Measure(
        name=stat,
        title=f"Top-{k} accuracy",
        definition=f"Share of rows whose class is among the {k} highest scores; ties: first class first. "
        f"Chance: always naming the {k} most frequent classes.",
        count=count,
        finish=lambda tallies: tallies[stat].mean()[..., 0],
        better="higher",
        bounds=(0.0, 1.0),
        needs="scores",
        chance=reads(lambda counts: majority(counts, k)),
        interval=lambda tallies, level: wilson(
            tallies[stat].total[..., 0], tallies[stat].weight[..., 0], level
        ),
        method="Wilson",
    )
