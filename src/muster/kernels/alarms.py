"""Alarms in time against what is known of drift: by round, and by event.

The last axis is rounds; the axes before it are series, such as units. `known` is False
where a detector had not enough data to answer: no alarm, and no proof of quiet either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.kernels.confusion import ratio
from muster.kernels.types import Floats

Flags: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = NDArray[np.int64]
Places: TypeAlias = NDArray[np.intp]


def confusion(alarm: Flags, drifted: Flags, known: Flags | None = None) -> Floats:
    """Rounds by kind, ``[..., 4]``: true and false positives, true and false negatives.

    Every round of drift is a positive. So one alarm at the right moment has a low recall,
    and to alarm always a good F1: read `events` beside it.

    >>> confusion(np.array([True, True, False]), np.array([True, False, False])).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    seen = np.ones_like(alarm) if known is None else known
    cells = (alarm & drifted, alarm & ~drifted, ~alarm & ~drifted, ~alarm & drifted)
    return np.stack([(cell & seen).sum(-1) for cell in cells], -1).astype(np.float64)


def rates(counts: Floats) -> dict[str, Floats]:
    """Precision, recall, F1 = ``2 tp / (2 tp + fp + fn)``, and the rates of false answers; 0/0 is ``nan``.

    >>> {name: float(rate.round(3)) for name, rate in rates(np.array([80.0, 10.0, 85.0, 5.0])).items()}
    {'precision': 0.889, 'recall': 0.941, 'f1': 0.914, 'false_positive_rate': 0.105,
     'false_negative_rate': 0.059}
    """
    tp, fp, tn, fn = np.moveaxis(counts, -1, 0)
    return {
        "precision": ratio(tp, tp + fp),
        "recall": ratio(tp, tp + fn),
        "f1": ratio(2 * tp, 2 * tp + fp + fn),
        "false_positive_rate": ratio(fp, fp + tn),
        "false_negative_rate": ratio(fn, fn + tp),
    }


def delay(alarm: Flags, onset: int) -> Floats:
    """Rounds from the onset to the first alarm at or after it; ``nan``, which is censored, if there is none.

    >>> delay(np.array([[True, False, False, True], [True, False, False, False]]), 1).tolist()
    [2.0, nan]
    """
    late = alarm[..., onset:]
    if not late.shape[-1]:
        return np.full(alarm.shape[:-1], np.nan)
    return np.where(late.any(-1), late.argmax(-1), np.nan)


def episodes(on: Flags) -> tuple[Places, Places]:
    """Where the runs of True of one series start, and the first place after each.

    >>> starts, ends = episodes(np.array([True, False, True, True]))
    >>> starts.tolist(), ends.tolist()
    ([0, 2], [1, 4])
    """
    _, starts, ends = _runs(on[None])
    return starts, ends


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What became of every drift episode, and how often there were alarms for nothing.

    Counts have one entry a series. ``delays`` has one entry an episode, ``nan`` for a miss, and
    ``series`` says whose it is. ``already_on`` are hits by an alarm that was on in the round
    before; ``unanswered`` are misses for which the detector never had enough data.
    """

    events: Counts
    hits: Counts
    already_on: Counts
    unanswered: Counts
    false_rounds: Counts
    quiet_rounds: Counts
    false_alarms: Counts
    delays: Floats
    series: Places


def events(alarm: Flags, drifted: Flags, window: int, known: Flags | None = None) -> Events:
    """Score alarms by drift episode: hit is one with an alarm on at most `window` rounds after its start.

    The window may reach beyond the end of a short episode, not beyond the start of the next.
    False are rounds with an alarm on outside of episodes and of the `window` rounds after each:
    outside of these, all rounds with an answer are quiet. ``false_alarms`` counts those that
    begin there; rounds without an answer do not end an alarm.

    >>> found = events(np.array([0, 1, 0, 0, 1, 1, 0], bool), np.array([0, 0, 0, 1, 1, 0, 0], bool), window=1)
    >>> found.delays.tolist(), int(found.false_rounds), int(found.quiet_rounds)
    ([1.0], 1, 4)
    """
    shape, rounds = alarm.shape[:-1], alarm.shape[-1]
    size = int(np.prod(shape))
    known = np.ones_like(alarm) if known is None else known
    known, drifted = (np.broadcast_to(x, alarm.shape).reshape(size, rounds) for x in (known, drifted))
    alarm = alarm.reshape(size, rounds) & known
    places = np.arange(rounds)
    before = np.pad(_carried(alarm, known), ((0, 0), (1, 0)))[:, :-1]

    series, starts, _ = _runs(drifted)
    until = np.minimum(starts + window + 1, _next_start(series, starts, rounds))
    first, answer = _coming(alarm)[series, starts], _coming(known)[series, starts]
    hit = first < until

    def counted(which: Flags) -> Counts:
        return np.bincount(series[which], minlength=size).astype(np.int64).reshape(shape)

    recent = np.maximum.accumulate(np.where(drifted, places, -window - 1), -1)
    quiet = (places - recent > window) & known
    return Events(
        events=counted(np.ones_like(hit)),
        hits=counted(hit),
        already_on=counted(before[series, starts] & alarm[series, starts]),
        unanswered=counted(answer >= until),
        false_rounds=(alarm & quiet).sum(-1).reshape(shape),
        quiet_rounds=quiet.sum(-1).reshape(shape),
        false_alarms=(alarm & ~before & quiet).sum(-1).reshape(shape),
        delays=np.where(hit, first - starts, np.nan),
        series=series,
    )


def median_delay(delays: Floats, series: Places, size: int) -> Floats:
    """For each series, the delay within which half of its events were found; a miss never is.

    The lower median of censored times: ``nan`` if more than half were missed, or nothing happened.

    >>> delays = np.array([4.0, 1.0, np.nan, 2.0, np.nan, np.nan])
    >>> median_delay(delays, np.array([0, 0, 0, 1, 1, 1]), 3).tolist()
    [4.0, nan, nan]
    """
    many = np.bincount(series, minlength=size)
    order = np.lexsort((np.where(np.isnan(delays), np.inf, delays), series))
    middle, some = np.cumsum(many) - many + (many - 1) // 2, many > 0
    found = np.full(size, np.nan)
    found[some] = delays[order[middle[some]]]
    return found


def _runs(on: Flags) -> tuple[Places, Places, Places]:
    """The series, the start and the first place after every run of True of ``[series, rounds]``."""
    padded = np.pad(on, ((0, 0), (1, 1)))
    series, starts = np.nonzero(padded[:, 1:] & ~padded[:, :-1])
    _, ends = np.nonzero(~padded[:, 1:] & padded[:, :-1])
    return series, starts, ends


def _next_start(series: Places, starts: Places, rounds: int) -> Places:
    """Where the next episode of the same series starts, or the end of the series."""
    following = np.append(starts[1:], rounds)
    last = np.append(series[1:] != series[:-1], [True])[: starts.size]
    return np.where(last, rounds, following[: starts.size])


def _coming(on: Flags) -> Places:
    """For every place, the first one from there on that is on; beyond all rounds if there is none."""
    at = np.where(on, np.arange(on.shape[-1]), on.shape[-1] + 1)
    return np.minimum.accumulate(at[:, ::-1], -1)[:, ::-1]


def _carried(alarm: Flags, known: Flags) -> Flags:
    """Alarms, where there is no answer as at the last one."""
    last = np.maximum.accumulate(np.where(known, np.arange(alarm.shape[-1]), 0), -1)
    return np.take_along_axis(alarm, last, -1)
