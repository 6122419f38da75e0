"""Temperature scaling: fitted on one split, judged on another, before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muster.errors import BadData
from muster.kernels.answers import best
from muster.kernels.calibration import cool, fit_temperature
from muster.kernels.types import Codes, Scores
from muster.measures import count, lookup
from muster.records import Block, Labelled, Table, stack
from muster.summaries.estimates import finish

JUDGED = ("log_loss", "brier", "ece", "ece_debiased", "ece_mass", "ece_class", "mce", "accuracy")


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The temperature, how many rows it was fitted and judged on, and the estimates before and after."""

    temperature: float
    fitted_on: int
    judged_on: int
    estimates: Table
    notes: tuple[str, ...] = ()

    def value(self, measure: str, when: str) -> float:
        """One number: of a measure, ``before`` or ``after``."""
        rows = (self.estimates["measure"] == measure) & (self.estimates["summary"] == when)
        return float(self.estimates["value"][rows][0])


def scale(
    fit: tuple[Scores, Codes], judge: tuple[Scores, Codes], classes: tuple[str, ...], *, level: float = 0.95
) -> Scaling:
    """Fit a temperature on one set of (scores, truth), judge it on another; scores are class-major."""
    for name, (scores, truth) in {"fit": fit, "judge": judge}.items():
        if not len(truth):
            raise BadData(f"the split to {name} on has no rows")
        if len(scores) < 2:
            raise BadData("temperature scaling needs the scores of all classes")
    temperature = fit_temperature(*fit)
    scores, truth = judge
    tables = [
        _judged(given, truth, classes, when, level)
        for when, given in (("before", scores), ("after", cool(scores, temperature)))
    ]
    edge = abs(abs(np.log(temperature)) - 5) < 1e-6
    notes = (
        ("the temperature is at the edge of what is searched: the fit has no other optimum",) if edge else ()
    )
    return Scaling(temperature, len(fit[1]), len(truth), stack(tables), notes)


def _judged(scores: Scores, truth: Codes, classes: tuple[str, ...], when: str, level: float) -> Table:
    answer, sure = best(scores)
    one = np.zeros(len(truth), np.int32)
    seen = Labelled(one, 1, truth, answer, len(classes), scores, sure)
    measures = lookup(JUDGED)
    keys = Table.of({"model": ["model"], "unit": [""], "time": [""], "slice": [""]})
    return finish(Block(keys, count(seen, measures)), measures, classes, summary=when, level=level)
