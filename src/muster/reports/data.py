"""A run as JSON: the same sections, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from muster.records import Finding, Section, Verdict

FORMAT = 1


def as_data(
    title: str, sections: Sequence[Section], verdicts: Sequence[Verdict], findings: Sequence[Finding]
) -> dict[str, Any]:
    """Plain lists and dictionaries; undefined numbers are still ``nan`` here."""
    return {
        "format": FORMAT,
        "title": title,
        "findings": [asdict(finding) for finding in findings],
        "verdicts": verdicts_as_data(verdicts),
        "sections": [asdict(section) for section in sections],
    }


def verdicts_as_data(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Verdicts with the estimates they rest on."""
    return [asdict(verdict) for verdict in verdicts]
