"""Sessions at work are those that work: threads of the server's own that wait for work are none."""

from __future__ import annotations

import pytest
from kit_servers import VERSIONS, serving
from private_servers import serving as serving_any

from dyno import driver
from dyno.servers.watch import mysql, postgres, servers

pytestmark = [pytest.mark.timeout(120)]

PROCESSLIST = mysql.PROCESSLIST
ACTIVITY = next(it for it in postgres.SOURCES if it.name == "pg_stat_activity")
#: Commands and states of threads, as the manuals of both families name them.
IDLE = (
    ("Binlog Dump", "Master has sent all binlog to slave; waiting for more updates"),
    ("Binlog Dump GTID", "Source has sent all binlog to replica; waiting for more updates"),
    ("Connect", "Waiting for master to send event"),
    ("Connect", "Waiting for source to send event"),
    ("Query", "Replica has read all relay log; waiting for more updates"),
    ("Slave_SQL", "Slave has read all relay log; waiting for the slave I/O thread to update it"),
    ("Slave_worker", "Waiting for work from SQL thread"),
    ("Connect", "Waiting for an event from Coordinator"),
    ("Connect", "Waiting for next activation"),
    ("Connect", "Waiting until MASTER_DELAY seconds after master executed event"),
    ("Sleep", ""),
    ("Daemon", "Suspending"),
)
AT_WORK = (
    ("Query", "Sending data"),
    ("Query", "Waiting for table metadata lock"),
    ("Binlog Dump", "Sending binlog event to replica"),
    ("Connect", "Applying batch of row changes (update)"),
    ("Query", ""),
)


def quoted(text: str) -> str:
    return f"'{text}'" if text else "NULL"


@pytest.mark.parametrize("version", VERSIONS)
def test_an_idle_server_with_an_event_scheduler_has_no_session_at_work(version: str) -> None:
    with serving(version, performance_schema="ON", event_scheduler="ON") as server:
        server.ask("CREATE EVENT once ON SCHEDULE AT '2037-01-01' DO SELECT 1")
        watched = servers.reach_server(driver.ask, server.url)
        (asked,) = (it.whole for it in watched.questions if it.source is PROCESSLIST)
        assert server.ask(asked) == []
        rows = " UNION ALL ".join(
            f"SELECT 'FOREGROUND' AS TYPE, '{command}' AS PROCESSLIST_COMMAND,"
            f" {quoted(state)} AS PROCESSLIST_STATE"
            for command, state in (*IDLE, *AT_WORK)
        )
        found = server.ask(
            "SELECT t.PROCESSLIST_COMMAND, COALESCE(t.PROCESSLIST_STATE, '')"
            f" FROM ({rows}) t WHERE {PROCESSLIST.where}"
        )
        assert sorted(map(tuple, found)) == sorted(AT_WORK)


def test_of_postgres_processes_that_wait_for_work_none_is_at_work() -> None:
    told = (
        ("active", "Activity", "WalSenderMain"),
        ("active", "Client", "WalSenderWaitForWAL"),
        ("idle", "Client", "ClientRead"),
        ("active", None, None),
        ("active", "Lock", "transactionid"),
        ("idle in transaction", "Client", "ClientRead"),
    )
    rows = ", ".join(
        f"({', '.join('NULL' if it is None else quoted(it) for it in row)})" for row in told
    )
    with serving_any("postgres-18") as server:
        found = driver.ask(
            server.session,
            [
                "SELECT state, wait_event_type, wait_event FROM (VALUES"
                f" {rows}) AS a(state, wait_event_type, wait_event) WHERE {ACTIVITY.where}"
            ],
        )[0]
        assert [tuple(row) for row in found] == list(told[3:])
