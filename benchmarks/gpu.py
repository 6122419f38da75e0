"""A CNN a client, all clients of a round in one program, on a GPU: python -m benchmarks.gpu

The time of a round (training and evaluating everybody) on the GPU, and on one core of the same machine.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import torch

from benchmarks.populations_of_digits import calm, made_up
from muster.systems.federation.modules import Cnn, Module
from muster.systems.federation.strategies import strategy
from muster.systems.federation.training import Local, Work, one_round

ROUNDS = 5


def main() -> None:
    """Print a line a number of clients."""
    if not torch.cuda.is_available():
        print("no GPU here")
        return
    torch.set_num_threads(1)
    print(torch.cuda.get_device_name(0), "| PyTorch", torch.__version__)
    print("| clients | parameters | GPU, s a round | one core, s a round | ratio |\n|---|---|---|---|---|")
    for many in (100, 1_000, 10_000):
        gpu, models = _seconds(many, "cuda", ROUNDS)
        core, others = (
            _seconds(many, "cpu", 1 if many > 100 else ROUNDS) if many <= 1_000 else (np.nan, models)
        )
        for name, value in models[0].items():
            np.testing.assert_allclose(value, others[0][name], atol=2e-3)
        size = sum(value.size for value in models[0].values())
        print(f"| {many:,} | {size:,} | {gpu:.3f} | {core:.2f} | {core / gpu:.1f} |", flush=True)


def _seconds(many: int, device: str, rounds: int) -> tuple[float, list]:
    """Median of the rounds after one that warms up; the models after the first round."""
    train, test = calm(made_up(many))
    learner = Module(lambda: Cnn((8, 8), 64, 10), (1, 8, 8), device)
    everybody, ones = np.arange(many), np.ones(many)
    work = Work(everybody, np.zeros(many, np.int64), 0.05 * ones, ones, ones)
    models, kept, first, spent = [learner.start(0)], [{}], None, []
    for number in range(rounds + 1):
        started = time.perf_counter()
        models, kept, _ = one_round(
            learner, train, work, models, kept,
            strategy=strategy("fedavg"), local=Local(lr=0.05), where=(0, number),
        )  # fmt: skip
        learner.answer(models[0], test.x)
        spent.append(time.perf_counter() - started)
        first = first or models
    return median(spent[1:]), first


if __name__ == "__main__":
    main()
