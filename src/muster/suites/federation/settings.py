"""How a federation is simulated and evaluated, from TOML or from keywords. Unknown keys are errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from muster.systems.federation.mitigation import Trigger
from muster.systems.federation.partition import Way
from muster.systems.federation.scenario import Pattern

VERSION = 1
NONE = "none"


def _parted(given: Any) -> Any:
    """Names with commas between them are several; numbers are names too."""
    if isinstance(given, str | int):
        given = [given]
    if not isinstance(given, list | tuple):
        return given
    return [part.strip() for one in given for part in str(one).split(",") if part.strip()]


Names = Annotated[list[str], BeforeValidator(_parted)]


class Items(BaseModel):
    """What is learned from."""

    model_config = ConfigDict(extra="forbid")

    data: str = Field(
        default="digits", description="digits, fashion-mnist, text, or a folder or file of your own."
    )
    label: str | None = Field(default=None, description="Column of the class, in a file.")
    text: str | None = Field(default=None, description="Column of the text, in a file of texts.")
    client_column: str | None = Field(default=None, description="Column that names the client of a row.")
    limit: int | None = Field(default=None, ge=10, description="Take at most so many items, at random.")


class Population(BaseModel):
    """Who the clients are."""

    model_config = ConfigDict(extra="forbid")

    clients: int = Field(default=10, description="Number of clients.")
    partition: Way = Field(default="dirichlet", description="How items are dealt to clients.")
    alpha: float = Field(
        default=1.0,
        description="Concentration of dirichlet, shards a client, or exponent of quantity.",
    )
    minimum: int = Field(default=50, ge=2, description="Items that every client has at least.")
    test_share: float = Field(
        default=0.3, gt=0, lt=1, description="Share of its items that a client is tested on."
    )


class Training(BaseModel):
    """How the federation learns."""

    model_config = ConfigDict(extra="forbid")

    learner: str = Field(
        default="mlp",
        description="mlp, softmax, cnn (PyTorch), or FILE.py:NAME of a function that makes a "
        "torch module from features and classes.",
    )
    hidden: int = Field(default=64, ge=1, description="Width of the hidden layer of mlp and cnn.")
    device: str = Field(default="cpu", description="Where PyTorch runs: cpu, cuda.")
    rounds: int = Field(default=50, ge=1, description="Rounds that are measured.")
    warmup: int = Field(default=20, ge=0, description="Rounds of training before round 1, not measured.")
    strategy: str = Field(default="fedavg", description="How the server makes one model of many.")
    epochs: int = Field(default=5, ge=1, description="Local epochs a round.")
    batch: int = Field(default=16, ge=1, description="Items a step.")
    lr: float = Field(default=0.1, gt=0, description="Local learning rate.")
    mu: float = Field(default=0.1, ge=0, description="Pull of FedProx towards the common model.")
    beta: float = Field(default=0.2, ge=0, lt=0.5, description="What a trimmed mean leaves out on a side.")
    fraction: float = Field(default=1.0, gt=0, le=1, description="Share of the clients asked in a round.")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="Share of those asked that do not come back.")
    stragglers: float = Field(default=0.0, ge=0, le=1, description="Share of those asked that do half.")
    joins: Names = Field(default=[], description="Client and the round it joins in: 3=10; repeatable.")


class Drift(BaseModel):
    """What changes, when, for whom."""

    model_config = ConfigDict(extra="forbid")

    drift: str = Field(default="label_swap", description="Kind of drift, or none.")
    drift_round: int = Field(default=25, description="The round in which it begins, counted from 1.")
    severity: float = Field(default=0.6, gt=0, le=1, description="How much of it, up to 1.")
    pattern: Pattern = Field(default="sudden", description="How it comes, and whether it goes.")
    affected: Names = Field(
        default=[], description="Clients it affects, by number or name; 2, 5, 8 of 10 or more, else all."
    )
    second_drift: str = Field(default=NONE, description="Kind of a second drift.")
    second_round: int = Field(default=40, description="The round in which the second begins.")
    second_severity: float = Field(default=0.6, gt=0, le=1, description="How much of the second.")
    second_affected: Names = Field(default=[], description="Clients that the second affects; all if none.")
    scenario: str | None = Field(
        default=None, description="CSV of a change-point matrix: rounds by clients, 0 none, else a concept."
    )
    concepts: Names = Field(default=[], description="Concepts of the matrix: kind=severity; repeatable.")


class Watched(BaseModel):
    """How drift is watched for."""

    model_config = ConfigDict(extra="forbid")

    detectors: Names = Field(
        default=["combined", "adwin", "adwin latched", "ks", "psi", "chi-square", "evidently", "mmd"],
        description="Detector; repeatable; what the first says is acted on.",
    )
    items: int = Field(default=200, ge=50, description="Fresh items of each client that are seen in a round.")
    reference: int = Field(default=10, ge=5, description="Rounds that the reference holds.")
    columns: int = Field(default=32, ge=1, description="Features that are tested one at a time.")
    window: int = Field(default=5, ge=0, description="Rounds in which an alarm counts as a hit.")
    sweep: Names = Field(
        default=[], description="Severity at which detection is tried too, to find the smallest; repeatable."
    )


class Mitigated(BaseModel):
    """What is done about it."""

    model_config = ConfigDict(extra="forbid")

    mitigation: Names = Field(
        default=["cluster", "trimmed_mean"], description="Mitigation, an arm each; repeatable; or none."
    )
    trigger: Trigger = Field(default="combined", description="Quorum of clients, global alarm, or either.")
    quorum: float = Field(default=0.3, ge=0, le=1, description="Share of clients that must have an alarm.")
    calm: int = Field(default=5, ge=1, description="Rounds without alarm after which it ends.")
    cool_down: int = Field(default=3, ge=0, description="Rounds after its end in which it does not begin.")
    factor: float = Field(default=3.0, gt=0, description="How much higher a boosted rate or weight is.")


class Said(BaseModel):
    """How sure to be, and what to say."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(default="federation", description="Name of the federation.")
    seeds: int = Field(default=5, ge=1, description="How many times all is done, each with its own seed.")
    seed: int = Field(default=0, ge=0, description="The first seed.")
    level: float = Field(default=0.95, gt=0, lt=1, description="Confidence of the intervals.")
    draws: int = Field(default=1000, ge=0, description="Populations to redraw for intervals of spreads.")
    tolerance: float = Field(default=0.02, gt=0, lt=1, description="How near to before counts as recovered.")
    bands: str | None = Field(default=None, description="TOML file whose bands replace the default ones.")


