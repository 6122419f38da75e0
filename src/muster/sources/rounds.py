"""Somebody's own log of a federation, to `Rounds`: what every unit scored in every round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from muster.errors import BadConfig, BadData
from muster.kernels.types import Floats
from muster.records import Rounds
from muster.sources.contents import numbers, shown
from muster.sources.entries import Entries, enter, listed
from muster.sources.logs import open_log
from muster.sources.parts import Names, Parts, choose
from muster.sources.signals import Mask, alarms_of, drift_from, drift_of

SHARES = frozenset({"accuracy", "auc", "auroc", "f1", "precision", "recall"})


def read_rounds(
    place: Any,
    *,
    unit: str = "unit",
    round: str = "round",  # noqa: A002
    metric: str = "metric",
    value: str = "value",
    n: str = "n",
    alarm: str = "alarm",
    drift: str = "drift",
    which: str = "accuracy",
    first_round: int = 1,
    drift_round: int | None = None,
    affected: Sequence[str] = (),
) -> tuple[Rounds, list[str]]:
    """Read one metric of a log, and say what was found odd in it.

    The log is JSON lines, CSV, Parquet or Arrow, or a table, with one row a unit, round and metric.
    Where it has no column of metrics, `which` names the metric; where it has no column of values
    either, the column named `which` holds them. Rows without a unit are the server's: of them only
    the alarms are used, as those of the whole. A column of drift, or `drift_round` with the units
    `affected` (none for all), says what is true. A column whose name is ``""`` is left aside.

    >>> log = {"unit": ["a", "b", "a"], "round": [1, 1, 2], "accuracy": [0.5, 0.7, 0.6], "n": [9, 9, 9]}
    >>> found, notes = read_rounds(log, drift_round=2)
    >>> found.values.tolist(), found.onset
    ([[0.5, 0.7], [0.6, nan]], 1)
    >>> notes
    ['units that are not there in every round: 1 of 2 (1 of 4 unit-rounds without a value)']
    """
    if isinstance(first_round, bool) or not isinstance(first_round, int):
        raise BadConfig(f"first_round: expected a whole number, got {first_round!r}")
    named = Names(unit=unit, round=round, metric=metric, value=value, n=n, alarm=alarm, drift=drift)
    log = open_log(place)
    parts = choose(named, which, log)
    rows, notes = enter(log, parts, which, first_round)
    own = rows.where(rows.unit >= 0)
    values, counts, more = _measured(own, parts, which)
    drifted, said = _drift(own, parts, drift_round, _several(affected))
    notes += _server(rows, parts) + more + said
    if parts.unused:
        notes.append(f"columns that were not used: {', '.join(parts.unused)}")
    found = Rounds(
        rounds=rows.rounds,
        units=rows.units,
        values=own.spread(values, np.nan),
        rows=own.spread(counts, 0.0),
        metric=which,
        drifted=drifted,
        alarms=alarms_of(rows, parts.alarms),
    )
    return found, notes + _gaps(found)


def _measured(own: Entries, parts: Parts, which: str) -> tuple[Floats, Floats, list[str]]:
    """The values of the units, and how many rows are behind each; 0 where there is no value."""
    values = _numbers(own, parts.value)
    absent = np.isnan(values)
    if absent.all():
        raise BadData(f"{own.what}: no row has a value of {which} (column {parts.value!r})")
    if which in SHARES:
        outside = (values < 0) | (values > 1)
        hint = "; is it in percent?" if np.nanmax(values) <= 100 and np.nanmin(values) >= 0 else ""
        _refuse(own, parts.value, outside, f"{which} is a share, from 0 to 1{hint}")
    notes = [f"rows without a value, whose unit was not there: {absent.sum()}"] if absent.any() else []
    if parts.n is None:
        said = "how many rows are behind a value is not said (no column n): each counts as one, so that "
        said += "intervals of units are undefined and means per sample are means per unit"
        return values, np.where(absent, 0.0, 1.0), [*notes, said]
    counts = _numbers(own, parts.n)
    _refuse(own, parts.n, ~absent & np.isnan(counts), "how many rows are behind the value?")
    counts = np.nan_to_num(counts, nan=0.0)
    _refuse(own, parts.n, (counts < 0) | (counts != np.rint(counts)), "it counts rows: 1, 2, 3, ...")
    _refuse(own, parts.n, ~absent & (counts == 0), "a value needs rows behind it")
    return values, np.where(absent, 0.0, counts), notes


def _numbers(own: Entries, column: str) -> Floats:
    """The numbers of a column; none is ``nan``, and infinity is an error like text."""
    values, wrong = numbers(own.columns[column])
    bad = np.isinf(values)
    bad[wrong] = True
    _refuse(own, column, bad, "expected a number")
    return values


def _refuse(own: Entries, column: str, bad: Mask, why: str) -> None:
    """Say the first bad row, and how many there are."""
    if bad.any():
        i = int(bad.argmax())
        given = shown(own.columns[column][i])
        raise BadData(f"{own.say(i)}: column {column!r} is {given}: {why} (rows like it: {bad.sum()})")


def _drift(
    rows: Entries, parts: Parts, drift_round: int | None, affected: list[str]
) -> tuple[Mask | None, list[str]]:
    """What is known to be true of drift, if anything is."""
    notes: list[str] = []
    drifted: Mask | None = None
    if drift_round is None and affected:
        raise BadConfig("affected: say too from which round on (drift_round)")
    if drift_round is not None:
        if parts.drift:
            raise BadConfig(
                f"{rows.what}: drift is said by column {parts.drift!r} and by drift_round; "
                "drift='' leaves the column aside"
            )
        drifted = drift_from(rows, drift_round, affected)
    elif parts.drift:
        drifted, notes = drift_of(rows, parts.drift)
    if drifted is not None and drifted[0].any():
        notes.append(f"drift begins in the first round, {rows.rounds[0]}: there is no baseline before it")
    return drifted, notes


def _server(rows: Entries, parts: Parts) -> list[str]:
    count = int((rows.unit < 0).sum())
    use = "of them only the alarms are used" if parts.alarms else "they are not used"
    return [f"rows without a unit, which are the server's: {count}; {use}"] if count else []


def _gaps(found: Rounds) -> list[str]:
    """Rounds in which nobody is there; and units that come and go, over the other rounds."""
    there = found.rows > 0
    held = there[there.any(axis=1)]
    holes = found.rounds[~there.any(axis=1)].tolist()
    never = found.units[~there.any(axis=0)].tolist()
    notes = [f"rounds without any value, which are kept, without rows: {listed(holes)}"] if holes else []
    notes += [f"units that never have a value: {listed(never)}"] if never else []
    if not held.all():
        gone, cells = int((~held.all(axis=0)).sum()), int((~held).sum())
        notes.append(
            f"units that are not there in every round: {gone} of {len(found.units)} "
            f"({cells} of {held.size} unit-rounds without a value)"
        )
    return notes


def _several(affected: Sequence[str]) -> list[str]:
    """Names of units; a text is one."""
    return [affected] if isinstance(affected, str) else [str(name) for name in affected]
