"""The command line. The exit code is the gate: 0 ok, 1 breach, 2 usage, 3 bad data, 130 stopped."""

from muster.cli.main import main

__all__ = ["main"]
