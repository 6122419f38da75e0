"""A model card: what is known of a model is filled in, what only its author knows is left to be written."""

from __future__ import annotations

from collections.abc import Sequence

from muster.measures import CATALOG
from muster.records import Status
from muster.reports.markdown import escape
from muster.reports.run import Run
from muster.reports.words import interval, number

TO_WRITE = "*To be written by the author:* "
KINDS = {
    "global": "shared test set",
    "per_sample": "per sample",
    "per_unit": "per unit",
    "holdout_per_sample": "hold-out units, per sample",
    "worst_tenth": "mean of the worst tenth",
    "min": "worst unit",
}


def render(run: Run) -> str:
    """Markdown after Mitchell et al. (2019), every number with its interval and what stands behind it."""
    limits = [f"- Not known: {what}." for section in run.sections for what in section.unknown]
    said = [f"- **{v.status.value}** {escape(v.subject)}: {escape(v.why)}" for v in run.verdicts]
    made = (
        f"Muster {run.manifest['versions']['muster-eval']}, seed {run.manifest['seed']}; "
        f"{run.manifest['rows']:,} rows, {len(run.units):,} units, {len(run.manifest['classes'])} classes."
    )
    parts = {
        "Intended use": f"{TO_WRITE}what the model is for, who uses it, and what it must not be used for.",
        "Data": f"{_data(run)}\n\n{TO_WRITE}where the rows come from, when, and whom they leave out.",
        "Quality": f"{_kinds(run)}\n\n{_measures(run)}",
        "For whom it is not good": _findings(run),
        "Verdicts": "\n".join(said),
        "Limits": "\n".join(limits) + f"\n\n{TO_WRITE}what an error costs and whom it harms; whom to ask.",
        "How this was made": made,
    }
    text = "\n\n".join(f"## {title}\n\n{part}" for title, part in parts.items())
    return f"# Model card: {escape(run.asked['study']['model'])}\n\n{text}\n"


def _data(run: Run) -> str:
    classes = run.manifest["classes"]
    named = ", ".join(escape(name) for name in classes[:12]) + (" ..." if len(classes) > 12 else "")
    marks = "\n".join(f"- `{escape(name)}`: `{mark}`" for name, mark in run.manifest["data"].items())
    return f"{run.manifest['rows']:,} rows of {len(run.units):,} units; classes: {named}.\n\n{marks}".rstrip()


def _kinds(run: Run) -> str:
    table = run.estimates
    chosen = (table["measure"] == "accuracy") & (table["unit"] == "") & (table["slice"] == "")
    named = set(table["summary"][chosen & (table["part"] == "")].tolist())
    found = [(words, run.estimate("accuracy", name)) for name, words in KINDS.items() if name in named]
    lines = [
        [words, number(e.value), interval(e.low, e.high), f"{e.n:,}", f"{e.units:,}"] for words, e in found
    ]
    return _table(["accuracy", "value", "interval", "rows", "units"], lines)


def _measures(run: Run) -> str:
    lines = []
    for measure in (CATALOG[name] for name in run.manifest["measures"]):
        if measure.shape == "unit":
            e = run.estimate(measure.name)
            span, chance = interval(e.low, e.high), number(e.chance)
            lines.append([measure.title, number(e.value), span, chance, f"{e.n:,}"])
    return _table(["measure", "value", "interval", "at chance", "rows"], lines)


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rules = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, rules, *lines])


def _findings(run: Run) -> str:
    said = [f"- {escape(finding.text)}" for finding in run.findings]
    bad = run.units.where(run.units["finding"] == "under-served")
    said += [
        f"- {escape(str(r['unit']))}: {number(r['accuracy'])} {interval(r['low'], r['high'])}, {r['n']} rows."
        for r in bad.rows()
    ]
    unknown = sum(verdict.status is Status.UNKNOWN for verdict in run.verdicts)
    said.append(f"- {unknown} of {len(run.verdicts)} verdicts are unknown: there is too little evidence.")
    return "\n".join(said)
