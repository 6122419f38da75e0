"""The compiled loop and NumPy give the same counts, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from muster.kernels import loops, ranking


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bits", [2, 4])
def test_the_compiled_loop_counts_what_numpy_counts(
    dtype: type, bits: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    scores = rng.dirichlet(np.full(4, 0.05), 5000).T.astype(dtype)
    scores[:, :6] = np.array([0, 1, 0.5, np.nextafter(0.5, 1), 1e-12, 1 - 1e-7])
    cell, truth = rng.integers(0, 7, 5000).astype(np.int16), rng.integers(0, 4, 5000)
    plain = ranking.histograms(cell, scores, truth, 7, bits)
    monkeypatch.setattr(loops, "WORTH", 0)
    assert loops.worth(1)
    compiled = ranking.histograms(cell, scores, truth, 7, bits)

    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_array_equal(one, other)
    assert plain[0].sum() == scores.size


def test_without_a_compiler_numpy_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "find_spec", lambda _: None)

    assert not loops.worth(1 << 40)
