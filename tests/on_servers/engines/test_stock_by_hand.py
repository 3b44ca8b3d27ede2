"""`profile=stock` is what a server started by hand runs with: every variable is compared."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from private_servers import choose_build, made_home, started

from dyno import driver
from dyno.access import account
from dyno.access.url import Login
from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import find_engine
from dyno.engines._builds import parse_version
from dyno.engines._server import libraries
from dyno.engines._server.process import build_server_environment
from dyno.engines.mysql.builds import find_prefix
from dyno.engines.mysql.data import INITIALIZES, fill_data
from dyno.errors import TrialFailed
from dyno.runs.experiment.candidates import parse_candidate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
#: What a run must set, or a start makes anew: its places, its ways in, what Dyno reads by.
PLACES = {
    "postgres": {
        *("config_file", "data_directory", "hba_file", "ident_file", "external_pid_file"),
        *("unix_socket_directories", "unix_socket_permissions", "listen_addresses"),
        # a cluster of ours has UTF8 and the locale C, so that two hosts sort alike
        *("lc_collate", "lc_ctype", "lc_messages", "lc_monetary", "lc_numeric", "lc_time"),
        *("server_encoding", "client_encoding", "default_text_search_config"),
        # the driver's own session
        *("application_name", "session_authorization", "transaction_read_only"),
    },
    "mysql": {
        *("datadir", "socket", "pid_file", "log_error", "tmpdir", "init_file", "slave_load_tmpdir"),
        *("general_log_file", "slow_query_log_file", "log_bin_basename", "log_bin_index"),
        *("relay_log_basename", "relay_log_index", "replica_load_tmpdir", "relay_log"),
        *("server_uuid", "timestamp", "pseudo_thread_id", "gtid_executed", "gtid_current_pos"),
        *("gtid_binlog_pos", "gtid_binlog_state", "innodb_tmpdir", "server_uid"),
        *("aria_log_dir_path", "wsrep_data_home_dir"),
        # Dyno starts no second protocol, and gives a file for LOAD DATA no folder
        *("mysqlx_socket", "secure_file_priv"),
    },
}
PLACES["mariadb"] = PLACES["mysql"]
ASKED = {
    "postgres": "SELECT name, current_setting(name, true) FROM pg_settings",
    "mysql": "SHOW GLOBAL VARIABLES",
    "mariadb": "SHOW GLOBAL VARIABLES",
}
BUILDS = ("postgres@12", "postgres@14", "postgres@18", "mysql@5.6.14", "mysql@8.0.33")


@pytest.mark.parametrize("text", [*BUILDS, "mariadb@debian"])
def test_stock_is_a_server_that_nobody_configured(text: str) -> None:
    text = choose_build(text)
    spec = parse_candidate(text)
    engine: Any = find_engine(spec.engine, driver.ask)
    build = engine.program(spec.build, {}, lambda _: None)
    with started(f"{text}?profile=stock") as server:
        ours = ask_variables(spec.engine, server.session)
    with made_home() as home, started_by_hand(build, home) as session:
        theirs = ask_variables(spec.engine, session)
    assert len(theirs) > 200
    differ = {
        name: (ours.get(name), theirs.get(name))
        for name in ours.keys() | theirs.keys()
        if ours.get(name) != theirs.get(name)
    }
    assert not differ.keys() - PLACES[spec.engine], differ


def ask_variables(engine: str, session: Session) -> dict[str, str]:
    (rows,) = driver.ask(session, [ASKED[engine]])
    return {str(name).lower(): value or "" for name, value in rows}


@contextmanager
def started_by_hand(build: Build, home: Path) -> Iterator[Session]:
    """A server as its manual starts it, in a folder of its own and without TCP."""
    user, data = account.find_server_account(), home / "data"
    account.give_folder(user, home)
    if build.engine == "postgres":
        more = libraries.build_environment(build.libraries)
        run(home, more, build.program.parent / "initdb", "-D", data, "-U", "dyno")
        places = ["-D", data, "-k", home, "-c", "listen_addresses="]
        session = Login(str(home / ".s.PGSQL.5432"), "dyno", "postgres").to_session("postgres")
    else:
        prefix = find_prefix(build.program, build.libraries)
        more = prefix.build_environment()
        bare = ["--no-defaults", f"--datadir={data}", *prefix.list_arguments()]
        if build.engine == "mysql" and parse_version(build.version) >= INITIALIZES:
            run(home, more, build.program, *bare, "--initialize-insecure")
        else:  # the script that does it is no part of the package: what it pipes in is
            fill_data(build, prefix, {}, data)
            account.give_folder(user, home)
        places = [*bare, f"--socket={home / 's'}", "--skip-networking", "--loose-mysqlx=OFF"]
        places.append(f"--pid-file={home / 'pid'}")
        session = Login(str(home / "s"), "root", "mysql").to_session("mysql")
    server = launch(home, more, build.program, *places)
    try:
        wait(session)
        yield session
    finally:
        server.terminate()
        server.wait(60)


def launch(home: Path, more: dict[str, str], *command: object) -> subprocess.Popen[bytes]:
    user = account.find_server_account()
    who: dict[str, Any] = {"user": user.uid, "group": user.gid} if user.switch else {}
    environment = build_server_environment(home, more)
    with (home.parent / "log").open("ab") as log:
        return subprocess.Popen(
            [str(it) for it in command], env=environment, cwd=home, stdout=log, stderr=log, **who
        )


def run(home: Path, more: dict[str, str], *command: object) -> None:
    assert not launch(home, more, *command).wait(120), (home.parent / "log").read_text()


def wait(session: Session) -> None:
    ends_s = time.monotonic() + 60
    while True:
        try:
            driver.ask(session, ["SELECT 1"])
            return
        except TrialFailed:
            assert time.monotonic() < ends_s
            time.sleep(0.1)
