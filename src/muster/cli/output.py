"""A run, said and kept: to the terminal or as JSON, and in a folder."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from muster.records import Section, Status
from muster.reports import terminal
from muster.reports.run import Run
from muster.store.folder import plain

WIDE = 120


class Pipe(Console):
    """A console that says when nobody reads any more; rich would end with exit code 1, a breach."""

    def on_broken_pipe(self) -> None:
        """Leave it to `unread`."""
        raise BrokenPipeError


@contextmanager
def unread() -> Iterator[None]:
    """Go on when nobody reads the output any more: the exit code still says what was found."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish(run: Run, out: Path | None, *, overwrite: bool, as_json: bool, save: bool = True) -> int:
    """Write the folder, print the report, and give the exit code: 1 when something is in breach."""
    page = run.report(out or named(run.asked["study"]["model"]), overwrite=overwrite) if save else None
    say(run, as_json=as_json)
    if page:
        sys.stderr.write(f"written: {page}\n")
    return int(run.status is Status.BREACH)


def say(run: Run, *, as_json: bool) -> None:
    """Print the report, as JSON or for people."""
    if as_json:
        print_json(run.as_data())
    else:
        print_sections(run.title, run.sections)


def print_json(data: Any) -> None:
    """Print as JSON, undefined numbers as null."""
    with unread():
        sys.stdout.write(json.dumps(plain(data), indent=2, ensure_ascii=False) + "\n")


def print_sections(title: str, sections: Iterable[Section]) -> None:
    """Print to the terminal; a pipe gets lines wide enough for the tables."""
    console = Pipe()
    with unread():
        terminal.show(title, sections, console if console.is_terminal else Pipe(width=WIDE))


def named(model: str) -> Path:
    """A folder named after the time and the model."""
    plain_name = re.sub(r"[^\w.-]+", "-", model)
    return Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{plain_name}"
