"""What a report costs: CPU time and size of the page, of the demonstration and of a hundred thousand units.

Each runs in a process of its own, which says what it used when it is done.

    python -m benchmarks.report demo|large|picture
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.timing import REPEATS, Figure, cost, size

UNITS = 100_000
TARGETS = {"demo": ("the page of the demonstration", 4, 2), "large": (f"the page of {UNITS:,} units", 10, 3)}


def run() -> Iterator[Figure]:
    """CPU seconds and megabytes as the targets have them."""
    for name, (what, seconds, megabytes) in TARGETS.items():
        runs = [_child(name) for _ in range(REPEATS)]
        yield cost(what, median(r["seconds"] for r in runs), "a CPU second", 1.0, seconds)
        yield size(f"{what}: size", runs[0]["megabytes"], megabytes)
    yield cost("a chart as PNG, after the first", _child("picture")["seconds"], "a CPU second", 1.0, 0.5)


def demo() -> dict[str, float]:
    """From the run to its page, libraries loaded on the way."""
    import muster
    from muster.cli.evaluate import DEMO
    from muster.sources import samples

    return _page(muster.evaluate(samples.path("digits"), **DEMO))


def large() -> dict[str, float]:
    """The same of many units with long names."""
    import muster

    rng = np.random.default_rng(0)
    names = np.array([f"device-{i:06d}-" + "x" * 180 for i in range(UNITS)], dtype=object)
    truth = rng.integers(0, 2, 10 * UNITS)
    guess = np.where(rng.random(truth.size) < 0.8, truth, 1 - truth)
    return _page(
        muster.evaluate(truth=truth, guess=guess, unit=np.repeat(names, 10), measures=["accuracy"], draws=50)
    )


def picture() -> dict[str, float]:
    """One chart, drawn a second time."""
    import muster
    from muster.cli.evaluate import DEMO
    from muster.reports import charts
    from muster.sources import samples

    found = muster.evaluate(samples.path("digits"), **DEMO, draws=50)
    chart = found.sections[1].charts[0]
    charts.png(chart)
    started = time.process_time()
    charts.png(chart)
    return {"seconds": time.process_time() - started}


def _page(found: object) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        started = time.process_time()
        page = found.report(Path(folder) / "run")  # type: ignore[attr-defined]
        seconds = time.process_time() - started
        return {"seconds": seconds, "megabytes": page.stat().st_size / 1e6}


def _child(what: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.report", what], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps({"demo": demo, "large": large, "picture": picture}[sys.argv[1]]()))
