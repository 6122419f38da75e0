"""Verdicts that need no band: better than chance, and nobody under-served."""

from __future__ import annotations

import math

from muster.records import Column, Estimate, Status, Table, Verdict
from muster.summaries.chance import tells_apart

USELESS = 0.05
BAND = "at least {share:g} of the mean over the other units"


def against_chance(gain: Estimate, kappa: Estimate) -> Verdict:
    """Is the model better than one that always names the most frequent class?

    `gain` is its accuracy less that of the other. It is a breach when the model is shown
    to go less than a twentieth of the way from there to perfect, or to be worse; but not
    where kappa shows that it tells the classes apart: of classes that are seldom, the
    most accurate answer is to name none.

    >>> gain = Estimate(measure="accuracy", summary="over_chance", value=0, low=-0.01, high=0.01, chance=0.1)
    >>> kappa = Estimate(measure="kappa", summary="per_sample", value=0, low=-0.02, high=0.02)
    >>> against_chance(gain, kappa).status.value
    'breach'
    """
    said = f"accuracy {gain.value:+.3g} [{gain.low:+.3g}, {gain.high:+.3g}] over chance, {gain.chance:.3g}"
    if math.isnan(gain.value):
        status, why = Status.UNKNOWN, gain.reason
    elif gain.low > 0:
        status, why = Status.OK, said
    elif tells_apart(kappa):
        status = Status.OK if gain.high >= 0 else Status.WATCH
        why = f"{said}; yet it tells the classes apart: kappa {kappa.value:.3g} "
        why += f"[{kappa.low:.3g}, {kappa.high:.3g}]"
    elif gain.high < USELESS * (1 - gain.chance):
        status, why = Status.BREACH, f"{said}: no better; indices of spread mean nothing"
    else:
        status, why = Status.UNKNOWN, f"{said}: the units or rows are too few to tell"
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
            band=BAND.format(share=share),
            status=Status.BREACH,
            why=f"{row['accuracy']:.3g} [{row['low']:.3g}, {row['high']:.3g}] from {row['n']} rows is below "
            f"{row['line']:.3g}, {share:g} of the mean over the other units "
            f"(p = {row['p_under_share']:.2g} after Holm)",
            label="under-served",
        )
        for row in flagged.rows()
    ]


def nobody_worse(units: Table) -> Verdict:
    """Of a comparison: is any unit shown to be worse off, and could one be?"""
    worse, open_ = units.where(units["said"] == "worse"), units.where(units["low"] < 0)
    named = ", ".join(str(unit) for unit in worse["unit"].tolist()[:4])
    if len(worse):
        status, why = Status.WATCH, f"{len(worse)} of {len(units)} units are worse off beyond noise: {named}"
    elif len(open_):
        status, why = Status.UNKNOWN, f"no unit is shown to be worse off, but {len(open_)} could be"
    else:
        status, why = Status.OK, "no unit is worse off"
    return _of_all("difference", units["difference"], "no unit worse off", status, why)


def _none(units: Table, share: float) -> Verdict:
    known = units.where(units["n"] > 0)
    silent, few = len(units) - len(known), len(known) < 2
    open_ = int((known["low_for_many"] < known["line"]).sum())
    status = Status.UNKNOWN if open_ or silent or few else Status.OK
    why = f"no unit is shown to be below {share:g} of the mean over the other units"
    if few:
        why = "fewer than two units with rows: there is nobody to compare with"
    elif open_:
        why += f", but {open_} of {len(known)} could be: their rows are too few to tell"
    if silent:
        why += f"; {silent} have no rows"
    return _of_all("unit", known["accuracy"], BAND.format(share=share), status, why, n=int(known["n"].sum()))


def _of_all(summary: str, values: Column, band: str, status: Status, why: str, *, n: int = 0) -> Verdict:
    """One verdict for every unit; its number is that of the worst."""
    estimate = Estimate(
        measure="accuracy",
        summary="min",
        value=float(values.min()) if len(values) else math.nan,
        units=len(values),
        n=n,
        reason="" if len(values) else "no rows",
    )
    return Verdict(
        subject="every unit",
        measure="accuracy",
        summary=summary,
        estimate=estimate,
        band=band,
        status=status,
        why=why,
    )
