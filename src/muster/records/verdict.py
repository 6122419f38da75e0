"""What is said of a number: ok, watch, breach, or not enough evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muster.records.estimate import Estimate


class Status(StrEnum):
    """Four answers. Too little evidence is ``unknown``, never ``ok``."""

    BREACH = "breach"
    WATCH = "watch"
    UNKNOWN = "unknown"
    OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A status, the estimate and the band it rests on, and one sentence of why."""

    subject: str
    measure: str
    summary: str
    estimate: Estimate
    band: str
    status: Status
    why: str
    label: str = ""
