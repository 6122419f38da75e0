"""``muster measures`` and ``muster bands``: what is measured, and what is thought of it."""

from __future__ import annotations

from importlib.resources import files

from rich.console import Console
from rich.table import Table

from muster.measures import CATALOG


def measures() -> None:
    """List the measures and their definitions."""
    table = Table("name", "better", "definition", header_style="bold")
    for measure in CATALOG.values():
        table.add_row(measure.name, measure.better, measure.definition)
    Console().print(table)


def bands() -> None:
    """Print the default bands, to be copied and changed."""
    Console().out(
        files("muster.verdicts").joinpath("bands.toml").read_text(encoding="utf-8"), highlight=False
    )
