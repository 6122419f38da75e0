"""Verdicts that need no band: better than chance, and nobody under-served."""

from __future__ import annotations

import math

from muster.records import Estimate, Status, Table, Verdict


def against_chance(estimate: Estimate) -> Verdict:
    """Is the model better than one that knows nothing? Judged by the interval.

    >>> seen = Estimate(measure="accuracy", summary="all", value=0.11, low=0.09, high=0.13, chance=0.12)
    >>> against_chance(seen).status.value
    'breach'
    """
    chance, value = estimate.chance, f"{estimate.value:.3g} [{estimate.low:.3g}, {estimate.high:.3g}]"
    if math.isnan(estimate.value) or math.isnan(chance):
        status, why = Status.UNKNOWN, estimate.reason or "no chance level is defined"
    elif estimate.low > chance:
        status, why = Status.OK, f"{value} lies above chance, {chance:.3g}"
    elif estimate.high < chance or estimate.value <= chance:
        status, why = (
            Status.BREACH,
            f"{value} is no better than chance, {chance:.3g}: indices of spread mean nothing",
        )
    else:
        status, why = Status.UNKNOWN, f"{value} cannot be told from chance, {chance:.3g}"
    return Verdict(
        subject="model",
        measure=estimate.measure,
        summary="above_chance",
        estimate=estimate,
        band="above chance",
        status=status,
        why=why,
    )


def of_units(units: Table, share: float) -> list[Verdict]:
    """A verdict for each unit that is under-served, and one for all when none is."""
    flagged = units.where(units["finding"] == "under-served")
    if not len(flagged):
        return [_none(units, share)]
    return [
        Verdict(
            subject=str(row["unit"]),
            measure="accuracy",
            summary="unit",
            estimate=Estimate(
                measure="accuracy",
                summary="unit",
                value=row["accuracy"],
                low=row["low"],
                high=row["high"],
                p_value=row["p_under_share"],
                n=row["n"],
                units=1,
                method="Wilson",
            ),
            band=f"at least {share:g} of the mean over units",
            status=Status.BREACH,
            why=f"{row['accuracy']:.3g} [{row['low']:.3g}, {row['high']:.3g}] from {row['n']} rows is below "
            f"{share:g} of the mean over units (p = {row['p_under_share']:.2g} after Holm)",
            label="under-served",
        )
        for row in flagged.rows()
    ]


def _none(units: Table, share: float) -> Verdict:
    unproven = int((units["finding"] == "low, unproven").sum())
    few = len(units) < 2
    status = Status.UNKNOWN if unproven or few else Status.OK
    why = f"no unit is below {share:g} of the mean over units beyond noise"
    if few:
        why = "fewer than two units: there is nobody to compare with"
    elif unproven:
        why += f", but {unproven} lie below it with too few rows to tell"
    low = units["accuracy"].min() if len(units) else math.nan
    reason = "" if low == low else "a unit has no rows"  # noqa: PLR0124
    return Verdict(
        subject="every unit",
        measure="accuracy",
        summary="unit",
        estimate=Estimate(
            measure="accuracy",
            summary="min",
            value=float(low),
            units=len(units),
            reason=reason or "",
            n=int(units["n"].sum()),
        ),
        band=f"at least {share:g} of the mean over units",
        status=status,
        why=why,
    )
