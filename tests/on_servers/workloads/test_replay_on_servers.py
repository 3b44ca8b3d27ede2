"""Real servers' own logs, replayed on them; and the commands of docs/guides/yours for servers."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from guides import GUIDES, guide
from pgbench_files import make_plan, play, play_plan
from private_servers import serving
from small_logs import SHOP

from dyno import driver
from dyno.cli import run_words
from dyno.driver.plan import Plan, Script
from dyno.engines import Server
from dyno.workloads.replay.layout import Replay, lay_out

pytestmark = [pytest.mark.timeout(600)]

#: Played by a file of pgbench's, so that MySQL logs Execute and PostgreSQL values.
SCRIPT = """\\set id random(1, 3)
SELECT name FROM item WHERE id = :id;
BEGIN;
UPDATE item SET stock = stock - 1 WHERE id = :id;
SELECT stock FROM item WHERE id = :id;
COMMIT;
"""
GENERAL = {"general_log": "on"}
SLOW = {"slow_query_log": "on", "long_query_time": "0"}
TIMED = {"log_min_duration_statement": "0"}
COLLECTED = {**TIMED, "logging_collector": "on"}
ON = {
    "mysql-5.6": GENERAL,
    "mysql-8.0": GENERAL,
    "mariadb-innodb": GENERAL,
    "postgres-12": {"log_statement": "all"},
    "postgres-18": TIMED,
}
#: Servers, what makes them log, and how the script is sent meanwhile.
LOGS = [
    *((kind, on, protocol) for kind, on in ON.items() for protocol in ("simple", "prepared")),
    ("mysql-5.6", SLOW, "simple"),
    ("mysql-8.0", SLOW, "prepared"),
    ("mariadb-innodb", SLOW, "prepared"),
    ("postgres-18", {**COLLECTED, "log_destination": "csvlog"}, "prepared"),
    ("postgres-18", {**COLLECTED, "log_destination": "jsonlog"}, "simple"),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def log_of(server: Server) -> Path:
    """Where the server logs statements."""
    if server.session["kind"] == "postgres":
        shown = ["SELECT pg_current_logfile(), current_setting('data_directory')"]
        ((name, folder),) = driver.ask(server.session, shown)[0]
        assert server.log is not None
        return Path(str(folder)) / name if name else server.log
    asked = "SELECT IF(@@general_log, @@general_log_file, @@slow_query_log_file), @@datadir"
    ((name, folder),) = driver.ask(server.session, [asked])[0]
    return Path(str(folder)) / str(name)


def logged_until(server: Server, mark: str) -> bytes:
    """The log with a last statement of ours, which a collector may write some time later."""
    driver.ask(server.session, [f"SELECT '{mark}'"])
    for _ in range(1200):
        if mark.encode() in (text := log_of(server).read_bytes()):
            return text
        time.sleep(0.05)
    raise AssertionError(f"{log_of(server)} has no {mark} after a minute")


def logged(server: Server, home: Path, events: int, **options: str) -> Path:
    """What the server logs while the script is played on a shop; its making is left out."""
    driver.ask(server.session, [each for each in SHOP.split(";\n") if each.strip()])
    # a server that another test has used has its marks in the log
    mark = f"it begins {time.time_ns()}"
    before = logged_until(server, mark)
    begin = before.index(b"\n", before.index(mark.encode())) + 1
    play(server.session, SCRIPT, home, events=str(events), **options)
    log = home / f"it{log_of(server).suffix}"
    log.write_bytes(logged_until(server, mark.replace("begins", "ends"))[begin:])
    return log


def laid(log: Path, writes: bool) -> Replay:
    return lay_out(log, writes, lambda _: None)


@pytest.mark.parametrize(("kind", "on", "protocol"), LOGS)
def test_what_a_server_logged_is_played_on_it_again(
    kind: str, on: dict[str, str], protocol: str, tmp_path: Path
) -> None:
    with serving(kind, **on) as server:
        log = logged(server, tmp_path, 20, threads="2", protocol=protocol)
        stock = "SELECT sum(stock) FROM item"
        ((before,),) = driver.ask(server.session, [stock])[0]
        for writes in (False, True):
            replay = laid(log, writes)
            assert on.get("log_destination", "") in replay.log.kind
            played = replay.selection.count
            plan = Plan(server.session, Script(str(replay.script), {}), 7, ("run",), progress_s=0)
            (tally,) = play_plan(plan, tmp_path)["replay"].streams
            told = [it for it in tally.transactions if it.startswith("SELECT name FROM item")]
            assert tally.transactions[told[0]].count == 20, tally.transactions
            if not writes:
                assert (tally.failed, tally.done) == (0, played)
                assert driver.ask(server.session, [stock])[0] == [[before]]
        changed = [n for name, n in tally.transactions.items() if name.startswith("UPDATE item")]
        assert [it.count for it in changed] == [20]
        assert int(str(driver.ask(server.session, [stock])[0][0][0])) < int(str(before))


@pytest.mark.parametrize("kind", ["mysql-8.0", "postgres-18"])
def test_a_connection_for_reading_is_refused_writes_by_the_server(
    kind: str, tmp_path: Path
) -> None:
    with serving(kind, **ON[kind]) as server:
        replay = laid(logged(server, tmp_path, 3), False)
        for file in replay.script.parent.glob("*.lane"):
            text = file.read_bytes().replace(b"SELECT name FROM", b"DELETE      FROM")
            file.write_bytes(text)
        plan = Plan(server.session, Script(str(replay.script), {}), 7, ("run",), progress_s=0)
        (tally,) = play_plan(plan, tmp_path)["replay"].streams
        assert tally.failed >= 3
        assert driver.ask(server.session, ["SELECT count(*) FROM item"])[0] == [["4"]]


@pytest.mark.parametrize("kind", ["mysql-8.0", "mariadb-innodb", "postgres-12", "postgres-18"])
def test_a_file_of_sql_is_played_prepared(kind: str, tmp_path: Path) -> None:
    text = guide("sql").files["shop.sql"]
    with serving(kind) as server:
        plan = make_plan(server.session, text, tmp_path, marked="on", events="300", threads="2")
        plan = Plan(plan.session, plan.script, 7, ("prepare", "run"), progress_s=0)
        (tally,) = play_plan(plan, tmp_path)["run"].streams
        assert (tally.done, tally.failed) == (300, 0) and len(tally.transactions) == 3
        assert driver.ask(server.session, ["SELECT count(*) FROM item"])[0] == [["1000"]]


@pytest.mark.parametrize("name", GUIDES)
def test_the_commands_of_a_guide_do_what_it_says_on_servers(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    it = guide(name)
    it.unpack(tmp_path)
    every = it.commands_of("sqlite", "null", "duckdb", "mysql", "mariadb", "postgres")
    embedded = it.commands_of("sqlite", "null")
    for words in (each for each in every if each not in embedded):
        assert run_words(words) == 0, f"{words}: {capsys.readouterr().err}"


def test_more_connections_than_a_server_lets_in_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "it.log").write_text(
        "".join(
            f"2026-01-01 10:00:0{second} UTC [{1000 + n}] LOG:  statement: SELECT {n}\n"
            for second in (1, 2)
            for n in range(120)
        )
    )
    for side in ("postgres@18?max_connections=100", "mysql@8.0?max_connections=100"):
        assert run_words(["play", side, "--log", "it.log"]) == 64
        said = capsys.readouterr().err
        assert "opens 120 connections" in said and "lets in 100" in said
