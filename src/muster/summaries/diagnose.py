"""What kind of problem is it? In words, with the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.kernels.confusion import ratio
from muster.kernels.significance import fewer, holm, homogeneity
from muster.kernels.types import Floats
from muster.records import Estimate, Finding, Table
from muster.records.finding import Kind
from muster.summaries.chance import tells_apart

SURE = 0.05
MATTERS = 0.05


def diagnose(
    units: Table, chance: tuple[Estimate, Estimate], indices: Sequence[Estimate], sizes: Sequence[Estimate]
) -> list[Finding]:
    """The problems of a population: chance, noise, one unit unlike the others, small units.

    `chance` are accuracy over that of the most frequent class, and kappa.
    """
    by_name = {estimate.summary: estimate for estimate in indices}
    known = units.where(units["n"] > 0)
    rows = known["n"].astype(float)
    found = [_at_chance(*chance, by_name.get("jain"))]
    found += _spread(known, known["accuracy"] * rows, rows, by_name.get("gap"))
    found.append(_small_units(sizes))
    return [finding for finding in found if finding]


def difficult(kind: str, names: Sequence[str], right: Floats, rows: Floats) -> list[Finding]:
    """The parts that fare worse than the other parts together, beyond noise and by 5 points or more.

    >>> found = difficult("slice", ["age=old", "age=young"], np.array([60.0, 90]), np.array([100.0, 100]))
    >>> found[0].text
    'age=old is difficult: 0.600 right, 0.900 elsewhere (30.0 points less, p = 1.2e-06 after Holm).'
    """
    others, of = right.sum() - right, rows.sum() - rows
    p = holm(np.array([fewer(*counts) for counts in zip(right, rows, others, of, strict=True)]))
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


def _at_chance(gain: Estimate, kappa: Estimate, jain: Estimate | None) -> Finding | None:
    if np.isnan(gain.value) or gain.low > 0 or tells_apart(kappa):
        return None
    index = f" Jain {jain.value:.2f} means nothing here." if jain and not np.isnan(jain.value) else ""
    return Finding(
        kind="at_chance",
        subject="model",
        text=f"The model is not shown to be better than chance ({gain.chance:.3f}): accuracy "
        f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] over it.{index}",
        data={"value": gain.value, "chance": gain.chance},
    )


def _spread(units: Table, right: Floats, rows: Floats, gap: Estimate | None) -> list[Finding]:
    statistic, p = homogeneity(right, rows)
    if np.isnan(p) or gap is None:
        return []
    shown = _either(p, units["p_under_mean"])
    data = {"p": shown, "statistic": statistic, "gap": gap.value, "expected": gap.expected}
    noise = "" if np.isnan(gap.expected) else f", {gap.expected:.3f} from noise alone"
    if shown >= SURE:
        text = (
            f"No difference between units is shown (p = {shown:.2g}): they are equal within noise, as far "
            f"as these rows can tell (gap {gap.value:.3f}{noise})."
        )
        return [Finding(kind="equal_within_noise", subject="population", text=text, data=data)]
    one = _one_unit(units, right, rows, statistic)
    if one:
        return [one]
    text = (
        f"Units differ beyond noise (p = {shown:.2g}), and no single one explains it "
        f"(gap {gap.value:.3f}{noise})."
    )
    return [Finding(kind="uneven", subject="population", text=text, data=data)]


def _either(together: float, each: Floats) -> float:
    """Two looks, at all units together and at the worst of them: the better of two p-values counts twice."""
    return float(min(2 * np.nanmin([together, *each]), 1.0))


def _one_unit(units: Table, right: Floats, rows: Floats, statistic: float) -> Finding | None:
    """Is most of the spread beyond noise due to one unit? Noise is one a degree of freedom."""
    share = right.sum() / rows.sum()
    odd = int(np.argmax((right - rows * share) ** 2 / (rows * (rows.sum() - rows))))
    rest = np.arange(rows.size) != odd
    without, p = homogeneity(right[rest], rows[rest])
    excess, left = statistic - rest.sum(), max(without - (rest.sum() - 1), 0.0)
    if np.isnan(without) or left > max(excess, 0) / 2:
        return None
    others, accuracy = float(right[rest].sum() / rows[rest].sum()), float(right[odd] / rows[odd])
    after = (
        f"all are equal within noise (p = {p:.2g})"
        if p >= SURE
        else f"the spread beyond noise falls by {1 - left / max(excess, 1e-9):.0%}"
    )
    kind: Kind = "one_bad_unit" if accuracy < others else "one_good_unit"
    named = f"{'One' if p >= SURE else 'Above all one'} {kind.split('_')[1]} unit: {units['unit'][odd]}"
    return Finding(
        kind=kind,
        subject=str(units["unit"][odd]),
        text=f"{named} at {accuracy:.3f} ({int(rows[odd])} rows), the others at {others:.3f}; "
        f"without it {after}.",
        data={"value": accuracy, "others": others, "p": p, "excess": excess, "left": left},
    )


def _small_units(sizes: Sequence[Estimate]) -> Finding | None:
    rank = next((estimate for estimate in sizes if estimate.summary == "size_spearman"), None)
    if rank is None or not (rank.p_value < SURE and rank.value > max(rank.expected, 0)):
        return None
    return Finding(
        kind="small_units",
        subject="population",
        text=f"Small units fare worse: rank correlation of rows and accuracy {rank.value:.2f} over "
        f"{rank.units} units, {rank.expected:.2f} if all were equal (p = {rank.p_value:.2g}).",
        data={"value": rank.value, "expected": rank.expected, "p": rank.p_value},
    )
