"""Every error Muster raises on purpose, each with the exit code of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class MusterError(Exception):
    """Catch this to catch them all."""

    exit_code = 3


class BadData(MusterError, ValueError):
    """The data is not what it was said to be: which file, row, unit, and what was expected."""


class BadConfig(MusterError, ValueError):
    """A setting that is unknown, missing or out of range; all problems of a file are said at once."""

    exit_code = 2


class BadRecord(MusterError, ValueError):
    """A table or array does not have the promised shape."""


class UnknownName(MusterError, KeyError):
    """A name that is not in a closed list."""

    exit_code = 2

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no {what} {name!r}{nearest(name, known)}; known: {', '.join(sorted(known))}")

    def __str__(self) -> str:
        return str(self.args[0])


class MissingExtra(MusterError, ImportError):
    """An optional library is not installed."""

    exit_code = 2


@contextmanager
def interruptible() -> Iterator[None]:
    """DuckDB says in an error of its own that Ctrl-C was pressed: let it be what it is."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def nearest(name: str, known: Iterable[str]) -> str:
    """The words that suggest a near name, or nothing.

    >>> nearest("acuracy", ["accuracy", "recall"])
    "; did you mean 'accuracy'?"
    >>> nearest("zebra", ["accuracy"])
    ''
    """
    near = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
