"""What evaluating a round costs: fairness, detection and recovery of 500 clients, nothing redrawn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import numpy as np

from benchmarks.timing import REPEATS, Figure
from muster.kernels.alarms import confusion, rates
from muster.kernels.recovery import honest, seed_recovery
from muster.records import Alarms, Rounds
from muster.summaries.detection import score
from muster.summaries.over_rounds import over_rounds
from muster.summaries.recovery import seed_table

CLIENTS, ROUNDS, ONSET, DETECTORS = 500, 50, 25, 3


def run() -> Iterator[Figure]:
    """The milliseconds of one round, as they come in, and those of a whole log, over its rounds."""
    log = _log()
    yield _milliseconds(
        f"fairness, detection, recovery of a round, {CLIENTS} clients", lambda: _round(log), 1
    )
    yield _milliseconds(f"the same of a log of {ROUNDS} rounds, each", lambda: _all(log), ROUNDS)


def _round(log: Rounds) -> None:
    """The newest round alone: the indices of its clients, and the scores of the history so far."""
    last = Rounds(rounds=log.rounds[-1:], units=log.units, values=log.values[-1:], rows=log.rows[-1:])
    over_rounds(last)
    drifted = np.asarray(log.drifted).any(1)
    for alarms in log.alarms.values():
        rates(confusion(alarms.whole == 1, drifted))
    pooled = log.pooled
    seed_recovery(pooled, ONSET)
    honest(pooled, ONSET)


def _all(log: Rounds) -> None:
    over_rounds(log)
    score([log])
    seed_table(log)


def _log() -> Rounds:
    rng = np.random.default_rng(0)
    shape = (ROUNDS, CLIENTS)
    drifted = np.zeros(shape, bool)
    drifted[ONSET:, :150] = True
    return Rounds(
        rounds=np.arange(1, ROUNDS + 1), units=np.array([*map(str, range(CLIENTS)), None], object)[:-1],
        values=np.where(drifted, 0.6, 0.9) + rng.normal(0, 0.02, shape), rows=np.full(shape, 100.0),
        drifted=drifted,
        alarms={
            f"detector {i}": Alarms(*(rng.integers(0, 2, s).astype(np.int8) for s in (shape, ROUNDS)))
            for i in range(DETECTORS)
        },
    )  # fmt: skip


def _milliseconds(what: str, work: object, share: int) -> Figure:
    assert callable(work)
    work()
    spent = []
    for _ in range(10 * REPEATS):
        started = time.process_time()
        work()
        spent.append((time.process_time() - started) * 1000 / share)
    ms = median(spent)
    return Figure(what=what, peer="", ours=ms / 1000, theirs=float("nan"), figure=ms, unit="ms", at_most=2.0)
