"""What is said of the run: every verdict, gravest first, and the diagnosis in callouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.records import Callout, Finding, Grid, Section, Status, Verdict

ORDER = list(Status)
GRAVITY: Mapping[str, Status] = {
    "at_chance": Status.BREACH, "one_bad_unit": Status.WATCH, "one_good_unit": Status.OK,
    "uneven": Status.WATCH, "small_units": Status.WATCH,
    "difficult_slice": Status.WATCH, "difficult_class": Status.WATCH, "equal_within_noise": Status.OK,
}  # fmt: skip


def callouts(findings: Sequence[Finding], shown: int) -> tuple[Callout, ...]:
    """The gravest findings."""
    made = [Callout(GRAVITY[finding.kind], finding.text) for finding in findings]
    return tuple(sorted(made, key=lambda callout: ORDER.index(callout.status))[:shown])


def verdicts_section(verdicts: Sequence[Verdict], shown: int) -> Section:
    """Worst first, and nothing hidden: unknowns are listed too."""
    ranked = sorted(verdicts, key=lambda verdict: ORDER.index(verdict.status))
    counts = {status: sum(v.status is status for v in ranked) for status in ORDER}
    lead = ", ".join(f"{count} {status.value}" for status, count in counts.items() if count)
    rows = [(v.status.value, v.subject, f"{v.summary} of {v.measure}", v.label, v.why) for v in ranked]
    fields = Grid.of(
        "Verdicts",
        {"status": "status", "of": "text", "measure": "text", "called": "text", "why": "text"},
        rows,
        shown=shown,
    )
    return Section("Verdicts", f"{lead}.", (), (fields,))
