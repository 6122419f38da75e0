"""Where long work stands, on disk: arrays by name, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadData


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Replace the file by these arrays."""
    partial = path.with_name(f".{path.name}.partial-{token_hex(6)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            np.savez(file, **dict(arrays))  # type: ignore[arg-type]
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise BadData(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file; nothing in it is run."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            return dict(found)
    except (OSError, ValueError, BadZipFile) as error:
        raise BadData(f"{path}: no state of a run: {error}") from error
