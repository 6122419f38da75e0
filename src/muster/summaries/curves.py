"""ROC curves of the classes that are hardest to tell from the rest, all entries of a block pooled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.kernels.ranking import auroc, roc
from muster.measures.ranking import histograms_of
from muster.records import Block, Table, stack

MOST = 4


def hardest(block: Block, classes: Sequence[str], most: int = MOST) -> Table:
    """One row a point: class, its area, false and true positive rate; no rows without scores.

    Of two classes the second alone: the curve of the first is the same, turned.
    """
    if "score_bins" not in block.tallies:
        return Table({})
    negatives, positives = histograms_of({"score_bins": block.tallies["score_bins"].sum()})
    areas = auroc(negatives, positives)
    known = [1] if len(classes) == 2 else np.argsort(areas, kind="stable")[:most].tolist()
    fpr, tpr = roc(negatives, positives)
    tables = []
    for k in (k for k in known if not np.isnan(areas[k])):
        x, y = fpr[k], tpr[k]
        moved = np.append(True, (np.diff(x) != 0) | (np.diff(y) != 0))
        name = np.full(int(moved.sum()), classes[k], dtype=object)
        tables.append(
            Table.of({"class": name, "area": np.full(name.size, areas[k]), "fpr": x[moved], "tpr": y[moved]})
        )
    return stack(tables)
