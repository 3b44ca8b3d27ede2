"""Charts as SVG: drawn here, so a page shows them without a script and prints them.

A frame is as wide as the page allows, and its text keeps its size: dots stand at percentages, all
that is a line lies in a square that is stretched over the frame while strokes are not
(`vector-effect`), and the words around it are HTML. A mark's own words are its `<title>`, which
browsers show after a while and `page.js` at once.
"""

from __future__ import annotations

import gzip
import json
import math
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from dyno.report.charts import Axis, Band, Chart, ChartPanel, Dot, Dots, Line, Note
from dyno.report.html.markup import render

#: The side of the square that lines are drawn in: finer than any screen's dots.
_SIDE = 10_000
#: So many charts of a figure stand in the page as they are.
_OPEN = 12
#: A longer axis leaves out every other tick on a narrow page, one of more words slants them.
_TICKS_NARROW, _LETTERS_NARROW = 10, 40

_FIGURE = """
<figure class="chart">
{% if charts | length > 1 %}
<label class="choice">Show <select>
{% for chart in charts %}<option>{{ chart.label }}</option>{% endfor %}
</select></label>
{% endif %}
{% for chart in drawn %}
<div class="plot"{% if not loop.first %} hidden{% endif %}>{{ chart }}</div>
{% endfor %}
{% if packed %}{% for _ in charts[drawn | length:] %}<div class="plot" hidden></div>{% endfor %}
<script type="application/gzip">{{ packed }}</script>
{% endif %}
<figcaption>{{ caption }}</figcaption>
</figure>
"""
_CHART = """
{% if legend | length > 1 %}<p class="legend series">{% for name, colour in legend.items() %}
<button type="button" aria-pressed="true" value="{{ name }}">
<i class="swatch" style="background:{{ colour }}"></i>{{ name }}</button>
{% endfor %}</p>{% endif %}
<div class="axes">
{% for panel in panels %}
<p class="of-y" style="padding-bottom:{{ panel.above }}em">{{ panel.title }}</p>
<div class="y">{% for at, text in panel.ticks %}
<span style="top:{{ at }}%">{{ text }}</span>{% endfor %}</div>
<div class="frame" style="height:{{ panel.height_px }}px">
<svg role="img" aria-label="{{ described }}">{{ panel.svg }}</svg>{{ panel.notes }}</div>
{% endfor %}
<div class="x{{ crowd }}">{% for at, text, (tip, link) in ticks %}
<span style="left:{{ at }}%"{% if tip %} title="{{ tip }}"{% endif %}>{% if link %}
<a href="{{ link }}">{{ text }}</a>{% else %}{{ text }}{% endif %}</span>{% endfor %}</div>
<p class="of-x">{{ title }}</p>
</div>
"""
_STRETCHED = Markup('<svg viewBox="0 0 {0} {0}" preserveAspectRatio="none">{1}</svg>\n')
_BAND = Markup('<rect class="band" x="{}" y="{}" width="{}" height="{}"/>')
_PATH = Markup('<path class="{}" style="color:{};stroke-width:{:g}" data-name="{}" d="{}"/>')
_GROUP = Markup('<g style="color:{}" data-name="{}">{}</g>\n')
_DOT = Markup('<circle{} cx="{:g}%" cy="{:g}%" r="{:g}"><title>{}</title></circle>')
_HOLLOW = Markup(' class="hollow"')
_TRIANGLE = Markup(
    '<svg class="beyond" x="{:g}%" y="{:g}%"><path d="M-5-5L6,0L-5,5z"/><title>{}</title></svg>'
)
_COLUMN = Markup(
    '<rect class="column" x="{:g}%" width="{:g}%" height="100%"><title>{}</title></rect>\n'
)
_NOTE = Markup('<span class="{}" style="color:{};{}">{}</span>')


def draw_figure(charts: Sequence[Chart], caption: str) -> Markup:
    """A figure that shows one of `charts` at a time, with a `<select>` where there are several.

    Those beyond `_OPEN` are packed until `page.js` is asked for one: a run has a chart for each of
    some hundred metrics, and without the script none but the first is to be seen anyway.
    """
    drawn = [_draw_chart(chart) for chart in charts]
    packed = _pack(drawn[_OPEN:]) if len(drawn) > _OPEN else ""
    return render(_FIGURE, charts=charts, caption=caption, drawn=drawn[:_OPEN], packed=packed)


def _pack(drawn: Sequence[Markup]) -> str:
    """A list of charts as JSON, gzip and base64: a tenth of what they are."""
    return b64encode(gzip.compress(json.dumps(drawn).encode(), mtime=0)).decode()


def _draw_chart(chart: Chart) -> Markup:
    letters = sum(len(text) + 2 for _, text in chart.x.shown)
    crowd = " words" if letters > _LETTERS_NARROW else ""
    crowd = " many" if len(chart.x.shown) > _TICKS_NARROW else crowd
    marks = [m for p in chart.panels for m in p.marks if isinstance(m, Dots | Line) and m.name]
    return render(
        _CHART,
        legend={mark.name: mark.colour for mark in marks},
        described=chart.described,
        panels=[_describe_panel(chart.x, panel) for panel in chart.panels],
        ticks=[
            (_place_across(chart.x, at), text, chart.x.details.get(int(at), ("", "")))
            for at, text in chart.x.shown
        ],
        title=chart.x.title,
        crowd=crowd,
    )


