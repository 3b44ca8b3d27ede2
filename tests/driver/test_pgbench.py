"""Script files of pgbench, played on SQLite and on null: expressions, branches, variables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from pgbench_files import EXPRESSIONS, kept, make_plan, play, play_plan, sqlite_with_table

from dyno import driver, workloads
from dyno.cli import command
from dyno.driver.plan import Session
from dyno.errors import UsageError


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    return sqlite_with_table(tmp_path)


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_expressions_have_pgbenchs_values(sqlite: Session, tmp_path: Path, protocol: str) -> None:
    expected = {e: value for e, value in EXPRESSIONS.items() if value != "refused"}
    value = "':x'" if protocol == "simple" else "'=' || :x"
    insert = "\\set x {}\nINSERT INTO r VALUES ('{}', {});\n"
    text = "".join(insert.format(e, e.replace(":", "@"), value) for e in expected)
    play(sqlite, text, tmp_path, protocol=protocol)
    found = {str(e).replace("@", ":"): v for e, v in kept(sqlite).items()}
    assert {e: "NULL" if v is None else v.lstrip("=") for e, v in found.items()} == expected


def test_branches_gset_and_aset_are_played(sqlite: Session, tmp_path: Path) -> None:
    text = r"""
\set n 2
\if :n = 1
INSERT INTO r VALUES ('if', 'one');
\elif :n = 2
  \if false
  INSERT INTO r VALUES ('inner', 'wrong');
  \else
  INSERT INTO r VALUES ('inner', 'right');
  \endif
\else
INSERT INTO r VALUES ('if', 'other');
\endif
SELECT 41 AS answer, NULL AS void, 'it''s; a ' || ':' || 'n \ text' AS words \gset my_
\set more :my_answer + 1
INSERT INTO r VALUES ('gset', :more), ('null', :my_void), ('words', :my_words);
SELECT 'x' AS gone WHERE 1 = 2 \aset
SELECT 'a' AS last UNION ALL SELECT 'b' ORDER BY 1 \aset
INSERT INTO r VALUES ('aset', :last), ('unset', :gone);
"""
    play(sqlite, text, tmp_path, protocol="prepared")
    words = {"words": "it's; a :n \\ text"}
    rest = {"inner": "right", "gset": "42", "null": "", "aset": "b", "unset": None}
    assert kept(sqlite) == rest | words


def test_a_row_is_stored_under_the_names_that_it_came_with(sqlite: Session, tmp_path: Path) -> None:
    text = (
        "\\set n :n + 1\nSELECT :n * 10 AS c:n \\gset\n"
        "INSERT INTO r VALUES (':n', ':c1 :c2 :c3');\n"
    )
    play(sqlite, text, tmp_path, events="3", **{":n": "0"})
    assert kept(sqlite) == {"1": "10 :c2 :c3", "2": "10 20 :c3", "3": "10 20 30"}


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_a_transaction_goes_on_behind_what_only_lua_does(
    sqlite: Session, tmp_path: Path, protocol: str
) -> None:
    text = (
        "\\set n :n + 1\nINSERT INTO r VALUES ('a', :n);\n\\setshell m echo :n\n"
        "\\if :n % 2 = 0\nINSERT INTO r VALUES ('b', :m);\n\\endif\n\\sleep 1 us\n"
        "INSERT INTO r VALUES ('c', :n);\n"
    )
    options = {":n": "0", "allow_shell": "on", "protocol": protocol, "events": "4"}
    (tally,) = play(sqlite, text, tmp_path, **options).streams
    assert (tally.done, tally.queries) == (4, 10)
    (rows,) = driver.ask(sqlite, ["select group_concat(name || value, ' ') from r"])
    assert rows == [["a1 c1 a2 b2 c2 a3 c3 a4 b4 c4"]]


def test_variables_are_spelled_out_in_quotes_too_and_what_is_none_is_sqls_own(
    sqlite: Session, tmp_path: Path
) -> None:
    text = r"""
