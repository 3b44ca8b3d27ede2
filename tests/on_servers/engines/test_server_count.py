"""Servers' own counts beside the driver's: alike on clean runs, not where another client works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import private_mysql
import private_postgres
import pytest
from audit_records import NEW, OLD, a_run, a_trial, only
from fakes import make_candidate, make_workload
from msgspec.structs import replace
from private_servers import SERVERS, login, serving

from dyno import driver
from dyno.builds import Build
from dyno.driver import DriverLaunch, DriverProcess
from dyno.driver.plan import Plan, Script, Session
from dyno.engines import Engine, Server, find_engine
from dyno.instruments.time.job import TrialJob
from dyno.instruments.time.phases import PhaseLoop
from dyno.instruments.time.run import play_once
from dyno.instruments.time.watch import Progressed
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import PhaseRecord
from dyno.runs.experiment import compare_candidates
from dyno.runs.resolve.experiment import draft_run

pytestmark = [pytest.mark.timeout(300)]

CONNECT = """
function thread_init()
  con = sysbench.sql.driver():connect()
  for i = 1, 60 do stmt = con:prepare("SELECT n FROM t WHERE id = ?") end
  id = stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(id)
  con:query("SELECT 1")
end
function thread_done() con:query("SELECT 2") end
"""
EVENTS = {
    "prepared": "id:set(7) stmt:execute()",
    "text": "con:query('SELECT n FROM t WHERE id = 7')",
    "pipelined": """con:pipeline_begin()
      for i = 1, 5 do id:set(i) stmt:execute() end
      con:query("UPDATE t SET n = n + 1 WHERE id = " .. sysbench.tid)
      con:pipeline_sync()""",
    "transactions": """con:query("BEGIN") id:set(7) stmt:execute()
      con:query("UPDATE t SET n = n + 1 WHERE id = " .. sysbench.tid) con:query("COMMIT")""",
    "texts": """con:query("SELECT 1; UPDATE t SET n = n + 1 WHERE id = " .. sysbench.tid ..
      "; SELECT 2")""",
    "failing": """con:query("BEGIN") turn = (turn or 0) + 1
      if turn % 9 == 0 then con:query("INSERT INTO t VALUES (1, 0)") end con:query("COMMIT")""",
}
TABLE = [
    "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)",
    "INSERT INTO t VALUES " + ", ".join(f"({i}, 0)" for i in range(100)),
]
#: Beside what is audited as free: a login, our questions, a goodbye of each user.
ODD = 20
COUNTING = ("postgres-12", "postgres-18", "mysql-5.6", "mysql-8.0", "mariadb-innodb")


@pytest.fixture(scope="module", params=COUNTING)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(name: str) -> Iterator[Server]:
    with serving(name) as started:
        driver.ask(started.session, TABLE)
        yield started


def job(engine: Engine, home: Path) -> TrialJob:
    """A trial on `engine`, of whose job a phase needs no more than that and the probes."""
    return TrialJob(
        number=1,
        block=0,
        attempt=1,
        order=0,
        seed=7,
        workload=make_workload(),
        candidate=make_candidate("a"),
        engine=engine,
        build=Build("fake", "a", "1", Path("/bin/true")),
        controls={},
        home=home,
        log=home / "driver.log",
        loaded=home / "loaded.json",
    )


def played(name: str, server: Server, text: str, folder: Path, **options: str) -> PhaseRecord:
    (folder / "script.lua").write_text(text)
    script = Script(str(folder / "script.lua"), options)
    plan = Plan(server.session, script, seed=7, commands=("run",), progress_s=0)
    phases: list[PhaseRecord] = []
    engine = find_engine(SERVERS[name][0], driver.ask)
    with DriverProcess(plan, DriverLaunch(folder / "driver.log")) as process:
        PhaseLoop(job(engine, folder), server, {}, lambda _: None, phases).serve(process)
    (record,) = phases
    return record


@pytest.mark.parametrize("event", EVENTS)
def test_a_clean_run_is_counted_by_both_alike(
    name: str, server: Server, event: str, tmp_path: Path
) -> None:
    text = f"{CONNECT}\nfunction event()\n{EVENTS[event]}\nend\n"
    options = {"time": "0.4", "warmup_time": "0.2", "threads": "3"}
    record = played(name, server, text, tmp_path, **options)
    (tally,) = record.streams
    own, commits = sorted(
        (reading for reading in record.readings if reading.probe == "server"),
        key=lambda reading: reading.name == "server_commits",
    )
    assert commits.name == "server_commits" and commits.value >= tally.commits - ODD, tally
    assert bool(tally.commits) == bool(tally.rows_committed)
    assert tally.claimed and tally.warmup and tally.claimed >= tally.done + tally.warmup - ODD
    assert tally.claimed_before >= 3
    more = own.value - tally.claimed - tally.claimed_further
    assert -ODD <= more <= tally.claimed_before + ODD, tally
    assert bool(tally.errors) == (event == "failing")
    trial = replace(a_trial(3, "new"), phases=(record,))
    finding = only("server_count", a_run(OLD, NEW), trial)
    assert finding.soundness == "sound" and "1 phases" in finding.sentence
    server_side = replace(NEW, embedded=False)
    assert only("committed", a_run(OLD, server_side), trial).soundness == "sound"


MAINTENANCE = """
local SQL = dyno.engine == "postgres" and "ANALYZE" or "ANALYZE TABLE t"
function thread_init() con = sysbench.sql.driver():connect() con:query(SQL) end
function event() con:query(SQL) end
"""


def test_maintenance_of_a_whole_database_is_nobody_else_s_work(
    name: str, server: Server, tmp_path: Path
) -> None:
    options = {"time": "0.4", "warmup_time": "0"}
    record = played(name, server, MAINTENANCE, tmp_path, **options)
    for side in (NEW, replace(NEW, embedded=False, build={"address": "joe@db.example/bench"})):
        trial = replace(a_trial(3, "new"), phases=(record,))
        finding = only("server_count", a_run(OLD, side), trial)
        assert finding.soundness in ("sound", "not checked", "does not apply"), finding.sentence
    (tally,) = record.streams
    assert bool(tally.claimed_further) == name.startswith("postgres")


@contextmanager
def theirs(kind: str) -> Iterator[tuple[Session, str]]:
    """Somebody's server with an empty database: its session, and its URL."""
    postgres = kind == "postgres"
    own = private_postgres.private("18") if postgres else private_mysql.private("mysql@8.0.33")
    with own as server:
        driver.ask(server.session, ["CREATE DATABASE bench"])
        place = str(server.session["host"]).replace("/", "%2F")
        url = f"{kind}://{login(server.session)}@{place}/bench"
        yield server.session | {"database": "bench"}, url


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_another_client_of_a_server_that_runs_already_is_noticed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(tmp_path))
    options = {"time": "1.5", "warmup_time": "0", "table_size": "200", "rate": "200"}
    with theirs(kind) as (session, url):
        prepared = draft_run(
            compare_candidates([url], "oltp_point_select", options), lambda _: None
        )

        def hammer(told: object) -> None:
            if isinstance(told, Progressed):
                driver.ask(session, ["SELECT 1"] * 1000)

        audit = load_audits()["server_count"]
        (clean,) = audit.judge(RunView(prepared.run, [play_once(prepared, lambda _: None)]))
        assert clean.soundness == "sound" and "2 phases" in clean.sentence
        (found,) = audit.judge(RunView(prepared.run, [play_once(prepared, hammer)]))
    assert found.soundness == "doubtful"
    assert "oltp_point_select/run" in found.sentence
    assert "somebody else is using the server" in found.sentence
