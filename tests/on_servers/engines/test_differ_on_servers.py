"""`dyno differ` on real servers: statements that SQLite lacks, each with a fault that is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from differ_runs import FaultySide, make_both_sides, search
from private_servers import made_home

pytestmark = [pytest.mark.timeout(400)]

#: Engine, what is sent otherwise, and the words of the script that must be left.
FAULTS = {
    "a trigger's function": (
        "postgres@18",
        r"VALUES \((NEW|OLD)\.id, .*?\);",
        r"VALUES (\1.id, NULL);",
        "CREATE FUNCTION",
    ),
    "a path of JSONB": ("postgres@18", r"\['b', '1'\]", "['b', '0']", "['b', '1']"),
    "an update of a join": ("mariadb@11.8", r" ON (\w+\.id = t\d\.id SET)", r" ON 1 + \1", "SET"),
    "JSON": ("mariadb@11.8", r"json_set\(", "json_insert(", "json_set("),
    "the end where NULL stands": ("duckdb@1.5.6", "NULLS LAST", "NULLS FIRST", "NULLS LAST"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_server_is_found_and_reduced(name: str, tmp_path: Path) -> None:
    spec, pattern, instead, left = FAULTS[name]
    with made_home() as folder:
        engines = make_both_sides(spec, folder)
        found = search(engines, FaultySide(engines[1], pattern, instead), tmp_path)
    assert found
    # two tables, a function, a trigger, a row, its removal, a question: no fewer show a trigger's
    most = 7 if "trigger" in name else 6
    for find in found:
        assert len(find.script) <= most and find.is_whole, find.script
        assert left in "\n".join(find.script)
        assert any(re.search(pattern, it) for it in find.script), find.script


def test_a_connection_that_the_server_ends_is_a_crash() -> None:
    with made_home() as folder:
        side = make_both_sides("postgres@18", folder)[0]
        side.start()
        ended = side.play(["SELECT 1", "SELECT pg_terminate_backend(pg_backend_pid())", "SELECT 2"])
        again = side.play(["SELECT 1"])
        side.stop()
    assert len(ended.answers) == 1 and ended.ending == "crash" and ended.words
    assert len(again.answers) == 1 and not again.ending
