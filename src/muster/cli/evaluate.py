"""``muster evaluate`` and ``muster demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from pydantic import BaseModel
from rich.console import Console

from muster.cli.output import finish
from muster.cli.progress import rows_read
from muster.sources import samples
from muster.sources.config import read
from muster.store.folder import refuse
from muster.suites import classification
from muster.suites.classification import Settings, Study
from muster.suites.classification.settings import Data

DEMO: dict[str, Any] = {
    "truth": "digit", "scores": "p_*", "unit": "clinic", "time": "round", "slices": ["scanner"],
    "holdout": ["new-1", "new-2"], "shared": ["test set"], "model": "digits",
}  # fmt: skip


def evaluate(
    *files: str,
    data: Annotated[Data, Parameter(name="*", group="Data")] = Data(),  # noqa: B008
    study: Annotated[Settings, Parameter(name="*", group="Study")] = Settings(),  # noqa: B008
    config: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    save: Annotated[bool, Parameter(negative="--no-save", show_default=False)] = True,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Evaluate a classifier's predictions for every unit.

    Parameters
    ----------
    files
        Files, patterns or folders of predictions: CSV, Parquet, Arrow.
    config
        TOML file with [data] and [study]; flags go before it.
    out
        Folder of the run; runs/TIME-MODEL if not given.
    overwrite
        Replace the run that the folder holds.
    save
        Write the folder.
    json
        Print the report as JSON.
    quiet
        No progress.
    """
    asked = read(config, Study) if config else Study()
    given = {**asked.data.model_dump(), **_set(data), **({"files": list(files)} if files else {})}
    places = given.pop("files")
    if out and save:
        refuse(out, overwrite=overwrite)
    with rows_read(quiet=quiet) as opened:
        run = classification.evaluate(
            places or None, **given, opened=opened, **{**asked.study.model_dump(), **_set(study)}
        )
    return finish(run, out, overwrite=overwrite, as_json=json, save=save)


def demo(*, out: Path = Path("runs/demo"), json: bool = False) -> int:
    """Evaluate the bundled predictions: handwritten digits read at twelve clinics.

    Parameters
    ----------
    out
        Folder of the run; a former one is replaced.
    json
        Print the report as JSON.
    """
    with rows_read(quiet=False) as opened:
        run = classification.evaluate(samples.path("digits"), opened=opened, **DEMO)
    code = finish(run, out, overwrite=True, as_json=json)
    if code:
        said = f"this is a demonstration; muster evaluate would end with exit code {code}"
        Console(stderr=True).print(said, highlight=False)
    return 0


def _set(model: BaseModel) -> dict[str, Any]:
    """What was given by a flag."""
    return {name: getattr(model, name) for name in model.model_fields_set}
