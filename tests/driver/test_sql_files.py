"""Files of SQL statements with marks in their comments (`--sql`), played on SQLite and on null."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from pgbench_files import NULL, make_plan, play, play_plan, sqlite_with_table

from dyno import driver
from dyno.cli import command
from dyno.driver.plan import Session
from dyno.errors import DynoError

COUNTED = "select name, count(*) from r group by 1 order by 1"


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    return sqlite_with_table(tmp_path)


def ask(session: Session, sql: str) -> list[list[str | None]]:
    (rows,) = driver.ask(session, [sql])
    return rows


def test_each_statement_is_an_event_drawn_by_weight(sqlite: Session, tmp_path: Path) -> None:
    text = """
-- weight: 3
INSERT INTO r VALUES ('a', ':id is text');
-- name: both
BEGIN;
INSERT INTO r VALUES ('b', 1);
INSERT INTO r VALUES ('c', 1);
COMMIT;
-- weight: 0
INSERT INTO r VALUES ('never', 1);
"""
    said = play(sqlite, text, tmp_path, marked="on", events="2000")
    found = {str(name): int(str(n)) for name, n in ask(sqlite, COUNTED)}
    # 1500 and 500 of 2000: six standard deviations are 116
    assert set(found) == {"a", "b", "c"} and abs(found["a"] - 1500) < 116
    assert found["b"] == found["c"] == 2000 - found["a"]
    by_name = {name: it.count for name, it in said.streams[0].transactions.items()}
    assert by_name == {"insert:3": found["a"], "both": found["b"]}
    assert ask(sqlite, "select distinct value from r where name = 'a'") == [[":id is text"]]


def test_parameters_are_drawn_for_the_statements_that_speak_of_them(
    sqlite: Session, tmp_path: Path
) -> None:
    text = """
-- setup:
CREATE TABLE t (id INTEGER, name TEXT, pad TEXT);
-- :pad = 3..5 letters
-- times: 2500
INSERT INTO t VALUES (:row, 'n' || :row, :pad);
-- run:
-- :id = 1..4
-- :twice = :id * 2
-- :word = 'new', 'it''s', 7
-- :drawn, :its_name = SELECT id, name FROM t WHERE id > 2490;
INSERT INTO r VALUES ('both', :id || ' ' || :twice), ('word', :word);
INSERT INTO r SELECT 'row', count(*) FROM t WHERE id = :drawn AND name = :its_name;
"""
    plan = make_plan(sqlite, text, tmp_path, marked="on", events="400", threads="2")
    play_plan(replace(plan, commands=("prepare", "run")), tmp_path)
    said = "select count(*), max(id), count(distinct name), min(length(pad)), max(length(pad))"
    assert ask(sqlite, f"{said} from t") == [["2500", "2500", "2500", "3", "5"]]
    distinct = "select distinct value from r where name = '{}' order by 1"
    both = [value for (value,) in ask(sqlite, distinct.format("both"))]
    assert both == ["1 2", "2 4", "3 6", "4 8"]
    assert ask(sqlite, distinct.format("word")) == [["7"], ["it's"], ["new"]]
    assert ask(sqlite, distinct.format("row")) == [["1"]]


def test_a_range_has_the_shape_that_is_asked_for(sqlite: Session, tmp_path: Path) -> None:
    text = """
-- :u = 1..:most
-- :z = 1..100 zipf 1.5
-- :g = 1..100 normal 5
INSERT INTO r VALUES ('u', :u), ('z', :z), ('g', :g);
"""
    play(sqlite, text, tmp_path, marked="on", events="2000", most="4")
    share = "select cast(avg(cast(value as int) {0}) * 1000 as int) from r where name = '{1}'"
    tests = [("= 3", "u"), ("= 1", "z"), ("between 41 and 60", "g")]
    shares = [int(str(ask(sqlite, share.format(*each))[0][0])) for each in tests]
    assert all(abs(s - x) < 60 for s, x in zip(shares, [250, 414, 683], strict=True)), shares


def test_parameters_are_numbers_and_texts_of_prepared_statements(
    sqlite: Session, tmp_path: Path
) -> None:
    text = "-- :n = 1..9\nINSERT INTO r VALUES (typeof(:n), ?);".replace(", ?", ", 'x'")
    play(sqlite, text, tmp_path, marked="on", events="3")
    assert ask(sqlite, COUNTED) == [["integer", "3"]]


REFUSED = {
    "-- wieght: 3\nSELECT 1": r"unknown mark 'wieght'; there are name, run.*file\.sql:1",
    "SELECT 1;\n-- weight: some\nSELECT 2;": r"weight is a whole number.*'some'.*file\.sql:2",
    "SELECT 1\n-- weight: 2\n+ 1;": r"inside a statement: -- weight: 2.*file\.sql:2",
    "BEGIN;\n-- weight: 2\nCOMMIT;": r"between BEGIN and COMMIT.*file\.sql:2",
    "BEGIN;\nSELECT 1;": r"no COMMIT.*file\.sql:1",
    "SELECT 1;\n\nSELECT :id;": r":id has no value: -- :id = 1\.\.1000.*file\.sql:3",
    "SELECT :id;\n-- :id = 1..3\nSELECT :id;": r":id has no value.*file\.sql:1",
    "-- :id = 1..9 zpif\nSELECT :id;": r"unknown distribution 'zpif'.*file\.sql:1",
    "-- :id = nosuch(3)\nSELECT :id;": r"unexpected function name \(nosuch\).*file\.sql:1",
    "-- :a, :b = 1..3\nSELECT :a;": r"from a query only.*file\.sql:1",
    "-- :a b = 3\nSELECT :a;": r"'a b' is no name|':a b' is no name.*file\.sql:1",
    "-- weight: 0\nSELECT 1;": "all weights are 0",
    "SELECT 1;\n-- weight: 3\n": "weight: stands behind the last statement",
    "-- times: 3\nSELECT 1;": r"times: belongs to the setup.*file\.sql:2",
    "-- setup:\nSELECT 1;": "file.sql has no statement to play",
    "SELECT 'a;": r"unterminated quoted string.*file\.sql:1",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_meant_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=f"(?s){REFUSED[text]}"):
        driver.describe(make_plan(NULL, text, tmp_path, marked="on"))


def test_a_query_without_rows_or_with_other_columns_ends_the_trial(
    sqlite: Session, tmp_path: Path
) -> None:
    for query, says in [
        ("SELECT name FROM r", "answers no row"),
        ("SELECT 1, 2", "2 columns for 1 names"),
    ]:
        with pytest.raises(DynoError, match=rf"(?s){says}.*file\.sql:1"):
            play(sqlite, f"-- :a = {query}\nSELECT :a;", tmp_path, marked="on")


def test_the_command_line_takes_a_file_of_sql(tmp_path: Path) -> None:
    script = tmp_path / "mine.txt"
    script.write_text("-- :x = 1..10\n-- weight: 2\nSELECT :x;\nSELECT 2;\n")
    done = CliRunner().invoke(command, ["play", "null", "--sql", str(script), "--set", "events=60"])
    assert done.exit_code == 0, done.output
    assert re.search(r"select:3 .*\n.*select:4", done.output)
    both = ["play", "null", "--sql", str(script), "-w", str(script)]
    for words, says in [
        (both, "cannot be combined"),
        ([*both[:3], "nosuch.sql"], "no SQL file at"),
    ]:
        done = CliRunner().invoke(command, words)
        assert (done.exit_code, says in str(done.exception or done.output)) != (0, True)
