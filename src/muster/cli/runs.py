"""``muster show`` and ``muster merge``: runs on disk."""

from __future__ import annotations

import sys
from pathlib import Path

from muster.cli.output import finish, say
from muster.cli.progress import steps
from muster.records import Status
from muster.reports.reading import load
from muster.suites import classification


def show(run: Path, *, json: bool = False) -> int:
    """Print the report of a run.

    Parameters
    ----------
    run
        Folder of the run.
    json
        As JSON.
    """
    found = load(run)
    say(found, as_json=json)
    return int(found.status is Status.BREACH)


def report(run: Path, *, out: Path | None = None, overwrite: bool = False, quiet: bool = False) -> int:
    """Write every form of a run's report: page, Markdown, JSON, tables (CSV, LaTeX), figures (SVG, PNG, PDF).

    Parameters
    ----------
    run
        Folder of the run.
    out
        Another folder, to write the run and its report to.
    overwrite
        Replace the run that the other folder holds.
    quiet
        No progress.
    """
    found = load(run)
    if out:
        found.save(out, overwrite=overwrite)
    drawn = sum(len(section.charts) for section in found.sections)
    with steps("figures drawn", drawn, quiet=quiet) as tick:
        page = found.figures(out or run, tick)
    sys.stderr.write(f"written: {page}\n")
    return 0


def merge(*runs: Path, out: Path | None = None, overwrite: bool = False, json: bool = False) -> int:
    """Pool what runs counted, as if all their rows had been read at once.

    Parameters
    ----------
    runs
        Folders of runs of the same classes and measures.
    out
        Folder of the new run.
    overwrite
        Replace the run that the folder holds.
    json
        Print the report as JSON.
    """
    return finish(classification.merge(runs), out, overwrite=overwrite, as_json=json)
