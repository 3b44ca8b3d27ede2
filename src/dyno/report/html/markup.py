"""Markup by jinja2, with everything escaped that is not ours: links to trials, coloured tables.

A link leads from a number to the trial that it means; tables of coloured cells are as the insert
benchmark's reports have them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from dyno import numbers
from dyno.judge.analysis.effect_words import format_metric_name
from dyno.printable import escape_text
from dyno.report import words

PERCENT = re.compile(r"(?<=\d) %")

#: How many candidates have a colour of their own before the colours come round again.
COLOURS = 6


def choose_swatch(position: int) -> int:
    """The number of the colour of the candidate at `position`; the base's (0) is its alone."""
    return position if position < COLOURS else 1 + (position - COLOURS) % (COLOURS - 1)


def render(template: str, **values: Any) -> Markup:
    """`template` filled with `values`; the filters are those of `numbers` and `words`."""
    return Markup(_load_template(template).render(**values))


def mark_code(text: str) -> Markup:
    """`text` with its commands, which stand between backticks, as code."""
    parts = enumerate(text.split("`"))
    marked = (
        Markup("<code>{}</code>").format(part) if at % 2 else escape(_escape_value(part))
        for at, part in parts
    )
    return Markup("").join(marked)


def _escape_value(value: Any) -> Any:
    """No line is broken between a number and its sign of percent; control characters are codes."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return PERCENT.sub("\u00a0%", escape_text(value))
    return value


def read_asset(name: str) -> str:
    """A file that lies beside this one: the page's template, style or script."""
    return files("dyno.report.html").joinpath(name).read_text(encoding="utf-8")


@cache
def _load_template(template: str) -> Template:
    return _make_environment().from_string(template)


@cache
def _make_environment() -> Environment:
    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_escape_value,
    )
    filters = {
        "quantity": numbers.format_quantity,
        "signed": numbers.format_signed_percent,
        "percent": numbers.format_percent,
        "ratio": numbers.format_ratio,
        "metric": words.format_metric,
        "metric_name": format_metric_name,
        "verdict": words.format_verdict,
        "standing": lambda comparison: words.choose_standing(comparison).replace(" ", "-"),
        "plural": words.format_count,
        "of_played": words.format_played,
        "swatch": choose_swatch,
        "coded": mark_code,
    }
    environment.filters.update(filters)
    environment.globals["interval"] = numbers.format_interval
    return environment


#: More of them than a reader follows.
SHOWN = 8

_LINKS = (
    "{% for n in trials[:shown] %}"
    '<a href="#trial-{{ n }}">{{ n }}</a>{{ ", " if not loop.last }}'
    "{% endfor %}"
    '{% if more > 0 %} <span title="{{ trials[shown:] | join(", ") }}">and {{ more }} more</span>'
    "{% endif %}"
)


def link_trials(numbers: Sequence[int]) -> str:
    """The trials' numbers as links into the list of all trials, the first few of them."""
    return render(_LINKS, trials=numbers, shown=SHOWN, more=len(numbers) - SHOWN)


_GRID = """
{% for table in tables if table.rows %}
<h3>{{ table.title }}</h3>
<div class="scroll" tabindex="0"><table class="grid">
<thead><tr><th scope="col">{{ table.head }}</th>
{% for name in table.columns %}<th scope="col" class="n">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}
{% if row.group %}<tr class="group"><th scope="rowgroup" colspan="{{ table.columns | length + 1 }}">
{{ row.group }}</th></tr>{% endif %}
<tr><th scope="row">{{ row.name }}
{% if row.detail %}<small>{{ row.detail }}</small>{% endif %}</th>
{% for cell in row.cells %}<td class="n {{ cell.mark }}"
{% if cell.why %} title="{{ cell.why }}"{% endif %}>{{ cell.text }}
{% if cell.beside %}<small>{{ cell.beside }}</small>{% endif %}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% endfor %}
"""


@dataclass(frozen=True)
class TableCell:
    """A number as shown, a small one beside it, and how it is coloured and why.

    `mark` is a class of the style sheet: `low`, `high`, `missed`, or empty.
    """

    text: str
    mark: str = ""
    beside: str = ""
    why: str = ""


@dataclass(frozen=True)
class TableRow:
    """A named row, with a heading above it where a group begins."""

    name: str
    cells: Sequence[TableCell]
    detail: str = ""
    group: str = ""


@dataclass(frozen=True)
class HtmlTable:
    """A titled table; `head` names the first column, `columns` the others."""

    title: str
    head: str
    columns: Sequence[str]
    rows: Sequence[TableRow]


def build_tables(tables: Sequence[HtmlTable]) -> Markup:
    """The tables one under the other; those without rows are left out."""
    return render(_GRID, tables=tables)
