"""`dyno profile` of a PostgreSQL in use: by its URL and its process, with what it may not see."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import private_servers
import pytest
from profiled_servers import forwarding, profile, url_of, working

from dyno import driver
from dyno.cli import run_words
from dyno.engines import Server
from dyno.errors import TrialFailed, UsageError
from dyno.record.server_profile import ServerProfile
from dyno.runs.run_folder import read_json
from dyno.servers.profile.target import find_target, read_statement_log

pytestmark = [pytest.mark.timeout(120)]

#: Some ms of work, and a row that others wait for.
WORK = "SELECT count(*) FROM item a, item b WHERE a.kind = b.kind AND a.id < 600"
FOR = "2500ms"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with private_servers.serving(
        "postgres-18", shared_preload_libraries="pg_stat_statements"
    ) as made:
        driver.ask(
            made.session,
            [
                "CREATE EXTENSION pg_stat_statements",
                "CREATE TABLE item AS SELECT g AS id, g % 7 AS kind"
                " FROM generate_series(1, 3000) g",
                "CREATE ROLE guest LOGIN",
                "GRANT SELECT ON item TO guest",
            ],
        )
        access = made.home / "data" / "pg_hba.conf"
        before = access.read_text()
        access.write_text("local all all trust\n")
        driver.ask(made.session, ["SELECT pg_reload_conf()"])
        yield made
        access.write_text(before)
        driver.ask(made.session, ["SELECT pg_reload_conf()", "DROP OWNED BY guest"])


def test_a_server_in_use_has_layers_waits_statements_and_a_plan(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with working(server.session, WORK):
        words = (url_of(server.session), "--for", "2s", "--format", "collapsed")
        found = profile(*words, output=tmp_path / "now.json")
    assert found.cpu and found.cpu.profile.samples > 50
    layers = {each.layer for each in found.cpu.profile.functions}
    assert {"executor", "access methods and heap"} & layers
    met = sum(count for each in found.cpu.slices for _, count in each.functions)
    assert met == found.cpu.profile.samples
    assert found.cpu.charged_ns and found.cpu.charged_ns > 0.3e9
    assert "running" in {state.kind for each in found.waits for state in each.states}
    assert found.statement_source == "pg_stat_statements"
    first = found.statements[0]
    assert "item a" in first.text and first.calls and first.time_ns > 0.3e9
    assert "Seq Scan on item" in first.plan
    assert not any("dyno profile" in each.text for each in found.statements)
    page = (tmp_path / "now.html").read_text()
    assert len(page) < 500_000 and "Seq Scan on item" in page and 'class="flame"' in page
    assert (tmp_path / "now.collapsed.txt").read_text().count("\n") > 10
    out, err = capsys.readouterr()
    assert "executor" in out and "per_second" in out
    assert "costs about" in err and "Ctrl-C" in err


def test_two_profiles_of_a_server_stand_beside_each_other(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with working(server.session, WORK):
        before = tmp_path / "before.json"
        profile(url_of(server.session), "--for", FOR, output=before)
        words = ("--for", FOR, "--against", str(before))
        profile(url_of(server.session), *words, output=tmp_path / "now.json")
    out, _ = capsys.readouterr()
    assert "too few slices" in out and "slower" not in out
    assert "difference" in (tmp_path / "now.html").read_text()


def test_nothing_can_be_written_over_the_sessions_of_a_profile(server: Server) -> None:
    found = find_target(driver.ask, url_of(server.session)).server
    assert found
    assert driver.ask(found.session, ["SHOW transaction_read_only"]) == [[["on"]]]
    with pytest.raises(TrialFailed, match="read-only"):
        driver.ask(found.session, ["CREATE TABLE written (id int)"])


def test_a_user_without_rights_is_told_what_is_missing(server: Server, tmp_path: Path) -> None:
    with working(server.session, WORK):
        found = profile(url_of(server.session, "guest"), "--for", FOR, output=tmp_path / "a.json")
    assert any("pg_monitor" in each for each in found.missing)
    assert found.cpu and found.cpu.profile.samples


def test_a_process_by_its_number_has_layers_alone(server: Server, tmp_path: Path) -> None:
    with working(server.session, WORK):
        found = profile(str(server.pid), "--for", FOR, "--stacks", output=tmp_path / "a.json")
    assert found.engine == "postgres" and found.cpu and found.cpu.profile.stacks
    assert not found.waits and not found.statements
    assert any("no URL" in each for each in found.missing)


def test_an_idle_process_is_an_error_and_no_empty_table(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["profile", str(server.pid), "--for", "300ms", "--rate", "10"]
    assert run_words([*words, "--output", str(tmp_path / "a.json")]) == 64
    assert "idle" in capsys.readouterr().err
    assert not (tmp_path / "a.json").exists()


def test_statements_are_told_by_sampled_sessions_where_nobody_counts_them(
    server: Server, tmp_path: Path
) -> None:
    driver.ask(server.session, ["DROP EXTENSION pg_stat_statements"])
    try:
        with working(server.session, WORK):
            found = profile(url_of(server.session), "--for", "2s", output=tmp_path / "a.json")
    finally:
        driver.ask(server.session, ["CREATE EXTENSION pg_stat_statements"])
    assert found.statement_source == "sampled sessions"
    first = found.statements[0]
    assert "a.id < ?" in first.text and first.calls is None and "Seq Scan" in first.plan


def test_an_interrupt_ends_it_early_and_keeps_what_was_taken(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "a.json"
    words = ["profile", url_of(server.session), "--for", "60s", "--output", str(file)]
    with working(server.session, WORK):
        process = subprocess.Popen(
            [sys.executable, "-m", "dyno.cli", *words], stderr=subprocess.PIPE, text=True
        )
        assert process.stderr and "costs about" in process.stderr.readline()
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        process.stderr.close()
    found = read_json(ServerProfile, file)
    assert "interrupted after" in found.ended and found.cpu and found.cpu.profile.samples


def test_a_server_that_ends_meanwhile_leaves_what_was_taken(tmp_path: Path) -> None:
    with private_servers.started("postgres@18") as server:
        driver.ask(server.session, ["CREATE TABLE item AS SELECT 1 AS id, 1 AS kind"])
        loop = "SELECT count(*) FROM generate_series(1, 500000)"
        with working(server.session, loop):
            killer = threading.Timer(2.0, os.kill, (server.pid, signal.SIGKILL))
            killer.start()
            found = profile(url_of(server.session), "--for", "60s", output=tmp_path / "a.json")
            killer.join()
    assert "ended after" in found.ended and found.elapsed_s < 30
    assert found.cpu and found.cpu.profile.samples
    assert any(each.name for each in found.cpu.profile.functions if "postgres" in each.module)


def test_a_live_screen_shows_the_tables_while_they_grow(server: Server, tmp_path: Path) -> None:
    file, parts = tmp_path / "a.json", []
    words = ["profile", url_of(server.session), "--for", "5s", "--watch", "--output", str(file)]
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120", "LINES": "50"}
    with working(server.session, WORK):
        process = subprocess.Popen(
            [sys.executable, "-m", "dyno.cli", *words],
            stdout=theirs,
            stderr=theirs,
            env=environment,
        )
        os.close(theirs)
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        os.close(ours)
        assert process.wait(30) == 0
    screens = b"".join(parts).decode(errors="replace").partition("Ctrl-C")[2]
    assert "s of 5 s" in screens and "executor" in screens and "per_second" in screens
    found = read_json(ServerProfile, file)
    assert found.cpu and found.cpu.profile.samples > 100 and found.elapsed_s >= 5


def test_a_server_behind_a_forwarded_port_is_profiled_once_its_process_is_named(
    server: Server, tmp_path: Path
) -> None:
    with forwarding(str(server.session["host"])) as port, working(server.session, WORK):
        url = f"postgres://{server.session['user']}@127.0.0.1:{port}/{server.session['database']}"
        found = profile(url, "--for", FOR, output=tmp_path / "a.json")
        assert found.cpu is None and found.waits and found.statements
        assert any("--pid" in each for each in found.missing)
        named = profile(url, "--for", FOR, "--pid", str(server.pid), output=tmp_path / "b.json")
    assert named.cpu and named.cpu.profile.samples and named.statements


def test_what_the_extension_counts_is_a_log_without_what_dyno_asked(server: Server) -> None:
    driver.ask(server.session, ["GRANT pg_monitor TO guest", "SELECT pg_stat_statements_reset()"])
    driver.ask(server.session, ["SELECT max(id) FROM item", "SELECT id FROM item WHERE kind = 3"])
    driver.ask(server.session, ["SELECT max(id) FROM item", "DELETE FROM item WHERE id < 0"])
    url = url_of(server.session, "guest")
    read_statement_log(driver.ask, url)
    log = read_statement_log(driver.ask, url)  # asked again: what it asked before is none of it
    sent = {it.sql: it.calls for it in log.entries if it.calls}
    assert sent == {
        "SELECT max(id) FROM item": 2,
        "PREPARE dyno AS SELECT id FROM item WHERE kind = $1": 1,
        "PREPARE dyno AS DELETE FROM item WHERE id < $1": 1,
        "SELECT pg_stat_statements_reset()": 1,
    }
    often = [it.session for it in log.entries if it.sql == "SELECT max(id) FROM item"]
    assert often == ["reads"] * 5 and log.kind.startswith("pg_stat_statements of ")
    driver.ask(server.session, ["REVOKE pg_monitor FROM guest"])


def test_a_server_that_keeps_no_statements_has_no_log(server: Server) -> None:
    driver.ask(server.session, ["DROP EXTENSION pg_stat_statements"])
    try:
        with pytest.raises(UsageError, match="keeps no statements") as refused:
            read_statement_log(driver.ask, url_of(server.session))
        assert "pg_stat_statements is not in this database" in refused.value.cause
    finally:
        driver.ask(server.session, ["CREATE EXTENSION pg_stat_statements"])
