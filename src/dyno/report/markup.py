"""HTML by jinja2, with everything escaped that is not markup of ours."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from dyno.report import numbers, words

#: How many candidates have a colour of their own before the colours come round again.
COLOURS = 6


def swatch(position: int) -> int:
    """The number of the colour of the candidate at `position`; the base's (0) is its alone."""
    return position if position < COLOURS else 1 + (position - COLOURS) % (COLOURS - 1)


def render(template: str, **values: Any) -> Markup:
    """`template` filled with `values`; the filters are those of `numbers` and `words`."""
    return Markup(_compiled(template).render(**values))


def coded(text: str) -> Markup:
    """`text` with its commands, which stand between backticks, as code."""
    parts = (escape(part) for part in text.split("`"))
    marked = (Markup(f"<code>{part}</code>") if at % 2 else part for at, part in enumerate(parts))
    return Markup("").join(marked)


def asset(name: str) -> str:
    """A file that lies beside this one: the page's template, style or script."""
    return files("dyno.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _compiled(template: str) -> Template:
    return _environment().from_string(template)


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    filters = {
        "quantity": numbers.quantity,
        "signed": numbers.signed,
        "percent": numbers.percent,
        "ratio": numbers.ratio,
        "metric": words.metric,
        "metric_name": words.metric_name,
        "verdict": words.verdict,
        "plural": words.plural,
        "swatch": swatch,
        "coded": coded,
    }
    environment.filters.update(filters)
    environment.globals["interval"] = numbers.interval
    return environment
