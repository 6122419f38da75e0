"""The script that draws charts in a page: taken from vl-convert once, and kept."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

import vl_convert


def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that leaves no names but their own.

    Making it takes more than a CPU second, so it is kept in the user's cache; where that cannot be
    written it is made anew.
    """
    kept = _cache() / f"vega-{version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    make: Any = vl_convert.javascript_bundle
    made = f"(()=>{{{make()}}})();"
    if "</script" in made.lower():
        raise RuntimeError("the Vega bundle holds a closing script tag")
    _keep(kept, made)
    return made


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return Path(home) / "muster" if home else Path.home() / ".cache" / "muster"


def _keep(file: Path, text: str) -> None:
    """Under a name of its own first: two processes may do this at once."""
    partial = file.with_name(f"{file.name}.{token_hex(4)}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)
