"""The command line. The exit code is the gate: 0 ok, 1 breach, 2 usage, 3 bad data, 130 stopped."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

__all__ = ["main"]

STOPPED, DEFECT = 130, 70


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code; the commands are loaded here, so that Ctrl-C is met early."""
    try:
        code: int = import_module("muster.cli.commands").run(words)
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        sys.stderr.write("muster: this is a defect of Muster, not of what was given; please report it\n")
        code = DEFECT
    except KeyboardInterrupt:
        sys.stderr.write("muster: stopped; nothing half-written is left\n")
        return STOPPED
    return code
