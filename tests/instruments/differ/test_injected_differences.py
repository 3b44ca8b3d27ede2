"""Faults injected into one side are found, classed, and reduced to a few statements."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from differ_runs import CrashingSide, FaultySide, make_both_sides, search

from dyno.instruments.differ.sides import EngineSide

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
    "generated column": (r"GENERATED ALWAYS AS \(", "GENERATED ALWAYS AS (1 + ", "GENERATED"),
    "strict table": (r"\) STRICT", ")", "STRICT"),
    "update from": (r" FROM (\w+) AS (\w+) WHERE ", r" FROM \1 AS \2 WHERE 1 + ", "FROM"),
    "dropped column": (r"ALTER TABLE (\w+) DROP COLUMN \w+", "SELECT 1", "DROP COLUMN"),
    "renamed column": (r" TO (n\d+)$", r" TO x\1", "RENAME"),
    "date": (r"'start of month'", "'start of year'", "start of month"),
    "json": (r"json_set\(", "json_insert(", "json_set"),
}


@pytest.fixture
def engines(tmp_path: Path) -> list[EngineSide]:
    return make_both_sides("sqlite@system", tmp_path)


@pytest.mark.parametrize("name", FAULTS)
def test_an_injected_fault_is_found_and_reduced(
    name: str, engines: list[EngineSide], tmp_path: Path
) -> None:
    pattern, instead, left = FAULTS[name]
    found = search(engines, FaultySide(engines[1], pattern, instead), tmp_path)
    assert found
    for find in found:
        assert len(find.script) <= 5 and find.is_whole, find.script
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
