"""Run the benchmarks, all or those named, and print the figures; exit code 1 when a target is missed."""

from __future__ import annotations

import os
import sys

from benchmarks import drift_tests, flower, large_files, merging, population, report, rounds, simulator, units
from benchmarks.timing import REPEATS, Figure

ALL = {
    "units": units.run,
    "merging": merging.run,
    "population": population.run,
    "report": report.run,
    "simulator": simulator.run,
    "flower": flower.run,
    "drift_tests": drift_tests.run,
    "rounds": rounds.run,
    "large_files": large_files.run,
}


def main(names: list[str]) -> int:
    """Print one line a figure as it comes."""
    unknown = set(names) - set(ALL)
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}; known: {', '.join(ALL)}", file=sys.stderr)
        return 2
    print(f"CPU seconds, median of {REPEATS}; {os.cpu_count()} cores\n")
    print(f"{'what':<52}{'ours':>9}  {'peer':<44}{'peer':>9}{'figure':>12}  target")
    figures: list[Figure] = []
    for name in names or ALL:
        for one in ALL[name]():
            figures.append(one)
            print(_line(one), flush=True)
    missed = [one.what for one in figures if one.missed]
    print(
        f"\n{len(figures)} figures, {len(missed)} targets missed"
        + "".join(f"\n  missed: {m}" for m in missed)
    )
    return int(bool(missed))


def _line(one: Figure) -> str:
    figure = f"{one.figure:,.0f}" if one.figure >= 100 else f"{one.figure:.2f}"
    mark = " MISSED" if one.missed else ""
    return (
        f"{one.what:<52}{one.ours:>9.4f}  {one.peer:<44}{one.theirs:>9.4f}{figure:>12}"
        f"  {one.unit} {one.target}{mark}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
