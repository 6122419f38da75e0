"""``muster compare``, ``muster gate`` and ``muster card``."""

from __future__ import annotations

import sys
from glob import glob
from pathlib import Path
from typing import Any, Literal

from rich.text import Text

from muster.cli.output import Pipe, finish, print_json, unread
from muster.errors import BadData
from muster.records import MANIFEST, Status
from muster.reports import card as cards
from muster.reports import junit
from muster.reports.data import verdicts_as_data
from muster.reports.reading import load, read_json
from muster.reports.terminal import STYLES
from muster.store.folder import added, write_json
from muster.suites import classification
from muster.suites.classification.compare import DRAWS, MARGIN

INCONCLUSIVE = 4
CODES = {Status.OK: 0, Status.BREACH: 1, Status.UNKNOWN: INCONCLUSIVE}
GATE = "gate"


def compare(
    before: str,
    after: str,
    *,
    margin: float = MARGIN,
    level: float | None = None,
    units: Literal["sampled", "fixed"] | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    json: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> int:
    """Compare two runs over the same units and, where they named them, the same items.

    Parameters
    ----------
    before
        Folder of a run, or a pattern of several, such as repeated seeds, in order of name.
    after
        Folder of the run, or the runs, to hold against it.
    margin
        How much less accurate the second may be.
    level
        Confidence of the intervals; that of the first run if not given.
    units
        Are the units a sample of more to come, or all there are? As the runs say, if not given.
    out
        Folder of the comparison; runs/TIME-MODEL if not given.
    overwrite
        Replace the run that the folder holds.
    json
        Print the report as JSON.
    draws
        Populations to redraw.
    seed
        Seed of the redrawing.
    """
    asked = {name: value for name, value in (("level", level), ("units", units)) if value is not None}
    how: dict[str, Any] = {"margin": margin, "draws": draws, "seed": seed, **asked}
    run = classification.compare(_runs(before), _runs(after), **how)
    return finish(run, out, overwrite=overwrite, as_json=json)


def gate(run: Path, *, against: Path | None = None, policy: Path | None = None, json: bool = False) -> int:
    """Hold a run against rules: exit code 0 if all pass, 1 if one fails, 4 if it cannot be told.

    Parameters
    ----------
    run
        Folder of the run.
    against
        Folder of another run, for rules that compare.
    policy
        TOML file of rules; those that ship with Muster if not given.
    json
        Print the verdicts as JSON.
    """
    found = classification.gate(run, against, policy)
    data = verdicts_as_data(found.verdicts)
    _record(run, data, junit.render(f"muster gate {run}", found.verdicts))
    if json:
        print_json(data)
    else:
        with unread():
            for verdict in found.verdicts:
                said = Text(f"{verdict.label:<13}", style=STYLES[verdict.status])
                Pipe(soft_wrap=True).print(Text.assemble(said, f"{verdict.band}: {verdict.why}"))
    return CODES[found.status]


def card(run: Path) -> int:
    """Write a model card from a run: its numbers filled in, the rest to be written by the author.

    Parameters
    ----------
    run
        Folder of the run; the card is card.md in it.
    """
    found = load(run)
    if found.manifest.get("kind") == "comparison":
        raise BadData(f"{run}: a comparison has no card: give the run of one model")
    made = cards.render(found)
    with added(run) as folder:
        (folder / "card.md").write_text(made, encoding="utf-8")
    sys.stderr.write(f"written: {run / 'card.md'}\n")
    return 0


def _runs(place: str) -> list[str | Path]:
    """A run, or all runs that a pattern names, in order of name."""
    if (Path(place) / MANIFEST).is_file() or not glob(place):
        return [place]
    found = sorted(name for name in glob(place) if (Path(name) / MANIFEST).is_file())
    if not found:
        raise BadData(f"{place}: no run in {', '.join(sorted(glob(place))[:4])}")
    return list(found)


def _record(run: Path, data: list[dict[str, object]], xml: str) -> None:
    """The verdicts of the gate in the run's list, in the place of those of a former gate."""
    held = read_json(run / "verdicts.json")
    if not isinstance(held, list) or not all(isinstance(one, dict) for one in held):
        raise BadData(f"{run / 'verdicts.json'}: not a list of verdicts")
    kept = [verdict for verdict in held if verdict.get("subject") != GATE]
    with added(run) as folder:
        write_json(folder / "verdicts.json", [*kept, *data])
        (folder / "gates.xml").write_text(xml, encoding="utf-8")
