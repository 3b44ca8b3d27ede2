"""A run over a cluster on disk, and what its shares' tasks answer; no cluster is asked."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dyno.compare import fleet
from dyno.compare.fleet import FleetPlan, PlayedShare
from dyno.errors import HostError, UsageError
from dyno.record.decode import encode
from dyno.runs.pack.archive import read_records
from dyno.runs.run_folder import FLEET_RECORD, write_json


@pytest.fixture
def plan() -> FleetPlan:
    words = ("--blocks", "3")
    return FleetPlan("a name/../x", "ray:auto", "dyno run own.toml", "own.toml", words, 3, "rack")


@pytest.fixture
def run(tmp_path: Path, plan: FleetPlan) -> Path:
    source = tmp_path / "own.toml"
    source.write_text("name = 'x'\n")
    return fleet.create_fleet(plan, {"scripts/own.lua": source}, tmp_path / "runs")


def pack(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return made.getvalue()


class StandIn:
    """Ray as `play_shares` asks it: each share's answer is made by a function of a test's."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self, answer: Callable[[int], PlayedShare]) -> None:
        self.answer = answer
        self.asked: list[int] = []
        self.options: dict[str, Any] = {}

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        self.options = options
        return lambda _: SimpleNamespace(remote=lambda share, *_: share)

    def wait(self, waiting: list[int], **_: Any) -> tuple[list[int], list[int]]:
        return waiting[:1], waiting[1:]

    def get(self, share: int) -> PlayedShare:
        self.asked.append(share)
        return self.answer(share)


def play_well(share: int) -> PlayedShare:
    return PlayedShare("n1", 0, "", pack("share/run.json", "share/trials/0001.json"))


def test_a_plan_is_read_as_it_was_written(run: Path, plan: FleetPlan) -> None:
    assert fleet.read_plan(run) == plan
    files = fleet.find_files(run)
    assert {name: file.read_text() for name, file in files.items()} == {
        "scripts/own.lua": "name = 'x'\n"
    }
    assert run.parent.name == "runs" and run.stat().st_mode & 0o077 == 0


def test_only_the_shares_that_are_missing_are_played(run: Path, plan: FleetPlan) -> None:
    fleet.keep_share(run, 2, play_well(2).packed)
    (run / "shares" / "0003" / "dyno-unpack-abcdefgh").mkdir(parents=True)  # a kill left it
    assert fleet.list_missing(run, plan) == [1, 3]
    ray, said = StandIn(play_well), list[str]()
    fleet.play_shares(ray, run, plan, said.append)
    assert ray.asked == [1, 3] and not fleet.list_missing(run, plan)
    assert ray.options["resources"] == {"dyno_slot": 1} and ray.options["max_retries"]
    assert said == ["share 1 of 3 was played by n1", "share 3 of 3 was played by n1"]


def test_a_share_that_fails_is_named_and_the_others_are_kept(run: Path, plan: FleetPlan) -> None:
    def answer(share: int) -> PlayedShare:
        if share == 1:
            raise OSError("Traceback\nno node is left")
        return PlayedShare("n2", 64, "no disk", b"") if share == 2 else play_well(share)

    with pytest.raises(HostError) as refused:
        fleet.play_shares(StandIn(answer), run, plan, lambda _: None)
    assert refused.value.sentence == "shares 1, 2 of 3 were not played: no node is left"
    assert fleet.list_missing(run, plan) == [1, 2]


@pytest.mark.parametrize("name", ["../run.json", "share/../../run.json", "/run.json", "run.json"])
def test_what_a_node_sends_stays_in_its_shares_folder(
    run: Path, plan: FleetPlan, name: str
) -> None:
    with pytest.raises(UsageError):
        fleet.keep_share(run, 1, pack(name))
    assert not (run / "run.json").exists() and fleet.list_missing(run, plan) == [1, 2, 3]


def test_a_shares_folder_is_sent_without_engines_data_and_links(tmp_path: Path) -> None:
    folder = tmp_path / "share"
    for name in ("run.json", "trials/0001.json", "home/a/data"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    (folder / "trials" / "0002.json").symlink_to("/etc/passwd")
    with zipfile.ZipFile(io.BytesIO(fleet.pack_folder(folder))) as archive:
        assert archive.namelist() == ["share/run.json", "share/trials/0001.json"]


def test_how_a_cluster_is_reached_is_not_packed(run: Path) -> None:
    write_json(run / "run.json", {"name": "x"})
    assert list(read_records(run)) == ["run.json"]


def test_a_plan_of_a_newer_dyno_is_refused(run: Path, plan: FleetPlan) -> None:
    write_json(run / FLEET_RECORD, encode(plan) | {"schema": plan.schema + 1})
    with pytest.raises(UsageError):
        fleet.read_plan(run)


def test_cells_are_dealt_whole_where_each_node_can_have_one() -> None:
    assert fleet.choose_shares(None, 2, 4, 6) == 4
    assert fleet.choose_shares(None, 2, 3, 6) == 3
    assert fleet.choose_shares(None, 8, 20, 6) == 16
    assert fleet.choose_shares(None, 4, 1, 24) == 8
    assert fleet.choose_shares(None, 100, 1, 6) == 6
    assert fleet.choose_shares(6, 1, 1, 6) == 6
    with pytest.raises(UsageError, match="--shares 7 is more than all 6 blocks"):
        fleet.choose_shares(7, 1, 1, 6)


def test_few_hosts_of_one_cell_are_told_what_they_cannot_decide() -> None:
    assert "--shares 1 deals whole workloads" in fleet.describe_split(4, 1, 2)
    assert not fleet.describe_split(4, 4, 2)
    assert not fleet.describe_split(8, 1, 4)
    assert not fleet.describe_split(4, 1, 1)
