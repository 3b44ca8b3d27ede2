"""Links from a number to the trial that it means."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.report.markup import render

#: More of them than a reader follows.
SHOWN = 8

_TEMPLATE = (
    "{% for n in trials[:shown] %}"
    '<a href="#trial-{{ n }}">{{ n }}</a>{{ ", " if not loop.last }}'
    "{% endfor %}"
    '{% if more > 0 %} <span title="{{ trials[shown:] | join(", ") }}">and {{ more }} more</span>'
    "{% endif %}"
)


def trials(numbers: Sequence[int]) -> str:
    """The trials' numbers as links into the list of all trials, the first few of them."""
    return render(_TEMPLATE, trials=numbers, shown=SHOWN, more=len(numbers) - SHOWN)
