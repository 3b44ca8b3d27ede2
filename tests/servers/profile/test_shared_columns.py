"""Watch and profile call the same thing by the same name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dyno
from dyno.report.html.server_profile import STATEMENT_HEADS

TOP = Path(dyno.__file__).parent / "servers" / "watch" / "sql"


def list_columns(file: Path) -> list[str]:
    """What a report's columns are called."""
    text = file.read_text().partition("\nFROM")[0]
    return re.findall(r"\bAS (\w+)", text)


@pytest.mark.parametrize("kind", ["mysql", "postgres"])
def test_statements_have_the_columns_of_watch(kind: str) -> None:
    columns = list_columns(TOP / kind / "top" / "2-statements.sql")
    assert columns[:5] == list(STATEMENT_HEADS[:5])
    assert kind != "postgres" or columns == list(STATEMENT_HEADS)


@pytest.mark.parametrize("file", ["mysql/top/5-sessions.sql", "postgres/top/3-sessions.sql"])
def test_a_session_s_statement_is_a_query_too(file: str) -> None:
    assert list_columns(TOP / file)[0] == "query"
