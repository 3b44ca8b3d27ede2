"""An index that does not hold its rows is found by `--check full`, and only by that."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_integrity import play_checked
from ways_to_be_fooled import assert_caught

pytestmark = [pytest.mark.timeout(180)]

MISPLACED = (
    "CREATE TABLE parent (id int PRIMARY KEY) PARTITION BY RANGE (id)"
    " (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20))",
    "CREATE TABLE other (id int PRIMARY KEY)",
    "INSERT INTO other VALUES (15)",
    "ALTER TABLE parent EXCHANGE PARTITION a WITH TABLE other WITHOUT VALIDATION",
)
#: Without the table's last row in one of its indexes, or with it in another partition's.
DAMAGED = {
    "mysql@8.0.33": MISPLACED,
    "mariadb@11.8": MISPLACED,
    "sqlite@3.54.1": (
        "CREATE TABLE parent (id integer PRIMARY KEY, a int, b int)",
        "CREATE INDEX parent_a ON parent (a)",
        "INSERT INTO parent VALUES (1, 1, 2)",
        "PRAGMA writable_schema = 1",
        "UPDATE sqlite_master SET sql = 'CREATE INDEX parent_a ON parent (b)'"
        " WHERE name = 'parent_a'",
    ),
    "postgres@18": (
        "CREATE TABLE parent (id int PRIMARY KEY, a int)",
        "CREATE INDEX parent_a ON parent (a)",
        "UPDATE pg_index SET indisready = false WHERE indexrelid = 'parent_a'::regclass",
        "INSERT INTO parent VALUES (1, 1)",
        "UPDATE pg_index SET indisready = true WHERE indexrelid = 'parent_a'::regclass",
    ),
}
WHOLE = ("CREATE TABLE parent (id int PRIMARY KEY, a int)", "INSERT INTO parent VALUES (1, 1)")


@pytest.mark.parametrize("engine", DAMAGED)
def test_an_index_without_its_rows_is_found_by_a_full_check(
    home: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))
    _, findings = play_checked(home, engine, DAMAGED[engine], "full")
    assert_caught("damaged-index", findings, engine.partition("@")[0])
    if engine.startswith("sqlite"):  # the server's answer is the same, and costs more
        _, (sound, left) = play_checked(home, engine, DAMAGED[engine], "quick")
        assert (sound.soundness, left.soundness) == ("sound", "not checked")
        assert "only --check full looks at it" in left.sentence


@pytest.mark.parametrize(
    "engine", ["sqlite@3.24.0", "mysql@8.0.33", "mariadb@10.2.11", "postgres@12"]
)
def test_what_is_whole_is_sound_by_a_full_check(
    home: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))
    trial, (sound, *left) = play_checked(home, engine, WHOLE, "full")
    assert sound.soundness == "sound", sound.sentence
    deep = [it for it in trial.integrity if it.name.startswith(("table ", "index ", "every page"))]
    assert deep and not any(it.unchecked for it in deep)
    unchecked = [it.name for it in trial.integrity if it.unchecked]
    assert unchecked == (["rows of parent"] if engine == "postgres@12" else []), left
