"""Fifty million rows from Parquet: peak memory, and CPU time against DuckDB reading the same columns.

Each side runs in a process of its own, which says what it used when it is done.

    python -m benchmarks.large_files ours|ours_and_auroc|floor FOLDER
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.timing import REPEATS, Figure, cost, memory

ROWS, FILES, UNITS, CLASSES = 50_000_000, 10, 1_000, 10
MEASURES = ("accuracy", "confusion", "macro_f1", "ece", "log_loss")
SCORES = [f"p_{k}" for k in range(CLASSES)]


def run() -> Iterator[Figure]:
    """Make the files, measure, and take them away again."""
    what = f"{ROWS // 10**6} million rows of Parquet"
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        _make(Path(folder))
        least = median(_child("floor", folder)["seconds"] for _ in range(REPEATS))
        for name in ("ours", "ours_and_auroc"):
            runs = [_child(name, folder) for _ in range(REPEATS)]
            seconds, peak = median(r["seconds"] for r in runs), max(r["gigabytes"] for r in runs)
            also = " + auroc" if name != "ours" else ""
            yield cost(f"{what}{also}", seconds, "DuckDB reading the same columns", least, 4)
            yield memory(f"{what}{also}: peak memory", peak, 2)


def ours(folder: str) -> None:
    """The numbers of every unit, but for AUROC."""
    _count(folder, MEASURES)


def ours_and_auroc(folder: str) -> None:
    """AUROC as well, which puts every score into a bin of its class and unit."""
    _count(folder, (*MEASURES, "auroc"))


def _count(folder: str, measures: tuple[str, ...]) -> None:
    import muster

    muster.per_unit(folder, truth="label", unit="unit", scores="p_*", measures=measures)


def floor(folder: str) -> None:
    """Decode every needed column, and do the least that makes DuckDB do it."""
    columns = ", ".join(f"max({name})" for name in ("unit", "label", *SCORES))
    duckdb.sql(f"SELECT {columns} FROM read_parquet('{folder}/*.parquet')").fetchall()


def _make(folder: Path) -> None:
    drawn = ", ".join(
        f"(-ln(random() + 1e-12) + 2.0 * (label = {k})::INT)::FLOAT AS e_{k}" for k in range(CLASSES)
    )
    total = " + ".join(f"e_{k}" for k in range(CLASSES))
    shares = ", ".join(f"(e_{k} / ({total}))::FLOAT AS p_{k}" for k in range(CLASSES))
    keys = f"(random() * {UNITS})::INT % {UNITS} AS unit, (random() * {CLASSES})::INT % {CLASSES} AS label"
    for part in range(FILES):
        rows = f"SELECT *, {drawn} FROM (SELECT {keys} FROM range({ROWS // FILES}))"
        duckdb.sql(
            f"COPY (SELECT unit, label, {shares} FROM ({rows})) TO '{folder}/{part}.parquet' (FORMAT parquet)"
        )


def _child(what: str, folder: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.large_files", what, folder],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    before = time.process_time()
    {"ours": ours, "ours_and_auroc": ours_and_auroc, "floor": floor}[sys.argv[1]](sys.argv[2])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": time.process_time() - before, "gigabytes": peak}))
