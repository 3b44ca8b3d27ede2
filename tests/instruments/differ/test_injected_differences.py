"""Faults injected into one side are found, classed, and reduced to a few statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from differ_runs import CrashingSide, FaultySide

from dyno.instruments.differ.grammar import join_sides
from dyno.instruments.differ.play import (
    DifferPlan,
    DifferPlayer,
    make_differ_folder,
    make_differ_run,
    read_specs,
)
from dyno.instruments.differ.sides import EngineSide, hold_pair, resolve_sides
from dyno.record.differ import FoundDifference

#: Each fault by its name: what is sent otherwise, and the words of the script that must be left.
FAULTS = {
    "unsorted": (r" ORDER BY \d.*$", "", "ORDER BY"),
    "limit": (r"LIMIT (\d)", r"LIMIT 1 + \1", "LIMIT"),
    "null": (r"IS NULL\)", "= NULL)", "IS NULL"),
    "uniqueness": (r" UNIQUE", "", "UNIQUE"),
    "trigger": (r"VALUES \((NEW|OLD)\.id, .*?\);", r"VALUES (\1.id, NULL);", "TRIGGER"),
    "collation": (r" COLLATE NOCASE", "", "NOCASE"),
    "aggregate overflow": (r"\bsum\(", "3 & sum(", "sum("),
    "window frame": (r"UNBOUNDED FOLLOWING", "CURRENT ROW", "FOLLOWING"),
    "outer join": (r"LEFT JOIN", "JOIN", "LEFT JOIN"),
    "distinct": (r"SELECT DISTINCT", "SELECT", "DISTINCT"),
    "rollback": (r"^ROLLBACK$", "COMMIT", "ROLLBACK"),
    "check": (r" CHECK \(c\d <> \S+\)", "", "CHECK"),
    "union": (r"UNION ALL SELECT", "UNION SELECT", "UNION ALL"),
    "between": (r" BETWEEN (\S+) AND ", r" BETWEEN 1 + \1 AND ", "BETWEEN"),
}
#: Scripts that may be played until a fault is found, and statements that it may be reduced to: what
#: a rollback leaves takes a table, a row, BEGIN, its loss, ROLLBACK, and a look.
SCRIPTS, STATEMENTS = 250, {"rollback": 6}


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[list[EngineSide]]:
    plan = DifferPlan(["sqlite@system"], 600.0, is_aa=True)
    sides = resolve_sides(read_specs(plan), tmp_path / "homes", print)
    (tmp_path / "homes").mkdir()
    yield sides


def search(
    engines: list[EngineSide], other: FaultySide | EngineSide, folder: Path, scripts: int = SCRIPTS
) -> list[FoundDifference]:
    plan = DifferPlan([], 600.0, 7, scripts, 1)
    run = make_differ_run(plan, engines)
    path = make_differ_folder(folder, run)
    dialect = join_sides(engines[0].dialect, engines[1].dialect)
    with hold_pair(engines[0], other) as pair:
        made = DifferPlayer(run, pair, dialect, [], path, lambda _: None).play()
    assert made.counts.unsteady == 0
    return made.open_finds


@pytest.mark.parametrize("name", FAULTS)
def test_an_injected_fault_is_found_and_reduced(
    name: str, engines: list[EngineSide], tmp_path: Path
) -> None:
    pattern, instead, left = FAULTS[name]
    found = search(engines, FaultySide(engines[1], pattern, instead), tmp_path)
    assert found
    for find in found:
        assert len(find.script) <= STATEMENTS.get(name, 5) and find.is_whole, find.script
        assert left in "\n".join(find.script)
        assert any(re.search(pattern, it) for it in find.script), find.script


@pytest.mark.parametrize("ending", ["crash", "hang"])
def test_a_crash_and_a_hang_are_finds_of_their_own_class(
    ending: str, engines: list[EngineSide], tmp_path: Path
) -> None:
    side = CrashingSide(engines[1], r"GROUP BY", ending)
    (find,) = search(engines, side, tmp_path)
    assert find.kind == ending and len(find.script) <= 5
    assert "GROUP BY" in find.script[-1] and find.theirs == ("the server died of GROUP BY",)


def test_a_build_beside_itself_differs_in_nothing(
    engines: list[EngineSide], tmp_path: Path
) -> None:
    assert not search(engines, engines[1], tmp_path, 60)
