"""Section: the machine that played it."""

from __future__ import annotations

from dyno.report import Book
from dyno.report.html.markup import render

_TEMPLATE = """
<table><tbody>{% for name, value in host.items() %}
<tr><th scope="row">{{ name | replace("_", " ") }}</th><td>{{ value }}</td></tr>
{% endfor %}</tbody></table>
"""


class _Host:
    title = "Host"
    place = 80

    def render(self, book: Book) -> str | None:
        """The host's facts, as the run recorded them."""
        return render(_TEMPLATE, host=book.run.host) if book.run.host else None


SECTION = _Host()
