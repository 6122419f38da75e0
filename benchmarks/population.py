"""Every index of a population of ten thousand units, with a thousand redrawn populations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from benchmarks.timing import Figure, cost, cpu, faster
from muster.kernels import inequality
from muster.summaries.population import Population, summarise
from muster.summaries.redraw import of_shares

UNITS, DRAWS = 10_000, 1_000


def run() -> Iterator[Figure]:
    """CPU seconds as the target has it; and beside it SciPy's bootstrap of one index after another."""
    rng = np.random.default_rng(0)
    rows = rng.integers(20, 500, UNITS).astype(float)
    values = rng.binomial(rows.astype(int), rng.beta(16, 4, UNITS)) / rows
    pooled = float(values @ rows / rows.sum())
    of = Population(measure="accuracy", values=values, rows=rows, noise=of_shares(values, rows, pooled))
    ours = cpu(lambda: summarise(of, draws=DRAWS))
    yield cost(f"all indices, {UNITS:,} units, {DRAWS:,} draws", ours, "a CPU second", 1.0, 2)
    theirs = cpu(lambda: [_scipy(values, index) for index in inequality.SPREADS.values()], 1)
    yield faster("the same", ours, "scipy bootstrap, index by index, of units only", theirs)


def _scipy(values: np.ndarray, index: Callable[..., np.ndarray]) -> object:
    def of(x: np.ndarray, axis: int) -> np.ndarray:  # noqa: ARG001
        return index(np.sort(x, axis=-1))

    return stats.bootstrap(
        (values,), of, n_resamples=DRAWS, batch=100, method="percentile", rng=np.random.default_rng(0)
    )
