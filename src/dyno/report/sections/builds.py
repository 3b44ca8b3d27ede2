"""Section: what each candidate is: its program, where it came from, and its checksum."""

from __future__ import annotations

from dyno.report import Book
from dyno.report.html.markup import render

_TEMPLATE = """
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col"></th>
{% for c in candidates %}<th scope="col">
<i class="swatch c{{ loop.index0 | swatch }}"></i>{{ c.name }}
{% if loop.first %}<small>base</small>{% endif %}</th>{% endfor %}</tr></thead>
<tbody>
{% for name, values in rows %}
<tr{% if values | unique | list | length > 1 %} class="differs"{% endif %}>
<th scope="row">{{ name | replace("_", " ") }}</th>
{% for value in values %}<td><code>{{ value }}</code></td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
"""


class _Builds:
    title = "Builds"
    place = 82

    def render(self, book: Book) -> str:
        """A column per candidate; a row per fact, those that differ marked."""
        order = book.view.candidates
        sides = sorted(book.run.candidates, key=lambda c: order.index(c.name))
        names = list(dict.fromkeys(name for side in sides for name in side.build))
        rows = [("spec", [s.spec for s in sides]), ("engine", [s.engine for s in sides])]
        rows += [(name, [side.build.get(name, "") for side in sides]) for name in names]
        return render(_TEMPLATE, candidates=sides, rows=rows)


SECTION = _Builds()
