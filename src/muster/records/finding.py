"""A diagnosis: what kind of problem, whose, in words, and the numbers it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "at_chance",
    "equal_within_noise",
    "one_bad_unit",
    "one_good_unit",
    "uneven",
    "small_units",
    "difficult_slice",
    "difficult_class",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``data`` holds the numbers that the sentence names."""

    kind: Kind
    subject: str
    text: str
    data: Mapping[str, float] = field(default_factory=dict)
