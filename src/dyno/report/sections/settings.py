"""Section: the engines' settings as they read back, and what was asked of them."""

from __future__ import annotations

from functools import partial
from itertools import groupby

from dyno.judge.settings import KnownCosts, load_known_costs
from dyno.judge.settings.values import is_same_value
from dyno.report import Book
from dyno.report.html.markup import render

_TEMPLATE = """
{% macro table(rows) %}
<div class="scroll" tabindex="0"><table{% if rows | length > 12 %} class="searched"{% endif %}>
<thead><tr><th scope="col">setting</th>
{% for name in names %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>{% for key, values in rows %}<tr><th scope="row">{{ key }}</th>
{% for value in values %}<td><code>{{ value }}</code></td>{% endfor %}</tr>{% endfor %}
</tbody></table></div>
{% endmacro %}
{% if differing %}<h3>Different between candidates</h3>
{% for kind, rows in differing %}
<h4>{{ kind }}</h4>{{ table(rows) }}
{% endfor %}
{% elif alike %}<p>No setting that was read back differs between candidates.</p>
{% else %}<p>No engine reported its settings.</p>{% endif %}
{% if alike %}<details><summary>{{ alike | length | plural("setting") }} alike</summary>
{{ table(alike) }}</details>{% endif %}
<details><summary>Options of the workloads</summary>
{% for workload in workloads %}
<h3>{{ workload.name }} <small><code>{{ workload.script_sha256[:12] }}</code></small></h3>
<table><tbody>{% for key, value in workload.options.items() %}
<tr><th scope="row">{{ key }}</th><td><code>{{ value }}</code></td></tr>
{% else %}<tr><td>none</td></tr>{% endfor %}</tbody></table>
{% endfor %}</details>
"""


class _Settings:
    title = "Settings"
    place = 84

    def render(self, book: Book) -> str:
        """Settings that differ first, the dearest class before the others; those alike folded; the
        workloads' options.
        """
        names = book.view.candidates
        read = {name: _read_back(book, name) for name in names}
        costs = load_known_costs(book.run.candidates[0].engine)
        keys = costs.rank({key for found in read.values() for key in found})
        rows = [(key, [read[name].get(key, "") for name in names]) for key in keys]
        apart = [row for row in rows if not _is_alike(row[1])]
        return render(
            _TEMPLATE,
            names=names,
            differing=[
                (kind, list(own)) for kind, own in groupby(apart, partial(_find_kind, costs))
            ],
            alike=[row for row in rows if _is_alike(row[1])],
            workloads=book.run.workloads,
        )


def _is_alike(values: list[str]) -> bool:
    """The same value everywhere, wherever each came from."""
    return all(is_same_value(values[0], value) for value in values)


def _find_kind(costs: KnownCosts, row: tuple[str, list[str]]) -> str:
    cost = costs.find(row[0])
    return cost.kind if cost else "others"


def _read_back(book: Book, candidate: str) -> dict[str, str]:
    """Each setting's values over the candidate's trials, and the asked ones never read back."""
    found: dict[str, list[str]] = {}
    for trial in book.view.played_trials:
        if trial.candidate == candidate:
            for key, value in trial.settings.items():
                found.setdefault(key, []).append(value)
    told = {key: " or ".join(dict.fromkeys(values)) for key, values in found.items()}
    side = next(c for c in book.run.candidates if c.name == candidate)
    asked = {**side.settings, **{f"control {k}": v for k, v in side.controls.items()}}
    return {**{key: f"{value} (as asked)" for key, value in asked.items()}, **told}


SECTION = _Settings()