\set a 7
INSERT INTO r VALUES ('quoted', ':a:b'), -- a comment; with :a
  ('time', '12:34:56'), /* :a ; */ ("a" || 'b', :a), ('like', '%a7%' LIKE '%:a%');
INSERT INTO r SELECT 'cte', x FROM (WITH t AS (SELECT 1 AS x) SELECT x FROM t) WHERE x < :a
"""
    play(sqlite, text, tmp_path)
    rest = {"time": "12:34:56", "ab": "7", "cte": "1", "like": "1"}
    assert kept(sqlite) == rest | {"quoted": "7:b"}


def test_texts_of_few_variables_are_spelled_out_as_those_of_many(
    sqlite: Session, tmp_path: Path
) -> None:
    # Up to four variables go in by the driver, more by Lua; a block comment holds variables, too.
    expressions = "7 -12 0-0 99999999 2147483648 -9223372036854775808 1.5 1e300 true null -0.0"
    head = "\\set v {0}\nINSERT INTO r VALUES ('{0} few', ':v');\n"
    many = "INSERT INTO r VALUES ('{0} many', ':v') /* :v:v:v:v */;\n"
    text = "".join((head + many).format(each) for each in expressions.split())
    ends = "\\set a 1\n  :insert INTO r VALUES ('ends', ':a:none') :blank ;"
    play(sqlite, text + ends, tmp_path, **{":insert": " INSERT", ":blank": " "})
    found = kept(sqlite)
    assert found.pop("ends") == "1:none"
    assert len(found) == 2 * len(expressions.split())
    for each in expressions.split():
        assert found[f"{each} few"] == found[f"{each} many"], each
    assert (found["-12 few"], found["2147483648 few"]) == ("-12", "2147483648")


def test_what_is_prepared_has_a_parameter_for_each_name_and_none_in_quotes(
    sqlite: Session, tmp_path: Path
) -> None:
    text = "INSERT INTO r VALUES ('unset', :nosuch), ('time', '12:34:56'); -- :nosuch"
    play(sqlite, text, tmp_path, protocol="prepared")
    assert kept(sqlite) == {"unset": None, "time": "12:34:56"}
    with pytest.raises(UsageError, match=r"(?s):a stands in quotes.*file\.sql:2"):
        play(sqlite, "\\set a 7\nSELECT ':a';", tmp_path, protocol="prepared")


def test_all_users_hash_and_permute_alike(tmp_path: Path) -> None:
    session = sqlite_with_table(tmp_path)
    text = "\\set p permute(3, 1000000)\nINSERT INTO r VALUES (':p', hash(5) = :default_seed);"
    text = text.replace("hash(5) = ", "")
    play(session, text, tmp_path, events="40", threads="4")
    (rows,) = driver.ask(session, ["select count(distinct name), count(distinct value) from r"])
    assert rows == [["1", "1"]]


def test_options_are_variables_and_setup_makes_the_tables(sqlite: Session, tmp_path: Path) -> None:
    (tmp_path / "setup.sql").write_text("CREATE TABLE s (x);\nINSERT INTO s VALUES (';'), ('b');\n")
    text = "INSERT INTO r SELECT x, ':given:scale' FROM s;"
    plan = make_plan(sqlite, text, tmp_path, given="ab", scale="3", setup="setup.sql")
    names = {option.name: option.value for option in driver.describe(plan).options}
    assert (names["given"], names["scale"]) == ("ab", "3")
    play_plan(replace(plan, commands=("prepare", "run")), tmp_path)
    assert kept(sqlite) == {";": "ab3", "b": "ab3"}


def test_a_pipeline_is_sent_at_its_end(tmp_path: Path) -> None:
    text = "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\syncpipeline\nSELECT 3;\n\\endpipeline\n"
    delayed: Session = {"kind": "null", "delay_ns": 1000}
    (tally,) = play(delayed, text, tmp_path, events="10", protocol="prepared").streams
    assert (tally.done, tally.queries) == (10, 30)
    assert tally.service_ns is not None


@pytest.mark.parametrize(
    "name", [n for n in workloads.list_workloads() if n.startswith("pgbench_")]
)
def test_pgbenchs_own_scripts_play_on_its_tables(
    name: str, sqlite: Session, tmp_path: Path
) -> None:
    text = workloads.find_workload(name).read_text()
    plan = make_plan(sqlite, text, tmp_path, events="50")
    play_plan(replace(plan, commands=("prepare", "run")), tmp_path)
    count = "select count(*), sum({0}balance) from pgbench_{1}"
    tables = {"a": "accounts", "b": "branches", "t": "tellers"}
    found = driver.ask(sqlite, [count.format(k, t) for k, t in tables.items()])
    (history,) = driver.ask(
        sqlite, ["select count(*), coalesce(sum(delta), 0) from pgbench_history"]
    )
    assert [rows[0][0] for rows in found] == ["100000", "1", "10"]
    assert history[0][0] == ("0" if name == "pgbench_select_only" else "50")
    moved = {rows[0][1] for rows in (found if name == "pgbench_tpcb_like" else found[:1])}
    assert moved == {history[0][1]}


def test_uniform_numbers_fill_their_range_and_shaped_ones_their_shape(
    sqlite: Session, tmp_path: Path
) -> None:
    text = r"""
