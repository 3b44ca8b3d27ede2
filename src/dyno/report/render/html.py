"""A document as HTML, everything escaped, for the frame of `html/page.py`."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dyno.report.document import (
    Block,
    Details,
    Document,
    Heading,
    Listing,
    Prose,
    RowTable,
    TextSpan,
)
from dyno.report.html.markup import render

_SPANS = (
    "{% for it in spans %}{% if it.code %}"
    '<code{% if it.tone %} class="{{ it.tone }}"{% endif %}>{{ it.text }}</code>'
    '{% elif it.tone %}<b class="{{ it.tone }}">{{ it.text }}</b>'
    "{% else %}{{ it.text }}{% endif %}{% endfor %}"
)
_TABLE = """\
<div class="scroll" tabindex="0">\
<table{% if table.columns | length > 3 %} class="stacked"{% endif %}>
<thead><tr>{% for it in table.columns %}
<th scope="col"{% if it.kind == "number" %} class="n"{% endif %}>{{ it.title }}</th>
{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}
<tr>{% for column, cell in row %}
<td data-label="{{ column.title }}"{% if column.kind == "number" %} class="n"{% endif %}>{{ cell }}\
</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
"""


def render_html(document: Document) -> Markup:
    """The blocks one under the other."""
    return Markup("\n").join(map(_render_block, document))


def _render_block(block: Block) -> Markup:
    match block:
        case Heading():
            return render("<h3>{{ it.text }}</h3>", it=block)
        case Prose():
            return Markup("<p>{}</p>").format(_render_spans(block.spans))
        case Listing():
            title = render("<p><small>{{ it.title }}</small></p>", it=block) if block.title else ""
            return Markup("{}{}").format(title, render("<pre>{{ it.text }}</pre>", it=block))
        case RowTable():
            rows = [
                list(zip(block.columns, (_render_spans([it]) for it in row), strict=True))
                for row in block.rows
            ]
            return render(_TABLE, table=block, rows=rows)
        case Details():
            summary = _render_spans(block.summary)
            inner = render_html(block.blocks)
            return Markup('<details class="proof"><summary>{}</summary>\n{}\n</details>').format(
                summary, inner
            )


def _render_spans(spans: Sequence[TextSpan]) -> Markup:
    return render(_SPANS, spans=spans)
