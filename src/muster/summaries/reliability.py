"""The reliability curve: in each bin of confidence, how sure the model was and how often it was right."""

from __future__ import annotations

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.interval import wilson
from muster.measures.calibration import sums_of
from muster.records import Block, Table


def reliability(block: Block, level: float = 0.95) -> Table:
    """One row a bin that holds rows, all entries pooled; no rows at all without confidences."""
    if "width.right" not in block.tallies:
        return Table({})
    rows, right, confidence = (part.sum(0) for part in sums_of(block.tallies, "width"))
    low, high = wilson(right, rows, level)
    edges = np.linspace(0, 1, rows.size + 1)
    table = {
        "above": edges[:-1], "up_to": edges[1:], "n": rows.astype(np.int64),
        "confidence": ratio(confidence, rows), "accuracy": ratio(right, rows), "low": low, "high": high,
    }  # fmt: skip
    return Table(table).where(rows > 0)
