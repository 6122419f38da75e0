"""CPU time, medians, and a ratio with its target."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table: what is compared, and the bound that the figure must keep."""

    what: str
    peer: str
    ours: float
    theirs: float
    figure: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def target(self) -> str:
        """The bound as it is read."""
        if self.at_least is None and self.at_most is None:
            return ""
        return f">= {self.at_least:g}" if self.at_least is not None else f"< {self.at_most:g}"

    @property
    def missed(self) -> bool:
        """Is the figure on the wrong side?"""
        return (self.at_least is not None and self.figure < self.at_least) or (
            self.at_most is not None and self.figure >= self.at_most
        )


def cpu(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median CPU seconds of this process, all threads, after one call that warms the caches."""
    work()
    spent = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return median(spent)


def faster(what: str, ours: float, peer: str, theirs: float, at_least: float | None = None) -> Figure:
    """How many times less CPU time than the peer."""
    return Figure(
        what=what, peer=peer, ours=ours, theirs=theirs, figure=theirs / ours, unit="x", at_least=at_least
    )


def cost(what: str, ours: float, peer: str, theirs: float, at_most: float | None = None) -> Figure:
    """How many times the CPU time of a floor that cannot be beaten."""
    return Figure(
        what=what,
        peer=peer,
        ours=ours,
        theirs=theirs,
        figure=ours / theirs,
        unit="x the floor",
        at_most=at_most,
    )


def size(what: str, megabytes: float, at_most: float) -> Figure:
    """How large a file is."""
    return Figure(
        what=what, peer="", ours=megabytes, theirs=float("nan"), figure=megabytes, unit="MB", at_most=at_most
    )


def memory(what: str, gigabytes: float, at_most: float) -> Figure:
    """Peak memory of the process."""
    return Figure(
        what=what, peer="", ours=gigabytes, theirs=float("nan"), figure=gigabytes, unit="GB", at_most=at_most
    )
