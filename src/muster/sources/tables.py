"""A table with a column of classes: its other columns, or its text, to items to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadConfig, BadData, nearest
from muster.kernels.types import Floats
from muster.records import Column, Features, Samples
from muster.sources.contents import NOTHING, names, numbers
from muster.sources.logs import is_number
from muster.sources.opened import Opened, open_table
from muster.sources.places import Place, expand, quoted, quoted_text
from muster.sources.words import hashed

LABELS = ("label", "class")
TEXT = "text"


def from_table(
    place: Place, *, label: str | None, text: str | None, unit: str | None, missing: str | None
) -> Samples:
    """From CSV, Parquet or Arrow: text where there is a column of text, else all columns of numbers."""
    source = open_table(expand(place), [name for name in (label, text, unit) if name is not None])
    label, text = _roles(source, label, text, unit)
    y, classes = _classes(source.what, label, source.column(label))
    x = _texts(source, text) if text else _features(source, {label, unit}, missing)
    return Samples(
        name=Path(place).stem,
        nature="text" if text else "table",
        x=x,
        y=y,
        classes=classes,
        unit=_units(source, unit) if unit else None,
    )


def standardised(values: Floats) -> Features:
    """Each column with mean 0 and standard deviation 1 (of all rows); a constant one is 0.

    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    varies = values.max(axis=0) > values.min(axis=0)
    centred = values - values.mean(axis=0)
    spread = np.where(varies, centred.std(axis=0), 1.0)
    return np.asarray(np.where(varies, centred / spread, 0.0), np.float32)


def _roles(source: Opened, label: str | None, text: str | None, unit: str | None) -> tuple[str, str | None]:
    """The column of the classes and, if there is one, of the text."""
    there = list(source.types)
    if label is None:
        usual = [name for name in LABELS if name in there]
        if len(usual) != 1:
            found = "both 'label' and 'class' are" if usual else "neither 'label' nor 'class' is"
            raise BadData(
                f"{source.what}: which column is the class (label=)? {found} there; "
                f"there are: {', '.join(there)}"
            )
        label = usual[0]
    if text is None and TEXT in there and TEXT not in {label, unit} and source.types[TEXT] == "VARCHAR":
        text = TEXT
    parts = {"label": label, "text": text, "unit": unit}
    for part, name in parts.items():
        if name is not None and name not in there:
            near = nearest(name, there)
            raise BadData(f"{source.what}: no column {name!r} ({part}){near}; there are: {', '.join(there)}")
    given = [name for name in parts.values() if name is not None]
    if len(set(given)) < len(given):
        raise BadConfig(f"{source.what}: label, text and unit must be different columns, got {given}")
    return label, text


def _classes(what: str, name: str, column: Column) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Numbers of the classes, and their names in order; 1.0 is 1."""
    codes, levels = names(column)
    _refuse_missing(what, name, codes < 0)
    values, wrong = numbers(levels)
    if not wrong.size:
        _refuse_missing(what, name, np.isnan(values)[codes])
        if (values != np.rint(values)).any():
            raise BadData(f"{what}: column {name!r} holds numbers like {levels[0]!r}, which are no classes")
        whole, place = np.unique(values.astype(np.int64), return_inverse=True)
        codes, levels = place[codes], whole
    if len(levels) < 2 or len(levels) == len(codes) > 2:
        found = f"only one class, {levels[0]}" if len(levels) < 2 else "a class of its own for each row"
        raise BadData(f"{what}: column {name!r} (label) has {found}")
    return codes.astype(np.int64), tuple(map(str, levels.tolist()))


def _units(source: Opened, name: str) -> Column:
    codes, levels = names(source.column(name))
    _refuse_missing(source.what, name, codes < 0)
    return np.asarray(levels[codes])


def _texts(source: Opened, name: str) -> Features:
    column = source.fetch({name: f"{quoted(name)}::VARCHAR AS {quoted(name)}"})[name]
    texts = column.tolist()
    _refuse_missing(source.what, name, np.array([text is None for text in texts]))
    return hashed(texts)


def _refuse_missing(what: str, name: str, absent: NDArray[np.bool_]) -> None:
    if absent.any():
        raise BadData(
            f"{what}: column {name!r} has no value in {absent.sum()} of {absent.size} rows; "
            f"the first is row {absent.argmax()}"
        )


def _features(source: Opened, aside: set[str | None], missing: str | None) -> Features:
    """All other columns, as numbers."""
    chosen = [name for name in source.types if name not in aside]
    if not chosen:
        raise BadData(f"{source.what}: no column is left for the features")
    _refuse_texts(source, chosen)
    columns = source.fetch({name: f"{_number(source, name)} AS {quoted(name)}" for name in chosen})
    values = np.stack([np.asarray(columns[name], float) for name in chosen], axis=1)
    infinite = [name for name, found in zip(chosen, np.isinf(values).any(axis=0), strict=True) if found]
    if infinite:
        raise BadData(f"{source.what}: infinite numbers in {_named(infinite)}")
    return standardised(_filled(source.what, chosen, values, missing))


def _filled(what: str, chosen: Sequence[str], values: Floats, missing: str | None) -> Floats:
    """With the mean of the column for each missing number, if that was asked for."""
    absent = np.isnan(values)
    counts = dict(zip(chosen, absent.sum(axis=0).tolist(), strict=True))
    never = [name for name, count in counts.items() if count == len(values)]
    if never:
        raise BadData(f"{what}: no number at all in {_named(never)}; leave such columns out")
    if absent.any() and missing is None:
        said = ", ".join(f"{name!r} {count}" for name, count in counts.items() if count)
        raise BadData(
            f"{what}: numbers are missing (of {len(values)} rows): {said}; "
            "missing='mean' puts the mean of the column in their place"
        )
    return np.where(absent, np.nanmean(values, axis=0), values) if absent.any() else values


def _refuse_texts(source: Opened, chosen: Sequence[str]) -> None:
    """Columns that hold anything but numbers are named, each with an example."""
    nothing = ", ".join(map(quoted_text, sorted(NOTHING)))
    asked: dict[str, Any] = {}
    for name in [name for name in chosen if not is_number(source.types[name])]:
        text = f"trim({quoted(name)}::VARCHAR)"
        wrong = f"{_number(source, name)} IS NULL AND lower({text}) NOT IN ({nothing})"
        asked[name] = f"first({text}) FILTER ({wrong}) AS {quoted(name)}"
    found = {name: column.tolist()[0] for name, column in source.fetch(asked).items()} if asked else {}
    texts = [f"{name!r} ({value!r})" for name, value in found.items() if isinstance(value, str)]
    if texts:
        raise BadData(
            f"{source.what}: features are numbers, and these columns hold something else: "
            f"{', '.join(texts)}; name them as text or unit, or leave them out"
        )


def _number(source: Opened, name: str) -> str:
    """A column as numbers: true is 1, and what cannot be read as a number is NULL."""
    column, type_ = quoted(name), source.types[name]
    if is_number(type_) or type_ == "BOOLEAN":
        return f"{column}::DOUBLE"
    text = f"trim({column}::VARCHAR)"
    truth = f"CASE lower({text}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0"
    return f"({truth} ELSE TRY_CAST({text} AS DOUBLE) END)"


def _named(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns))
