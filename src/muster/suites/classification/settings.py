"""How a classifier is to be evaluated, from TOML or from keywords. Unknown keys are errors."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from muster.measures import CATALOG
from muster.records import Measure


class Data(BaseModel):
    """Which files, and which column is what."""

    model_config = ConfigDict(extra="forbid")

    files: list[str] = Field(default=[], description="Files, patterns or folders: CSV, Parquet, Arrow.")
    truth: str = Field(default="truth", description="Column of the true class.")
    guess: str | None = Field(default=None, description="Column of the answer.")
    scores: list[str] = Field(
        default=[],
        description="Columns of the class scores, or one pattern: 'p_*'. One alone is of class 2 of 2.",
    )
    confidence: str | None = Field(default=None, description="Column of the confidence in the answer.")
    unit: str | None = Field(default=None, description="Column of the unit: client, site, device.")
    time: str | None = Field(default=None, description="Column of the time: round, window, epoch.")
    slices: list[str] = Field(default=[], description="Column to slice each unit's data by; repeatable.")
    item: str | None = Field(
        default=None,
        description="Column that names the item: to find duplicates, and to compare models item by item. "
        "A run then keeps a mark, the true class, the answer and the log loss of each item.",
    )
    classes: list[str | int] = Field(
        default=[], description="A class, in the order of the scores; repeatable."
    )
    allow_unnormalised: bool = Field(default=False, description="Divide scores by their sum.")

    def parts(self) -> dict[str, Any]:
        """The columns by the part they play."""
        return self.model_dump(exclude={"files", "classes", "allow_unnormalised"})


class Settings(BaseModel):
    """What to measure, of whom, and how sure to be."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(default="model", description="Name of the model.")
    measures: list[str] = Field(
        default=[], description="Measure; repeatable; all that the data allows if none."
    )
    spread_of: list[str] = Field(
        default=["accuracy"], description="Measure whose spread over units is summarised; repeatable."
    )
    holdout: list[str | int] = Field(
        default=[], description="Unit that the model was never trained on; repeatable."
    )
    shared: list[str | int] = Field(
        default=[], description="Unit that is a test set shared by all; repeatable."
    )
    positive: str | int | None = Field(
        default=None, description="The class that is good to get; of two classes the second."
    )
    expect: list[str | int] = Field(
        default=[], description="Unit that should be there: without rows it is unknown; repeatable."
    )
    under_share: float = Field(
        default=0.8, gt=0, le=1, description="A unit is under-served below this share of the mean over units."
    )
    level: float = Field(default=0.95, gt=0, lt=1, description="Confidence of the intervals.")
    draws: int = Field(
        default=1000, ge=0, description="Populations to redraw; 0 for no intervals of spreads."
    )
    seed: int = Field(default=0, ge=0, description="Seed of the redrawing.")
    units: Literal["sampled", "fixed"] = Field(
        default="sampled", description="Are the units a sample of more to come, or all there are?"
    )
    bands: str | None = Field(default=None, description="TOML file whose bands replace the default ones.")


class Study(BaseModel):
    """A settings file: ``[data]`` and ``[study]``."""

    model_config = ConfigDict(extra="forbid")

    data: Data = Data()
    study: Settings = Settings()


def chosen(asked: Settings, has: frozenset[str], classes: int) -> list[str]:
    """The measures asked for, or all that the data allows; and those whose spread is asked for."""
    found = asked.measures or [m.name for m in CATALOG.values() if _fits(m, has, classes)]
    return list(dict.fromkeys(["accuracy", *found, *asked.spread_of]))


def _fits(measure: Measure, has: frozenset[str], classes: int) -> bool:
    within = not measure.name.startswith("top_") or int(measure.name[4:]) < classes
    return measure.adds and within and measure.needs in has
