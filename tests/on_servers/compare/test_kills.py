"""Whoever is killed, and whenever: no process is left, what was measured stays, the run goes on."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import processes
import pytest
from conftest import outside
from fake_driver import judge_by_blocks
from process_killers import Killer, Pauser, Stopper

from dyno.instruments.time.run import Rules, play_once, play_run
from dyno.instruments.time.watch import Watch
from dyno.record import Failure, Trial
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run, list_runs

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

SERVER = "postgres@18"
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}
#: One after the other: interleaved a pilot plays before there is a run
#: (test_interleaving_on_servers.py).
EXPERIMENT = """
sequential = true
candidates = ["{engine}", "{engine}"]
aa = true
blocks = 3
limits = {{ steal_percent = 100, foreign_percent = 100 }}
[[workload]]
name = "oltp_point_select"
options = {{ {names} }}
"""
OPTIONS = {"time": "0.6", "warmup_time": "0", "table_size": "20000", "threads": "2"}
#: Where whole runs are played: a server need not be busy to be killed.
CALMLY = {"rate": "200", "table_size": "2000"}


@pytest.fixture(autouse=True)
def runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs where root's unprivileged user can get to."""
    monkeypatch.setenv("DYNO_RUNS", str(home))
    monkeypatch.setenv("DYNO_TMP", str(home))
    return home


def server_of(runs: Path) -> Callable[[int], int]:
    """Finds the server of a trial under `runs` below a process."""
    return partial(processes.server_below, home=runs)


def once(engine: str, killer: Watch, **options: str) -> Trial:
    """One trial, while somebody is killed."""
    experiment = compare_candidates([engine], "oltp_point_select", OPTIONS | options)
    return play_once(draft_run(experiment, lambda _: None), killer)


@pytest.mark.parametrize(
    ("engine", "when"),
    [*((SERVER, when) for when in ("load", "between", "run")), ("mysql@5.6.14", "run")],
)
def test_a_server_that_is_killed_fails_its_trial_with_its_last_words(
    runs: Path, engine: str, when: str
) -> None:
    trial = once(engine, Killer(server_of(runs), when))
    assert trial.status == "failed"
    assert trial.why_failed.startswith("the server died (signal 9): ")
    assert "its log ends with:\n  " in str(trial.failure)
    assert not processes.processes_left(runs)


@pytest.mark.parametrize(
    ("engine", "when"),
    [*(("null@1ms", when) for when in ("load", "between", "run")), (SERVER, "run")],
)
def test_a_driver_that_is_killed_leaves_no_server_behind(
    runs: Path, engine: str, when: str
) -> None:
    trial = once(engine, Killer(processes.driver_below, when))
    killed = Failure("the driver was killed (signal 9)")
    assert (trial.status, trial.failure) == ("failed", killed)
    assert not processes.processes_left(runs)


def test_a_run_goes_on_after_a_server_was_killed_and_plays_its_block_anew(runs: Path) -> None:
    measuring = Measuring(blocks=3, fixed=True, limits=CALM)
    options = OPTIONS | CALMLY
    experiment = compare_candidates([SERVER, SERVER], "oltp_point_select", options, measuring)
    prepared = draft_run(experiment, lambda _: None)
    folder = create_run(prepared.run, runs)
    rules = Rules(analyse=judge_by_blocks((2,), 2))
    play_run(prepared, folder, Killer(server_of(runs), "run"), rules)
    torn, others = folder.read_trials()[:2], [t for t in folder.read_trials()[2:] if t.block >= 0]
    # who had ended its phase before the other's server was missed has a good trial in a bad block
    assert {trial.status for trial in torn} in ({"failed", "interrupted"}, {"failed", "ok"})
    assert {trial.status for trial in others} == {"ok"}
    # on a crowded host a block that does not count is followed by one in its place
    assert [(t.block, t.attempt) for t in others[:4]] == [(0, 2), (0, 2), (1, 1), (1, 1)]
    failed = next(trial for trial in torn if trial.status == "failed")
    assert failed.log and (folder.path / failed.log).stat().st_size
    assert not processes.processes_left(runs)


def test_dyno_itself_is_killed_and_nothing_is_left_but_a_run_to_resume(runs: Path) -> None:
    names = ", ".join(f"{name} = {value}" for name, value in (OPTIONS | CALMLY).items())
    (runs / "mine.toml").write_text(EXPERIMENT.format(engine=SERVER, names=names))
    dyno = [sys.executable, "-m", "dyno.cli"]
    with subprocess.Popen(
        [*dyno, "run", str(runs / "mine.toml")], stdout=subprocess.DEVNULL
    ) as run:
        # a driver alone may be one that is asked something before any server starts
        processes.wait_until_found(
            lambda: processes.server_below(run.pid, runs) and processes.driver_below(run.pid)
        )
        run.kill()
    assert not processes.processes_left(runs)
    (folder,) = list_runs(runs)
    done = subprocess.run([*dyno, "resume", str(folder.path)], capture_output=True, text=True)
    # 3: on this host most of so short an answer may be the way there and back
    assert done.returncode in (0, 1, 2, 3), done.stderr
    assert len([trial for trial in folder.read_trials() if trial.status == "ok"]) >= 6
    assert not folder.find_homes().exists()
    assert not processes.processes_left(runs)


#: A starter of one server, in the background of a script: SIGQUIT is ignored there.
STARTER = """
import signal, sys
from pathlib import Path
from dyno import driver
from dyno.engines import find_engine
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
name, _, version = sys.argv[2].partition("@")
engine = find_engine(name, driver.ask)
build = engine.program(version, {}, lambda _: None)
print("it starts", flush=True)
engine.start(build, Path(sys.argv[1]), {})
print("it is up", flush=True)
signal.pause()
"""
#: Seconds from the first process of a server to its first answer, and some more.
START_S = 0.5


@pytest.mark.parametrize("engine", ["postgres@18", "postgres@12", "mariadb@11.4.5"])
def test_whoever_starts_a_server_may_be_killed_at_any_moment_of_it(
    home: Path, engine: str, rng: random.Random
) -> None:
    outside("mvn")
    for turn in range(8):
        place = home.parent / f"home{turn}"
        place.mkdir()
        command = [sys.executable, "-c", STARTER, str(place), engine]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
            assert starter.stdout is not None
            # the first one makes the template, and is killed when it is there
            for _ in range(1 if turn else 2):
                assert starter.stdout.readline().startswith("it ")
            time.sleep(rng.random() * START_S if turn else 0)
            starter.kill()
        assert not processes.processes_left(place), turn


def test_a_server_that_stands_still_for_good_fails_its_trial(runs: Path) -> None:
    trial = once(SERVER, Stopper(server_of(runs), "run"))
    assert trial.status == "failed"
    assert trial.why_failed.startswith("the server is stopped (SIGSTOP): ")
    assert not processes.processes_left(runs)


def test_a_server_that_stands_still_is_seen_in_the_tail_of_an_open_loop(runs: Path) -> None:
    trial = once(SERVER, Pauser(runs), time="4", rate="200")
    (tally,) = trial.phases[-1].streams
    assert trial.status == "ok"
    assert tally.target_per_s == 200.0
    assert tally.intended == tally.done + tally.failed + tally.skipped
    assert tally.latency.max_ns >= 2_000_000_000
    assert tally.latency.percentiles_ns["99"] >= 1_800_000_000
    assert tally.latency.percentiles_ns["50"] < 1_000_000_000
