"""A run's folder: written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from muster.errors import BadData
from muster.records import is_run


@contextmanager
def new_folder(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder to fill, that appears under its name only when everything in it is on disk.

    On any failure, and on Ctrl-C, nothing is left behind.
    """
    target = Path(path)
    refuse(target, overwrite=overwrite)
    partial = target.with_name(f".{target.name}.partial-{token_hex(6)}")
    try:
        partial.mkdir(parents=True)
        yield partial
        _settle(partial)
        _replace(partial, target)
    except OSError as error:
        raise BadData(
            f"{target}: cannot be written: {error.strerror or error}; nothing was left behind"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def added(path: str | Path) -> Iterator[Path]:
    """A folder to fill, whose files then take their places in a folder that is there, one by one."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.partial-{token_hex(6)}")
    try:
        partial.mkdir()
        yield partial
        _settle(partial)
        for file in sorted(partial.rglob("*")):
            place = target / file.relative_to(partial)
            place.mkdir(exist_ok=True) if file.is_dir() else file.replace(place)
    except OSError as error:
        raise BadData(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def refuse(path: str | Path, *, overwrite: bool = False) -> None:
    """Say so if a run cannot be written here: better before the work than after it."""
    target = Path(path)
    names = {file.name for file in target.iterdir()} if target.is_dir() else set()
    if target.is_dir() and not names:
        return
    if target.exists() and not (overwrite and is_run(names)):
        hint = "choose another name, or overwrite it"
        if not is_run(names):
            hint = "it is not a run, or holds other files too"
        raise BadData(f"{target} is there already; {hint}")


def write_json(path: Path, data: Any) -> None:
    """Readable JSON; an undefined number is null."""
    path.write_text(
        json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line."""
    lines = (json.dumps(plain(row), ensure_ascii=False, allow_nan=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_toml(path: Path, data: Mapping[str, Any]) -> None:
    """What was asked, as TOML; what was not set is left out."""
    scalars = [f"{key} = {_toml(value)}" for key, value in data.items() if not isinstance(value, Mapping)]
    tables = [
        "\n".join([f"\n[{key}]", *(f"{name} = {_toml(v)}" for name, v in value.items() if v is not None)])
        for key, value in data.items()
        if isinstance(value, Mapping)
    ]
    path.write_text("\n".join([*scalars, *tables]) + "\n", encoding="utf-8")


def plain(data: Any) -> Any:
    """Only what JSON knows: numbers of NumPy become Python's, ``nan`` and infinities become null."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if hasattr(data, "tolist"):
        return plain(data.tolist())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data if isinstance(data, str | int | float | bool) or data is None else str(data)


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    return json.dumps(plain(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _settle(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb") as data:
                os.fsync(data.fileno())


def _replace(partial: Path, target: Path) -> None:
    if not target.exists():
        partial.rename(target)
        return
    old = target.with_name(f".{target.name}.old-{token_hex(6)}")
    target.rename(old)
    partial.rename(target)
    shutil.rmtree(old, ignore_errors=True)
