"""Colours, fonts and sizes, once. Colours are Okabe and Ito's (2008), one list for light and one for dark.

A drawing is made in the light colours. On a page each is a variable of the style sheet, so that
one drawing serves light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from muster.records.chart import Tone

FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
LIGHT: Mapping[str, str] = {
    "text": "#1c2128", "muted": "#59636e", "grid": "#d9dee4", "surface": "#fffffe",
    "one": "#0072b2", "two": "#d55e00", "three": "#009e73", "four": "#b8578f",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "text": "#e8ebee", "muted": "#9aa4af", "grid": "#343b43", "surface": "#14181d",
    "one": "#56b4e9", "two": "#f08a3c", "three": "#2fbf93", "four": "#dd90bc",
}  # fmt: skip
TONES: Mapping[Tone, str] = {"good": "three", "bad": "two", "noise": "muted", "plain": "one"}
SERIES = ("one", "two", "three", "four")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
WIDTH = 640


def colour(name: str) -> str:
    """The colour of a part of a drawing."""
    return LIGHT[name]


def tone(name: Tone) -> str:
    """The colour that says good, bad, noise or nothing."""
    return LIGHT[TONES[name]]


def config() -> dict[str, object]:
    """What all drawings share."""
    quiet = {"labelColor": LIGHT["muted"], "titleColor": LIGHT["text"], "gridColor": LIGHT["grid"]}
    return {
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "title": {"anchor": "start", "color": LIGHT["text"], "fontSize": 14, "fontWeight": 600, "offset": 12},
        "axis": {
            **quiet, "domainColor": LIGHT["grid"], "tickColor": LIGHT["grid"], "labelFontSize": 11,
            "titleFontSize": 12, "titleFontWeight": 500, "labelLimit": 0, "titlePadding": 8,
        },
        "legend": {
            "labelColor": LIGHT["text"], "titleColor": LIGHT["muted"], "orient": "top", "title": None,
            "direction": "horizontal", "labelFontSize": 12, "symbolSize": 120, "offset": 4, "labelLimit": 0,
        },
    }  # fmt: skip


def variables(svg: str) -> str:
    """A drawing whose colours are those of the page.

    >>> variables('<path fill="#0072b2"/>')
    '<path fill="var(--one)"/>'
    """
    names = {hex_: name for name, hex_ in LIGHT.items()}
    return re.sub(r'"(#[0-9a-f]{6})"', lambda m: f'"var(--{names[m[1]]})"' if m[1] in names else m[0], svg)


def style() -> str:
    """The variables of a style sheet, for light and dark."""
    light, dark = ("".join(f"--{n}:{c};" for n, c in colours.items()) for colours in (LIGHT, DARK))
    forced = f':root[data-theme="dark"]{{{dark}}}'
    system = f'@media (prefers-color-scheme:dark){{:root:not([data-theme="light"]){{{dark}}}}}'
    return f":root{{{light}}}{system}{forced}"
