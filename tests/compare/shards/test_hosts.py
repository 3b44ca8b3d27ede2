"""Which shares one host played: by its id, unless two starts of a kernel ran at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import make_run, make_trials
from msgspec import structs

from dyno.compare.shards.found_shares import FoundShare
from dyno.compare.shards.hosts import describe_hosts, name_hosts
from dyno.compare.shards.share_run import identify_host
from dyno.record import DealtShare
from dyno.runs.run_folder import RunFolder


def make_found(
    index: int, host: str, boot: str, minutes: tuple[int, int], label: str = ""
) -> FoundShare:
    """A share whose first and last trial began at these minutes."""
    share = DealtShare(index, 2, "blocks", "e", "s", host, boot, label, {}, {})
    trials = tuple(
        structs.replace(trial, started_utc=f"2026-01-01T00:{minute:02}:00Z")
        for minute, trial in zip(minutes, make_trials({"new": [0.0]}), strict=True)
    )
    return FoundShare(Path("x"), RunFolder(Path("x")), make_run(), share, trials)


def test_hosts_are_called_by_their_labels_else_by_their_ids() -> None:
    found = [make_found(1, "aa", "1", (0, 9), "left"), make_found(2, "bb", "2", (0, 9))]
    assert name_hosts(found) == {1: "left", 2: "bb"}
    same = [make_found(1, "aa", "1", (0, 9), "ci"), make_found(2, "bb", "2", (0, 9), "ci")]
    assert name_hosts(same) == {1: "aa", 2: "bb"}
    assert not list(describe_hosts(found))


def test_clones_that_ran_at_the_same_time_are_two_hosts() -> None:
    found = [make_found(1, "aa", "1", (0, 9)), make_found(2, "aa", "2", (5, 15))]
    assert name_hosts(found) == {1: "aa/1", 2: "aa/2"}
    (told,) = describe_hosts(found)
    assert told.startswith("2 machines have the id aa")


def test_one_after_the_other_they_are_one_host_and_that_is_told() -> None:
    found = [make_found(1, "aa", "1", (0, 4)), make_found(2, "aa", "2", (5, 15))]
    assert set(name_hosts(found).values()) == {"aa"}
    (told,) = describe_hosts(found)
    assert "taken for one host" in told
    assert "--host" in told


@pytest.mark.parametrize("minutes", [(0, 9), (20, 29)])
def test_shares_of_one_start_of_a_kernel_are_of_one_host(minutes: tuple[int, int]) -> None:
    found = [make_found(1, "aa", "1", (5, 15)), make_found(2, "aa", "1", minutes)]
    assert set(name_hosts(found).values()) == {"aa"}
    assert not list(describe_hosts(found))


def test_a_host_is_known_by_its_label_its_id_or_its_kernel() -> None:
    assert identify_host({"id": "aa"}, "boot") == "aa"
    assert identify_host({}, "boot") == "boot"
    assert identify_host({}, "") == "unknown"
    by_label = identify_host({"id": "aa"}, "boot", "left")
    assert by_label == identify_host({}, "", "left") != identify_host({}, "", "right")
    assert "left" not in by_label
