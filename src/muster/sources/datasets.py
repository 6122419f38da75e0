"""Data to learn from, by name or by path: images, text, tables, to items with features and a class."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np

from muster.errors import BadConfig, BadData, UnknownName
from muster.records import Samples
from muster.sources import idx, samples
from muster.sources.places import KINDS, quoted_text, reading
from muster.sources.tables import from_table
from muster.sources.words import made_up

SEED = 62


def dataset(
    name_or_path: str | Path,
    *,
    label: str | None = None,
    text: str | None = None,
    unit: str | None = None,
    limit: int | None = None,
    missing: Literal["mean"] | None = None,
) -> Samples:
    """Items to learn from, with features and a class.

    By name: ``digits`` are 1,797 handwritten digits of 8 x 8 pixels that come with Muster (UCI, CC BY
    4.0); ``fashion-mnist`` are 70,000 pieces of clothing, where they are installed; ``text`` is a made-up
    language with 20 topics.

    By path: a folder of IDX files (MNIST and its kin), or a table (CSV, Parquet, Arrow) with a column of
    classes: `label`, else the one named label or class. With a column of text (`text`, else the one named
    text), the features are its words, hashed, and other columns are not used. Without, all other columns
    must be numbers: each is brought to mean 0 and standard deviation 1 over all items; missing ones are an
    error, or with ``missing="mean"`` the mean. `unit` names the column that says whose item it is. In a CSV
    file without a header, columns are named by their place: ``"0"`` is the first.

    `limit` keeps so many items, the first after a shuffle that is always the same.

    >>> found = dataset("digits", limit=100)
    >>> len(found), found.shape, found.classes[:3]
    (100, (8, 8), ('0', '1', '2'))
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise BadConfig(f"limit: expected a whole number of items, 1 or more, got {limit!r}")
    if missing not in {None, "mean"}:
        raise BadConfig(f"missing: expected 'mean' or nothing, got {missing!r}")
    columns = {"label": label, "text": text, "unit": unit, "missing": missing}
    name, path = str(name_or_path), Path(name_or_path)
    if path.is_file() and idx.is_idx(path):
        raise BadData(f"{path}: images and labels are in several files: give their folder")
    if name in BUILT or (path.is_dir() and any(map(idx.is_idx, path.iterdir()))):
        given = [part for part, value in columns.items() if value is not None]
        if given:
            raise BadConfig(f"{name}: {', '.join(given)} is for tables; this has classes of its own")
        found = BUILT[name]() if name in BUILT else idx.folder(path)
    elif path.exists() or isinstance(name_or_path, Path) or _is_like_a_path(name):
        found = from_table(name_or_path, **columns)
    else:
        error = UnknownName("data", name, BUILT)
        error.args = (f"{error}, or a path",)
        raise error
    return _marked(_limited(found, limit))


def _is_like_a_path(name: str) -> bool:
    return any(sign in name for sign in "/\\*") or Path(name).suffix.lower() in KINDS


def _digits() -> Samples:
    """The images that come with Muster."""
    file = Path(samples.__file__).with_name("digits-images.parquet")
    with reading(str(file)), duckdb.connect() as connection:
        columns = connection.execute(f"FROM read_parquet({quoted_text(str(file))})").fetchnumpy()
    label = columns.pop("label").astype(np.int64)
    pixels = np.stack(list(columns.values()), axis=1).astype(np.float32)
    classes = tuple(map(str, range(10)))
    return Samples(
        name="digits", nature="image", x=pixels / np.float32(16), y=label, classes=classes, shape=(8, 8)
    )


def _limited(found: Samples, limit: int | None) -> Samples:
    """The first items after a shuffle that is always the same."""
    if limit is None:
        return found
    kept = np.random.default_rng(SEED).permutation(len(found))[:limit]
    unit = None if found.unit is None else found.unit[kept]
    return replace(found, x=found.x[kept], y=found.y[kept], unit=unit)


def _marked(found: Samples) -> Samples:
    """With the SHA-256 of the features and classes."""
    digest = hashlib.sha256(np.ascontiguousarray(found.x, "<f4").data)
    digest.update(np.ascontiguousarray(found.y, "<i8").data)
    return replace(found, fingerprint=digest.hexdigest()[:16])


BUILT: Mapping[str, Callable[[], Samples]] = {
    "digits": _digits,
    "fashion-mnist": idx.fashion,
    "text": made_up,
}