def _describe_panel(x: Axis, panel: ChartPanel) -> dict[str, object]:
    place = _Place(x, panel.y)
    notes = [mark for mark in panel.marks if isinstance(mark, Note)]
    return {
        "title": panel.y.title,
        "above": 1.2 * max((1 + note.row for note in notes if note.y is None), default=0),
        "ticks": [(_place_up(panel.y, at), text) for at, text in panel.y.shown],
        "height_px": panel.height_px,
        "svg": Markup("").join(_draw_svg(place, panel)),
        "notes": Markup("").join(_format_note(x, panel.y, note) for note in notes),
    }


@dataclass(frozen=True)
class _Place:
    """Where a point lies in the square: whole numbers from the upper left corner."""

    x: Axis
    y: Axis

    def locate(self, x: float, y: float) -> tuple[int, int]:
        return round(_SIDE * self.x.find_share(x)), round(_SIDE * (1 - self.y.find_share(y)))


def _draw_svg(place: _Place, panel: ChartPanel) -> Iterator[Markup]:
    """From the ground up: bands, grid, all that is a line, dots, and columns for the pointer."""
    lines = [_draw_band(place, mark) for mark in panel.marks if isinstance(mark, Band)]
    lines += _draw_grid(place)
    for mark in panel.marks:
        if isinstance(mark, Line):
            lines.append(_draw_line(place, mark))
        elif isinstance(mark, Dots):
            lines.append(_draw_bars(place, mark))
    yield _STRETCHED.format(_SIDE, Markup("").join(lines))
    for mark in panel.marks:
        if isinstance(mark, Dots):
            shown = [
                _draw_dot(place, dot, mark.radius_px)
                for dot in mark.dots
                if _is_finite(dot.x, dot.y)
            ]
            yield _GROUP.format(mark.colour, mark.name, Markup("\n").join(shown))
    yield from _list_columns(place.x, panel.columns)


def _is_finite(x: float, y: float) -> bool:
    return math.isfinite(x) and math.isfinite(y)


def _place_across(axis: Axis, value: float) -> float:
    """Percent of the frame from its left edge."""
    return round(100 * axis.find_share(value), 2)


def _place_up(axis: Axis, value: float) -> float:
    """Percent of the frame from its upper edge."""
    return round(100 * (1 - axis.find_share(value)), 2)


def _draw_band(place: _Place, band: Band) -> Markup:
    low, high = band.y or (place.y.low, place.y.high)
    left, top = place.locate(band.x[0], high)
    right, bottom = place.locate(band.x[1], low)
    return _BAND.format(left, top, right - left, bottom - top)


def _draw_grid(place: _Place) -> Iterator[Markup]:
    x, y = place.x, place.y
    rules = [f"M{place.locate(at, y.high)[0]},0V{_SIDE}" for at, _ in x.shown if x.grid]
    rules += [f"M0,{place.locate(x.low, at)[1]}H{_SIDE}" for at, _ in y.shown if y.grid]
    yield _PATH.format("line", "var(--line)", 1, "", "".join(rules))
    if x.zero:
        zero = f"M{place.locate(0.0, y.high)[0]},0V{_SIDE}"
        yield _PATH.format("line", "var(--faint)", 2, "", zero)


def _draw_line(place: _Place, line: Line) -> Markup:
    kinds = "".join(kind for kind, on in ((" faint", line.faint), (" dashed", line.dashed)) if on)
    runs = "".join(_encode_run(place, run) for run in line.runs)
    return _PATH.format(f"line{kinds}", line.colour, line.width_px, line.name, runs)


def _encode_run(place: _Place, run: Sequence[tuple[float, float]]) -> str:
    """Relative steps, the shortest way to write a long series."""
    points = [place.locate(*point) for point in run if _is_finite(*point)]
    steps = [(c - a, d - b) for (a, b), (c, d) in pairwise(points)]
    written = "".join(f"l{a},{b}" if b >= 0 else f"l{a}{b}" for a, b in steps)
    return f"M{points[0][0]},{points[0][1]}{written}" if points else ""


def _draw_bars(place: _Place, dots: Dots) -> Markup:
    path = "".join(_draw_bar(place, dot, dots.across) for dot in dots.dots)
    return _PATH.format("line", dots.colour, 1.75, dots.name, path) if path else Markup("")


def _draw_bar(place: _Place, dot: Dot, across: bool) -> str:
    """From one end of the dot's interval to the other; nothing where it has none."""
    if dot.low is None or dot.high is None or math.isnan(dot.low) or math.isnan(dot.high):
        return ""
    if across:
        left, y = place.locate(dot.low, dot.y)
        return f"M{left},{y}H{place.locate(dot.high, dot.y)[0]}"
    x, bottom = place.locate(dot.x, dot.low)
    return f"M{x},{bottom}V{place.locate(dot.x, dot.high)[1]}"


def _draw_dot(place: _Place, dot: Dot, radius_px: float) -> Markup:
    at = _place_across(place.x, dot.x), _place_up(place.y, dot.y)
    if dot.shape == "beyond":
        return _TRIANGLE.format(*at, dot.tip)
    return _DOT.format(_HOLLOW if dot.shape == "hollow" else "", *at, radius_px, dot.tip)


def _list_columns(x: Axis, columns: Sequence[tuple[float, str]]) -> list[Markup]:
    at = [_place_across(x, place) for place, _ in columns]
    width = round(at[1] - at[0], 2) if len(at) > 1 else 100.0
    return [
        _COLUMN.format(round(place - width / 2, 2), width, text)
        for place, (_, text) in zip(at, columns, strict=True)
    ]


def _format_note(x: Axis, y: Axis, note: Note) -> Markup:
    if note.y is not None:
        return _NOTE.format("note", note.colour, f"top:{_place_up(y, note.y)}%", note.text)
    place = f"left:{_place_across(x, note.x)}%;bottom:calc(100% + {1.2 * note.row:g}em)"
    return _NOTE.format("note above", note.colour, place, note.text)
