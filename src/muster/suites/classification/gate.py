"""May a run pass? The rules of a policy, each at its own confidence, alone or against another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.errors import BadConfig, nearest
from muster.records import Estimate, Status, Verdict
from muster.reports.reading import load
from muster.reports.run import Run
from muster.suites.classification.compare import compare
from muster.suites.classification.merge import merge
from muster.verdicts.gates import Rule, decide, load_policy

PAIRED = {"per_sample": "difference", "per_unit": "mean"}


@dataclass(frozen=True, slots=True)
class Gate:
    """The verdict of each rule; all must pass."""

    verdicts: tuple[Verdict, ...]

    @property
    def status(self) -> Status:
        """Fail if any rule fails; else inconclusive if any is; else pass."""
        said = {verdict.status for verdict in self.verdicts}
        order = (Status.BREACH, Status.UNKNOWN, Status.OK)
        return next(status for status in order if status in said)


def gate(
    run: Run | str | Path, against: Run | str | Path | None = None, policy: str | Path | None = None
) -> Gate:
    """Hold a run against the rules of a policy; those of comparison need another run.

    >>> from muster.suites.classification import evaluate
    >>> truth, unit = [0, 1] * 300, list(range(6)) * 100
    >>> gate(evaluate(truth=truth, guess=truth, unit=unit)).status.value
    'ok'
    """
    found = run if isinstance(run, Run) else load(run)
    other = against if isinstance(against, Run | None) else load(against)
    rules = load_policy(policy, against=other is not None, kind=found.manifest.get("kind", "")).rule
    paired = [rule for rule in rules if rule.paired]
    if paired and other is None:
        raise BadConfig(f"{paired[0].words()}: needs another run (--against)")
    return Gate(tuple(decide(rule, _estimate(rule, found, other)) for rule in rules))


def _estimate(rule: Rule, run: Run, other: Run | None) -> Estimate:
    """The number that a rule is about, with its interval at the rule's confidence."""
    if rule.paired and other is not None:
        return _named(
            compare(other, run, level=rule.confidence), rule, PAIRED.get(rule.summary, rule.summary)
        )
    same = run.asked["study"]["level"] == rule.confidence
    return _named(run if same else merge([run], level=rule.confidence), rule, rule.summary)


def _named(run: Run, rule: Rule, summary: str) -> Estimate:
    what = "comparison" if rule.paired else "run"
    table = run.estimates
    whole = (table["unit"] == "") & (table["slice"] == "") & (table["part"] == "")
    measures = _known(table["measure"][whole].tolist())
    if rule.measure not in measures:
        raise BadConfig(f"the {what} has no {rule.measure!r}{nearest(rule.measure, measures)}")
    summaries = _known(table["summary"][whole & (table["measure"] == rule.measure)].tolist())
    if summary not in summaries:
        hint = nearest(summary, summaries)
        raise BadConfig(
            f"the {what} has no {rule.summary!r} of {rule.measure}{hint}; there are: {', '.join(summaries)}"
        )
    return run.estimate(rule.measure, summary)


def _known(names: Sequence[str]) -> list[str]:
    return sorted(set(names))
