"""Connections that a workload opens, against those that a server lets in."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_engine import FakeEngine
from fakes import make_phase, make_run, make_workload

from dyno.builds import Build
from dyno.errors import UsageError
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.preconditions import check_connections


class LetsIn(FakeEngine):
    """A server that lets in as many as `settings` say."""

    def find_most_connections(self, build: Build, settings: dict[str, str]) -> int:
        self.journal.append("asked")
        return int(settings.get("most", "100"))


def prepared(connections: int, journal: list[str]) -> Prepared:
    phase = make_phase()
    phase["streams"][0]["connections"] = connections
    run = make_run(workloads=[make_workload("crowd", [phase])])
    build = Build("fake", "old", "1", Path("/bin/true"))
    names = [side.name for side in run.candidates]
    return Prepared(run, dict.fromkeys(names, LetsIn(journal)), dict.fromkeys(names, build))


def test_more_than_are_let_in_are_refused_before_anything_is_played() -> None:
    with pytest.raises(UsageError) as refused:
        check_connections(prepared(120, []))
    assert (
        refused.value.sentence == "crowd opens 120 connections: old lets in 100 (max_connections)"
    )
    assert "max_connections=N" in refused.value.hint


def test_so_many_as_every_server_lets_in_are_not_asked_for() -> None:
    journal: list[str] = []
    check_connections(prepared(90, journal))
    assert not journal
    check_connections(prepared(100, journal))
    assert journal == ["asked", "asked"]
