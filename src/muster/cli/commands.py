"""Commands, and what an error looks like: one message on stderr, no traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from cyclopts import App, CycloptsError, Parameter
from pydantic import BaseModel, ValidationError

from muster.cli.calibrate import calibrate
from muster.cli.catalogue import bands, measures
from muster.cli.decide import card, compare, gate
from muster.cli.evaluate import demo, evaluate
from muster.cli.federation import federation
from muster.cli.runs import merge, report, show
from muster.errors import MusterError
from muster.sources.config import problems
from muster.suites.classification import Settings

USAGE = 2
NAMES = {"slices": "slice", "measures": "measure", "classes": "class"}


def _default(value: Any) -> str | None:
    """A default as it is read; nothing, an empty list and "no" need no words."""
    if value is None or value is False or value == []:
        return None
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


app = App(
    name="muster",
    help="Does your model pass muster, for everyone it serves?",
    version=version("muster-eval"),
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(
        negative=(),
        name_transform=lambda name: NAMES.get(name, name.replace("_", "-")),
        show_default=_default,
    ),
)
for command in (evaluate, compare, gate, report, card, show, merge, calibrate, measures, bands, demo):
    app.command(command)
app.command(federation)


def run(words: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code."""
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        return _say(_usage(error), USAGE)
    except MusterError as error:
        return _say(str(error), error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _say(f"the output cannot be written: {error.strerror}", MusterError.exit_code)
    return int(code or 0)


def _say(text: str, code: int) -> int:
    sys.stderr.write(f"muster: {text}\n")
    return code


def _usage(error: CycloptsError) -> str:
    """What is wrong with the flags, in the words that a settings file gets."""
    cause = error.__cause__
    model: type[BaseModel] = Settings
    return problems(cause, model, "flags") if isinstance(cause, ValidationError) else str(error)
