"""Real servers, interleaved: what they counted is what was sent, and none is left frozen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import process_killers
import processes
import pytest
from fake_driver import ONE_BLOCK
from process_killers import Once
from processes import parent_of, processes_in, program_name, state_of, users_of, wait_for

from dyno.instruments.time.run import play_run
from dyno.judge.analysis.judge import judge
from dyno.record import CLIENT_BASELINE, Trial
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.experiment import draft_run, reopen_run
from dyno.runs.run_folder import RunFolder, create_run

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

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
    return draft_run(made, lambda _: None)


@pytest.mark.parametrize("server", SERVERS)
def test_what_servers_counted_interleaved_is_what_was_sent(server: str, home: Path) -> None:
    """Connections made anew included: each statement and each transaction has its account."""
    prepared = _prepared(server, "oltp_read_write")
    folder = create_run(prepared.run, home)
    play_run(prepared, folder, lambda _: None, ONE_BLOCK)
    trials = [t for t in folder.read_trials() if t.block >= 0 and t.candidate != CLIENT_BASELINE]
    # a block in which Dyno stood still is followed by one in its place
    assert len(trials) >= 2 and not any(t.why_failed for t in trials), trials
    tallies = [t.phases[-1].streams[0] for t in trials]
    assert any(tally.renewed for tally in tallies), "nobody connected anew"
    assert not any(tally.failed or tally.reconnected for tally in tallies)
    found = {f.audit: f for f in reversed(judge(prepared.run, folder.read_trials()).findings)}
    for audit in ("server_count", "ledger", "results", "counters", "interleaving", "settings"):
        assert found[audit].soundness == "sound", found[audit].sentence


#: Goes on with a run, and kills or interrupts itself at a moment of a trial.
ENDED = """
import os, signal, sys
from pathlib import Path
from process_killers import Once
from dyno.instruments.time.run import resume_run
from dyno.runs.run_folder import RunFolder
folder, moment, number = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)
resume_run(RunFolder(Path(folder)), Once(moment, lambda: os.kill(os.getpid(), int(number))))
"""
#: A server of processes, and one of threads, in the moment in which one of two stands still.
FROZEN = [("postgres@18", "measured phase"), ("mysql@8.0.33", "measured phase")]
#: Every moment where the engine is in the driver: what Dyno does about it is the same code.
EACH = [*(("null@1ms", when) for when in Once.MOMENTS), *FROZEN]


def _begun(server: str, home: Path, time_s: str = "1") -> RunFolder:
    """A run at a low rate: what is killed need not be busy."""
    return create_run(_prepared(server, "oltp_point_select", time=time_s, rate="200").run, home)


def _of_blocks(folder: RunFolder) -> list[Trial]:
    """The trials of its blocks, without the echoes."""
    return [trial for trial in folder.read_trials() if trial.block >= 0]


def _goes_on(folder: RunFolder, home: Path) -> None:
    """Nobody is left, standing still or not, and the block that was torn is played whole."""
    wait_for(lambda: not processes_in(home) and not users_of(home))
    prepared = reopen_run(folder.read_run(), lambda _: None)
    play_run(prepared, folder, lambda _: None, ONE_BLOCK)
    last = _of_blocks(folder)[-2:]
    assert [t.status for t in last] == ["ok", "ok"], [t.why_failed for t in last]
    assert last[0].attempt == last[1].attempt


@pytest.mark.parametrize(
    ("server", "moment", "number"),
    [*((*each, signal.SIGKILL) for each in EACH), (*FROZEN[0], signal.SIGINT)],
)
def test_where_dyno_is_killed_or_interrupted_no_server_is_left(
    server: str, moment: str, number: signal.Signals, home: Path
) -> None:
    folder = _begun(server, home)
    command = [sys.executable, "-c", ENDED, str(folder.path), moment, str(int(number))]
    path = {"PYTHONPATH": str(Path(process_killers.__file__).parent)}
    done = subprocess.run(command, check=False, env=os.environ | path, capture_output=True)
    if number == signal.SIGKILL:
        assert done.returncode == -number
    else:
        assert b"KeyboardInterrupt" in done.stderr, done.stderr
        assert not users_of(home), "it has stopped all before it ended"
        assert {t.status for t in _of_blocks(folder)} == {"interrupted"}
    _goes_on(folder, home)


def _driver(home: Path) -> int:
    return processes.driver_below(os.getpid())


def _engine(home: Path) -> int:
    """A server's first process; one that stands still, if one does within a second."""
    below, ends_s = processes.descendants(os.getpid()), time.monotonic() + 1.0
    ours = processes_in(home)  # reads all of /proc: once
    there = [p for p in below if program_name(p) in processes.SERVERS and p in ours]
    firsts = [p for p in there if parent_of(p) not in there]
    while time.monotonic() < ends_s:
        if frozen := [p for p in firsts if state_of(p) == "T"]:
            return frozen[0]
    return firsts[0]


@pytest.mark.parametrize(
    ("server", "moment", "whom"),
    [*((*each, _driver) for each in EACH[:-1]), *((*each, _engine) for each in FROZEN)],
)
def test_a_driver_or_a_frozen_server_that_is_killed_tears_its_block_only(
    server: str, moment: str, whom: Callable[[Path], int], home: Path
) -> None:
    # An engine that stands still is sought for a second, longer on a crowded host: the phase has
    # to last until it is found, or the other trial is over by then.
    folder = _begun(server, home, time_s="5" if whom is _engine else "2")
    killer = Once(moment, lambda: os.kill(whom(home), signal.SIGKILL))
    prepared = reopen_run(folder.read_run(), lambda _: None)
    play_run(prepared, folder, killer, ONE_BLOCK)
    first = [t for t in _of_blocks(folder) if t.attempt == 1]
    assert sorted(t.status for t in first) == ["failed", "interrupted"]
    (failed,) = (t for t in first if t.status == "failed")
    died = "the driver was killed" if whom is _driver else "the server died"
    assert failed.why_failed.startswith(died)
    _goes_on(folder, home)
