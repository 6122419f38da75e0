"""What the report of a federation says, question by question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muster.records import Callout, Rounds, Section, Status
from muster.reports.sections import verdicts_section
from muster.reports.words import counted
from muster.suites.federation.analysis import Analysis
from muster.suites.federation.detected import detected
from muster.suites.federation.fairness import evenly, spread, whose
from muster.suites.federation.recovered import recovered

SHOWN = 50


def sections_of(seen: Analysis, notes: Sequence[str], described: Sequence[Section]) -> list[Section]:
    """Every section that has something to say, in the order of the questions."""
    found = [recovered(seen)]
    if seen.detection is not None:
        found.append(detected(seen, seen.detection))
    found += [whose(seen), evenly(seen), spread(seen)]
    return [*found, *described, _trust(seen, notes), verdicts_section(seen.verdicts, SHOWN)]


def _trust(seen: Analysis, notes: Sequence[str]) -> Section:
    log: Rounds = seen.log
    seeds = len(seen.logs[seen.main])
    rows = log.rows[log.rows > 0]
    arms = f"{counted(len(seen.logs), 'arm')}, {counted(seeds, 'seed')}, " if len(seen.logs) > 1 else ""
    lead = (
        f"{arms}{counted(len(log.units), 'client')}, {counted(len(log.rounds), 'round')}. Half of the "
        f"clients have {int(np.median(rows)):,} rows or fewer in a round."
    )
    said = [Callout(Status.WATCH, f"{note[:1].upper()}{note[1:]}.") for note in notes]
    if seeds < 5 and len(seen.logs) > 1:
        text = f"{seeds} {'seed says' if seeds == 1 else 'seeds say'} little: a claim needs at least 5."
        said.append(Callout(Status.WATCH, text))
    unknown = (*seen.missing, "whether the drift to come is like this one")
    return Section("Can I trust this?", lead, tuple(said), unknown=unknown)
