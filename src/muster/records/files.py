"""The files of a run's folder, by name: how a run is told from any other folder."""

from __future__ import annotations

MANIFEST, ITEMS, ROUNDS = "manifest.json", "items.parquet", "rounds.parquet"
MORE_FILES = frozenset({"report.html", "figures", "tables", ITEMS, ROUNDS, "gates.xml", "card.md"})
RUN_FILES = frozenset(
    {
        MANIFEST, "run.toml", "tallies.parquet", "estimates.parquet", "units.parquet", "verdicts.json",
        "events.jsonl", "report.md", "report.json",
    }
)  # fmt: skip


def is_run(names: set[str]) -> bool:
    """Are these the names in a run's folder: all that it must hold, and nothing that it may not?

    >>> is_run({"manifest.json", "data.csv"}), is_run(set(RUN_FILES))
    (False, True)
    """
    return RUN_FILES <= names <= RUN_FILES | MORE_FILES