class Study(BaseModel):
    """A settings file of a federation."""

    model_config = ConfigDict(extra="forbid")

    version: int = VERSION
    data: Items = Items()
    clients: Population = Population()
    training: Training = Training()
    drift: Drift = Drift()
    watch: Watched = Watched()
    mitigation: Mitigated = Mitigated()
    study: Said = Said()

    @model_validator(mode="after")
    def _fits(self) -> Study:
        """What no key alone can say."""
        unused = self.unused()
        if unused:
            raise ValueError("; ".join(unused))
        return self

    @field_validator("version")
    @classmethod
    def _known(cls, given: int) -> int:
        if given != VERSION:
            raise ValueError(f"settings of version {given}, and this Muster reads version {VERSION}")
        return given

    def unused(self) -> list[str]:
        """Keys that were set and would not be used: an error, not a surprise."""
        found = []
        for part, names, needed, when in _NEEDS:
            given = getattr(self, part).model_fields_set
            found += [
                f"{part}.{n} is set and not used: {needed}" for n in names if n in given and not when(self)
            ]
        return found


def _drifts(study: Study) -> bool:
    return study.drift.drift != NONE and not study.drift.scenario


def _mitigates(study: Study) -> bool:
    return any(name != NONE for name in study.mitigation.mitigation)


def _trims(study: Study) -> bool:
    return "trimmed_mean" in (study.training.strategy, *study.mitigation.mitigation)


_NEEDS: list[tuple[str, tuple[str, ...], str, Callable[[Study], bool]]] = [
    (
        "training", ("hidden",), "only mlp and cnn have a hidden layer",
        lambda s: s.training.learner in {"mlp", "cnn"},
    ),
    (
        "training", ("device",), "only PyTorch has devices",
        lambda s: s.training.learner not in {"mlp", "softmax"},
    ),
    ("training", ("mu",), "only fedprox has it", lambda s: s.training.strategy == "fedprox"),
    ("training", ("beta",), "neither strategy nor mitigation is trimmed_mean", _trims),
    (
        "clients", ("clients", "minimum"), "a natural partition has the clients of the data",
        lambda s: s.clients.partition != "natural",
    ),
    (
        "clients", ("alpha",), "the partition has none",
        lambda s: s.clients.partition in {"dirichlet", "shards", "quantity"},
    ),
    (
        "drift", ("drift_round", "severity", "pattern", "affected"),
        "there is no drift, or a matrix says it", _drifts,
    ),
    (
        "drift", ("second_round", "second_severity", "second_affected"),
        "there is no second drift", lambda s: s.drift.second_drift != NONE,
    ),
    ("drift", ("concepts",), "there is no matrix", lambda s: bool(s.drift.scenario)),
    ("watch", ("sweep",), "there is no one drift whose severity could differ", _drifts),
    ("mitigation", ("trigger", "quorum", "calm", "cool_down"), "nothing is mitigated", _mitigates),
    (
        "mitigation", ("factor",), "no mitigation has a factor",
        lambda s: bool({"cluster", "lr_boost", "recency"} & set(s.mitigation.mitigation)),
    ),
    (
        "watch", ("items", "reference", "columns", "window"), "there is no detector",
        lambda s: bool(s.watch.detectors),
    ),
]  # fmt: skip
