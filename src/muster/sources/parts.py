"""Which column of a log of rounds plays which part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from muster.errors import BadConfig, BadData, nearest
from muster.sources.logs import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The columns of a log, by their part. One that need not be there may be ``""``: it is left aside."""

    unit: str = "unit"
    round: str = "round"
    metric: str = "metric"
    value: str = "value"
    n: str = "n"
    alarm: str = "alarm"
    drift: str = "drift"


USUAL = Names()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The columns that are there. ``alarms`` are the columns of the detectors, by their names."""

    unit: str
    round: str
    value: str
    metric: str | None
    n: str | None
    drift: str | None
    alarms: Mapping[str, str]
    unused: tuple[str, ...]

    def listed(self) -> list[str]:
        """Every column that is read."""
        single = (self.unit, self.round, self.value, self.metric, self.n, self.drift)
        return [*(name for name in single if name), *self.alarms.values()]


def choose(names: Names, which: str, log: Log) -> Parts:
    """Find the part of each column; all that are missing are said at once.

    >>> log = Log("a.csv", ["client", "round", "accuracy", "alarm_ks"], lambda asked: {})
    >>> found = choose(Names(unit="client"), "accuracy", log)
    >>> found.value, dict(found.alarms), found.n
    ('accuracy', {'ks': 'alarm_ks'}, None)
    """
    metric, n, drift = (_optional(part, names, log) for part in ("metric", "n", "drift"))
    value = which if names.value not in log.names and metric is None else names.value
    _needed(names, value, log)
    alarms = _alarms(names.alarm, log)
    single = {"unit": names.unit, "round": names.round, "value": value}
    single |= {part: name for part, name in (("metric", metric), ("n", n), ("drift", drift)) if name}
    taken = Counter([*single.values(), *alarms.values()])
    twice = [name for name, times in taken.items() if times > 1]
    if twice:
        raise BadConfig(f"{log.what}: column {twice[0]!r} cannot play two parts")
    return Parts(
        unit=names.unit,
        round=names.round,
        value=value,
        metric=metric,
        n=n,
        drift=drift,
        alarms=alarms,
        unused=tuple(name for name in log.names if name not in taken),
    )


def _needed(names: Names, value: str, log: Log) -> None:
    asked = {"unit": names.unit, "round": names.round, "value": names.value}
    missing = [
        f"no column {name!r} ({part}){nearest(name, log.names)}"
        for part, name in asked.items()
        if name not in log.names and (part != "value" or value not in log.names)
    ]
    if value not in {names.value, *log.names}:
        missing[-1] += f", nor one named like the metric, {value!r}{nearest(value, log.names)}"
    if missing:
        raise BadData(f"{log.what}: {'; '.join(missing)}; there are: {', '.join(log.names)}")


def _optional(part: str, names: Names, log: Log) -> str | None:
    """A column that need not be there, unless it was asked for by another name than the usual one."""
    name: str = getattr(names, part)
    if name in log.names:
        return name
    if name not in {"", getattr(USUAL, part)}:
        near = nearest(name, log.names)
        raise BadData(f"{log.what}: no column {name!r} ({part}){near}; there are: {', '.join(log.names)}")
    return None


def _alarms(mark: str, log: Log) -> dict[str, str]:
    found = {name.removeprefix(f"{mark}_"): name for name in log.names if name.startswith(f"{mark}_")}
    if mark in log.names:
        found[mark] = mark
    if mark not in {"", USUAL.alarm} and not found:
        near = nearest(mark, log.names)
        raise BadData(f"{log.what}: no column {mark!r} (alarm){near}; there are: {', '.join(log.names)}")
    return found if mark else {}
