"""Real servers that take turns: what they counted is what was sent, and none is left frozen."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import users_of, wait_for

from dyno.analysis.judge import judge
from dyno.experiment import Measuring, compare_candidates
from dyno.play.run import play_run, resume_run
from dyno.record import FLOOR
from dyno.resolve.experiment import Prepared, resolve_experiment
from dyno.run_folder import create_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NEIGHBOURS = {"steal_percent": 100.0, "foreign_percent": 100.0}
SERVERS = ["postgres@18", "mysql@8.0.33", "mariadb@10.11"]


@pytest.fixture(autouse=True)
def data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))


def _prepared(server: str, workload: str, **options: str) -> Prepared:
    measuring = Measuring(blocks=3, fixed=True, limits=NEIGHBOURS, seed=3, loads=0, aa=True)
    given = {"time": "2.5", "warmup_time": "0.5", "table_size": "2000", "threads": "4"}
    sides = (f"a={server}", f"b={server}")
    made = compare_candidates(sides, workload, given | options, measuring)
    return resolve_experiment(made, lambda _: None)


@pytest.mark.parametrize("server", SERVERS)
def test_what_servers_counted_by_turns_is_what_was_sent(server: str, home: Path) -> None:
    """Connections made anew included: each statement and each transaction has its account."""
    prepared = _prepared(server, "oltp_read_write")
    folder = create_run(prepared.run, home)
    play_run(prepared, folder, lambda _: None)
    trials = [t for t in folder.trials() if t.block >= 0 and t.candidate != FLOOR]
    assert [t.status for t in trials] == ["ok"] * 6, [t.why_failed for t in trials]
    tallies = [t.phases[-1].streams[0] for t in trials]
    assert any(tally.renewed for tally in tallies), "nobody connected anew"
    assert not any(tally.failed or tally.reconnected for tally in tallies)
    found = {f.audit: f for f in judge(prepared.run, folder.trials()).findings}
    for audit in ("server_count", "ledger", "results", "counters", "turns", "settings"):
        assert found[audit].soundness == "sound", found[audit].sentence


#: Goes on with a run, and kills itself in the middle of its first phase by turns.
KILLED = """
import os, signal, sys, threading
from pathlib import Path
from dyno.play.run import resume_run
from dyno.run_folder import RunFolder
from dyno.play.watch import PhaseStarted
def kill(event):
    if isinstance(event, PhaseStarted) and event.phase == "run":
        threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
resume_run(RunFolder(Path(sys.argv[1])), kill)
"""


@pytest.mark.parametrize("server", SERVERS[:2])
def test_a_killed_dyno_leaves_no_frozen_server_and_its_run_goes_on(server: str, home: Path) -> None:
    prepared = _prepared(server, "oltp_point_select")
    folder = create_run(prepared.run, home)
    done = subprocess.run([sys.executable, "-c", KILLED, folder.path], check=False)
    assert done.returncode == -signal.SIGKILL
    wait_for(lambda: not users_of(home))
    resume_run(folder, lambda _: None)
    assert len([t for t in folder.trials() if t.block >= 0 and t.status == "ok"]) >= 6
