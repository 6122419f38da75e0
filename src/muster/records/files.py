"""The files of a run's folder, by name: how a run is told from any other folder."""

from __future__ import annotations

MANIFEST = "manifest.json"
RUN_FILES = frozenset(
    {
        MANIFEST, "run.toml", "tallies.parquet", "estimates.parquet", "units.parquet", "verdicts.json",
        "events.jsonl", "report.md", "report.json",
    }
)  # fmt: skip


def is_run(names: set[str]) -> bool:
    """Are these the names of a run's files, all of them and no other?

    >>> is_run({"manifest.json", "data.csv"}), is_run(set(RUN_FILES))
    (False, True)
    """
    return names == RUN_FILES
