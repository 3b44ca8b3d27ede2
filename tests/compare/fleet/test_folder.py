"""A fleet's run on disk: what is noted when, and what a kill in between leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.compare.fleet.folder import FleetFolder, FleetPlan, create_fleet, make_plan
from dyno.compare.pack.archive import read_records
from dyno.errors import UsageError


@pytest.fixture
def made(tmp_path: Path) -> tuple[FleetFolder, FleetPlan]:
    source = tmp_path / "own.toml"
    source.write_text("name = 'x'\n")
    names = ("a name/../x", "ssh:/etc/hosts.toml", "dyno run own.toml", "rack")
    plan = make_plan(names, ["--blocks", "3"], {"own.toml": source}, 3)
    return create_fleet(plan, {"own.toml": source}, tmp_path / "runs"), plan


def put_share(folder: FleetFolder, share: int, host: str) -> Path:
    records = folder.find_share(share, host)
    records.mkdir(parents=True)
    (records / "run.json").write_text("{}")
    return records


def test_a_plan_is_read_as_it_was_written(made: tuple[FleetFolder, FleetPlan]) -> None:
    folder, plan = made
    assert folder.read_plan() == plan
    assert (folder.find_files() / "own.toml").read_text() == "name = 'x'\n"
    assert folder.path.parent.name == "runs" and "/" not in plan.id
    assert folder.path.stat().st_mode & 0o077 == 0


def test_only_what_a_host_has_played_whole_is_judged(made: tuple[FleetFolder, FleetPlan]) -> None:
    folder, plan = made
    put_share(folder, 1, "lost")
    records = put_share(folder, 1, "h1")
    folder.finish_share(1, "h1")
    put_share(folder, 2, "h1")
    folder.finish_share(3, "h2")  # more shares than blocks: it plays nothing
    assert folder.list_records(plan) == [records]
    assert not folder.is_whole(plan)
    folder.finish_share(2, "h1")
    assert folder.is_whole(plan)


def test_a_gathered_run_is_there_whole_or_not_at_all(made: tuple[FleetFolder, FleetPlan]) -> None:
    folder, _ = made
    torn = folder.find_gathered()
    torn.mkdir()
    (torn / "run.json").write_text("torn")
    beside = folder.find_gathered()
    assert not beside.exists(), "what a kill left is taken for the run"
    (beside / "trials").mkdir(parents=True)
    (beside / "run.json").write_text("{}")
    assert not folder.is_gathered()
    folder.move_gathered()
    assert folder.is_gathered() and (folder.path / "trials").is_dir()


def test_a_second_player_of_a_run_is_refused(made: tuple[FleetFolder, FleetPlan]) -> None:
    folder, _ = made
    second = FleetFolder(folder.path).hold_alone()
    with (
        folder.hold_alone(),
        pytest.raises(UsageError, match="another dyno plays"),
        second,
    ):
        raise AssertionError("two play it")


def test_how_hosts_are_reached_is_not_packed(made: tuple[FleetFolder, FleetPlan]) -> None:
    folder, _ = made
    (folder.path / "run.json").write_text('{"name": "x"}')
    assert list(read_records(folder.path)) == ["run.json"]
