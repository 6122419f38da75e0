"""How a classifier is to be evaluated, from TOML or from keywords. Unknown keys are errors."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from muster.measures import CATALOG
from muster.records import Measure
from muster.sources.columns import Columns


class Data(BaseModel):
    """Which files, and which column is what."""

    model_config = ConfigDict(extra="forbid", strict=True)

    files: list[str] = []
    truth: str = "truth"
    guess: str | None = None
    scores: list[str] = []
    confidence: str | None = None
    unit: str | None = None
    time: str | None = None
    slices: list[str] = []
    item: str | None = None
    classes: list[str | int] = []
    allow_unnormalised: bool = False

    def columns(self) -> Columns:
        """The same as columns."""
        named = self.model_dump(exclude={"files", "classes", "allow_unnormalised", "scores", "slices"})
        return Columns(**named, scores=tuple(self.scores), slices=tuple(self.slices))


class Settings(BaseModel):
    """What to measure, of whom, and how sure to be."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str = "model"
    measures: list[str] = []
    holdout: list[str] = []
    shared: list[str] = []
    positive: str | int | None = None
    under_share: float = Field(default=0.8, gt=0, le=1)
    level: float = Field(default=0.95, gt=0, lt=1)
    draws: int = Field(default=1000, ge=0)
    seed: int = 0
    units: Literal["sampled", "fixed"] = "sampled"
    bands: str | None = None


class Study(BaseModel):
    """A settings file: ``[data]`` and ``[study]``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    data: Data = Data()
    study: Settings = Settings()


def chosen(names: list[str], has: frozenset[str], classes: int) -> list[str]:
    """The measures asked for, or all that the data allows."""
    if names:
        return list(dict.fromkeys(["accuracy", *names]))
    return [measure.name for measure in CATALOG.values() if _fits(measure, has, classes)]


def _fits(measure: Measure, has: frozenset[str], classes: int) -> bool:
    within = not measure.name.startswith("top_") or int(measure.name[4:]) < classes
    return measure.adds and within and measure.needs in has
