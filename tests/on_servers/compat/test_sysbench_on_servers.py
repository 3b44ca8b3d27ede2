"""sysbench's scripts, on servers: played by Dyno, they send what sysbench sends."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import outside
from debian_scripts import NAMES, SCRIPTS
from private_servers import SERVERS, arrived, serving

from dyno import driver
from dyno.driver.plan import Plan, Script, Session
from dyno.engines import Server
from dyno.record import PhaseRecord

pytestmark = [pytest.mark.timeout(300)]

EVENTS = 40
#: One thread: two might meet on a row, and then what is sent depends on time.
OPTIONS = {"threads": "1", "time": "0", "events": str(EVENTS)}


@pytest.fixture(scope="module", params=[name for name in SERVERS if name != "mariadb-rocksdb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    outside("sysbench")
    is_postgres = request.param.startswith("postgres")
    logging = {"log_statement": "all"} if is_postgres else {}
    with serving(request.param, **logging) as server:
        yield server


def by_sysbench(session: Session, name: str, options: dict[str, str], command: str) -> None:
    host = Path(str(session["host"]))
    if session["kind"] == "mysql":
        way = {"db-driver": "mysql", "mysql-socket": host}
    else:
        port = host.name.rpartition(".")[2]
        way = {"db-driver": "pgsql", "pgsql-host": host.parent, "pgsql-port": port}
    prefix = str(way["db-driver"])
    way |= {f"{prefix}-user": session["user"], f"{prefix}-db": session["database"]}
    if session["password"] is not None:
        way[f"{prefix}-password"] = session["password"]
    words = [f"--{key.replace('_', '-')}={value}" for key, value in {**way, **options}.items()]
    done = subprocess.run(
        ["sysbench", str(SCRIPTS / f"{name}.lua"), *words, command],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def by_dyno(session: Session, name: str, options: dict[str, str], command: str) -> None:
    plan = Plan(session, Script(str(SCRIPTS / f"{name}.lua"), options), 7, (command,))
    with (
        tempfile.TemporaryDirectory() as folder,
        driver.DriverProcess(plan, driver.DriverLaunch(Path(folder) / "log")) as process,
    ):
        while not isinstance(event := process.read_event(driver.Limit("it", 60)), driver.End):
            if isinstance(event, PhaseRecord):
                (tally,) = event.streams
                assert (tally.failed, tally.errors) == (0, {})
                assert tally.done == (EVENTS if command == "run" else 1)
            if not isinstance(event, driver.Progress):
                process.go()


@pytest.mark.parametrize("name", NAMES)
def test_dyno_sends_what_sysbench_sends(server: Server, name: str) -> None:
    options = OPTIONS | ({} if name == "bulk_insert" else {"table_size": "500"})
    sent = []
    for play in (by_sysbench, by_dyno):
        play(server.session, name, options, "prepare")
        before = arrived(server)
        try:
            play(server.session, name, options, "run")
            sent.append(arrived(server) - before)
        finally:
            by_sysbench(server.session, name, options, "cleanup")
    assert sent[1] == sent[0]
    assert sent[0].total() >= (1 if name == "bulk_insert" else EVENTS)
