"""Keys that an engine left unchecked are found by its own answers after the last phase."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_integrity import play_checked
from ways_to_be_fooled import assert_caught

pytestmark = [pytest.mark.timeout(180)]

TABLES = (
    "CREATE TABLE parent (a int NOT NULL, b int NOT NULL, PRIMARY KEY (a, b))",
    "CREATE TABLE child (id int PRIMARY KEY, a int, b int, u varchar(9), UNIQUE (u),"
    " FOREIGN KEY (a, b) REFERENCES parent (a, b))",
    "INSERT INTO parent VALUES (1, 1)",
    "INSERT INTO child VALUES (1, 1, 1, 'x'), (2, NULL, 1, NULL), (3, 1, 1, NULL)",
)
ORPHAN = "INSERT INTO child VALUES (4, 7, 7, 'y')"
#: Until when an engine does not look: a row without a parent, and where it can be had the same key
#: twice.
UNCHECKED = {
    "sqlite": (ORPHAN,),
    "mysql@8.0.33": ("SET foreign_key_checks = 0", ORPHAN),
    "mariadb@11.8": ("SET foreign_key_checks = 0", ORPHAN),
    "postgres@18": (
        "SET session_replication_role = replica",
        ORPHAN,
        "UPDATE pg_index SET indisunique = false WHERE indexrelid = 'child_u_key'::regclass",
        "INSERT INTO child VALUES (5, 1, 1, 'x')",
        "UPDATE pg_index SET indisunique = true WHERE indexrelid = 'child_u_key'::regclass",
    ),
}
#: Questions about the two tables, by engine: SQLite's integer keys are the tree's own order.
KEYS = {"sqlite": 6, "duckdb": 5}


@pytest.mark.parametrize("engine", UNCHECKED)
def test_a_key_that_was_not_checked_is_found(
    home: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))
    trial, findings = play_checked(home, engine, [*TABLES, *UNCHECKED[engine]])
    assert_caught("broken-keys", findings, engine.partition("@")[0])
    broken = [it for it in trial.integrity if it.faults]
    assert len(broken) == (2 if engine == "postgres@18" else 1)
    assert any("foreign key" in it.name for it in broken)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "mysql@5.6.14", "postgres@12"])
def test_whole_keys_are_sound_and_null_breaks_none(
    home: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))
    trial, findings = play_checked(home, engine, TABLES)
    assert findings[0].soundness == "sound" and "found no fault" in findings[0].sentence
    unasked = [it.unchecked for it in trial.integrity if it.unchecked]
    assert len(unasked) == 1 + (engine == "duckdb"), unasked
    assert ("only --check full looks at it" in unasked) == (engine != "duckdb")
    assert len(trial.integrity) == KEYS.get(engine, 5)
