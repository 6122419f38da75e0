"""Which units are served worse than the rest, beyond what noise and looking at many explain."""

from __future__ import annotations

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.interval import quantile, wilson
from muster.kernels.significance import below, holm
from muster.kernels.types import Floats
from muster.records import Column, Table

SHARE = 0.8


class Units(Table):
    """One row a unit."""

    __slots__ = ()

    def worst(self, rows: int = 10) -> Table:
        """The units of lowest accuracy."""
        return self.sort("accuracy", lowest=True).head(rows)


def list_units(
    names: Column, right: Floats, rows: Floats, *, share: float = SHARE, level: float = 0.95
) -> Units:
    """One row a unit: accuracy, interval, and what may be said of it.

    ``line`` is `share` of the mean over the other units. A unit is ``under-served`` when its
    accuracy is below that beyond noise, its own and that of the mean: an exact binomial test
    a unit, corrected after Holm for the number of units. ``low, unproven`` lies below the line,
    but so could a unit that is not. ``below the mean`` is the test against the mean itself.

    >>> import numpy as np
    >>> units = np.array(["a", "b", "c", "d"], dtype=object)
    >>> found = list_units(units, np.array([90.0, 92, 91, 30]), np.array([100.0, 100, 100, 100]))
    >>> found["finding"].tolist()
    ['fine', 'fine', 'fine', 'under-served']
    """
    accuracy = ratio(right, rows)
    others, error = _mean_of_others(right, rows)
    low, high = wilson(right, rows, level)
    many = max(int((rows > 0).sum()), 1)
    wide_low, wide_high = wilson(right, rows, 1 - (1 - level) / many)
    least = np.maximum(others - quantile(2 * level - 1) * error, 0)
    p_share, p_mean = (holm(below(right, rows, part * least)) for part in (share, 1.0))
    finding = np.select(
        [rows == 0, p_share < 1 - level, accuracy < share * others, p_mean < 1 - level],
        ["no rows", "under-served", "low, unproven", "below the mean"],
        "fine",
    ).astype(object)
    return Units(

        {
            "unit": names, "n": rows.astype(np.int64), "accuracy": accuracy, "low": low, "high": high,
            "low_for_many": wide_low, "high_for_many": wide_high, "line": share * others,
            "p_under_share": p_share, "p_under_mean": p_mean, "finding": finding,
        }
    )  # fmt: skip


def _mean_of_others(right: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """For each unit, the mean over the others and its standard error; undefined where there are none."""
    known, pooled = rows > 0, float(ratio(right.sum(), rows.sum()))
    many = known.sum() - known.astype(float)
    value = np.where(known, np.nan_to_num(ratio(right, rows)), 0.0)
    noise = np.where(known, pooled * (1 - pooled) / np.maximum(rows, 1), 0.0)
    error = np.sqrt(np.maximum(noise.sum() - noise, 0))
    return ratio(value.sum() - value, many), ratio(error, many)
