"""Progress of long work, on stderr: a bar for people, a line now and then for logs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINES, SECONDS = 10, 5.0
WORTH_SAYING = 5_000_000
Tick = Callable[[int], None]


@contextmanager
def rows_read(*, quiet: bool) -> Iterator[Callable[[int], Tick]]:
    """What is told how many rows there are, and gives what is told of each block."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda rows: _lines(console, rows, quiet=quiet)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:

        def opened(rows: int) -> Tick:
            task = bar.add_task("rows counted", total=rows)
            return lambda done: bar.advance(task, done)

        yield opened


@contextmanager
def steps(what: str, total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """What is told the name of each step as it is done."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield (lambda _: None) if quiet else _tenths(console, what, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda name: bar.update(task, advance=1, description=f"{what}: {name}")


def _tenths(console: Console, what: str, total: int) -> Callable[[str], None]:
    """A line at every tenth of the way, if that takes longer than some seconds."""
    done, said = 0, time.monotonic()

    def tick(name: str) -> None:
        nonlocal done, said
        done += 1
        passed = done * LINES // total > (done - 1) * LINES // total
        if passed and time.monotonic() - said >= SECONDS:
            said = time.monotonic()
            console.print(f"{done:,} of {total:,} {what}: {name}", highlight=False)

    return tick


def _lines(console: Console, rows: int, *, quiet: bool) -> Tick:
    read = 0

    def tick(done: int) -> None:
        nonlocal read
        before, read = read, read + done
        passed = read * LINES // max(rows, 1) > before * LINES // max(rows, 1)
        if passed and rows >= WORTH_SAYING and not quiet:
            console.print(f"{read:,} of {rows:,} rows counted", highlight=False)

    return tick
