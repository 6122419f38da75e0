"""The files of a report beside its Markdown: the page, tables for programs and papers, figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from muster.records import Status
from muster.reports import charts, html, markdown
from muster.reports.run import Run
from muster.reports.tables import grid_csv, grid_latex, table_csv

Tick = Callable[[str], None]


def write_page(run: Run, folder: Path) -> None:
    """``report.html``, and the table of all units that it points to."""
    counts = {status: sum(v.status is status for v in run.verdicts) for status in Status}
    said = ", ".join(f"{count} {status.value}" for status, count in counts.items() if count)
    page = html.render(run.title, run.sections, run.status, said, footer(run))
    (folder / "report.html").write_text(page, encoding="utf-8")
    (folder / "tables").mkdir()
    (folder / "tables" / "units.csv").write_text(table_csv(run.units), encoding="utf-8")


def write_all(run: Run, folder: Path, tick: Tick | None = None) -> None:
    """The page, Markdown with pictures, every table as CSV and LaTeX, every chart as SVG, PNG and PDF."""
    write_page(run, folder)
    text = markdown.render(run.title, run.sections, pictures=True)
    (folder / "report.md").write_text(text, encoding="utf-8")
    for section in run.sections:
        for grid in section.grids:
            (folder / "tables" / f"{grid.name}.csv").write_text(grid_csv(grid), encoding="utf-8")
            (folder / "tables" / f"{grid.name}.tex").write_text(grid_latex(grid), encoding="utf-8")
    (folder / "figures").mkdir()
    for chart in (chart for section in run.sections for chart in section.charts):
        place = folder / "figures" / chart.name
        place.with_suffix(".svg").write_text(charts.svg(chart), encoding="utf-8")
        place.with_suffix(".png").write_bytes(charts.png(chart))
        place.with_suffix(".pdf").write_bytes(charts.pdf(chart))
        if tick:
            tick(chart.title)


def footer(run: Run) -> str:
    """What made the page: so that it can be made again."""
    versions, marks = run.manifest.get("versions", {}), run.manifest.get("data", {})
    mark = next(iter(marks.values()), "")
    made = f"Muster {versions.get('muster-eval')} on Python {versions.get('python')}"
    data = f"{mark[:24]}{'...' if len(mark) > 24 else ''}"
    return f"{made}; seed {run.manifest.get('seed')}; data {data}. No request leaves this page."
