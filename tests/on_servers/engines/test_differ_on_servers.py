"""`dyno differ` on real servers: statements that SQLite lacks, each with a fault that is found."""

from __future__ import annotations

import os
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from differ_runs import FaultySide, make_both_sides, search
from private_servers import made_home

from dyno.driver import ask
from dyno.errors import DynoError

pytestmark = [pytest.mark.timeout(400)]

#: Engine, what is sent otherwise, and the words of the script that must be left.
FAULTS = {
    "a trigger's function": (
        "postgres@18",
        r"VALUES \((NEW|OLD)\.id, .*?\);",
        r"VALUES (\1.id, NULL);",
        "CREATE FUNCTION",
    ),
    "a path of JSONB": ("postgres@18", r"\['b', '1'\]", "['b', '0']", "['b', '1']"),
    "an update of a join": ("mariadb@11.8", r" ON (\w+\.id = t\d\.id SET)", r" ON 1 + \1", "SET"),
    "JSON": ("mariadb@11.8", r"json_set\(", "json_insert(", "json_set("),
    "the end where NULL stands": ("duckdb@1.5.6", "NULLS LAST", "NULLS FIRST", "NULLS LAST"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_server_is_found_and_reduced(name: str, tmp_path: Path) -> None:
    spec, pattern, instead, left = FAULTS[name]
    with made_home() as folder:
        engines = make_both_sides(spec, folder)
        found = search(engines, FaultySide(engines[1], pattern, instead), tmp_path)
    assert found
    # two tables, a function, a trigger, a row, its removal, a question: no fewer show a trigger's
    most = 7 if "trigger" in name else 6
    for find in found:
        assert len(find.script) <= most and find.is_whole, find.script
        assert left in "\n".join(find.script)
        assert any(re.search(pattern, it) for it in find.script), find.script


#: What ends a side's session at its last statement, and how that is classed. Where a process of
#: PostgreSQL's dies of a signal the server ends, too.
ENDS = {
    "an administrator ends PostgreSQL's session": (
        "postgres@18",
        ["SELECT 1", "SELECT pg_terminate_backend(pg_backend_pid())"],
        "connection closed",
    ),
    "a process of PostgreSQL's crashes": (
        "postgres@18",
        ["CREATE TABLE t (c TEXT)", "COPY t FROM PROGRAM 'kill -SEGV $PPID'"],
        "crash",
    ),
    "KILL of MariaDB's session": (
        "mariadb@11.8",
        ["SELECT 1", "KILL CONNECTION_ID()"],
        "connection closed",
    ),
    "KILL of MySQL's session": (
        "mysql@9.7",
        ["KILL CONNECTION_ID()", "SELECT 1"],
        "connection closed",
    ),
    "MySQL shuts down": ("mysql@9.7", ["SHUTDOWN", "SELECT sleep(60)"], "connection closed"),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_crash_is_told_from_a_connection_that_is_closed(name: str) -> None:
    spec, statements, ending = ENDS[name]
    with made_home() as folder:
        side = make_both_sides(spec, folder)[0]
        side.start()
        ended = side.play([*statements, "SELECT 2"])
        again = side.play(["SELECT 1"])
        side.stop()
    assert (ended.ending, len(ended.answers)) == (ending, 1), ended.words
    assert ended.words
    assert len(again.answers) == 1 and not again.ending


def test_a_connection_that_is_lost_since_mysql_dies_is_a_crash() -> None:
    asleep = "SELECT count(*) FROM information_schema.processlist WHERE info = 'SELECT sleep(60)'"
    over = threading.Event()
    with made_home() as folder, ThreadPoolExecutor(1) as threads:
        side = make_both_sides("mysql@9.7", folder)[0]
        side.start()

        def kill() -> None:
            while not over.is_set():
                with suppress(DynoError, AssertionError):
                    if ask(side.session, [asleep]) == [[["1"]]] and side.server and side.server.pid:
                        os.kill(side.server.pid, signal.SIGSEGV)

        killing = threads.submit(kill)
        try:
            ended = side.play(["SELECT 1", "SELECT sleep(60)", "SELECT 2"])
        finally:
            over.set()
        killing.result()
        side.stop()
    assert (ended.ending, len(ended.answers)) == ("crash", 1), ended.words
    assert "the server died" in ended.words
