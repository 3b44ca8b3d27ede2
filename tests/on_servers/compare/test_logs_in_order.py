"""A log played in its order on real servers: locks are waited for while other sessions go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from private_servers import serving

from dyno import driver
from dyno.driver.lockstep import read_log_answers
from dyno.driver.plan import Session
from dyno.engines import find_engine
from dyno.instruments.time.log_contents import LogReplies
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.order import OrderedLog, read_order
from dyno.workloads.replay.sessions import Bounds

KINDS = ("postgres-18", "mysql-8.0", "mariadb-innodb", "mysql-5.6")
ITEM = "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40), stock INT)"
ROWS = "INSERT INTO item VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)"
#: Session and statement. 2 waits for 1, and what it sends next waits behind it; 3 goes on.
WAITS = [
    (1, "BEGIN"),
    (1, "UPDATE item SET stock = stock + 1 WHERE id = 1"),
    (2, "UPDATE item SET stock = stock * 2 WHERE id = 1"),
    (2, "SELECT stock FROM item WHERE id = 1"),
    (3, "SELECT stock FROM item WHERE id = 3"),
    (1, "COMMIT"),
    (3, "SELECT stock FROM item WHERE id = 1"),
]
#: 1 and 2 want each other's row: the server ends one of them.
DEADLOCK = [
    (1, "BEGIN"),
    (2, "BEGIN"),
    (1, "UPDATE item SET stock = 1 WHERE id = 1"),
    (2, "UPDATE item SET stock = 2 WHERE id = 2"),
    (1, "UPDATE item SET stock = 1 WHERE id = 2"),
    (2, "UPDATE item SET stock = 2 WHERE id = 1"),
    (2, "ROLLBACK"),
    (1, "COMMIT"),
]


def lay(folder: Path, said: list[tuple[int, str]]) -> OrderedLog:
    line = "2026-01-01 10:00:00.{:03} UTC [{}] app@shop LOG:  statement: {}\n"
    file = folder / "it.log"
    file.write_text("".join(line.format(at, *each) for at, each in enumerate(said)))
    log = read_order(lay_out(file, True, lambda _: None, Bounds(asks=False)).script)
    assert log is not None
    return log


def play(kind: str, session: Session, log: OrderedLog, file: Path) -> LogReplies:
    driver.ask(session, ["DROP TABLE IF EXISTS item", ITEM, ROWS])
    replies = LogReplies(log, file)
    engine = find_engine({"p": "postgres", "m": "mysql"}[kind[0]], driver.ask)
    replies.ask(session, engine.in_order, engine.tables_sql)  # type: ignore[attr-defined]
    return replies


@pytest.mark.parametrize("kind", KINDS)
def test_a_statement_that_waits_for_a_lock_waits_while_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with serving(kind) as server:
        monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
        log = lay(tmp_path, WAITS)
        first, second = (play(kind, server.session, log, tmp_path / it) for it in "ab")
        assert first.played and (first.played.waited, first.played.given_up) == (1, 0)
        told = list(read_log_answers(first.answers))
        assert [not it.elapsed_ns for it in told] == [at == 2 for at in range(len(told))]
        found = [it.read().answer for it in told]
        assert [it.rows for it in found if it.rows] == [(("22",),), (("30",),), (("22",),)]
        # the next of the session that waited came last but one, and is told in its place
        assert found[3].rows == (("22",),) and found[2].rows_changed == 1
        assert all(
            it.same and not it.differs for it in first.compare(second, None, same_engine=True)
        )


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_deadlock_of_the_log_s_own_order_is_the_server_s_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with serving(kind) as server:
        monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
        log = lay(tmp_path, DEADLOCK)
        replies = play(kind, server.session, log, tmp_path / "a")
        answers = [it.read().answer for it in read_log_answers(replies.answers)]
    refused = [it.refusal.code for it in answers if it.refusal]
    assert refused in (["40P01"], ["1213"])
    assert replies.played and replies.played.given_up == 0 and len(answers) == len(DEADLOCK)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_warnings_refusals_and_the_clock_are_part_of_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    said = [
        (1, "DROP TABLE IF EXISTS nothing"),
        (1, "SELECT nosuch FROM item"),
        (1, "SELECT NOW()"),
    ]
    log = lay(tmp_path, said)
    with serving(kind) as server:
        replies = play(kind, server.session, log, tmp_path / "a")
        dropped, refused, now = [it.read().answer for it in read_log_answers(replies.answers)]
    assert dropped.notices[0].code in ("00000", "1051")
    assert refused.refusal and refused.refusal.code in ("42703", "1054")
    # MySQL's sessions are told the log's own time, in the server's zone
    is_told = kind.startswith("mysql")
    assert str(now.rows[0][0]).startswith(("2026-01-01", "2025-12-31")) == is_told


@pytest.mark.parametrize("kind", KINDS)
def test_to_ask_who_waits_for_a_lock_is_no_time_of_the_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """InnoDB is asked every 110 ms at most; a statement of 30 ms was said to take as long."""
    slow = "SELECT pg_sleep(0.03)" if kind[0] == "p" else "SELECT SLEEP(0.03)"
    with serving(kind) as server:
        monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
        played = play(kind, server.session, lay(tmp_path, [(1, slow)] * 6), tmp_path / "a")
        times_ns = [it.elapsed_ns for it in read_log_answers(played.answers)]
        assert 30e6 <= min(times_ns[1:]) < 100e6, times_ns
