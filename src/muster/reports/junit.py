"""Verdicts as JUnit XML, which systems that build and test software show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from muster.records import Status, Verdict

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _quoted(text: str) -> str:
    """An attribute; what XML cannot hold becomes the sign for that."""
    return quoteattr(FORBIDDEN.sub("\ufffd", text))


def render(title: str, verdicts: Sequence[Verdict]) -> str:
    """A test a rule: a failure where it fails, skipped where it is inconclusive.

    >>> render("gate", []).splitlines()[1]
    '<testsuite name="gate" tests="0" failures="0" skipped="0">'
    """
    failed, skipped = (
        sum(v.status is status for v in verdicts) for status in (Status.BREACH, Status.UNKNOWN)
    )
    head = f'tests="{len(verdicts)}" failures="{failed}" skipped="{skipped}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuite name={_quoted(title)} {head}>"]
    for verdict in verdicts:
        tag = {Status.BREACH: "failure", Status.UNKNOWN: "skipped"}.get(verdict.status, "system-out")
        said = f"<{tag} message={_quoted(verdict.why)}/>" if tag != "system-out" else ""
        lines.append(f'<testcase classname="muster.gate" name={_quoted(verdict.band)}>{said}</testcase>')
    return "\n".join([*lines, "</testsuite>", ""])
