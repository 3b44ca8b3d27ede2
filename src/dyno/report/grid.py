"""Tables of coloured cells, as the insert benchmark's reports have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dyno.report.markup import render

_TEMPLATE = """
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
class Cell:
    """A number as shown, a small one beside it, and how it is coloured and why.

    `mark` is a class of the style sheet: `low`, `high`, `missed`, or empty.
    """

    text: str
    mark: str = ""
    beside: str = ""
    why: str = ""


@dataclass(frozen=True)
class Row:
    """A named row, with a heading above it where a group begins."""

    name: str
    cells: Sequence[Cell]
    detail: str = ""
    group: str = ""


@dataclass(frozen=True)
class Table:
    """A titled table; `head` names the first column, `columns` the others."""

    title: str
    head: str
    columns: Sequence[str]
    rows: Sequence[Row]


def tables(found: Sequence[Table]) -> Markup:
    """The tables one under the other; those without rows are left out."""
    return render(_TEMPLATE, tables=found)
