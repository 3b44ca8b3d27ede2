"""What servers say that their sessions are at, as kinds of waits."""

from __future__ import annotations

from dyno.engines.mysql.evidence import QUESTION, TellsMysqlWaits
from dyno.engines.postgres.evidence import TellsPostgresWaits
from dyno.record.waits import SessionState


def make_row(command: str, state: str | None, info: str | None = "SELECT 1") -> list[str | None]:
    return ["7", "u", "localhost", "dyno", command, "0", state, info]


def test_mysqls_states_are_kinds_and_who_is_idle_or_asks_is_left_out() -> None:
    rows = [
        make_row("Execute", "Waiting for query cache lock"),
        make_row("Query", "Waiting for table metadata lock"),
        make_row("Query", "System lock"),
        make_row("Query", "waiting for handler commit", "COMMIT"),
        make_row("Query", "Sending to client"),
        make_row("Execute", "updating"),
        make_row("Execute", "updating"),
        make_row("Execute", ""),
        make_row("Sleep", "", None),
        make_row("Daemon", "Waiting on empty queue", None),
        make_row("Query", "starting", QUESTION),
    ]
    assert TellsMysqlWaits().extract_waits(rows) == [
        SessionState("locks", "waiting for query cache lock", 1),
        SessionState("locks", "waiting for table metadata lock", 1),
        SessionState("locks", "system lock", 1),
        SessionState("commit", "waiting for handler commit", 1),
        SessionState("client", "sending to client", 1),
        SessionState("running", "updating", 2),
        SessionState("running", "", 1),
    ]


def test_who_sleeps_or_waits_for_something_unknown_in_mysql_does_not_run() -> None:
    kinds = {
        "User sleep": "other",
        "User lock": "locks",
        "Waiting on cond": "other",
        "Waiting for the novelty": "other",
        "Waiting for semi-sync ACK from replica": "commit",
        "Receiving from client": "client",
        "Sending data": "running",
    }
    states = TellsMysqlWaits().extract_waits([make_row("Query", state) for state in kinds])
    assert [state.kind for state in states] == list(kinds.values())


def test_a_postgres_session_without_a_wait_runs_and_unknown_types_are_told() -> None:
    rows: list[list[str | None]] = [
        ["", "", "3"],
        ["Lock", "transactionid", "2"],
        ["LWLock", "WALWrite", "1"],
        ["Buffer", "BufferExclusive", "1"],
        ["Novelty", "Something", "1"],
    ]
    assert TellsPostgresWaits().extract_waits(rows) == [
        SessionState("running", "", 3),
        SessionState("locks", "transactionid", 2),
        SessionState("latches", "WALWrite", 1),
        SessionState("latches", "BufferExclusive", 1),
        SessionState("other", "Something", 1),
    ]
