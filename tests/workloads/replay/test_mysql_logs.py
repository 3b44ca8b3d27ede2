"""MySQL's and MariaDB's logs: which statement, whose, in which database, with which values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_logs import write

from dyno.engines.mysql.logs import DIALECT
from dyno.errors import UsageError
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.logs import Log
from dyno.workloads.replay.sessions import Selection, select_statements
from dyno.workloads.replay.spool import Spool
from dyno.workloads.replay.statements import read_statement


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path) as spool:
        yield spool


def general(*lines: tuple[int, str, str]) -> str:
    """A general log of 8.0, a line a second: session, command, argument."""
    return "".join(
        f"2026-01-01T10:00:{at:02d}.000000Z\t{session:5d} {command}\t{rest}\n"
        for at, (session, command, rest) in enumerate(lines)
    )


def mariadb(*lines: tuple[int, str, str]) -> str:
    """A general log of MariaDB, or of MySQL before 5.7, within a second."""
    said = "".join(f"\t\t{session:5d} {command}\t{rest}\n" for session, command, rest in lines)
    return f"260101 10:00:00{said[1:]}"


def slow(second: int, body: str, session: str = "11", more: str = "") -> str:
    """An entry of a slow log of 8.0."""
    number = f"  Id:    {session}" if session else ""
    return (
        f"# Time: 2026-01-01T10:00:{second:02d}.000000Z\n"
        f"# User@Host: app[app] @ web1 [10.0.0.1]{number}\n{more}"
        f"# Query_time: 0.000100  Lock_time: 0.000010 Rows_sent: 1  Rows_examined: 1\n"
        f"{body}\n"
    )


STAMP = "SET timestamp=1767261600;\n"


def select(spool: Spool, folder: Path, text: str, writes: bool = True) -> Selection:
    return select_statements(read_log(LogFile(write(folder, "it.log", text))), writes, spool)


def played(selection: Selection) -> dict[str, list[str]]:
    return {
        session.name: [it.sql.rstrip(";") for it in selection.find_played(session)]
        for session in selection.sessions
    }


def entries(folder: Path, text: str) -> list[tuple[str, str, str]]:
    log = read_log(LogFile(write(folder, "it.log", text)))
    return [(it.session, it.database, it.sql.rstrip(";")) for it in log.entries]


def read_whole(folder: Path, text: str) -> Log:
    log = read_log(LogFile(write(folder, "it.log", text)))
    list(log.entries)
    return log


def test_a_slow_logs_use_holds_for_the_log_until_the_next(spool: Spool, tmp_path: Path) -> None:
    text = (
        slow(0, f"use shop_a;\n{STAMP}SELECT 1;")
        + slow(1, f"use shop_b;\n{STAMP}SELECT 2;")
        + slow(2, f"{STAMP}SELECT 3;", "12")
        + slow(3, f"{STAMP}SELECT 4;")
    )
    assert entries(tmp_path, text) == [
        ("11", "shop_a", "SELECT 1"),
        ("11", "shop_b", "SELECT 2"),
        ("12", "shop_b", "SELECT 3"),
        ("11", "shop_b", "SELECT 4"),
    ]
    found = select(spool, tmp_path, text)
    assert played(found) == {
        "11": ["USE `shop_a`", "SELECT 1", "USE `shop_b`", "SELECT 2", "SELECT 4"],
        "12": ["USE `shop_b`", "SELECT 3"],
    }
    assert found.added == 3


@pytest.mark.parametrize(
    "head",
    [
        "# Schema: {}  Last_errno: 0  Killed: 0\n",
        "# Thread_id: 11  Schema: {}  QC_hit: No\n",
        "# DB: {}\n",
    ],
)
def test_a_slow_logs_head_says_the_database_of_its_entry(head: str, tmp_path: Path) -> None:
    names = ["shop_a", "my shop", "", "shop_a"]
    text = "".join(
        slow(at, f"use shop_a;\n{STAMP}SELECT {at};", more=head.format(name))
        for at, name in enumerate(names)
    )
    assert [database for _, database, _ in entries(tmp_path, text)] == names


@pytest.mark.parametrize("command", ["Change user", "Connect"])
def test_a_general_logs_session_that_begins_anew_is_another_one_in_its_own_database(
    command: str, tmp_path: Path
) -> None:
    text = general(
        (7, "Connect", "app@localhost on shop_a using Socket"),
        (7, "Query", "SELECT 1"),
        (7, command, "app@localhost on shop_b using Socket"),
        (7, "Query", "SELECT 2"),
        (7, "Reset Connection", ""),
        (7, "Query", "SELECT 3"),
        (7, command, "app@localhost on  using Socket"),
        (7, "Query", "SELECT 4"),
    )
    assert entries(tmp_path, text) == [
        ("7", "shop_a", "SELECT 1"),
        ("7/2", "shop_b", "SELECT 2"),
        ("7/3", "shop_b", "SELECT 3"),
        ("7/4", "", "SELECT 4"),
    ]


@pytest.mark.parametrize("way", [("Init DB", "shop_b"), ("Query", "use `shop_b` ;")])
def test_a_general_logs_use_is_known_in_both_ways_that_it_is_said(
    way: tuple[str, str], tmp_path: Path
) -> None:
    text = general(
        (7, "Connect", "app@localhost on shop_a using Socket"), (7, *way), (7, "Query", "SELECT 1")
    )
    assert entries(tmp_path, text)[-1] == ("7", "shop_b", "SELECT 1")


def test_a_session_of_a_slow_log_that_a_server_opened_anew_is_another_one(tmp_path: Path) -> None:
    header = "/usr/sbin/mysqld, Version: 8.0.36 (MySQL). started with:\nTcp port: 3306\n"
    header += "Time                 Id Command    Argument\n"
    first = slow(0, f"use shop;\n{STAMP}BEGIN;")
    text = header + first + header + slow(5, f"{STAMP}SELECT 1;")
    assert entries(tmp_path, text) == [("11", "shop", "BEGIN"), ("11/2", "", "SELECT 1")]
    (note,) = read_whole(tmp_path, text).notes
    assert "is another session" in note


def test_what_a_slow_log_without_numbers_does_not_tell_apart_is_said_first(
    tmp_path: Path,
) -> None:
    web2 = slow(1, f"{STAMP}SELECT 1;", "").replace("web1 [10.0.0.1]", "web2 [10.0.0.2]")
    text = slow(0, f"{STAMP}BEGIN;", "") + web2 + slow(2, f"{STAMP}UPDATE item SET n = 1;", "")
    said = lay_out(write(tmp_path, "it.log", text), False, lambda _: None).describe()
    assert said[0].startswith("note: 3 entries without the number of their session (Id): all")
    assert "1 of 3 statements" in said[1], "web2's read is in no transaction of web1's"


def test_tidbs_connections_are_sessions(tmp_path: Path) -> None:
    text = slow(0, "SELECT 1;", "", "# Conn_ID: 3086\n# DB: shop\n")
    text += slow(1, "use other;\nSELECT 2;", "", "# Conn_ID: 3087\n# DB: other\n")
    assert entries(tmp_path, text) == [("3086", "shop", "SELECT 1"), ("3087", "other", "SELECT 2")]


def test_what_a_slow_log_does_not_hold_whole_is_left_out_by_name(tmp_path: Path) -> None:
    text = slow(0, "SELECT 1;")
    text += slow(1, "SELECT ? [arguments: 1];") + slow(2, "SELECT 3;", more="# Is_internal: true\n")
    text += slow(3, f"{STAMP}# administrator command: Execute;")
    said = lay_out(write(tmp_path, "it.log", text), False, lambda _: None).describe()
    assert "1 of 3 statements" in said[0]
    assert [it.partition(" (")[0] for it in said[1:]] == [
        "left out: 1 whose values stand behind them",
        "left out: 1 that are logged without their text",
        "left out: a statement of the server's own",
    ]


def test_a_log_without_any_session_says_what_is_missing(tmp_path: Path) -> None:
    text = "# Time: 260101 10:00:00\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 1\nSELECT 1;\n"
    with pytest.raises(
        UsageError, match=r"no session .# User@Host, Id or Thread_id. .line 1"
    ) as refused:
        read_whole(tmp_path, text)
    assert refused.value.hint == "replay the log as the server wrote it, whole"


@pytest.mark.parametrize("make", [general, mariadb])
def test_a_statement_prepared_in_sql_runs_once(make: object, tmp_path: Path) -> None:
    lines = [
        (7, "Query", "PREPARE p FROM ..."),
        (7, "Prepare", "UPDATE stock SET n = n - ?"),
        (8, "Query", "SELECT 1"),
        (7, "Query", "SET @a = 1"),
        (7, "Query", "EXECUTE p USING @a"),
        (8, "Query", "SELECT 2"),
        (7, "Execute", "UPDATE stock SET n = n - 1"),
        (7, "Query", "EXECUTE IMMEDIATE 'SELECT 3'"),
        (7, "Prepare", "SELECT 3"),
        (7, "Execute", "SELECT 3"),
        (7, "Query", "DEALLOCATE PREPARE p"),
        (7, "Query", "EXECUTE nosuch"),
        (7, "Query", "SELECT 4"),
    ]
    assert callable(make)
    found = entries(tmp_path, make(*lines))
    assert [sql for session, _, sql in found if session == "7"] == [
        "SET @a = 1",
        "UPDATE stock SET n = n - 1",
        "SELECT 3",
        "EXECUTE nosuch",
        "SELECT 4",
    ]
    assert [sql for session, _, sql in found if session == "8"] == ["SELECT 1", "SELECT 2"]


def test_a_slow_log_has_what_was_prepared_in_sql_where_it_ran(tmp_path: Path) -> None:
    said = ["PREPARE p FROM ...", "SELECT 5", "DEALLOCATE PREPARE p", "drop prepare p"]
    text = "".join(slow(at, f"{STAMP}{sql};") for at, sql in enumerate(said))
    assert [sql for _, _, sql in entries(tmp_path, text)] == ["SELECT 5"]


def test_several_statements_in_one_packet_of_mariadb_are_one_request(
    spool: Spool, tmp_path: Path
) -> None:
    """MariaDB logs a packet as one entry, where MySQL logs each statement by itself: it is sent as
    it came, and is a write where one of its statements is.
    """
    text = mariadb(
        (36, "Query", "BEGIN"),
        (36, "Query", "SELECT 1"),
        (36, "Query", "UPDATE item SET n = 1; SELECT n FROM item"),
        (36, "Query", "SELECT n FROM item; COMMIT"),
        (36, "Query", "SELECT 2"),
        (36, "Query", "BEGIN; SELECT 6"),
        (36, "Query", "DELETE FROM item"),
        (36, "Query", "COMMIT; SELECT 7"),
        (36, "Query", "SET NAMES utf8mb4; SET autocommit=0, sql_mode=''"),
        (36, "Query", "SELECT 8"),
        (36, "Query", "DELETE FROM item"),
        (36, "Query", "COMMIT; SET autocommit=1"),
        (37, "Query", "SELECT ';'; -- ;\n SELECT 4"),
        (37, "Query", "SELECT 5; KILL 3"),
        (37, "Query", "USE other; SELECT 5"),
        (37, "Query", "SELECT 9"),
    )
    found = select(spool, tmp_path, text, writes=False)
    texts = [it.sql for session in found.sessions for it in found.find_played(session)]
    reads = ["SELECT 2", "SELECT ';'; -- ;\n SELECT 4", "SELECT 9"]
    assert [sql for sql in texts if sql.startswith("SELECT")] == reads
    assert {why: it.count for why, it in found.left_out.items()} == {
        "that write": 3,
        "in transactions that write": 7,
        "for the server as a whole, never played": 1,
        "not understood: it is several statements with a USE among them": 1,
    }
    assert [it.count for it in found.notes.values()] == [4]
    whole = select(spool, tmp_path, text, writes=True)
    assert whole.count == whole.read - 2


@pytest.mark.parametrize(
    ("text", "kind", "leaves"),
    [
        ("SELECT 1; SELECT 2;", "read", ""),
        ("(SELECT 1) UNION (SELECT 2); SET @a = 1", "read", ""),
        ("BEGIN; SELECT 1; DELETE FROM item; COMMIT;", "write", "ended"),
        ("ROLLBACK; BEGIN", "begin", "open"),
        ("CREATE PROCEDURE p() BEGIN SELECT 1; IF a THEN SELECT 2; END IF; END", "write", ""),
        ("CREATE TRIGGER t BEFORE INSERT ON item FOR EACH ROW SET NEW.n = 1; END", "write", ""),
        ("SELECT 1; CREATE PROCEDURE p() BEGIN SELECT 1; END", "unknown", ""),
        ("CREATE FUNCTION f() RETURNS INT BEGIN RETURN 1; END; DROP USER a", "admin", ""),
        ("BEGIN NOT ATOMIC SELECT 1; END", "unknown", ""),
        ("SELECT 1; SELEC 2", "unknown", ""),
    ],
)
def test_several_statements_do_what_one_of_them_does(text: str, kind: str, leaves: str) -> None:
    found = read_statement(text, DIALECT)
    assert (found.kind, found.leaves) == (kind, leaves)


@pytest.mark.parametrize("words", ["SELECT count(*) FROM item", "WITH d AS (SELECT 1) TABLE d"])
def test_set_statement_for_a_read_is_a_read(words: str, spool: Spool, tmp_path: Path) -> None:
    text = mariadb(
        (36, "Query", f"SET STATEMENT max_statement_time=5, sort_buffer_size=(1) FOR {words}"),
        (37, "Query", "SET STATEMENT max_statement_time=5 FOR UPDATE item SET n = 1"),
        (38, "Query", "SET STATEMENT max_statement_time=5 FOR SET GLOBAL x = 1"),
        (39, "Query", "SET NAMES utf8mb4"),
    )
    found = select(spool, tmp_path, text, writes=False)
    assert list(played(found)) == ["36"]
    assert {why: it.count for why, it in found.left_out.items()} == {
        "that write": 1,
        "for the server as a whole, never played": 1,
        "in sessions that read and write nothing": 1,
    }


@pytest.mark.parametrize("line", ["# only the first", "#", "-- x", "\t0 + n", "\t    8 Query\tx"])
def test_a_line_of_a_statement_is_the_statements(line: str, tmp_path: Path) -> None:
    sql = f"SELECT count(*) FROM item\n{line}\nWHERE id = 1"
    assert [it for _, _, it in entries(tmp_path, slow(0, f"{STAMP}{sql};"))] == [sql]
    if not line.startswith("#"):
        first = slow(0, f"{STAMP}SELECT\n{line};")
        assert entries(tmp_path, first)[0][2] == f"SELECT\n{line}", "a slow log is one"
    assert [it for _, _, it in entries(tmp_path, general((7, "Query", sql)))] == [sql]
    old = mariadb((7, "Query", sql))
    assert [it for _, _, it in entries(tmp_path, old)] == [sql]


@pytest.mark.parametrize("first", ["260101 10:00:00\t     42 Connect     app@h on shop\n", ""])
def test_a_general_log_up_to_50_has_spaces_behind_its_commands(first: str, tmp_path: Path) -> None:
    text = first or "260101 10:00:00      41 Query       SELECT 0\n"
    text += "\t\t     42 Query       SELECT 1\n\t\t     42 Query       SELECT\n\t 2\n"
    assert [sql for _, _, sql in entries(tmp_path, text)][-2:] == ["SELECT 1", "SELECT\n\t 2"]


@pytest.mark.parametrize(
    "own", ["timestamp=1", "last_insert_id=7,insert_id=8,timestamp=1", "insert_id=8,timestamp=1.5"]
)
def test_what_a_slow_log_sets_before_a_statement_is_the_logs_own(own: str, tmp_path: Path) -> None:
    text = slow(0, f"use shop;\nSET {own};\nINSERT INTO item VALUES (3);")
    text += slow(1, f"{STAMP}SET timestamp=5;") + slow(2, f"{STAMP}use other;")
    assert [sql for _, _, sql in entries(tmp_path, text)] == [
        "INSERT INTO item VALUES (3)",
        "SET timestamp=5",
        "use other",
    ]


def test_mariadbs_explain_is_of_the_head(tmp_path: Path) -> None:
    more = "#\n# explain: id\tselect_type\n# explain: 1\tSIMPLE\n#\n"
    text = slow(0, f"{STAMP}SELECT 1;").replace("SET time", f"{more}SET time")
    assert [sql for _, _, sql in entries(tmp_path, text)] == ["SELECT 1"]


def test_an_optimizer_hint_is_no_comment_that_does_not_end(spool: Spool, tmp_path: Path) -> None:
    text = slow(0, f"{STAMP}SELECT /*+ MAX_EXECUTION_TIME(1000) */ count(*) FROM item;")
    assert select(spool, tmp_path, text, False).count_tables() == {"item": 1}


@pytest.mark.parametrize("time", ["18446744073708.796870.000036", "18446744073708.796870"])
def test_a_duration_that_cannot_be_is_said_and_moves_nothing(time: str, tmp_path: Path) -> None:
    text = slow(0, f"{STAMP}SELECT 1;").replace("0.000100", time)
    said = lay_out(write(tmp_path, "it.log", text), False, lambda _: None).describe()
    assert "duration that cannot be" in said[0] and said[1].endswith("over 0.0 s")


def test_entries_before_a_slow_logs_first_time_are_of_that_time(tmp_path: Path) -> None:
    first = "".join(slow(0, "SELECT 1;").splitlines(keepends=True)[1:])
    said = lay_out(write(tmp_path, "it.log", first + slow(0, "SELECT 2;")), False, lambda _: None)
    assert said.describe()[0].endswith("over 0.0 s")


def test_a_sampled_log_says_which_share_it_holds(tmp_path: Path) -> None:
    more = "# Log_slow_rate_type: query  Log_slow_rate_limit: 100\n"
    text = slow(0, f"{STAMP}SELECT 1;").replace("SET time", f"{more}SET time")
    said = lay_out(write(tmp_path, "it.log", text), False, lambda _: None).describe()
    assert "one in 100 statements" in said[0] and "--speed 100" in said[0]


@pytest.mark.parametrize(("shortest", "is_told"), [("0.600000", True), ("0.000200", False)])
def test_a_log_of_slow_statements_alone_is_told(
    shortest: str, is_told: bool, tmp_path: Path
) -> None:
    entry = (
        "# Time: 2026-01-01T10:00:0{}.000000Z\n# User@Host: app[app] @ localhost []  Id: 8\n"
        "# Query_time: {}  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
        "SET timestamp=1767261600;\nSELECT {};\n"
    )
    (tmp_path / "it.log").write_text(entry.format(1, "2.5", 1) + entry.format(5, shortest, 2))
    log = read_log(LogFile(tmp_path / "it.log"))
    assert len(list(log.entries)) == 2
    told = [why for why in log.notes if "none of which took less than 0.6 s" in why]
    assert bool(told) == is_told, log.notes


def test_a_general_log_behind_a_slow_log_is_counted_and_not_passed_over(tmp_path: Path) -> None:
    header = "/usr/sbin/mysqld, Version: 8.0.36 (x). started with:\nTime   Id Command    Argument\n"
    other = general((8, "Query", "SELECT 2"), (8, "Query", "SELECT 3"))
    log = read_whole(tmp_path, slow(1, f"{STAMP}SELECT 1;") + header + other)
    assert [it.count for why, it in log.unread.items() if "entry's head" in why] == [2]
