"""A run on a server that runs already is killed: what it had loaded is dropped as it goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import private_mysql
import private_postgres
import pytest

from dyno import driver
from dyno.engines import Attaches, Server, find_engine
from dyno.errors import UsageError
from dyno.instruments.time.run import resume_run
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import LOADED, RunFolder, create_run

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}
OPTIONS = {"time": "0.2", "warmup_time": "0", "rate": "200"}
#: Goes on with a run, and is killed in a phase, once a table is there.
KILLED = """
import os, signal, sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[3], str(Path(sys.argv[3]).parents[1])]
from dyno.instruments.time.run import resume_run
from dyno.runs.run_folder import RunFolder
from dyno.instruments.time.watch import PhaseStarted
from test_torn_attached import tables
kept = RunFolder(Path(sys.argv[1]))
def kill(event):
    if isinstance(event, PhaseStarted) and event.phase == sys.argv[2]:
        while not tables(kept):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGKILL)
resume_run(kept, kill)
"""


@pytest.fixture(scope="module", params=["mysql", "postgres"])
def theirs(request: pytest.FixtureRequest) -> Iterator[tuple[str, Server]]:
    """Somebody's server, and the engine that it is."""
    private = {
        "mysql": lambda: private_mysql.private("mysql@5.6.14"),
        "postgres": lambda: private_postgres.private("18"),
    }
    with private[request.param]() as server:
        yield request.param, server


@pytest.fixture
def rows() -> int:
    """How many rows are loaded."""
    return 1_000


@pytest.fixture
def begun(
    theirs: tuple[str, Server], rows: int, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[RunFolder, Server]]:
    """A run of two candidates in a new database of that server, not yet played."""
    monkeypatch.setenv("DYNO_TMP", str(home))
    engine, server = theirs
    if server.session["password"] is not None:
        # the run keeps none, and its resumption asks for it
        monkeypatch.setenv("MYSQL_PWD", server.session["password"])
    driver.ask(server.session, ["CREATE DATABASE bench"])
    place = str(server.session["host"]).replace("/", "%2F")
    url = f"{engine}://{server.session['user']}@{place}/bench"
    measuring = Measuring(blocks=3, fixed=True, seed=1, limits=CALM, aa=True)
    options = OPTIONS | {"table_size": str(rows)}
    made = compare_candidates([f"a={url}", f"b={url}"], "oltp_point_select", options, measuring)
    prepared = draft_run(made, lambda _: None)
    yield create_run(prepared.run, home), bench(server)
    driver.ask(server.session, ["DROP DATABASE bench"])


def bench(server: Server) -> Server:
    """The server, asked in that database."""
    return Server({**server.session, "database": "bench"}, server.home)


def killed(kept: RunFolder, phase: str) -> None:
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", KILLED, kept.path, phase, here], check=False)
    assert done.returncode == -9


def tables(kept: RunFolder) -> list[str]:
    """What lies in the database, as a candidate sees it."""
    (side, *_) = kept.read_run().candidates
    engine = find_engine(side.engine, driver.ask)
    build = engine.program("//" + side.spec.partition("//")[2], {}, lambda _: None)
    assert isinstance(engine, Attaches)
    return engine.list_tables(build)


def test_what_a_killed_trial_had_loaded_is_dropped(begun: tuple[RunFolder, Server]) -> None:
    kept, _ = begun
    killed(kept, "run")
    assert tables(kept) == ["sbtest1"]
    assert [*(kept.path / LOADED).iterdir()]
    said: list[str] = []
    resume_run(kept, lambda _: None, said.append)
    assert "dropping sbtest1, which a killed run loaded at //" in said[-1]
    assert tables(kept) == []
    assert not [*(kept.path / LOADED).iterdir()]
    assert {trial.status for trial in kept.read_trials()} == {"ok"}


def test_what_somebody_made_since_stays_and_stops_the_run(begun: tuple[RunFolder, Server]) -> None:
    kept, server = begun
    killed(kept, "run")
    driver.ask(server.session, ["CREATE TABLE theirs (id int)"])
    with pytest.raises(UsageError, match=r"is not empty: .*, and theirs is there"):
        resume_run(kept, lambda _: None)
    assert tables(kept) == ["theirs"]


@pytest.mark.parametrize("rows", [60_000])
def test_a_kill_within_the_load_leaves_no_list_and_all_stays(
    begun: tuple[RunFolder, Server],
) -> None:
    kept, _ = begun
    killed(kept, "prepare")
    assert not (kept.path / LOADED).exists()
    with pytest.raises(UsageError, match=r"is not empty: .*, and sbtest1 is there"):
        resume_run(kept, lambda _: None)
    assert tables(kept) == ["sbtest1"]
