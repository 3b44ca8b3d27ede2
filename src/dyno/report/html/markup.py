"""Markup by jinja2, with everything escaped that is not ours."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from dyno.numbers import format_count
from dyno.printable import escape_text
from dyno.report import words
from dyno.report.charts import choose_swatch

PERCENT = re.compile(r"(?<=\d) %")


def render(template: str, **values: Any) -> Markup:
    """`template` filled with `values`; the filters are those of `numbers` and `words`."""
    return Markup(_load_template(template).render(**values))


def mark_code(text: str) -> Markup:
    """`text` with its commands, which stand between backticks, as code."""
    parts = enumerate(text.split("`"))
    marked = (
        Markup("<code>{}</code>").format(part) if at % 2 else escape_words(part)
        for at, part in parts
    )
    return Markup("").join(marked)


def escape_words(text: str) -> Markup:
    """Text that makes no tags, breaks no number from its sign of percent, and controls nothing."""
    return escape(_escape_value(text))


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
        "metric": words.format_metric,
        "plural": format_count,
        "swatch": choose_swatch,
        "coded": mark_code,
    }
    environment.filters.update(filters)
    return environment
