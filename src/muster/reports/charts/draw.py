"""Chart records to drawings, one function a kind. Nothing is worked out here but places on the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import altair as alt

from muster.records.chart import Bars, Chart, Forest, Level, Lines, Matrix, Scatter, Slopes, Ticks, Zone
from muster.reports.charts.theme import DASHES, SERIES, WIDTH, colour, tone
from muster.reports.words import number

Rows = list[dict[str, Any]]
Drawn: TypeAlias = alt.LayerChart | alt.FacetChart
ROW, STRIP, TALL, MANY, FEW, CLOSE = 22, 132, 260, 8, 60, 22


def drawing(chart: Chart) -> Drawn:
    """The drawing of a chart."""
    found = KINDS[type(chart)](chart)
    titled: Drawn = found.properties(title=chart.title, description=chart.description)
    return titled


def ticks(chart: Ticks) -> Drawn:
    """A tick a unit, points with their names above, zones behind."""
    x = alt.X("x:Q", title=chart.axis, scale=_reach(chart.values, (z.low for z in chart.zones)))
    units = [{"x": value} for value in chart.values if not math.isnan(value)]
    marks = _marks(units).mark_tick(thickness=1.5, size=34, color=colour("one"), opacity=0.7)
    points = [
        {"x": p.value, "label": f"{p.label} {number(p.value, 3)}", "y": 14 + 16 * i}
        for i, p in enumerate(chart.points)
    ]
    at = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, STRIP], reverse=True))
    named = _marks(points).encode(x=x, y=at)
    texts = named.mark_text(align="left", dx=7, color=colour("text"), fontSize=11).encode(text="label:N")
    dots = named.mark_point(shape="diamond", filled=True, size=70, color=colour("text"), opacity=1)
    rules = named.mark_rule(strokeDash=[3, 3], color=colour("text")).encode(y2=alt.value(STRIP))
    layers = [*_zones(chart.zones, x), marks.encode(x=x, y=alt.value(STRIP - 42)), rules, dots, texts]
    return alt.layer(*layers).properties(width=WIDTH, height=STRIP)


def forest(chart: Forest) -> Drawn:
    """A row a name: dot and interval; levels across. Trouble is a square in another colour."""
    ends = [end for row in chart.rows for end in (row.low, row.high, row.value)]
    x = alt.X("value:Q", title=chart.axis, scale=_reach(ends, (level.value for level in chart.levels)))
    order = [row.name for row in chart.rows]
    y = alt.Y("name:N", title=None, sort=order, axis=alt.Axis(ticks=False, domain=False))
    rows: Rows = [
        {
            "name": row.name, "value": row.value, "low": row.low, "high": row.high, "tone": row.tone,
            "said": f"{number(row.value, 3)} [{number(row.low, 3)}, {number(row.high, 3)}]",
        }
        for row in chart.rows
    ]  # fmt: skip
    tones = sorted({row.tone for row in chart.rows})
    paint = alt.Color(
        "tone:N", legend=None, scale=alt.Scale(domain=tones, range=[tone(name) for name in tones])
    )
    shape = alt.Shape(
        "tone:N",
        legend=None,
        scale=alt.Scale(domain=tones, range=["square" if t == "bad" else "circle" for t in tones]),
    )
    base = _marks(rows).encode(y=y, tooltip=[alt.Tooltip("name:N"), alt.Tooltip("said:N", title="value")])
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=chart.axis), x2="high:Q", color=paint)
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(x=x, color=paint, shape=shape)
    layers = [*_levels(chart.levels, "value"), spans, dots]
    return alt.layer(*layers).properties(width=WIDTH - 120, height=ROW * max(len(rows), 2))


def lines(chart: Lines) -> Drawn:
    """Lines told apart by colour and dash, their intervals behind them; events and levels named."""
    rows: Rows = [
        {"x": x, "y": y, "name": s.name, "low": low, "high": high}
        for s in chart.series
        for x, y, low, high in zip(s.x, s.y, s.low or s.y, s.high or s.y, strict=True)
    ]
    all_y = [row[name] for row in rows for name in ("y", "low", "high")]
    reach = _reach(all_y, (level.value for level in chart.levels))
    y = alt.Y("y:Q", title=chart.y, scale=alt.Scale(domain=[0, 1]) if chart.diagonal else reach)
    x = _along(chart, rows)
    paint, dash = _told_apart(chart)
    base = _marks(rows)
    bands = base.transform_filter("datum.low < datum.high").mark_area(opacity=0.16)
    curves = base.mark_line(strokeWidth=2.2, point=len(rows) < FEW)
    layers = [
        *_diagonal(chart.diagonal),
        *_events(chart),
        *_levels(chart.levels, "y", across=False),
        bands.encode(x=x, y=alt.Y("low:Q", title=chart.y), y2="high:Q", color=paint),
        curves.encode(x=x, y=y, color=paint, strokeDash=dash, detail="name:N"),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=TALL)


def _along(chart: Lines, rows: Rows) -> alt.X:
    """The axis of a timeline or of a share; whole numbers are written as such."""
    whole = all(float(row["x"]).is_integer() for row in rows)
    axis = alt.Axis(grid=False, tickMinStep=1, format="d") if whole else alt.Axis(grid=False)
    scale = alt.Scale(domain=[0, 1]) if chart.diagonal else alt.Scale(nice=False, zero=False)
    return alt.X("x:Q", title=chart.x, scale=scale, axis=axis)


def _told_apart(chart: Lines) -> tuple[alt.Color, alt.StrokeDash]:
    names = [series.name for series in chart.series]
    room = 30 if chart.events else 6
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, offset=room)
    shown = legend if len(names) > 1 else None
    paints = [colour(SERIES[i % len(SERIES)]) for i in range(len(names))]
    dashes = [DASHES[i % len(DASHES)] for i in range(len(names))]
    return (
        alt.Color("name:N", legend=shown, scale=alt.Scale(domain=names, range=paints)),
        alt.StrokeDash("name:N", legend=shown, scale=alt.Scale(domain=names, range=dashes)),
    )


def matrix(chart: Matrix) -> Drawn:
    """A cell a pair, darker where the value is higher, its text in it where there is room."""
    shape = (len(chart.rows), len(chart.columns))
    rows: Rows = [
        {
            "row": chart.rows[i], "column": chart.columns[j], "value": 0.0 if math.isnan(value) else value,
            "text": chart.texts[i][j], "dark": value > 0.55,
        }
        for i, line in enumerate(chart.values)
        for j, value in enumerate(line)
    ]  # fmt: skip
    side = max(14, min(46, 460 // max(shape)))
    wide: dict[str, Any] = {"labelAngle": 0 if max(map(len, chart.columns), default=0) < MANY else -60}
    if side < CLOSE and not wide["labelAngle"]:
        wide |= {"labelOverlap": "greedy", "labelSeparation": 5}
    x = alt.X("column:N", title=chart.column_axis, sort=list(chart.columns), axis=alt.Axis(**wide))
    y = alt.Y("row:N", title=chart.row_axis, sort=list(chart.rows))
    base = _marks(rows).encode(x=x, y=y)
    shade = alt.Opacity("value:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.04, 1]))
    tips = [alt.Tooltip("row:N"), alt.Tooltip("column:N"), alt.Tooltip("text:N", title="value")]
    layers: list[Any] = [base.mark_rect(color=colour("one")).encode(opacity=shade, tooltip=tips)]
    if side >= 26:
        ink = alt.condition("datum.dark", alt.value(colour("surface")), alt.value(colour("text")))
        layers.append(base.mark_text(fontSize=10).encode(text="text:N", color=ink))
    return alt.layer(*layers).properties(width=side * shape[1], height=side * shape[0])


def slopes(chart: Slopes) -> Drawn:
    """A line a unit from one side to the other: up, down or level by colour and dash."""
    rows: Rows = [
        {"name": name, "side": side, "y": value, "tone": how}
        for name, a, b, how in chart.rows
        for side, value in ((chart.left, a), (chart.right, b))
    ]
    tones = sorted({how for *_, how in chart.rows})
    x = alt.X("side:N", title=None, sort=[chart.left, chart.right], axis=alt.Axis(labelAngle=0))
    y = alt.Y("y:Q", title=chart.axis, scale=_reach([row["y"] for row in rows], ()))
    paint = alt.Color("tone:N", legend=None, scale=alt.Scale(domain=tones, range=[tone(t) for t in tones]))
    dash = alt.StrokeDash(
        "tone:N",
        legend=None,
        scale=alt.Scale(domain=tones, range=[[1, 0] if t == "bad" else [4, 3] for t in tones]),
    )
    base = _marks(rows).encode(x=x, y=y, color=paint, detail="name:N", tooltip=["name:N", "y:Q"])
    drawn = base.mark_line(strokeWidth=1.6, opacity=0.8).encode(strokeDash=dash)
    return alt.layer(drawn, base.mark_point(filled=True, size=36, opacity=1)).properties(
        width=WIDTH // 2, height=TALL + 60
    )


def bars(chart: Bars) -> Drawn:
    """Counts between edges, levels across."""
    rows: Rows = [
        {"from": low, "to": high, "count": count, "none": 0}
        for low, high, count in zip(chart.edges[:-1], chart.edges[1:], chart.counts, strict=True)
    ]
    x = alt.X("from:Q", title=chart.axis, scale=alt.Scale(domain=[chart.edges[0], chart.edges[-1]]))
    y = alt.Y("count:Q", title=chart.counted, axis=alt.Axis(tickMinStep=1))
    shape = _marks(rows).mark_rect(color=colour("one"), stroke=colour("surface"), strokeWidth=1.5)
    drawn = shape.encode(x=x, x2="to:Q", y=y, y2="none:Q")
    return alt.layer(drawn, *_levels(chart.levels, "from")).properties(width=WIDTH, height=TALL - 80)


def scatter(chart: Scatter) -> Drawn:
    """Points told apart by colour and shape."""
    groups = list(dict.fromkeys(group for *_, group in chart.points))
    rows: Rows = [{"name": name, "x": x, "y": y, "group": group} for name, x, y, group in chart.points]
    paint = alt.Color("group:N", scale=alt.Scale(domain=groups, range=[colour(n) for n in SERIES]))
    shape = alt.Shape("group:N", scale=alt.Scale(domain=groups))
    drawn = _marks(rows).mark_point(filled=True, size=80, opacity=0.85)
    x, y = (
        alt.X("x:Q", title=chart.x, scale=alt.Scale(zero=False)),
        alt.Y("y:Q", title=chart.y, scale=alt.Scale(zero=False)),
    )
    placed = drawn.encode(x=x, y=y, color=paint, shape=shape, tooltip=["name:N", "group:N"])
    return alt.layer(placed).properties(width=WIDTH, height=TALL + 60)


KINDS: Mapping[type, Callable[[Any], Drawn]] = {
    Ticks: ticks, Forest: forest, Lines: lines, Matrix: matrix, Slopes: slopes, Bars: bars, Scatter: scatter,
}  # fmt: skip


def _marks(rows: Rows) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=rows))


def _reach(values: Iterable[float], more: Iterable[float]) -> alt.Scale:
    """From the least to the largest with some room; a share is kept from 0 to 1."""
    known = [value for value in (*values, *more) if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    room = 0.04 * (high - low) or 0.05
    share = low >= 0 and high <= 1
    return alt.Scale(
        domain=[max(low - room, 0) if share else low - room, min(high + room, 1) if share else high + room],
        nice=False,
        zero=False,
    )


def _zones(zones: Iterable[Zone], x: alt.X) -> list[Any]:
    layers: list[Any] = []
    for zone in zones:
        back = _marks([{"x": zone.low, "end": zone.high, "label": zone.label}])
        layers.append(back.mark_rect(opacity=0.14, color=tone(zone.tone)).encode(x=x, x2="end:Q"))
        text = back.mark_text(align="left", baseline="bottom", dx=4, fontSize=10, color=colour("muted"))
        layers.append(text.encode(x=x, y=alt.value(STRIP - 4), text="label:N"))
    return layers


def _levels(levels: Iterable[Level], field: str, *, across: bool = True) -> list[Any]:
    """Dashed lines with their names: upright where values lie along x, else lying."""
    layers: list[Any] = []
    for i, level in enumerate(levels):
        base = _marks([{field: level.value, "label": level.label}])
        at: dict[str, Any] = {"x": alt.X(f"{field}:Q")} if across else {"y": alt.Y(f"{field}:Q")}
        rule = base.mark_rule(strokeDash=[4, 3], strokeWidth=1.4, color=colour("muted")).encode(**at)
        place: dict[str, Any] = {"y": alt.value(-4 - 12 * i)} if across else {"x": alt.value(WIDTH)}
        side: dict[str, Any] = {"align": "left", "dx": 2} if across else {"align": "right", "dy": -5}
        layers += [
            rule,
            base.mark_text(fontSize=10, color=colour("muted"), **side).encode(text="label:N", **at, **place),
        ]
    return layers


def _events(chart: Lines) -> list[Any]:
    layers = []
    for i, event in enumerate(chart.events):
        base = _marks([{"x": event.at, "label": event.label}]).encode(x=alt.X("x:Q", title=chart.x))
        layers.append(base.mark_rule(color=colour("four"), strokeWidth=1.4))
        text = base.mark_text(align="left", dx=4, fontSize=10, color=colour("four"))
        layers.append(text.encode(y=alt.value(-6 - 12 * (i % 2)), text="label:N"))
    return layers


def _diagonal(label: str) -> list[Any]:
    if not label:
        return []
    line = _marks([{"x": 0, "y": 0, "label": ""}, {"x": 1, "y": 1, "label": label}])
    rule = line.mark_line(strokeDash=[4, 3], color=colour("muted"), strokeWidth=1.2)
    text = line.mark_text(align="right", dx=-6, dy=26, fontSize=10, color=colour("muted"))
    return [rule.encode(x="x:Q", y="y:Q"), text.encode(x="x:Q", y="y:Q", text="label:N")]
