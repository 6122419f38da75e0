"""A run as JSON: the same sections, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter

from muster.records import Finding, Section, Verdict

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Report:
    """What ``report.json`` holds."""

    format: int
    title: str
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    sections: tuple[Section, ...]


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


def schema() -> dict[str, Any]:
    """The form of ``report.json`` as JSON Schema. An undefined number is null."""
    made = TypeAdapter(Report).json_schema(mode="serialization")
    loose: dict[str, Any] = _loosened(made)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **loose}


def _loosened(part: Any) -> Any:
    if isinstance(part, dict):
        found = {name: _loosened(value) for name, value in part.items()}
        return {**found, "type": ["number", "null"]} if found.get("type") == "number" else found
    return [_loosened(value) for value in part] if isinstance(part, list) else part


def verdicts_as_data(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Verdicts with the estimates they rest on."""
    return [asdict(verdict) for verdict in verdicts]
