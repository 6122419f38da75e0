"""How well detectors told drift: by round and by event, of the population and of every unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadRecord
from muster.kernels.alarms import Events, Flags, confusion, delay, events, median_delay, rates
from muster.kernels.confusion import mean_defined
from muster.kernels.types import Floats
from muster.records import ALARM, QUIET, UNKNOWN, Answers, Rounds, Table, stack

SCOPES = ("population", "units")
ALWAYS, NEVER, TOGETHER = "always alarm", "never alarm", "aggregate over detectors"
DRAWS, LEAST_LOGS, SEED = 2000, 5, 0
Series: TypeAlias = tuple[Flags, Answers]


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """A detector over one log: counts ``[4]``, cells without an answer, events of every series."""

    counts: Floats
    unknown: int
    events: Events


def since_onset(log: Rounds) -> Rounds:
    """The usual truth: once a unit has drifted, it has drifted in every round that follows.

    >>> log = Rounds(rounds=np.arange(3), units=np.array(["a"], object), values=np.ones((3, 1)),
    ...              rows=np.ones((3, 1)), drifted=np.array([[False], [True], [False]]))
    >>> since_onset(log).drifted[:, 0].tolist()
    [False, True, True]
    """
    if log.drifted is None:
        return log
    return replace(log, drifted=np.maximum.accumulate(log.drifted, 0))


def score(logs: Sequence[Rounds], window: int = 5) -> Table:
    """One row a scope and detector, pooled over `logs` (one a seed).

    Of the population: its own alarm, where any unit has drifted. Of units: the alarm of each
    where it has drifted itself. Counts leave out cells without an answer; ``unanswered`` are
    events that were missed for want of answers. ``delay`` is the median of censored times:
    ``nan`` if more than half of the events were missed. The interval of F1 resamples logs and
    needs five. To alarm always, and never, stand below as what a detector has to beat; all
    detectors pooled above them, which no decision rule ever acted on. Logs without drift count:
    an alarm in them is false.

    >>> from muster.records import Alarms
    >>> ones, late = np.ones((4, 1)), np.array([[0], [0], [1], [1]], np.int8)
    >>> log = Rounds(rounds=np.arange(4), units=np.array(["a"], object), values=ones, rows=ones,
    ...              drifted=late > 0, alarms={"cusum": Alarms(units=late, whole=late[:, 0])})
    >>> next(score([log]).rows())["f1"]
    1.0
    """
    _check(logs)
    rows: list[dict[str, Any]] = []
    for scope in SCOPES:
        found = {
            name: [[_scored(answers, truth, window)] for truth, answers in each]
            for name, each in _by_detector(logs, scope).items()
        }
        own = [found[name] for name in logs[0].alarms]
        together = [[one for (one,) in log] for log in zip(*own, strict=True)]
        if scope == "population" and own:
            found = {name: found[name] for name in logs[0].alarms} | {TOGETHER: together} | found
        rows.extend({"detector": name, "scope": scope} | _row(each) for name, each in found.items())
    return _table(rows)


def controls(logs: Sequence[Rounds]) -> Table:
    """False alarms in the logs in which nothing drifted; the other logs are left out.

    ``first_false`` is how many rounds passed before the first false alarm, the median over logs,
    or over units and logs; ``nan`` if more than half had none. ``without`` is the share of those.

    >>> from muster.records import Alarms
    >>> ones, once = np.ones((4, 1)), np.array([[0], [0], [0], [1]], np.int8)
    >>> log = Rounds(rounds=np.arange(4), units=np.array(["a"], object), values=ones, rows=ones,
    ...              drifted=ones < 0, alarms={"cusum": Alarms(units=once, whole=once[:, 0])})
    >>> found = next(controls([log]).rows())
    >>> found["false_share"], found["first_false"]
    (0.25, 3.0)
    """
    _check(logs)
    still = [log for log in logs if not _drifted(log).any()]
    rows = []
    for scope in SCOPES:
        for name, each in _by_detector(still, scope, logs[0].alarms).items():
            asked = sum(int((answers != UNKNOWN).sum()) for _, answers in each)
            cells = sum(answers.size for _, answers in each)
            false = sum(int((answers == ALARM).sum()) for _, answers in each)
            first = np.concatenate([np.zeros(0), *(delay(answers == ALARM, 0) for _, answers in each)])
            (median,) = median_delay(first, np.zeros(first.size, np.intp), 1)
            rows.append(
                {"detector": name, "scope": scope, "logs": len(each), "rounds": asked}
                | {"unknown": cells - asked, "false_rounds": false, "false_share": _share(false, asked)}
                | {"first_false": float(median), "without": _share(int(np.isnan(first).sum()), first.size)}
            )
    return _table(rows)


def attribution(logs: Sequence[Rounds], window: int = 5) -> Table:
    """Which units a detector blames: flagged is one with an alarm on from the onset to `window` after.

    Precision and recall of the flagged units of each log, against those that had drifted by
    then, then the mean over logs; ``named`` is in how many logs any unit was flagged, without
    which there is no precision. Logs without drift are left out.

    >>> from muster.records import Alarms
    >>> ones, both = np.ones((2, 2)), np.array([[0, 0], [1, 1]], np.int8)
    >>> log = Rounds(rounds=np.arange(2), units=np.array(["a", "b"], object), values=ones, rows=ones,
    ...              drifted=both > [0, 1], alarms={"cusum": Alarms(units=both, whole=both[:, 0])})
    >>> found = next(attribution([log]).rows())
    >>> found["precision"], found["recall"]
    (0.5, 1.0)
    """
    _check(logs)
    moved = [log for log in logs if _drifted(log).any()]
    rows = []
    for name, each in _by_detector(moved, "units", logs[0].alarms).items():
        counts = np.zeros((len(each), 4))
        for i, (truth, answers) in enumerate(each):
            onset = int(truth.any(0).argmax())
            flagged = (answers[:, onset : onset + window + 1] == ALARM).any(-1)
            counts[i] = confusion(flagged, np.asarray(truth[:, : onset + window + 1].any(-1)))
        found, (tp, fp, _, fn) = rates(counts), counts.T
        rows.append(
            {"detector": name, "precision": float(mean_defined(found["precision"]))}
            | {"recall": float(mean_defined(found["recall"])), "flagged": float(mean_defined(tp + fp))}
            | {"drifted": float(mean_defined(tp + fn)), "named": int((tp + fp > 0).sum()), "logs": len(each)}
        )
    return _table(rows)


def per_unit(log: Rounds, window: int = 5) -> Table:
    """One row a detector and unit: events, those found, median delay, and alarms for nothing.

    >>> from muster.records import Alarms
    >>> ones, last = np.ones((3, 1)), np.array([[0], [0], [1]], np.int8)
    >>> log = Rounds(rounds=np.arange(3), units=np.array(["a"], object), values=ones, rows=ones,
    ...              drifted=np.array([[False], [True], [True]]),
    ...              alarms={"cusum": Alarms(units=last, whole=last[:, 0])})
    >>> per_unit(log)["delay"]
    array([1.])
    """
    tables = []
    for name in log.alarms:
        truth, answers = _answers(log, "units", name)
        found = _scored(answers, truth, window).events
        tables.append(
            Table.of(
                {"detector": [name] * len(log.units), "unit": log.units, "events": found.events}
                | {"hits": found.hits, "delay": median_delay(found.delays, found.series, len(log.units))}
                | {"false_rounds": found.false_rounds, "quiet_rounds": found.quiet_rounds}
            )
        )
    return stack(tables)


def _row(found: Sequence[Sequence[_Scored]]) -> dict[str, Any]:
    """What a list of logs, each of one detector or more, comes to."""
    counts = np.array([np.sum([one.counts for one in log], 0) for log in found])
    low, high = _resampled(counts)
    pooled = counts.sum(0)
    by_round = {name: float(rate) for name, rate in rates(pooled).items()}
    each = [one.events for log in found for one in log]

    def total(name: str) -> int:
        return sum(int(getattr(one, name).sum()) for one in each)

    delays = np.concatenate([one.delays for one in each])
    (median,) = median_delay(delays, np.zeros(delays.size, np.intp), 1)
    number, hits = total("events"), total("hits")
    return {
        **{name: int(n) for name, n in zip(("tp", "fp", "tn", "fn"), pooled, strict=True)},
        "unknown": sum(one.unknown for log in found for one in log),
        **{name: by_round[name] for name in ("precision", "recall", "f1")},
        "low_f1": low,
        "high_f1": high,
        **{name: by_round[name] for name in ("false_positive_rate", "false_negative_rate")},
        "events": number,
        "hits": hits,
        "already_on": total("already_on"),
        "unanswered": total("unanswered"),
        "missed_share": _share(number - hits, number),
        "delay": float(median),
        "false_alarms_per_1000": 1000 * _share(total("false_rounds"), total("quiet_rounds")),
        "logs": len(found),
    }


def _resampled(counts: Floats) -> tuple[float, float]:
    """The 95 % percentile bootstrap of F1 over logs (Efron 1979); every detector sees the same draws."""
    logs = len(counts)
    if logs < LEAST_LOGS:
        return float("nan"), float("nan")
    picks = np.random.default_rng(SEED).integers(0, logs, (DRAWS, logs))
    drawn = rates(counts[picks].sum(1))["f1"]
    known = drawn[~np.isnan(drawn)]
    if not known.size:
        return float("nan"), float("nan")
    low, high = np.quantile(known, (0.025, 0.975))
    return float(low), float(high)


def _scored(answers: Answers, truth: Flags, window: int) -> _Scored:
    alarm, known = answers == ALARM, answers != UNKNOWN
    counts = confusion(alarm, truth, known).sum(0)
    return _Scored(counts, int((~known).sum()), events(alarm, truth, window, known))


def _check(logs: Sequence[Rounds]) -> None:
    """All logs have the same detectors."""
    if not logs:
        raise BadRecord("no logs to score")
    for i, log in enumerate(logs):
        if set(log.alarms) != set(logs[0].alarms):
            raise BadRecord(f"log {i} has detectors {sorted(log.alarms)}, log 0 has {sorted(logs[0].alarms)}")


def _by_detector(
    logs: Sequence[Rounds], scope: str, detectors: Iterable[str] | None = None
) -> dict[str, list[Series]]:
    """Truth and answers of every log by detector, then those of the two that need no data."""
    names = logs[0].alarms if detectors is None else detectors
    return {name: [_answers(log, scope, name) for log in logs] for name in (*names, ALWAYS, NEVER)}


def _answers(log: Rounds, scope: str, name: str) -> Series:
    """Truth and answers, ``[series, rounds]``."""
    drifted = _drifted(log)
    truth = drifted.T if scope == "units" else _row_of(drifted.any(1))
    if name in {ALWAYS, NEVER}:
        return truth, np.full(truth.shape, ALARM if name == ALWAYS else QUIET, np.int8)
    alarms = log.alarms[name]
    return truth, alarms.units.T if scope == "units" else _row_of(alarms.whole)


def _drifted(log: Rounds) -> Flags:
    if log.drifted is None:
        raise BadRecord("a log does not say what drifted when: alarms cannot be scored")
    return log.drifted


def _row_of(values: Any) -> NDArray[Any]:
    return np.asarray(values)[None]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    return Table.of({name: [row[name] for row in rows] for name in rows[0]})