\set u random(1, 4)
\set g random_gaussian(1, 100, 5.0)
\set z random_zipfian(1, 100, 1.5)
\set e random_exponential(1, 100, 10.0)
INSERT INTO r VALUES ('u', :u), ('g', :g), ('z', :z), ('e', :e);
"""
    play(sqlite, text, tmp_path, events="2000")
    share = "select cast(avg(cast(value as int) {0}) * 1000 as int) from r where name = '{1}'"
    tests = [("= 3", "u"), ("between 41 and 60", "g"), ("= 1", "z"), ("<= 10", "e")]
    shares = [
        int(str(rows[0][0])) for rows in driver.ask(sqlite, [share.format(*t) for t in tests])
    ]
    # expected 250, 683, 1/zeta-like 0.40, 1 - e^-1 = 632; 2000 draws, five standard deviations
    assert all(abs(s - x) < 60 for s, x in zip(shares, [250, 683, 414, 632], strict=True)), shares


def test_the_command_line_takes_a_file_of_pgbench(tmp_path: Path) -> None:
    script = tmp_path / "mine.pgbench"
    script.write_text("\\set x random(1, 10)\nSELECT :x;\n")
    done = CliRunner().invoke(command, ["play", "null", "-w", str(script), "--set", "events=5"])
    assert done.exit_code == 0, done.output
    assert "transaction" in done.output


@pytest.mark.timeout(30)
def test_a_file_is_read_in_a_time_that_grows_with_its_length(
    sqlite: Session, tmp_path: Path
) -> None:
    # Where each command looked at all before it, either took minutes.
    for text in (
        "SELECT 1;\n" * 20000,
        "\\if true\nSELECT 1;\n\\endif\n" * 10000,
    ):
        plan = make_plan(sqlite, text, tmp_path, events="1")
        assert driver.describe(plan).phases


def test_what_is_nested_as_deeply_as_may_be_is_played(sqlite: Session, tmp_path: Path) -> None:
    nots, sums = "not " * 3998 + "true", "1" + " + 1" * 1999
    text = (
        f"\\set a {'(' * 100}1{')' * 100}\n\\set b {sums}\n\\set c {nots}\n"
        + "\\if true\n" * 1000
        + f"\\set d {sums}\nINSERT INTO r VALUES ('deep', :a + :b + :d), ('c', ':c');\n"
        + "\\endif\n" * 1000
    )
    play(sqlite, text, tmp_path)
    assert kept(sqlite) == {"deep": "4001", "c": "true"}
