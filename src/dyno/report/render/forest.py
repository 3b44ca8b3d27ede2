"""The forest plot of a page's first screen: a row for each measurement, with its interval drawn.

A verdict has a shape and a word beside its colour. Places along the axis are percentages, so a row
is as wide as the page allows and its strokes keep their width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dyno import numbers
from dyno.judge.analysis.effect_words import describe_axis, describe_ratio, is_slight_gain
from dyno.record import Candidate, Comparison, VerdictName
from dyno.report import words
from dyno.report.html.markup import render
from dyno.report.names import NamedRow, name_pair

#: One wild interval must not squeeze all others into a dot.
EDGE_PERCENT = 100.0
#: The space at both ends of the axis, as a share of it.
_PAD = 0.04
#: A verdict's mark, and the same shape as the dot of its interval.
MARKS = {"slower": "▲", "faster": "▼", "not slower": "●", "inconclusive": "◆", "invalid": "✕"}
_SHAPES = {
    "slower": "M0-7L7 6H-7z",
    "faster": "M0 7L7-6H-7z",
    "not slower": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "inconclusive": "M0-7L7 0L0 7L-7 0z",
    "invalid": "M-6-6L6 6M-6 6L6-6",
}
_TEMPLATE = """
<table class="forest">
<thead><tr><th scope="col">measurement</th><th scope="col">verdict</th>
<th scope="col" class="interval">
<div class="ends"><span>{{ less }}</span><span>{{ more }}</span></div>
<div class="axis">{% for at, text in ticks %}<span style="left:{{ at }}%">{{ text }}</span>
{% endfor %}</div></th>
<th scope="col" class="n">{{ what }} [{{ level }}]</th></tr></thead>
{% for heading, rows in groups %}<tbody>
{% if heading %}<tr class="group"><th scope="rowgroup" colspan="4">{{ heading }}</th></tr>
{% endif %}
{% for it in rows %}
<tr><th scope="row">{{ it.title }}{% if it.name %}<small>{{ it.name }}</small>{% endif %}
{% for note in it.notes %}<small class="note">{{ note | coded }}</small>{% endfor %}</th>
<td class="word"><span class="badge {{ it.standing }}">{{ it.mark }} {{ it.word }}</span>
{% if it.ratio %}<small>{{ it.ratio }}</small>{% endif %}</td>
<td class="interval {{ it.standing }}">{{ it.plot }}</td>
<td class="n size"><b>{{ it.size }}&#8239;%</b> {{ it.ends }}
<small>{{ it.base }} → {{ it.candidate }}</small></td></tr>
{% endfor %}</tbody>{% endfor %}
</table>
"""
_PLOT = Markup(
    '<svg role="img" aria-label="{}"><rect class="band" x="{:g}%" width="{:g}%" height="100%"/>'
    '<line class="zero" x1="{:g}%" x2="{:g}%" y1="0" y2="100%"/>{}</svg>'
)
_MARGIN = Markup('<line class="margin" x1="{0:g}%" x2="{0:g}%" y1="0" y2="100%"/>')
_INTERVAL = Markup('<line class="reach" x1="{:g}%" x2="{:g}%" y1="50%" y2="50%"/>')
_END = Markup('<svg x="{:g}%" y="50%" class="beyond"><path class="end" d="{}"/></svg>')
_DOT = Markup('<svg x="{:g}%" y="50%" class="beyond"><path class="dot" d="{}"/></svg>')
#: An end of an interval, and one that lies beyond the axis.
_STOP, _CUT_LEFT, _CUT_RIGHT = "M0-6V6", "M6-6L-1 0L6 6", "M-6-6L1 0L-6 6"


@dataclass(frozen=True)
class _Scale:
    """From `low` to `high` percent; places are percentages of the plot's width."""

    low: float
    high: float

    def find_place(self, percent: float) -> float:
        """From 0 at the left edge to 100; what lies beyond is cut."""
        share = (percent - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)


