"""A finished run: what was found, and the ways to keep and to show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from muster.kernels.codes import natural
from muster.records import (
    ITEMS,
    MANIFEST,
    ROUNDS,
    Block,
    Estimate,
    Finding,
    Section,
    Status,
    Table,
    Verdict,
    spell,
)
from muster.reports import markdown, terminal
from muster.reports.data import as_data, verdicts_as_data
from muster.store.folder import added, new_folder, write_json, write_lines, write_toml
from muster.store.parquet import write_table
from muster.summaries.estimates import NUMBERS
from muster.summaries.underserved import Units


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Run:
    """``estimates`` has every number, ``units`` one row a unit, ``verdicts`` what is said of them."""

    title: str
    asked: Mapping[str, Any]
    manifest: Mapping[str, Any]
    tallies: Block
    estimates: Table
    units: Units
    findings: Sequence[Finding]
    verdicts: Sequence[Verdict]
    sections: Sequence[Section]
    events: Sequence[Mapping[str, Any]] = ()
    items: Table | None = None
    rounds: Table | None = None

    @property
    def status(self) -> Status:
        """The gravest verdict."""
        order = list(Status)
        return min((verdict.status for verdict in self.verdicts), key=order.index, default=Status.UNKNOWN)

    def estimate(self, measure: str, summary: str = "per_sample", part: str = "") -> Estimate:
        """One estimate of the population at the last time: of a measure, under the name of its summary."""
        found = self.estimates
        rows = (found["measure"] == measure) & (found["summary"] == summary) & (found["part"] == part)
        rows &= (found["unit"] == "") & (found["slice"] == "")
        if not rows.any():
            raise LookupError(f"no {summary} of {measure}; see run.estimates")
        rows &= found["time"] == natural(found["time"][rows].tolist())[-1]
        row = next(found.where(rows).rows())
        level = self.asked["study"]["level"]
        return Estimate(level=level, **{name: value for name, value in row.items() if name in NUMBERS})

    def value(self, measure: str, summary: str = "per_sample", part: str = "") -> float:
        """The value of that estimate alone."""
        return self.estimate(measure, summary, part).value

    def show(self) -> None:
        """Print the report to the terminal."""
        terminal.show(self.title, self.sections, Console())

    def save(self, path: str | Path, *, overwrite: bool = False, page: bool = False) -> Path:
        """Write the run's folder: whole, or not at all; with `page`, ``report.html`` too."""
        with new_folder(path, overwrite=overwrite) as folder:
            write_toml(folder / "run.toml", self.asked)
            write_json(folder / MANIFEST, self.manifest)
            write_table(folder / "tallies.parquet", spell(self.tallies))
            write_table(folder / "estimates.parquet", self.estimates)
            write_table(folder / "units.parquet", self.units)
            write_json(folder / "verdicts.json", verdicts_as_data(self.verdicts))
            write_lines(folder / "events.jsonl", self.events)
            (folder / "report.md").write_text(markdown.render(self.title, self.sections), encoding="utf-8")
            write_json(folder / "report.json", self.as_data())
            for name, table in ((ITEMS, self.items), (ROUNDS, self.rounds)):
                if table is not None:
                    write_table(folder / name, table)
            if page:
                _pages().write_page(self, folder)
        return Path(path)

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run's folder with its page, and give the path of the page."""
        return self.save(path, overwrite=overwrite, page=True) / "report.html"

    def figures(self, path: str | Path, tick: Callable[[str], None] | None = None) -> Path:
        """Write every form of the report into the folder of the run: page, tables, figures."""
        with added(path) as folder:
            _pages().write_all(self, folder, tick)
        return Path(path) / "report.html"

    def as_data(self) -> dict[str, Any]:
        """The report as plain lists and dictionaries."""
        return as_data(self.title, self.sections, self.verdicts, self.findings)

    def __repr__(self) -> str:
        counts = {status: sum(verdict.status is status for verdict in self.verdicts) for status in Status}
        said = ", ".join(f"{count} {status.value}" for status, count in counts.items() if count)
        return f"<{self.title}: {said}. {self.sections[0].lead if self.sections else ''}>"


def _pages() -> Any:
    """Loaded when a page is written: drawing costs a CPU second to load."""
    return import_module("muster.reports.pages")
