"""``muster calibrate``: temperature scaling from two files of predictions."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from muster.cli.output import print_json, print_sections
from muster.reports.sections import scaling_section
from muster.suites import classification


def calibrate(
    fit: str,
    judge: str,
    *,
    truth: str = "truth",
    scores: Annotated[list[str], Parameter(consume_multiple=False)],
    classes: list[str] | None = None,
    allow_unnormalised: bool = False,
    json: bool = False,
) -> int:
    """Fit a temperature on one file of predictions, and judge it on another.

    Parameters
    ----------
    fit
        File, pattern or folder of the split to fit on.
    judge
        File, pattern or folder of the split to judge on.
    truth
        Column of the true class.
    scores
        Columns of the class scores, or one pattern: 'p_*'.
    classes
        A class, in the order of the scores; repeatable.
    allow_unnormalised
        Divide scores by their sum.
    json
        Print the temperature and the estimates as JSON.
    """
    found = classification.calibrate(
        fit=fit,
        judge=judge,
        truth=truth,
        scores=scores,
        classes=classes or (),
        allow_unnormalised=allow_unnormalised,
    )
    if json:
        facts = {
            "temperature": found.temperature,
            "fitted_on": found.fitted_on,
            "judged_on": found.judged_on,
            "notes": found.notes,
        }
        rows = [{**row} for row in found.estimates.rows()]
        print_json({**facts, "estimates": rows})
    else:
        print_sections("Temperature scaling", [scaling_section(found)])
    return 0
