"""Charts: what is drawn is what the record holds, in its colours; pictures need no font and no network."""

from __future__ import annotations

import io
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from PIL import Image

from muster.records.chart import (
    Bars,
    Chart,
    Event,
    Forest,
    Level,
    Lines,
    Matrix,
    Scatter,
    Series,
    Slopes,
    Span,
    Ticks,
    Zone,
)  # fmt: skip
from muster.reports import charts
from muster.reports.charts import draw
from muster.reports.charts.numbers import numbers
from muster.reports.charts.theme import DARK, LIGHT, tone

NAMED = {"name": "a", "title": 'A "title" & <b>', "description": "What it shows."}
EVERY: dict[str, Chart] = {
    "ticks": Ticks(
        **NAMED,
        axis="accuracy",
        values=(0.5, 0.7, float("nan"), 0.9),
        points=(Level(0.7, "mean"),),
        zones=(Zone(0, 0.6, "below", "bad"), Zone(0.6, 0.8, "noise", "noise")),
    ),
    "forest": Forest(
        **NAMED,
        axis="accuracy",
        rows=(Span("a", 0.5, 0.4, 0.6, "bad"), Span("b", 0.7, 0.6, 0.8)),
        levels=(Level(0.65, "line"),),
    ),
    "lines": Lines(
        **NAMED,
        x="round",
        y="accuracy",
        levels=(Level(0.1, "chance"),),
        events=(Event(2, "alarm"),),
        series=(
            Series("one", (1, 2, 3), (0.5, 0.6, 0.7), (0.4, 0.5, 0.6), (0.6, 0.7, 0.8)),
            Series("two", (1, 2, 3), (0.2, 0.3, 0.4)),
        ),
    ),
    "curve": Lines(
        **NAMED,
        x="confidence",
        y="accuracy",
        series=(Series("one", (0.2, 0.8), (0.3, 0.7)),),
        diagonal="calibrated",
    ),
    "matrix": Matrix(
        **NAMED,
        rows=("cat", "dog"),
        columns=("cat", "dog"),
        values=((0.9, 0.1), (float("nan"), 0.8)),
        texts=(("90", "10"), ("-", "80")),
        row_axis="truth",
        column_axis="answer",
    ),
    "slopes": Slopes(
        **NAMED,
        axis="accuracy",
        left="old",
        right="new",
        rows=(("a", 0.5, 0.6, "good"), ("b", 0.6, 0.4, "bad")),
    ),
    "bars": Bars(
        **NAMED,
        axis="accuracy",
        counted="units",
        edges=(0, 0.5, 1),
        counts=(3, 7),
        levels=(Level(0.6, "mean"),),
    ),
    "scatter": Scatter(
        **NAMED, x="first", y="second", points=(("a", 0.1, 0.2, "red"), ("b", 0.3, 0.1, "blue"))
    ),
}
every = pytest.mark.parametrize("name", EVERY)


def _elements(svg: str, kind: str) -> list[str]:
    return re.findall(
        rf'<path aria-label="[^"]*" role="graphics-symbol" aria-roledescription="{kind}"[^>]*>', svg
    )


def test_every_kind_of_chart_is_drawn_and_tested() -> None:
    assert {type(chart) for chart in EVERY.values()} == set(draw.KINDS)


@every
def test_the_root_says_what_the_picture_shows(name: str) -> None:
    svg = charts.svg(EVERY[name])

    assert 'role="graphics-document"' in svg
    assert 'aria-label="A &quot;title&quot; &amp; &lt;b&gt;. What it shows."' in svg
    assert "<b>" not in svg


@every
def test_a_page_gives_the_colours_and_a_file_has_its_own(name: str) -> None:
    page, file = charts.inline(EVERY[name]), charts.svg(EVERY[name])

    assert "var(--" in page
    assert not [colour for colour in LIGHT.values() if f'"{colour}"' in page]
    assert "var(--" not in file
    assert LIGHT.keys() == DARK.keys()


@every
def test_the_same_picture_twice(name: str) -> None:
    assert charts.svg(EVERY[name]) == charts.svg(EVERY[name])
    picture = Image.open(io.BytesIO(charts.png(EVERY[name], 1)))

    assert picture.width > 100
    assert len(picture.convert("L").getcolors(1 << 20)) > 8
    assert charts.pdf(EVERY[name]).startswith(b"%PDF")


def test_trouble_has_its_colour_and_its_shape() -> None:
    """A layer with scales of its own would paint one series in the colour of another."""
    points = _elements(charts.svg(EVERY["forest"]), "point")

    assert [re.search(r'fill="(#\w+)"', p)[1] for p in points] == [tone("bad"), tone("plain")]
    assert len({re.search(r' d="([^"]+)"', p)[1] for p in points}) == 2


def test_series_are_told_apart_by_colour_and_dash() -> None:
    lines = _elements(charts.svg(EVERY["lines"]), "line mark")

    assert {re.search(r'stroke="(#\w+)"', line)[1] for line in lines} >= {LIGHT["one"], LIGHT["two"]}
    assert len({m[1] if (m := re.search(r'stroke-dasharray="([^"]*)"', line)) else "" for line in lines}) >= 2


def test_numbers_in_cells_are_those_of_the_record() -> None:
    texts = re.findall(r">([^<>]+)</text>", charts.svg(EVERY["matrix"]))

    assert {"90", "10", "-", "80"} <= set(texts)


def test_a_picture_fetches_nothing() -> None:
    spec = {"data": {"url": "http://127.0.0.1:9/x.json"}, "mark": "point", "encoding": {}}
    with pytest.raises(ValueError, match=r"not allowed|allowed_base_urls"):
        vl_convert.vegalite_to_svg(spec, **charts.OFFLINE)


def test_text_appears_where_no_font_is_installed(tmp_path: Path) -> None:
    """A missing font takes all text away, without a word; the last names of the list are always there."""
    empty = tmp_path / "fonts.conf"
    empty.write_text("<?xml version='1.0'?><fontconfig></fontconfig>", encoding="utf-8")
    code = (
        "import sys; from tests.reports.test_charts import EVERY; from muster.reports import charts\n"
        "sys.stdout.buffer.write(charts.png(EVERY['bars'], 1))"
    )
    env = {**os.environ, "FONTCONFIG_FILE": str(empty), "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    bare = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=env).stdout
    title = Image.open(io.BytesIO(bare)).convert("L").crop((0, 0, 120, 22))

    assert sum(n for n, grey in title.getcolors() if grey < 128) > 100


@every
def test_the_numbers_of_a_chart_are_in_a_table(name: str) -> None:
    found = numbers(EVERY[name])
    drawn = {v for v in _values(asdict(EVERY[name])) if isinstance(v, float) and not math.isnan(v)}
    told = {v for v in _values(found.rows) if isinstance(v, int | float)}

    assert found.rows
    assert {len(row) for row in found.rows} == {len(found.fields)}
    if name == "matrix":
        assert [row[1:] for row in found.rows] == [tuple(line) for line in EVERY[name].texts]
    else:
        assert {v for v in drawn if v not in {0.0, 0.8}} - told <= {0.6, 0.1, 0.65}


def _values(data: Any) -> Iterator[Any]:
    if isinstance(data, dict | list | tuple):
        for part in data.values() if isinstance(data, dict) else data:
            yield from _values(part)
    else:
        yield data


def test_names_of_variables_are_those_of_the_style_sheet() -> None:
    used = set(re.findall(r"var\(--(\w+)\)", charts.inline(EVERY["ticks"])))

    assert used <= LIGHT.keys()
    assert all(f"--{name}:" in charts.style() for name in used)
