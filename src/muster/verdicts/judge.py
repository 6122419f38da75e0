"""Verdicts that need no band: better than chance, and nobody under-served."""

from __future__ import annotations

import math

from muster.records import Estimate, Status, Table, Verdict

USELESS = 0.05


def against_chance(gain: Estimate) -> Verdict:
    """Is the model better than one that always names the most frequent class?

    `gain` is its accuracy less that of the other. It is a breach when the model is shown
    to go less than a twentieth of the way from there to perfect, or to be worse.

    >>> gain = Estimate(measure="accuracy", summary="over_chance", value=0, low=-0.01, high=0.01, chance=0.1)
    >>> against_chance(gain).status.value
    'breach'
    """
    said = f"accuracy {gain.value:+.3g} [{gain.low:+.3g}, {gain.high:+.3g}] over chance, {gain.chance:.3g}"
    if math.isnan(gain.value):
        status, why = Status.UNKNOWN, gain.reason
    elif gain.low > 0:
        status, why = Status.OK, said
    elif gain.high < USELESS * (1 - gain.chance):
        status, why = Status.BREACH, f"{said}: no better; indices of spread mean nothing"
    else:
        status, why = Status.UNKNOWN, f"{said}: the rows are too few to tell"
    return Verdict(
        subject="model",
        measure=gain.measure,
        summary="over_chance",
        estimate=gain,
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
    unproven, silent = (int((units["finding"] == name).sum()) for name in ("low, unproven", "no rows"))
    known = units.where(units["n"] > 0)
    few = len(known) < 2
    status = Status.UNKNOWN if unproven or silent or few else Status.OK
    why = f"no unit is below {share:g} of the mean over units beyond noise"
    if few:
        why = "fewer than two units with rows: there is nobody to compare with"
    if unproven:
        why += f", but {unproven} lie below it with too few rows to tell"
    if silent:
        why += f"; {silent} have no rows"
    return Verdict(
        subject="every unit",
        measure="accuracy",
        summary="unit",
        estimate=Estimate(
            measure="accuracy",
            summary="min",
            value=float(known["accuracy"].min()) if len(known) else math.nan,
            units=len(known),
            reason="" if len(known) else "no rows",
            n=int(known["n"].sum()),
        ),
        band=f"at least {share:g} of the mean over units",
        status=status,
        why=why,
    )
