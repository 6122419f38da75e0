"""Gates: may it pass? Rules as data, each with three answers: pass, fail, or not enough evidence to tell."""

from __future__ import annotations

import math
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from muster.measures import CATALOG
from muster.records import Estimate, Status, Verdict
from muster.sources.config import parse, read
from muster.summaries.population import TROUBLE

Kind = Literal["at_least", "at_most", "non_inferior", "superior"]
ANSWERS = {Status.OK: "pass", Status.BREACH: "fail", Status.UNKNOWN: "inconclusive"}


class Rule(BaseModel):
    """What a number, or its difference to that of another run, must be.

    ``at_least`` and ``at_most`` hold the number against `value`; ``non_inferior`` allows it to
    be worse than the other's by `margin`, ``superior`` wants it better by more than `margin`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: str = "accuracy"
    summary: str = "per_sample"
    kind: Kind
    value: float | None = Field(default=None, allow_inf_nan=False)
    margin: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    direction: Literal["higher", "lower"] | None = None
    min_units: int = Field(default=1, ge=0)
    confidence: float = Field(default=0.95, gt=0, lt=1)

    @model_validator(mode="after")
    def _says_something(self) -> Rule:
        wanted, other = ("margin", "value") if self.paired else ("value", "margin")
        if getattr(self, wanted) is None or getattr(self, other) is not None:
            raise ValueError(f"{self.kind} needs {wanted}, and takes no {other}")
        return self

    @property
    def edge(self) -> float:
        """The value, or the margin."""
        return float((self.margin if self.paired else self.value) or 0.0)

    @property
    def paired(self) -> bool:
        """Does it need another run?"""
        return self.kind in {"non_inferior", "superior"}

    @property
    def better(self) -> str:
        """Which way is better: as the rule says, else as the index or the measure does; less spread is."""
        if self.direction is None and self.summary in TROUBLE:
            return "lower" if TROUBLE[self.summary] == "above" else "higher"
        known = CATALOG.get(self.measure)
        return self.direction or (known.better if known else "higher")

    def words(self) -> str:
        """The rule as it is read."""
        edge = f"by {self.edge:g}" if self.paired else f"{self.edge:g}"
        said = {
            "at_least": f"at least {edge}", "at_most": f"at most {edge}",
            "non_inferior": f"not worse {edge} or more", "superior": f"better {edge} or more",
        }[self.kind]  # fmt: skip
        return f"{self.summary} of {self.measure} {said}, at {self.confidence:.0%}"


class Policy(BaseModel):
    """The rules of a gate; all must pass."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: list[Rule] = Field(min_length=1)


def load_policy(path: str | Path | None, *, against: bool, kind: str = "") -> Policy:
    """The rules of a file, or those that ship with Muster: without another run, those that need none.

    Runs of a `kind` of their own, such as ``federation``, have rules of their own.

    >>> [rule.kind for rule in load_policy(None, against=False).rule]
    ['at_least', 'at_most']
    """
    if path:
        return read(path, Policy)
    room, name = files("muster.verdicts"), f"gates-{kind}.toml"
    name = name if kind and room.joinpath(name).is_file() else "gates.toml"
    own = room.joinpath(name).read_text(encoding="utf-8")
    every = parse(own, Policy, name)
    return Policy(rule=[rule for rule in every.rule if rule.paired == against])


def decide(rule: Rule, estimate: Estimate) -> Verdict:
    """Hold an estimate, or a difference after less before, against a rule.

    >>> rule = Rule(kind="non_inferior", margin=0.02)
    >>> seen = Estimate(measure="accuracy", summary="difference", value=0.0, low=-0.01, high=0.01, units=9)
    >>> decide(rule, seen).status.value
    'ok'
    """
    status, why = _weigh(rule, estimate)
    return Verdict(
        subject="gate",
        measure=rule.measure,
        summary=rule.summary,
        estimate=estimate,
        band=rule.words(),
        status=status,
        why=why,
        label=ANSWERS[status],
    )


def _weigh(rule: Rule, estimate: Estimate) -> tuple[Status, str]:
    if math.isnan(estimate.value):
        return Status.UNKNOWN, estimate.reason
    if estimate.units < rule.min_units:
        return Status.UNKNOWN, f"{estimate.units} units, {rule.min_units} needed"
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return Status.UNKNOWN, f"{estimate.value:.4g}, without an interval: {estimate.method}"
    low, high, edge = _oriented(rule, estimate)
    said = f"{estimate.value:.4g} [{estimate.low:.4g}, {estimate.high:.4g}]"
    if low > edge or (low == edge and rule.kind != "superior"):
        return Status.OK, f"{said}: the whole interval is on the right side"
    if high < edge or (high == edge and rule.kind == "superior"):
        return Status.BREACH, f"{said}: the whole interval is on the wrong side"
    return Status.UNKNOWN, f"{said}: the interval holds the edge"


def _oriented(rule: Rule, estimate: Estimate) -> tuple[float, float, float]:
    """Interval and edge, turned so that more is better."""
    if not rule.paired:
        up = rule.kind == "at_least"
        edge = rule.edge if up else -rule.edge
    else:
        up = rule.better != "lower"
        edge = rule.edge if rule.kind == "superior" else -rule.edge
    return (estimate.low, estimate.high, edge) if up else (-estimate.high, -estimate.low, edge)
