"""Predictions from whatever was given: arrays, a frame, or places on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from muster.errors import BadConfig
from muster.sources.arrays import from_arrays, from_frame
from muster.sources.columns import Columns
from muster.sources.files import from_files
from muster.sources.predictions import Predictions


def read(
    data: Any,
    parts: Mapping[str, Any],
    *,
    model: str = "model",
    classes: Sequence[Any] = (),
    unnormalised: bool = False,
) -> Predictions:
    """Without `data`, `parts` are arrays; with it, they name columns.

    >>> read(None, {"truth": [0, 1], "guess": [0, 0]}).rows
    2
    """
    how: dict[str, Any] = {"model": model, "classes": classes, "unnormalised": unnormalised}
    if data is None:
        if isinstance(parts.get("truth"), str):
            raise BadConfig("what is to be evaluated? give data, or arrays: truth, and guess or scores")
        return from_arrays(**parts, **how)
    named = {part: value for part, value in parts.items() if value is not None}
    wrong = [part for part, value in named.items() if not isinstance(value, str | list | tuple)]
    if wrong:
        raise BadConfig(f"with data given, {', '.join(wrong)} must name columns, not hold values")
    for part in ("scores", "slices"):
        value = named.pop(part, ())
        named[part] = (value,) if isinstance(value, str) else tuple(value)
        strange = [name for name in named[part] if not isinstance(name, str)]
        if strange:
            raise BadConfig(f"{part}: columns are named by text, got {strange[0]!r}")
    reader = from_files if is_place(data) else from_frame
    return reader(data, Columns(**named), **how)


def is_place(data: Any) -> bool:
    """Is it a path, or several?"""
    if isinstance(data, list | tuple):
        return all(isinstance(one, str | Path) for one in data)
    return isinstance(data, str | Path)


def described(data: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as the settings file of the run says it.

    >>> described("a.csv", {"truth": "y", "guess": None})
    {'files': ['a.csv'], 'truth': 'y'}
    """
    if data is None:
        return {"arrays": sorted(part for part, value in parts.items() if value is not None)}
    named = {part: value for part, value in parts.items() if value}
    if not is_place(data):
        return {"frame": type(data).__name__, **named}
    places = data if isinstance(data, list | tuple) else [data]
    many = {part: [named[part]] for part in ("scores", "slices") if isinstance(named.get(part), str)}
    return {"files": [str(place) for place in places], **named, **many}
