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
from muster.summaries.groups import CRITERIA
from muster.summaries.population import NAMES
from muster.verdicts.bands import default_bands

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "*Written from the code by `make docs`.*"


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    form = json.dumps(schema(), indent=1) + "\n"
    return {"measures.md": measures(), "settings.md": settings(), "report.schema.json": form}


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
