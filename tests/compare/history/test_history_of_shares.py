"""A run that was gathered gives points of each host, and its shares none beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import make_run, make_trials
from msgspec import structs

from dyno.compare.history.gather import read_run
from dyno.compare.history.points import RunSource
from dyno.record import DealtBlocks, DealtShare, GatheredRun, Run, Trial
from dyno.runs.run_folder import RunFolder, write_json

SOURCE = RunSource("here", "x", "1")
HOSTS = ("aa", "bb")


def make_share(index: int) -> Run:
    """Three blocks on a host of its own."""
    numbers = tuple(range(3 * index - 3, 3 * index))
    blocks = {"select": DealtBlocks(3, numbers)}
    host = HOSTS[index - 1]
    share = DealtShare(index, 2, "blocks", "e", "s", host, "", "", blocks, {"select": (3, 3)})
    return structs.replace(make_run(), share=share, host={"id": host})


def play(index: int) -> list[Trial]:
    return [
        structs.replace(
            trial,
            block=trial.block + 3 * index - 3,
            number=trial.number + 10 * index,
            share=index,
            host=HOSTS[index - 1],
        )
        for trial in make_trials({"new": [0.01, 0.02, 0.03]}, per_s=1e5 * index)
    ]


def write_run(path: Path, run: Run, trials: list[Trial]) -> RunFolder:
    (path / "trials").mkdir(parents=True)
    write_json(path / "run.json", run)
    for trial in trials:
        RunFolder(path).write_trial(trial)
    return RunFolder(path)


def test_each_host_of_a_gathered_run_has_points_of_its_own(tmp_path: Path) -> None:
    shares = [make_share(index) for index in (1, 2)]
    stripped = tuple(structs.replace(it, workloads=(), candidates=()) for it in shares)
    run = structs.replace(make_run(), gathered=GatheredRun(stripped))
    found = read_run(write_run(tmp_path / "x", run, play(1) + play(2)), SOURCE, "x")
    assert not found.unreadable
    told = [(dict(point.host)["id"], point.restarts) for point in found.points]
    assert told == [("aa", 6), ("bb", 6)], "three of each side, which are one build"
    first, second = found.points
    assert first.value - second.value == pytest.approx(0.693, abs=0.01), "hosts are not mixed"


def test_a_share_is_left_out_by_name(tmp_path: Path) -> None:
    found = read_run(write_run(tmp_path / "x", make_share(1), play(1)), SOURCE, "x")
    assert not found.points
    assert "it is a share of an experiment" in found.unreadable
