"""Write the pages of the documentation that follow from the code: measures, indices, bands and settings.

python -m tools.write_docs
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from muster.kernels import inequality
from muster.measures import CATALOG
from muster.records import Measure
from muster.reports.data import schema
from muster.suites.classification.settings import Data, Settings
from muster.suites.federation.settings import Study
from muster.summaries.groups import CRITERIA
from muster.summaries.population import NAMES
from muster.systems.federation.concepts import KINDS
from muster.systems.federation.mitigation import MITIGATIONS
from muster.systems.federation.partition import WAYS
from muster.systems.federation.strategies import (
    STRATEGIES,
)
from muster.systems.federation.watch import DETECTORS
from muster.verdicts.bands import default_bands

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "*Written from the code by `make docs`.*"


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    form = json.dumps(schema(), indent=1) + "\n"
    return {
        "measures.md": measures(), "settings.md": settings(), "federation-settings.md": federation(),
        "report.schema.json": form,
    }  # fmt: skip


def measures() -> str:
    """Every measure and index, and the default bands."""
    return _page(
        "# Measures",
        NOTE,
        "A measure gives one number a unit, or one a class, from sums that add: pooling the sums of units is "
        "counting their rows together. *Chance* is what a model that knows nothing would score. *From noise* "
        "is what a perfectly calibrated model would show with as many rows. What does not occur is "
        "undefined, with its reason, never 0.",
        _table(
            ("name", "definition", "better", "bounds", "chance", "interval", "version"),
            map(_measure, CATALOG.values()),
        ),
        "## Indices of a population",
        "One value a unit in, one number out. Each comes with an interval, with the value expected if all "
        "units were equal (noise alone), and with a p-value. `level` is the pooled value, `share` the "
        "setting `under_share`.",
        _table(("name", "definition"), ((f"`{name}`", _index(name)) for name in NAMES)),
        "## Group fairness",
        "Over the groups of a slicing column, as the difference (largest minus smallest) and the ratio "
        "(smallest over largest) of these rates; where there are two rates, the worse. Of the answer that is "
        "good to get: how often it is given (selection), given to those who deserve it (true positive), to "
        "those who do not (false positive), and deserved when given (precision).",
        _table(("criterion", "rates"), ((f"`{name}`", ", ".join(rates)) for name, rates in CRITERIA.items())),
        "## Default bands",
        "Rules of thumb in circulation, not laws. `muster bands` prints them as a file to copy and change.",
        _table(
            ("of", "band", "units needed", "called"),
            (
                (f"`{summary}` of {measure}", band.words(), str(band.min_units), _labels(band.labels))
                for measure, bands in default_bands().root.items()
                for summary, band in bands.items()
            ),
        ),
    )


def settings() -> str:
    """Every key of a settings file; each is a flag and a keyword too."""
    return _page(
        "# Settings",
        NOTE,
        "A key of a settings file (`--config study.toml`), a flag of `muster evaluate` (with `-` for `_`; "
        "`--slice`, `--measure` and `--class` are repeated), and a keyword of `muster.evaluate`. "
        "Unknown keys are errors.",
        "## [data]",
        _table(("key", "default", "meaning"), _fields(Data)),
        "## [study]",
        _table(("key", "default", "meaning"), _fields(Settings)),
    )


def federation() -> str:
    """Every key of the settings of a federation, and the names that they take."""
    groups = [name for name in Study.model_fields if name != "version"]
    tables = [
        part
        for name in groups
        for part in (f"## [{name}]", _table(("key", "default", "meaning"), _fields(_inner(name))))
    ]
    return _page(
        "# Settings of a federation",
        NOTE,
        "A key of a settings file (`muster federation run --config study.toml`), and a flag (with `-` for "
        "`_`); from Python a mapping of these tables: `muster.federation.simulate({...})`. Keys that are "
        "unknown, or set and not used, are errors. A file may say `version = 1`; other versions are refused.",
        *tables,
        "## Kinds of drift",
        "Severity is above 0 and at most 1; the table says what 1 is.",
        _table(
            ("name", "changes", "of", "severity 1 is"),
            ((f"`{name}`", kind.family, ", ".join(kind.natures), kind.means) for name, kind in KINDS.items()),
        ),
        "Patterns: `sudden`; `gradual` (over 15 rounds more and more of the items are changed); "
        "`incremental` (all of them, more and more); `recurrent` (6 rounds of 12).",
        "## Detectors",
        _table(("name", "what it does"), ((f"`{name}`", text) for name, text in DETECTORS.items())),
        "## Mitigations",
        _table(("name", "what it does"), ((f"`{name}`", text) for name, text in MITIGATIONS.items())),
        "## Strategies and partitions",
        f"Strategies: {', '.join(f'`{name}`' for name in STRATEGIES)}.",
        f"Partitions: {', '.join(f'`{name}`' for name in (*WAYS, 'natural'))}.",
    )


def _inner(name: str) -> type[BaseModel]:
    found = Study.model_fields[name].annotation
    assert isinstance(found, type)
    return found


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
        print(f"written: docs/{name}")


def _measure(measure: Measure) -> Sequence[str]:
    low, high = measure.bounds
    extra = " Exact; its parts are pooled within units only." if not measure.adds else ""
    extra += " The report says how much the bins can lose." if measure.bound else ""
    return (
        f"`{measure.name}`",
        measure.definition + extra,
        measure.better,
        f"{low:g} to {high:g}",
        "yes" if measure.chance else "from noise" if measure.expected else "",
        measure.method or "none",
        str(measure.version),
    )


def _index(name: str) -> str:
    of: Mapping[str, Callable[..., Any]] = {
        **inequality.SPREADS,
        "under": inequality.under,
        "max_deviation": inequality.max_deviation,
        "max_shortfall": inequality.max_shortfall,
    }
    return " ".join((inspect.getdoc(of[name]) or "").partition("\n\n")[0].split()).replace("``", "`")


def _labels(labels: Sequence[tuple[float, str]]) -> str:
    *steps, last = [f"{label} up to {top:g}" for top, label in labels] or [""]
    return ", ".join([*steps, last.partition(" up to ")[0]])


def _fields(model: type[BaseModel]) -> Iterable[Sequence[str]]:
    for name, field in model.model_fields.items():
        default = "" if field.default is None or field.default == [] else f"`{field.default!r}`"
        yield f"`{name}`", default, field.description or ""


def _page(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    main()