def build_forest(sides: Sequence[Candidate], rows: Sequence[NamedRow], level: str) -> Markup:
    """The table of `rows`, by pair of candidates where there are several."""
    scale = _make_scale([it.row for it in rows])
    pairs = list(dict.fromkeys((it.row.candidate, it.row.base) for it in rows))
    what = describe_axis([it.row for it in rows])
    groups = [
        (
            " against ".join(name_pair(sides, *pair)) if len(pairs) > 1 else "",
            [_describe(it, scale) for it in rows if (it.row.candidate, it.row.base) == pair],
        )
        for pair in pairs
    ]
    return render(
        _TEMPLATE,
        groups=groups,
        ticks=list(_list_ticks(scale, {it.row.margin_percent for it in rows})),
        what=what,
        less="← less time" if what == "time" else "← better",
        more="more time →" if what == "time" else "worse →",
        level=level,
    )


def _make_scale(rows: Sequence[Comparison]) -> _Scale:
    ends = [0.0]
    for row in rows:
        ends += [row.margin_percent, -row.margin_percent, row.low_percent, row.high_percent]
    shown = [min(max(end, -EDGE_PERCENT), EDGE_PERCENT) for end in ends if not math.isnan(end)]
    space = _PAD * (max(shown) - min(shown) or 1.0)
    return _Scale(min(shown) - space, max(shown) + space)


def _list_ticks(scale: _Scale, margins: set[float]) -> Iterator[tuple[float, str]]:
    """Zero, the margin where all rows have one, and round steps that touch none of these."""
    told = [0.0]
    if len(margins) == 1:
        margin = next(iter(margins))
        told += [margin, -margin]
    step = _choose_step((scale.high - scale.low) / 5)
    first, last = math.ceil(scale.low / step), math.floor(scale.high / step)
    taken: list[float] = []
    for percent in (*told, *(step * at for at in range(first, last + 1))):
        place = scale.find_place(percent)
        if all(abs(place - other) >= 9 for other in taken) and 2 <= place <= 98:
            taken.append(place)
            yield place, f"{percent:+g} %".replace("-", "−") if percent else "0"


def _choose_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= least)


def _describe(it: NamedRow, scale: _Scale) -> dict[str, object]:
    row, (size, ends) = it.row, words.format_ends(it.row)
    title = it.title if it.title == it.name else f"{it.title[0].upper()}{it.title[1:]}"
    return {
        "title": title,
        "name": it.name if it.name != it.title else "",
        "notes": row.notes,
        "standing": words.choose_standing(row).replace(" ", "-"),
        "mark": MARKS[_choose_shape(row)],
        "word": it.verdict,
        "ratio": describe_ratio(row),
        "plot": _draw_row(row, scale),
        "size": size.removesuffix(" %"),
        "ends": ends,
        "base": numbers.format_quantity(row.base_value, row.metric.unit),
        "candidate": numbers.format_quantity(row.candidate_value, row.metric.unit),
    }


def _choose_shape(row: Comparison) -> VerdictName:
    """The verdict whose shape a row has: that of its word."""
    return "not slower" if is_slight_gain(row) else row.verdict


def _draw_row(row: Comparison, scale: _Scale) -> Markup:
    margin = row.margin_percent
    left, right = scale.find_place(-margin), scale.find_place(margin)
    zero = scale.find_place(0.0)
    parts = [_MARGIN.format(at) for at in (left, right)]
    if math.isfinite(row.slowdown_percent):
        parts += _draw_interval(row, scale)
    label = words.format_outcome(row)
    return _PLOT.format(label, left, right - left, zero, zero, Markup("").join(parts))


def _draw_interval(row: Comparison, scale: _Scale) -> Iterator[Markup]:
    low, high = (
        row.slowdown_percent if math.isnan(end) else end
        for end in (row.low_percent, row.high_percent)
    )
    first, last = scale.find_place(low), scale.find_place(high)
    yield _INTERVAL.format(first, last)
    yield _END.format(first, _STOP if low >= scale.low else _CUT_LEFT)
    yield _END.format(last, _STOP if high <= scale.high else _CUT_RIGHT)
    if scale.low <= row.slowdown_percent <= scale.high:
        yield _DOT.format(scale.find_place(row.slowdown_percent), _SHAPES[_choose_shape(row)])
