"""What is explained is one statement of SQL, as it is: what programs and clients write instead is
refused by its name, and so is a pooler, behind which no session is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from dyno.driver.events import ServerNotice, TimedAnswer
from dyno.engines import PathRequest
from dyno.engines._statements import check_kind, read_statement, refuse_placeholders
from dyno.engines.mysql.explain_events import list_switches
from dyno.engines.mysql.session_words import find_quoting
from dyno.engines.postgres import attached
from dyno.engines.postgres.explain import BEGUN, ExplainsPostgresPath
from dyno.errors import UsageError
from dyno.sql.tokens import Quoting

POSTGRES = Quoting(True, False, names_in_double=True)
MYSQL = find_quoting("") or POSTGRES


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("UPDATE t SET a = $1", "has parameters"),
        ("SELECT {id}", "has parameters"),
        ("SELECT $id", "has parameters"),
        (r"\d+ t", r"\\d\+ is a command of a client's"),
        (".schema t", r"\.schema is a command of a client's"),
        (r"SELECT 1 \gx", r"\\gx is a command of a client's"),
        (r"SELECT 1\G;", r"\\G is a command of a client's"),
        ("EXPLAIN (ANALYZE) SELECT 1", "EXPLAIN cannot be explained"),
    ],
)
def test_what_is_no_sql_alone_is_refused_by_name(sql: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_kind(read_statement(sql, POSTGRES), writes=True)


def test_a_variable_that_no_session_of_ours_has_is_refused_and_others_are_not() -> None:
    for sql in ("SELECT 1 FROM t WHERE id = @id", "DELETE FROM t WHERE id = @`an id`"):
        with pytest.raises(UsageError, match="has no value in a new session"):
            check_kind(read_statement(sql, MYSQL), writes=True)
    for sql in ("SELECT @n := @n + 1 FROM (SELECT @n := 0) v", "SELECT @@version, '@id', .5"):
        check_kind(read_statement(sql, MYSQL), writes=False)


@pytest.mark.parametrize(
    ("sql", "is_one"),
    [
        ("id = ?", True),
        ("id = :id", True),
        ("id = %s AND n = %(n)s", True),
        ("id = @p1", True),
        ("id::int = a[1:2] % 5 AND note = '?:x%s'", False),
        ("tags ?| keys AND tags ?& keys -- why?", False),
    ],
)
def test_placeholders_of_programs_are_seen_once_a_server_has_refused(
    sql: str, is_one: bool
) -> None:
    if not is_one:
        refuse_placeholders(sql, "syntax error")
        return
    with pytest.raises(UsageError, match="has parameters: syntax error"):
        refuse_placeholders(sql, "syntax error")


def begin(process: int | None, limit_ms: str, reads_only: str = "on") -> None:
    """A session's beginning on a server that says this of it."""
    state = ["PostgreSQL 18.1", "180001", "on", "f", "off", "off", "t", "on", "on"]

    def answer(session: object, statements: Sequence[str]) -> list[list[list[str | None]]]:
        del session
        return [[[*state]], []] if len(statements) == 2 else [[] for _ in statements]

    def talk(statements: Sequence[str], mode: str = "rows") -> list[TimedAnswer]:
        told: dict[str, list[list[str | None]]] = {
            BEGUN: [["7", reads_only, limit_ms]],
            "SHOW is_superuser": [["on"]],
        }
        notices = (ServerNotice("parse tree:", "", "{QUERY :commandType 1}"),) * (
            mode == "prepares"
        )
        return [
            TimedAnswer(told.get(it, []), 1, process=process, notices=notices) for it in statements
        ]

    path = ExplainsPostgresPath()
    path._ask = answer
    path.open_path("//me@db/shop", {}, PathRequest("SELECT 1", 30)).begin(talk)


def test_a_session_behind_a_pooler_is_refused_and_our_own_is_not() -> None:
    begin(7, "30000")
    with pytest.raises(UsageError, match="a pooler stands before the server"):
        begin(8, "30000")
    with pytest.raises(UsageError, match="did not take the session's settings"):
        begin(7, "0")
    with pytest.raises(UsageError, match="did not make the session read-only"):
        begin(7, "30000", "off")


def test_a_session_that_was_not_kept_from_writing_is_not_used() -> None:
    for told in ("on", "off"):
        ask = SimpleNamespace(answer=lambda *_, told=told: [[[told]]]).answer
        session = {"kind": "postgres", "host": "db"}
        if told == "on":
            attached.check_kept(ask, session)
            continue
        with pytest.raises(UsageError, match="did not make the session read-only"):
            attached.check_kept(ask, session)


def test_the_switches_put_back_exactly_what_they_change() -> None:
    told = list_switches(lambda *_: [[["stage/sql/altering"]], [["events_stages_current"]]], {})
    assert [it.partition("ENABLED = ")[2][:5] for it in told] == [
        "'YES'",
        "'YES'",
        "'NO' ",
        "'NO',",
    ]
    assert "NAME NOT IN ('stage/sql/altering')" in told[3] and "ENABLED = 'NO'" in told[0]
    assert list_switches(lambda *_: [[["stage/sql/altering"]], []], {}) == ()
