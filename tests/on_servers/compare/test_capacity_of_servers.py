"""`dyno capacity` on real servers: started for it, or running already, whose tables it drops."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from explaining import url_of
from private_servers import serving

from dyno import driver
from dyno.cli import capacity, run_words
from dyno.engines import Server
from dyno.instruments.capacity.folder import CapacityFolder, create_folder
from dyno.instruments.capacity.run import (
    make_plan,
    plan_search,
    play_capacity,
    prepare_capacity,
    reopen_capacity,
)
from dyno.record.capacity import CapacityBlock
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import LOADED

pytestmark = [pytest.mark.timeout(300)]

#: A limit that servers hold at rates which a busy host can send, and short steps.
WORDS = ("-w", "oltp_point_select", "--set", "table_size=200", "--set", "threads=2")
LIMIT = ("--slo", "p50<4ms", "--step", "100ms", "--seed", "1")
#: Goes on with a run until the first step is over, and is killed.
KILLED = """
import os, signal, sys
from pathlib import Path
from dyno.instruments.capacity.folder import CapacityFolder
from dyno.instruments.capacity.run import play_capacity, reopen_capacity
folder = CapacityFolder(Path(sys.argv[1]))
prepared = reopen_capacity(folder, lambda _: None)
play_capacity(prepared, folder, lambda _: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs lie; servers' data where their accounts can reach them."""
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path


def begin(*candidates: str) -> CapacityFolder:
    """A run of one block, nothing of it played yet."""
    given = capacity.command.make_context("capacity", [*candidates, *WORDS, *LIMIT]).params
    experiment, asked, phase = plan_search(capacity.make_experiment(given))
    prepared = prepare_capacity(draft_run(experiment, lambda _: None), phase, lambda _: None)
    return create_folder(
        make_plan(prepared, replace(asked, blocks=1)), Path(os.environ["DYNO_RUNS"])
    )


def play(folder: CapacityFolder) -> list[CapacityBlock]:
    prepared = reopen_capacity(folder, lambda _: None)
    play_capacity(prepared, folder, lambda _: None)
    return folder.read_blocks()


def check_searches(blocks: list[CapacityBlock], restarts: int) -> None:
    """Every step adds up; each search ended with a rate that held, below its closed loop's."""
    assert len(blocks) == 1 and {len(each.restarts) for each in blocks} == {restarts}
    for restart in (it for block in blocks for it in block.restarts):
        held = [step for step in restart.steps if step.holds]
        assert held and restart.closed_per_s > 0
        for step in restart.steps:
            assert step.intended == step.done + step.failed + step.skipped
            assert not step.failed and step.intended > 0
        assert len({step.rate_per_s for step in restart.steps}) > 1


def list_tables(server: Server) -> list[str]:
    asked = "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sbtest%'"
    return [str(name) for (name,) in driver.ask(server.session, [asked])[0]]


def test_two_engines_that_are_started_have_a_rate_each() -> None:
    check_searches(play(begin("postgres@18", "mysql@8.0.33")), 2)


@pytest.mark.parametrize("kind", ["postgres-18", "mysql-8.0"])
def test_a_server_that_runs_already_has_a_rate_and_none_of_our_tables_left(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(kind) as server:
        if server.session["password"] is not None:  # a run keeps none
            monkeypatch.setenv("MYSQL_PWD", server.session["password"])
        folder = begin(url_of(server))
        check_searches(play(folder), 1)
        assert list_tables(server) == []
        assert not [*(folder.path / LOADED).glob("*")]


@pytest.mark.chaos
def test_what_a_killed_run_had_loaded_is_dropped_when_it_goes_on() -> None:
    with serving("postgres-18") as server:
        folder = begin(url_of(server))
        done = subprocess.run([sys.executable, "-c", KILLED, folder.path], check=False)
        assert done.returncode == -9 and list_tables(server) == ["sbtest1"]
        check_searches(play(folder), 1)
        assert list_tables(server) == []


def test_nothing_is_loaded_beside_somebodys_tables(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving("postgres-18") as server:
        driver.ask(server.session, ["CREATE TABLE theirs (id int)"])
        words = ["capacity", url_of(server), *WORDS, "--slo", "p99<10ms"]
        assert run_words(words) == 64
        said = capsys.readouterr().err
        assert "is not empty" in said and "theirs is there" in said
        assert list_tables(server) == [] and not [*(runs / "runs").glob("*")]
