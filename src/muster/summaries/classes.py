"""One class across units: is it hard everywhere, or only somewhere?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.kernels import confusion
from muster.kernels.types import Floats
from muster.records import Table


def across_units(counts: Floats, classes: Sequence[str]) -> Table:
    """Recall of each class over the units where it occurs: mean, std (ddof 0), lowest, highest.

    >>> found = across_units(np.array([[[8.0, 2.0], [0.0, 0.0]], [[4.0, 6.0], [1.0, 9.0]]]), ["a", "b"])
    >>> found["units"].tolist(), found["mean"].round(2).tolist()
    ([2, 1], [0.6, 0.9])
    """
    recall = confusion.recall(counts)
    known = ~np.isnan(recall)
    filled = np.where(known, recall, 0.0)
    units = known.sum(0)
    mean = confusion.ratio(filled.sum(0), units.astype(float))
    variance = confusion.ratio((np.where(known, recall - mean, 0.0) ** 2).sum(0), units.astype(float))
    some = units > 0
    return Table.of(
        {
            "class": list(classes),
            "n": counts.sum((0, 2)).astype(np.int64),
            "units": units,
            "pooled": confusion.recall(counts.sum(0)),
            "mean": mean,
            "std_ddof0": np.sqrt(variance),
            "min": np.where(some, np.where(known, recall, np.inf).min(0), np.nan),
            "max": np.where(some, np.where(known, recall, -np.inf).max(0), np.nan),
        }
    )
