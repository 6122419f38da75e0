"""What kind of problem is it? In words, with the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.interval import holm, homogeneity, two_shares
from muster.kernels.types import Floats
from muster.records import Estimate, Finding, Table

SURE = 0.05
MATTERS = 0.05


def diagnose(
    units: Table, pooled: Estimate, indices: Sequence[Estimate], sizes: Sequence[Estimate]
) -> list[Finding]:
    """The problems of a population: chance, noise, one bad unit, small units."""
    by_name = {estimate.summary: estimate for estimate in indices}
    rows = units["n"].astype(float)
    right = np.nan_to_num(units["accuracy"]) * rows
    found = [_at_chance(pooled, by_name.get("jain")), *_spread(units, right, rows, by_name.get("gap"))]
    found.append(_small_units(sizes))
    return [finding for finding in found if finding]


def difficult(kind: str, names: Sequence[str], right: Floats, rows: Floats) -> list[Finding]:
    """The parts that fare worse than the other parts together, beyond noise and by 5 points or more.

    >>> found = difficult("slice", ["age=old", "age=young"], np.array([60.0, 90]), np.array([100.0, 100]))
    >>> found[0].text
    'age=old is difficult: 0.600 right, 0.900 elsewhere (30.0 points less, p = 9.6e-07 after Holm).'
    """
    others, of = right.sum() - right, rows.sum() - rows
    p = holm(two_shares(right, rows, others, of))
    here, there = ratio(right, rows), ratio(others, of)
    flagged = np.flatnonzero((p < SURE) & (there - here >= MATTERS))
    return [
        Finding(
            kind="difficult_class" if kind == "class" else "difficult_slice",
            subject=names[i],
            text=f"{names[i]} is difficult: {here[i]:.3f} right, {there[i]:.3f} elsewhere "
            f"({100 * (there[i] - here[i]):.1f} points less, p = {p[i]:.2g} after Holm).",
            data={"value": float(here[i]), "others": float(there[i]), "p": float(p[i])},
        )
        for i in sorted(flagged.tolist(), key=lambda i: float(here[i]))
    ]


def _at_chance(pooled: Estimate, jain: Estimate | None) -> Finding | None:
    if np.isnan(pooled.value) or np.isnan(pooled.chance) or pooled.low > pooled.chance:
        return None
    index = f" Jain {jain.value:.2f} means nothing here." if jain and not np.isnan(jain.value) else ""
    return Finding(
        kind="at_chance",
        subject="model",
        text=f"The model is not shown to be better than chance: {pooled.value:.3f} "
        f"[{pooled.low:.3f}, {pooled.high:.3f}], chance {pooled.chance:.3f}.{index}",
        data={"value": pooled.value, "chance": pooled.chance},
    )


def _spread(units: Table, right: Floats, rows: Floats, gap: Estimate | None) -> list[Finding]:
    statistic, p = homogeneity(right, rows)
    if np.isnan(p) or gap is None:
        return []
    if p >= SURE:
        text = (
            f"All units are equal within noise (homogeneity p = {p:.2g}): the gap of {gap.value:.3f} is what "
            f"equal units with so few rows would show (expected {gap.expected:.3f})."
        )
        data = {"p": p, "statistic": statistic, "gap": gap.value, "expected": gap.expected}
        return [Finding(kind="equal_within_noise", subject="population", text=text, data=data)]
    worst = int(np.argmin(np.where(rows > 0, ratio(right, rows), np.inf)))
    rest = np.arange(rows.size) != worst
    _, without = homogeneity(right[rest], rows[rest])
    if not without >= SURE:
        return []
    accuracy = ratio(right, rows)[worst]
    others = right[rest].sum() / rows[rest].sum()
    text = (
        f"One bad unit: {units['unit'][worst]} at {accuracy:.3f} ({int(rows[worst])} rows), the others at "
        f"{others:.3f}; without it all are equal within noise (p = {without:.2g})."
    )
    data = {"value": float(accuracy), "others": float(others), "p": without}
    return [Finding(kind="one_bad_unit", subject=str(units["unit"][worst]), text=text, data=data)]


def _small_units(sizes: Sequence[Estimate]) -> Finding | None:
    rank = next((estimate for estimate in sizes if estimate.summary == "size_spearman"), None)
    if rank is None or not rank.low > 0:
        return None
    return Finding(
        kind="small_units",
        subject="population",
        text=f"Small units fare worse: rank correlation of rows and accuracy {rank.value:.2f} "
        f"[{rank.low:.2f}, {rank.high:.2f}] over {rank.units} units.",
        data={"value": rank.value, "low": rank.low, "high": rank.high},
    )
