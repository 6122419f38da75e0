"""What really ran: versions, code, machine, data, seed, durations."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FORMAT = 2
LIBRARIES = ("muster-eval", "numpy", "scipy", "duckdb", "nanoarrow", "pydantic")


def manifest(
    *, seed: int, data: Mapping[str, str], seconds: Mapping[str, float], **facts: Any
) -> dict[str, Any]:
    """The record of a run; ``facts`` are what the suite knows: rows, units, classes, notes."""
    return {
        "format": FORMAT,
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}},
        "git": _git(Path.cwd()),
        "host": {"platform": platform.platform(), "machine": platform.machine(), "cores": os.cpu_count()},
        "command": sys.argv,
        "seed": seed,
        "data": dict(data),
        "seconds": {stage: round(spent, 3) for stage, spent in seconds.items()},
        **facts,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git(folder: Path) -> dict[str, Any] | None:
    """The commit of the folder the run was started in, and whether files differ from it."""
    try:
        commit = _said(folder, "rev-parse", "HEAD")
        return {"commit": commit, "changed": bool(_said(folder, "status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _said(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=5, check=True)  # noqa: S603, S607
    return done.stdout.strip()
