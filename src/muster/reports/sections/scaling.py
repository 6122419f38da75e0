"""Does one temperature mend the confidences? Before and after, on rows that it was not fitted on."""

from __future__ import annotations

from muster.measures import CATALOG
from muster.records import Callout, Grid, Section, Status
from muster.records.section import Kind
from muster.reports.words import number
from muster.summaries.temperature import JUDGED, Scaling


def scaling_section(found: Scaling) -> Section:
    """What the temperature is, and what it changes."""
    sure = "too sure" if found.temperature > 1 else "not sure enough"
    lead = (
        f"The temperature is {number(found.temperature)}, fitted on {found.fitted_on:,} rows: the model is "
        f"{sure} there. On the {found.judged_on:,} rows it is judged on, ECE goes from "
        f"{number(found.value('ece', 'before'))} to {number(found.value('ece', 'after'))}."
    )
    rows = (
        (CATALOG[name].title, found.value(name, "before"), found.value(name, "after"), CATALOG[name].better)
        for name in JUDGED
    )
    fields: dict[str, Kind] = {"measure": "text", "before": "number", "after": "number", "better": "text"}
    return Section(
        "Does one temperature mend it?",
        lead,
        tuple(Callout(Status.WATCH, f"{note[:1].upper()}{note[1:]}.") for note in found.notes),
        (Grid.of("Before and after", fields, rows),),
        ("Temperature scaling changes how sure the answers are, not which they are.",),
    )
