"""Alarms of detectors, and what is known to be true of drift, as arrays ``[rounds, units]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadConfig, BadData, nearest
from muster.records import ALARM, QUIET, UNKNOWN, Alarms, Answers
from muster.sources.contents import names, numbers, shown
from muster.sources.entries import Entries, listed

Mask = NDArray[np.bool_]
WORDS = {"true": ALARM, "false": QUIET, "yes": ALARM, "no": QUIET}
NO_DRIFT = {"", "0", "0.0", "false", "na", "nan", "no", "none", "null"}


def alarms_of(rows: Entries, columns: Mapping[str, str]) -> dict[str, Alarms]:
    """Each detector's answers. The whole is what the server says of it, else whether any unit alarms."""
    server = rows.unit < 0
    found = {}
    for name, column in columns.items():
        answers = _answers(rows, column)
        own = rows.where(~server)
        units = own.spread(answers[~server], UNKNOWN)
        whole = units.max(axis=1)
        if (answers[server] != UNKNOWN).any():
            whole = np.full(len(rows.rounds), UNKNOWN, np.int8)
            whole[rows.moment[server]] = answers[server]
        found[name] = Alarms(units, whole)
    return found


def drift_of(rows: Entries, column: str) -> tuple[Mask, list[str]]:
    """Where the column says that a unit has drifted; where it has no row, what held in the round before."""
    own = rows.where(rows.unit >= 0)
    drifted, concepts = _drifted(own, column)
    known = own.spread(np.ones(len(drifted), bool), 0)
    stated = own.spread(drifted, 0)
    last = np.maximum.accumulate(np.where(known, np.arange(len(own.rounds))[:, None], -1), axis=0)
    found = np.take_along_axis(stated, np.maximum(last, 0), axis=0)
    carried = int((found & ~known).sum())
    notes = []
    if concepts:
        notes.append(f"column {column!r}: {listed(concepts)} are taken as drift")
    if carried:
        notes.append(f"drift of {carried} unit-rounds without a row is taken from the round before")
    return found, notes


def drift_from(rows: Entries, drift_round: int, affected: Sequence[str]) -> Mask:
    """Drift from a round on, of some units or of all."""
    low, high = int(rows.rounds[0]), int(rows.rounds[-1])
    if isinstance(drift_round, bool) or not isinstance(drift_round, int | np.integer):
        raise BadConfig(f"drift_round: expected the number of a round, got {drift_round!r}")
    if not low <= drift_round <= high:
        raise BadConfig(f"drift_round: {drift_round} is not a round of the log: {low} to {high}")
    units = rows.units.tolist()
    strange = [name for name in affected if name not in units]
    if strange:
        raise BadConfig(
            f"affected: no unit {strange[0]!r}{nearest(strange[0], units)}; there are: {listed(units)}"
        )
    of = np.isin(rows.units, list(affected)) if affected else np.ones(len(units), bool)
    return np.asarray((rows.rounds >= drift_round)[:, None] & of)


def _answers(rows: Entries, column: str) -> Answers:
    """True and 1 are an alarm, false and 0 are none; nothing is not enough data."""
    given = rows.columns[column]
    values, wrong = numbers(given)
    for i in wrong.tolist():
        values[i] = WORDS.get(str(given[i]).strip().lower(), np.inf)
    bad = np.flatnonzero(~(np.isnan(values) | (values == ALARM) | (values == QUIET)))
    if bad.size:
        i = int(bad[0])
        raise BadData(
            f"{rows.say(i)}: column {column!r} is {shown(given[i])}: an alarm is true or false, 1 or 0, "
            f"or nothing where there was not enough data (rows like it: {bad.size})"
        )
    return np.where(np.isnan(values), UNKNOWN, values).astype(np.int8)


def _drifted(rows: Entries, column: str) -> tuple[Mask, list[str]]:
    """What each row says: true, or the name of a concept other than 0; and those names."""
    given = rows.columns[column]
    values, wrong = numbers(given)
    if wrong.size:
        codes, texts = names(given)
        is_drift = [text.strip().lower() not in NO_DRIFT for text in texts.tolist()]
        said = [text for text, true in zip(texts.tolist(), is_drift, strict=True) if true]
        plain = {text.strip().lower() for text in said} <= {"true", "yes", "1"}
        return np.array([*is_drift, False])[codes], [] if plain else said
    known = np.nan_to_num(values, nan=0.0)
    bad = np.flatnonzero((known < 0) | (known != np.rint(known)))
    if bad.size:
        i = int(bad[0])
        raise BadData(
            f"{rows.say(i)}: column {column!r} is {shown(given[i])}: drift is true or false, 1 or 0, "
            f"or the number of a concept, 0 for none (rows like it: {bad.size})"
        )
    found = np.unique(known[known > 0]).astype(int).tolist()
    return known > 0, [] if found in ([], [1]) else [str(concept) for concept in found]
