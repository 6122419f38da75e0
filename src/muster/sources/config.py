"""Settings from TOML: strict, and all problems at once, each with its line and what is near."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, RootModel, ValidationError

from muster.errors import BadConfig, nearest

Model = TypeVar("Model", bound=BaseModel)
Where = tuple[int | str, ...]


def read(path: str | Path, model: type[Model]) -> Model:
    """The settings of a file, checked."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadConfig(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadConfig(f"{file}: not UTF-8: {error.reason} at byte {error.start}") from error
    return parse(text, model, str(file))


def parse(text: str, model: type[Model], name: str = "settings") -> Model:
    """The settings of a text, checked.

    >>> from pydantic import BaseModel, ConfigDict
    >>> class Study(BaseModel):
    ...     model_config = ConfigDict(extra="forbid", strict=True)
    ...     seed: int = 0
    >>> parse("sead = 1", Study)
    Traceback (most recent call last):
    ...
    muster.errors.BadConfig: settings: 1 problem
      line 1: unknown key 'sead'; did you mean 'seed'?
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{name}: not TOML: {error}") from error
    return checked(raw, model, name, text)


def checked(raw: Any, model: type[Model], name: str = "settings", text: str = "") -> Model:
    """The settings of a mapping, checked; types are taken at their word, "3" is not a number."""
    try:
        return model.model_validate(_plain(raw), strict=True)
    except ValidationError as error:
        raise BadConfig(problems(error, model, name, text)) from error


def _plain(raw: Any) -> Any:
    """Numbers of NumPy as Python's; tuples as lists."""
    if isinstance(raw, Mapping):
        return {key: _plain(value) for key, value in raw.items()}
    if isinstance(raw, list | tuple):
        return [_plain(value) for value in raw]
    return raw.tolist() if hasattr(raw, "tolist") else raw


def problems(error: ValidationError, model: type[BaseModel], name: str = "settings", text: str = "") -> str:
    """All that is wrong, one line each; with the text, the lines it stands on."""
    found = [_problem(one, text, model) for one in error.errors(include_url=False)]
    counted = f"{len(found)} problem{'s' if len(found) > 1 else ''}"
    return "\n  ".join([f"{name}: {counted}", *found])


def _problem(found: Mapping[str, Any], text: str, model: type[BaseModel]) -> str:
    where: Where = found["loc"]
    line = _line(where, text)
    place = f"line {line}: " if line else ""
    if found["type"] == "extra_forbidden":
        key = str(where[-1])
        return f"{place}unknown key {_dotted(where)!r}{nearest(key, _known(model, where[:-1]))}"
    if found["type"] == "missing":
        return f"{place}missing key {_dotted(where)!r}"
    got = found["input"]
    said = f" (got {got!r})" if isinstance(got, str | int | float | bool) else ""
    message = str(found["msg"]).removeprefix("Value error, ")
    named = f"{_dotted(where)}: " if where else ""
    return f"{place}{named}{message[:1].lower()}{message[1:]}{said if found['type'] != 'value_error' else ''}"


def _dotted(where: Where) -> str:
    """A place as it is written: bands[0].watch."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")


def _known(model: Any, where: Where) -> list[str]:
    """The keys that a table of the settings may hold; of tables under names of one's own, those of each."""
    if issubclass(model, RootModel):
        model = _model_in(model.model_fields["root"].annotation)
    for part in where:
        if model and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation)
    return list(model.model_fields) if model else []


def _model_in(annotation: Any) -> Any:
    """The settings model that a type holds, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(part) for part in getattr(annotation, "__args__", ()))
    return next((found for found in inner if found), None)


def _line(where: Where, text: str) -> int:
    """The line on which a key stands, or its nearest table; 0 when there is none."""
    wanted = [str(part) for part in where if isinstance(part, str)]
    index = next((part for part in where if isinstance(part, int)), 0)
    table: list[str] = []
    seen: dict[str, int] = {}
    best, length = 0, 0
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line)
        if header:
            table = [part.strip().strip("\"'") for part in header.group(2).split(".")]
            if header.group(1) == "[[":
                seen[header.group(2)] = seen.get(header.group(2), -1) + 1
                if seen[header.group(2)] != index:
                    table = ["", *table]
            path = table
        else:
            key = re.match(r"\s*([^=#\s]+)\s*=", line)
            path = [*table, *(part.strip("\"'") for part in key.group(1).split("."))] if key else []
        if path and path == wanted[: len(path)] and len(path) > length:
            best, length = number, len(path)
    return best
