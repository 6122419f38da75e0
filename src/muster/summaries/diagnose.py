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
    data = {"p": p, "statistic": statistic, "gap": gap.value, "expected": gap.expected}
    if p >= SURE:
        text = (
            f"All units are equal within noise (homogeneity p = {p:.2g}): a gap of {gap.value:.3f} is what "
            f"equal units with so few rows would show (expected {gap.expected:.3f})."
        )
        return [Finding(kind="equal_within_noise", subject="population", text=text, data=data)]
    one = _one_bad_unit(units, right, rows, statistic)
    if one:
        return [one]
    text = (
        f"Units differ beyond noise (homogeneity p = {p:.2g}), and no single one explains it: "
        f"gap {gap.value:.3f}, {gap.expected:.3f} from noise alone."
    )
    return [Finding(kind="uneven", subject="population", text=text, data=data)]


def _one_bad_unit(units: Table, right: Floats, rows: Floats, statistic: float) -> Finding | None:
    """Is most of the spread beyond noise due to the worst unit? Noise is one a degree of freedom."""
    share = ratio(right, rows)
    worst = int(np.argmin(np.where(rows > 0, share, np.inf)))
    rest = (np.arange(rows.size) != worst) & (rows > 0)
    without, p = homogeneity(right[rest], rows[rest])
    excess, left = statistic - rest.sum(), max(without - (rest.sum() - 1), 0.0)
    if np.isnan(without) or excess <= 0 or left > excess / 2:
        return None
    others, accuracy = float(right[rest].sum() / rows[rest].sum()), float(share[worst])
    if accuracy >= others:
        return None
    after = (
        f"all are equal within noise (p = {p:.2g})"
        if p >= SURE
        else f"the spread beyond noise falls by {1 - left / excess:.0%}"
    )
    return Finding(
        kind="one_bad_unit",
        subject=str(units["unit"][worst]),
        text=f"One bad unit: {units['unit'][worst]} at {accuracy:.3f} ({int(rows[worst])} rows), the others "
        f"at {others:.3f}; without it {after}.",
        data={"value": accuracy, "others": others, "p": p, "excess": excess, "left": left},
    )


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
