"""Predictions that come with Muster, to try things on. ``tools/make_samples.py`` made them."""

from __future__ import annotations

from pathlib import Path

from muster.errors import UnknownName

KNOWN = ("digits",)


def path(name: str) -> Path:
    """Where the file of a sample lies.

    >>> path("digits").name
    'digits.parquet'
    """
    if name not in KNOWN:
        raise UnknownName("sample", name, KNOWN)
    return Path(__file__).with_name(f"{name}.parquet")
