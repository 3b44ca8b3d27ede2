"""Leaves the tests of the report out for as long as `dyno.measures` is being written."""

from __future__ import annotations

from importlib.util import find_spec

BOOKS = ["test_page.py", "test_page_in_chromium.py", "test_text.py"]
collect_ignore = [] if find_spec("dyno.measures") else BOOKS


def pytest_report_header() -> str:
    return "golden: the tests of the report wait for dyno.measures" if collect_ignore else ""
