"""Watch, profile and the kit's history call the same thing by the same name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repository import ROOT

import dyno
from dyno.report.server_profile import STATEMENT_HEADS, WAIT_HEADS

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


HISTORY = TOP.parent.parent / "kit" / "sql" / "history" / "reports"
#: But for one whose columns have no other name there, and one with a column of the server's own.
SHARED = sorted(
    {it.name for it in HISTORY.glob("*.sql")}
    & {it.name for it in (TOP / "mysql").glob("*.sql")}
    - {"schema_unused_indexes.sql", "metrics.sql"}
)


@pytest.mark.parametrize("report", SHARED)
def test_a_report_of_the_history_has_the_columns_that_watch_has(report: str) -> None:
    of_history, of_watch = (list_columns(it / report) for it in (HISTORY, TOP / "mysql"))
    assert len(SHARED) > 30 and set(of_history) <= set(of_watch)


def test_the_words_of_the_guide_are_columns_of_watch_and_of_a_profile() -> None:
    guide = (ROOT / "docs/guides/your-server.md").read_text()
    table = guide.partition("## The same words")[2].partition("`dyno watch top`")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    words = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    assert words == {"query", "db", "per_second", "avg_ms", "sessions", "wait"}
    of_watch = {it for file in TOP.glob("*/top/*.sql") for it in list_columns(file)}
    assert words <= of_watch and words <= {*STATEMENT_HEADS, *WAIT_HEADS}
