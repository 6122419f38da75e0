"""A finished run: what was found, and the ways to keep and to show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.records import Block, Estimate, Finding, Section, Status, Table, Verdict, spell
from muster.reports import markdown
from muster.reports.data import as_data, verdicts_as_data
from muster.store.folder import MANIFEST, new_folder, write_json, write_lines, write_toml
from muster.store.parquet import write_table
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
    population: Sequence[Estimate]
    findings: Sequence[Finding]
    verdicts: Sequence[Verdict]
    sections: Sequence[Section]
    events: Sequence[Mapping[str, Any]] = ()

    @property
    def status(self) -> Status:
        """The gravest verdict."""
        order = list(Status)
        return min((verdict.status for verdict in self.verdicts), key=order.index, default=Status.UNKNOWN)

    def value(self, measure: str, summary: str = "per_sample", part: str = "") -> float:
        """One number of the population at the last time."""
        found = self.estimates
        rows = (found["measure"] == measure) & (found["summary"] == summary) & (found["part"] == part)
        rows &= (found["unit"] == "") & (found["slice"] == "")
        values = found["value"][rows]
        if not len(values):
            raise LookupError(f"no {summary} of {measure}; see run.estimates")
        return float(values[-1])

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run's folder: whole, or not at all."""
        with new_folder(path, overwrite=overwrite) as folder:
            write_toml(folder / "run.toml", self.asked)
            write_json(folder / MANIFEST, self.manifest)
            write_table(folder / "tallies.parquet", spell(self.tallies))
            write_table(folder / "estimates.parquet", self.estimates)
            write_table(folder / "units.parquet", self.units)
            write_json(folder / "verdicts.json", verdicts_as_data(self.verdicts))
            write_lines(folder / "events.jsonl", list(self.events))
            self._write_reports(folder)
        return Path(path)

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run's folder and give the path of its report."""
        return self.save(path, overwrite=overwrite) / "report.md"

    def _write_reports(self, folder: Path) -> None:
        (folder / "report.md").write_text(markdown.render(self.title, self.sections), encoding="utf-8")
        write_json(folder / "report.json", as_data(self.title, self.sections, self.verdicts, self.findings))

    def __repr__(self) -> str:
        counts = {status: sum(verdict.status is status for verdict in self.verdicts) for status in Status}
        said = ", ".join(f"{count} {status.value}" for status, count in counts.items() if count)
        lead = self.sections[0].lead if self.sections else ""
        return f"<Run {self.title}: {said}\n{lead}>"
