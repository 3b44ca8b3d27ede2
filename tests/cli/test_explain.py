"""`dyno explain` on a SQLite file: what it shows, compares, writes down and refuses."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from pathlib import Path

import pytest
from test_tidy import ROOT

from dyno import driver
from dyno.cli import run_words
from dyno.engines import find_engine
from dyno.record.decode import decode
from dyno.record.explanation import Explanation

BY_CUSTOMER = "SELECT * FROM orders WHERE customer = 7"
QUICK = ("--runs", "20", "--for", "1m")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A file with a table of orders, and an index."""
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT, note TEXT)")
        made.executemany(
            "INSERT INTO orders VALUES (?, ?, ?)", ((i, i % 500, "x" * 50) for i in range(20000))
        )
        made.execute("CREATE INDEX of_customer ON orders (customer)")
    made.close()
    return file


def explain(file: Path, sql: str, *words: str) -> int:
    return run_words(["explain", f"sqlite@system:{file}", sql, *QUICK, *words])


def test_stages_counts_and_the_plan_of_a_file_are_shown(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(shop, BY_CUSTOMER) == 0
    said = capsys.readouterr().out
    for words in (
        "40 rows; run 100 times bare and 100 times instrumented, over 10 connections",
        "sqlite3_prepare",
        "steps of the virtual machine",
        "pages asked of the cache",
        "not attributed",
        "SEARCH orders USING INDEX of_customer (customer=?)",
        "rows of the plan's steps",
    ):
        assert words in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 110 and "\x1b" not in said


def test_an_index_that_is_gone_is_found_beside_an_earlier_file(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "before.json"
    assert explain(shop, BY_CUSTOMER, "--json", str(kept)) == 0
    record = decode(Explanation, json.loads(kept.read_text()))
    assert record.engine == "sqlite" and len(record.bare_us) == 20
    with sqlite3.connect(shop) as changed:
        changed.execute("DROP INDEX of_customer")
    changed.close()
    capsys.readouterr()
    assert explain(shop, BY_CUSTOMER, "--against", str(kept)) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"The first stage that differs is execute: A takes [\d,.]+ µs more\.", said)
    assert "The plans differ." in said and "SCAN orders" in said
    assert "The answers: not compared: a file keeps no rows." in said


def test_two_files_are_explained_side_by_side(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(shop.read_bytes())
    with sqlite3.connect(other) as changed:
        changed.execute("DROP INDEX of_customer")
    changed.close()
    assert explain(shop, BY_CUSTOMER, "--against", f"sqlite@system:{other}") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The first stage that differs is execute: B takes" in said
    assert "The answers: same." in said and said.index("answers") < said.index("first stage")


def test_rows_that_differ_are_told_before_any_stage(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(shop.read_bytes())
    with sqlite3.connect(other) as changed:
        changed.execute("UPDATE orders SET note = 'y' WHERE id = 507")
    changed.close()
    assert explain(shop, BY_CUSTOMER, "--runs", "1", "--against", f"sqlite@system:{other}") == 0
    said = capsys.readouterr().out
    assert "The answers: differs: 1 row differs." in said
    (ours,) = re.findall(r"A: '507', '7', 'x+'", said)
    (theirs,) = re.findall(r"B: '507', '7', 'y'", said)
    assert said.index(ours) < said.index(theirs) < said.index("stage")
    # a write is rolled back, and its counts are compared
    sql = "UPDATE orders SET note = '' WHERE note <> 'y' AND customer = 7"
    words = ("--rollback", "--runs", "1", "--against", f"sqlite@system:{other}")
    assert explain(shop, sql, *words) == 0
    assert "The answers: differs: rows changed: 40 and 39." in capsys.readouterr().out


def test_a_write_is_rolled_back_or_refused(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "DELETE FROM orders"
    assert explain(shop, sql) == 64
    assert "the statement writes" in capsys.readouterr().err
    assert explain(shop, sql, "--rollback", "--runs", "1") == 0
    assert "20,000 rows changed" in " ".join(capsys.readouterr().out.split())
    with sqlite3.connect(shop) as found:
        assert found.execute("SELECT count(*) FROM orders").fetchone() == (20000,)
    found.close()


def test_a_statement_without_end_is_ended(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = "SELECT 1 UNION ALL SELECT x + 1 FROM c"
    endless = f"WITH RECURSIVE c(x) AS ({numbers}) SELECT max(x) FROM c"
    assert explain(shop, endless, "--timeout", "500ms") == 0
    assert "ended after 0.5 s (--timeout)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("dsn", "why"),
    [
        ("/nowhere/shop.db", "there is no file"),
        ("{folder}/notes.txt", "is not a database of a known kind"),
        ("sqlite@system:/nowhere/shop.db", "there is no file"),
        ("sqlite@system", "is started without tables"),
        ("sqlite@99.9", "is started without tables"),
        ("nowhere.db", "there is no file nowhere.db"),
        ("SELECT 1", "the DSN stands first, then the statement"),
        ("host=127.0.0.1 port=1 user=me password=secret dbname=shop", "127.0.0.1"),
        ("null@200us", "takes a server that runs, or a file"),
        ("nosuch://h/d", "unknown engine"),
        ("postgres://me:secret@127.0.0.1:1/shop", "127.0.0.1"),
        ("postgres://me:secret@h/shop?work_mem=1MB", "work_mem"),
    ],
)
def test_a_place_that_is_none_is_refused_and_no_password_is_shown(
    dsn: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("no database")
    assert run_words(["explain", dsn.format(folder=tmp_path), "SELECT 1"]) == 64
    said = capsys.readouterr()
    assert why in said.err and "secret" not in said.err + said.out


@pytest.mark.parametrize("text", ['{"engine": 1}', "{", '{"a": "b"}'])
def test_a_file_that_is_no_explanation_is_refused(
    text: str, shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.json").write_text(text)
    assert explain(shop, BY_CUSTOMER, "--against", str(tmp_path / "other.json")) == 64
    assert "is no explanation" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("", "the statement is empty"),
        ("SELECT 1; SELECT 2", "several statements"),
        ("ATTACH 'x' AS y", "ATTACH cannot be explained"),
        ("PRAGMA query_only = 0", "PRAGMA cannot be explained"),
        ("VACUUM", "VACUUM cannot be explained"),
        ("SELECT nix FROM orders", "nix"),
    ],
)
def test_a_statement_that_is_none_of_the_kind_is_refused(
    sql: str, why: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(shop, sql) == 64
    assert why in capsys.readouterr().err


def test_the_commands_of_the_guide_do_what_it_says(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop.parent)
    guide = (ROOT / "docs/guides/explain.md").read_text()
    commands = re.findall(r"^dyno (explain .*)$", guide, re.MULTILINE)
    assert len(commands) == 4
    for line in commands:
        assert run_words([*shlex.split(line), *QUICK]) == 0, capsys.readouterr().err
    heads = [line for line in guide.splitlines() if line.startswith("stage  ")]
    said = " ".join(capsys.readouterr().out.split())
    assert heads and all(" ".join(head.split()) in said for head in heads)


@pytest.mark.slow
def test_a_library_that_counts_scans_tells_the_rows_of_the_plans_steps(shop: Path) -> None:
    flags = {"cflags": "-O0 -DSQLITE_ENABLE_STMT_SCANSTATUS"}
    build = find_engine("sqlite", driver.ask).program("3.54.1", flags, lambda _: None)
    kept = shop.with_suffix(".json")
    words = ["explain", f"sqlite@{build.program}:{shop}", BY_CUSTOMER, "--json", str(kept)]
    assert run_words([*words, *QUICK]) == 0
    record = decode(Explanation, json.loads(kept.read_text()))
    assert [(node.rows, node.loops) for node in record.nodes] == [(40.0, 1.0)]
    assert any("scanstatus" in remark for remark in record.remarks)


SHOP = """CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, note VARCHAR(60));
INSERT INTO orders VALUES (1, 7, 'a'), (2, 7, 'b'), (3, 8, 'c');
"""


def test_an_engine_of_a_version_is_started_with_the_tables_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "shop.sql"
    file.write_text(SHOP)
    words = ["explain", "sqlite@3.54.1", BY_CUSTOMER, "--setup", str(file), "--runs", "2"]
    assert run_words([*words, "--against", "sqlite@system"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "A: sqlite 3.54.1 at a file of its own: 2 rows" in said and "B: sqlite 3." in said
    assert run_words([*words[:3], "--setup", str(tmp_path / "none.sql")]) == 64
    assert "none.sql" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("dsn", "why"),
    [
        ("{file}", "--setup makes no tables in"),
        ("sqlite@3.54.1?cache_size=-5", "does not take the key 'cache_size'"),
        ("sqlite@3.54.1?niceness=5", "does not take the key 'niceness'"),
        ("null@200us", "takes a server that runs, or a file"),
    ],
)
def test_what_is_not_started_with_a_file_is_refused_by_name(
    dsn: str, why: str, shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "shop.sql"
    file.write_text(SHOP)
    assert run_words(["explain", dsn.format(file=shop), "SELECT 1", "--setup", str(file)]) == 64
    assert why in capsys.readouterr().err
