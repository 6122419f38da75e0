"""Bands: an estimate in, a verdict out. Three things can stop it: evidence, noise, an open interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, RootModel, model_validator

from muster.errors import nearest
from muster.records import Estimate, Status, Verdict
from muster.sources.config import parse, read
from muster.summaries.population import LEVELS, NOT_REDRAWN

NOISE = 0.05


class Band(BaseModel):
    """Where a summary of a measure should lie; `bad` says on which side trouble is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bad: Literal["above", "below"]
    watch: float | None = None
    breach: float | None = None
    min_units: int = 1
    min_rows: int = 1
    labels: list[tuple[float, str]] = []

    @model_validator(mode="before")
    @classmethod
    def _pairs(cls, given: object) -> object:
        if isinstance(given, dict) and isinstance(given.get("labels"), list):
            return given | {"labels": [tuple(p) if isinstance(p, list) else p for p in given["labels"]]}
        return given

    @model_validator(mode="after")
    def _ordered(self) -> Band:
        if self.watch is None and self.breach is None:
            raise ValueError("a band needs watch, breach or both")
        if self.watch is not None and self.breach is not None and self._worse(self.watch, self.breach):
            raise ValueError(f"breach ({self.breach:g}) must not be milder than watch ({self.watch:g})")
        return self

    def status(self, value: float) -> Status:
        """Where a value lies, taken at its word. An edge belongs to the milder side."""
        if self.breach is not None and self._worse(value, self.breach):
            return Status.BREACH
        if self.watch is not None and self._worse(value, self.watch):
            return Status.WATCH
        return Status.OK

    def label(self, value: float) -> str:
        """The name of the step that holds a value."""
        return next((label for top, label in self.labels if value <= top), "")

    def words(self) -> str:
        """The band as it is read."""
        edges = [("watch", self.watch), ("breach", self.breach)]
        return ", ".join(f"{name} {self.bad} {edge:g}" for name, edge in edges if edge is not None)

    def _worse(self, value: float, edge: float) -> bool:
        return value > edge + 1e-9 if self.bad == "above" else value < edge - 1e-9


class Bands(RootModel[dict[str, dict[str, Band]]]):
    """Bands by measure and summary."""

    def of(self, measure: str, summary: str) -> Band | None:
        """The band of a summary of a measure, if there is one."""
        return self.root.get(measure, {}).get(summary)


def default_bands() -> Bands:
    """The bands that ship with Muster, in ``bands.toml``.

    >>> default_bands().of("accuracy", "gini").label(0.25)
    'fair'
    """
    return parse(
        files("muster.verdicts").joinpath("bands.toml").read_text(encoding="utf-8"), Bands, "bands.toml"
    )


def load_bands(path: str | Path) -> Bands:
    """The default bands with those of a file in their place."""
    own: Mapping[str, Mapping[str, Band]] = read(path, Bands).root
    base = default_bands().root
    return Bands({measure: {**base.get(measure, {}), **own.get(measure, {})} for measure in {**base, **own}})


def unmatched(path: str | Path, there: Iterable[tuple[str, str]]) -> list[str]:
    """Bands of a file that are for nothing that was estimated."""
    known = {f"{measure}.{summary}" for measure, summary in there}
    own = [f"{measure}.{summary}" for measure, bands in read(path, Bands).root.items() for summary in bands]
    return [f"no estimate {name!r}{nearest(name, known)}" for name in own if name not in known]


def judge(estimate: Estimate, band: Band, subject: str = "population", rows: float = math.inf) -> Verdict:
    """Compare an estimate with its band; too little evidence is `unknown`, never `ok`.

    `rows` is how many rows the unit in the middle has.

    >>> seen = Estimate(measure="accuracy", summary="gini", value=0.45, low=0.42, high=0.48, units=3)
    >>> judge(seen, Band(bad="above", watch=0.3, breach=0.4, min_units=5)).why
    '3 units, 5 needed'
    """
    status, why = _weigh(estimate, band, rows)
    return Verdict(
        subject=subject,
        measure=estimate.measure,
        summary=estimate.summary,
        estimate=estimate,
        band=band.words(),
        status=status,
        why=why,
        label=band.label(estimate.value),
    )


def judge_all(estimates: Iterable[Estimate], bands: Bands, rows: float = math.inf) -> list[Verdict]:
    """A verdict for every estimate that has a band.

    Noise excuses a low unit only where the mean over units is within the band itself.
    """
    found = [(estimate, bands.of(estimate.measure, estimate.summary)) for estimate in estimates]
    means = {estimate.measure: estimate.value for estimate, _ in found if estimate.summary == "mean"}
    return [judge(_plain(e, band, means), band, rows=rows) for e, band in found if band]


def _plain(estimate: Estimate, band: Band, means: Mapping[str, float]) -> Estimate:
    level = means.get(estimate.measure, math.nan) if estimate.summary in LEVELS else math.nan
    if math.isnan(level) or band.status(level) is Status.OK:
        return estimate
    return replace(estimate, expected=math.nan, p_value=math.nan)


def _weigh(estimate: Estimate, band: Band, rows: float) -> tuple[Status, str]:
    """What stops a verdict, and what it is if nothing does."""
    if math.isnan(estimate.value):
        return Status.UNKNOWN, estimate.reason
    if estimate.units < band.min_units:
        return Status.UNKNOWN, f"{estimate.units} units, {band.min_units} needed"
    if rows < band.min_rows:
        return Status.UNKNOWN, f"half of the units have {rows:g} rows or fewer, {band.min_rows} needed"
    if estimate.method == NOT_REDRAWN:
        return Status.UNKNOWN, f"{estimate.value:.3g}, but no population was redrawn: noise is not known"
    return _against_noise(estimate, band)


def _against_noise(estimate: Estimate, band: Band) -> tuple[Status, str]:
    """The value says where it lies; noise and the interval say whether that may be said."""
    value, status = estimate.value, band.status(estimate.value)
    ends = [band.status(end) for end in (estimate.low, estimate.high) if not math.isnan(end)]
    span = f" [{estimate.low:.3g}, {estimate.high:.3g}]" if ends else ""
    if status is Status.OK and Status.BREACH not in ends:
        return status, f"{value:.3g}{span} is within {band.words()}"
    if estimate.p_value >= NOISE:
        return Status.UNKNOWN, (
            f"equal units could show {value:.3g} with so few rows "
            f"(expected {estimate.expected:.3g}, p = {estimate.p_value:.2g})"
        )
    if {Status.OK, Status.BREACH} <= {status, *ends}:
        return Status.UNKNOWN, f"the interval{span} reaches from ok to breach"
    if status is Status.BREACH and any(end is not Status.BREACH for end in ends):
        return Status.WATCH, f"{value:.3g} is {band.bad} {band.breach:g}, its interval{span} is not wholly so"
    edge = band.breach if status is Status.BREACH else band.watch
    return status, f"{value:.3g}{span} is {band.bad} {edge:g}"
