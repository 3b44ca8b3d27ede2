"""The words of a replay: what cannot be played is refused in one sentence, before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_logs import GENERAL, SHOP, write

from dyno.cli import run_words

LOG = ["--log", "it.log"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log and its data, and a cache of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    write(tmp_path, "it.log", GENERAL)
    write(tmp_path, "shop.sql", SHOP)
    write(tmp_path, "other.sql", "CREATE TABLE other (id INTEGER);")
    write(tmp_path, "empty.log", "")
    write(tmp_path, "letter.log", "Dear reader,\nthis is no log.\n")
    return tmp_path


@pytest.mark.parametrize(
    "words,sentence,hint",
    [
        (["--log", "nosuch.log"], "cannot read the log nosuch.log: no such file", "--log FILE"),
        (["--log", "empty.log"], "the log empty.log is empty", "general_log=ON"),
        (["--log", "letter.log"], "is not a log that Dyno knows: line 1 is 'Dear", "slow log"),
        (LOG, "there is no table 'item' to play the log on", "--data DUMP.sql"),
        ([*LOG, "--data", "nosuch.sql"], "cannot read the data", "SQL file"),
        (
            [*LOG, "--data", "other.sql"],
            "5 of tables that the copy does not have (lines 6: SELECT name FROM item WHERE id = ?",
            "dump these tables, too",
        ),
        ([*LOG, "--in-place"], "--in-place is for servers that run already", "--data"),
        (["--speed", "2", "-w", "insert"], "--speed needs --log", "--log FILE"),
        ([*LOG, "--time", "5"], "--time does not apply to a replay", "--speed"),
        ([*LOG, "--set", "threads=5"], "--set threads does not apply to a replay", "--speed"),
        (
            [*LOG, "--set", "statement_limit=1T"],
            "--set statement_limit cannot be '1T'",
            "up to 512M",
        ),
        ([*LOG, "--data", "shop.sql", "-w", "insert"], "cannot be combined", "play one"),
        ([*LOG, "--data", "shop.sql", "--speed", "fast"], "speed of a replay cannot be 'f", "max"),
    ],
)
def test_what_cannot_be_replayed_is_one_sentence_and_a_hint(
    words: list[str], sentence: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["play", "sqlite@system", *words]) == 64
    said = capsys.readouterr().err
    assert f"dyno: {sentence}" in said or sentence in said, said
    assert hint in said.partition("hint: ")[2], said


def test_a_log_is_not_played_in_a_database_that_was_not_named_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_words(["play", "mysql://app@127.0.0.1:1/shop", *LOG]) == 64
    said = capsys.readouterr().err
    assert "a log on a server that runs already needs --data or --in-place: " in said
    assert "mysql://app@127.0.0.1:1/shop may be in use" in said
    assert "--in-place" in said


def test_a_comparison_of_little_is_told_first_and_a_play_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [*LOG, "--data", "shop.sql", "--speed", "fast"]
    assert run_words(["compare", "sqlite@system", "same=sqlite@system", *words]) == 64
    assert "note: a block plays 6 statements once" in capsys.readouterr().err
    assert run_words(["play", "sqlite@system", *words]) == 64
    assert "a block" not in capsys.readouterr().err


def test_one_statement_of_a_missing_table_refuses_no_log(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    odd = "2026-01-01T10:00:00.120000Z\t   10 Query\tSELECT name FROM gone WHERE id = 5\n"
    write(tmp_path, "it.log", GENERAL + odd)
    assert run_words(["play", "sqlite@system", *LOG, "--data", "shop.sql"]) == 0
    told = "left out: 1 of tables that the copy does not have (line 24: SELECT name FROM gone WHERE"
    assert told in capsys.readouterr().err
    (script,) = (tmp_path / "cache").rglob("it.lua")
    assert f"-- {told}" in script.read_text()


def test_a_dump_is_loaded_to_its_end_and_all_that_is_refused_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    twice = "INSERT INTO item VALUES (1, 'x', 3);\nCREATE VIEW v AS SELECT FROM;\n"
    write(tmp_path, "shop.sql", f"INSERT INTO gone VALUES (1);\n{SHOP}{twice}")
    assert run_words(["play", "sqlite@system", *LOG, "--data", "shop.sql"]) == 64
    said = capsys.readouterr()
    lines = [line for line in said.out.splitlines() if "shop.sql:" in line]
    assert [line.rpartition("shop.sql:")[2].split(":")[0] for line in lines] == ["1", "4", "5"]
    assert "3 statements of the file are refused: line 1: no such table: gone; line 4" in said.err
    assert "hint: mend them there" in said.err


def test_what_is_left_out_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["play", "sqlite@system", *LOG, "--data", "shop.sql"]) == 0
    said = capsys.readouterr()
    assert "6 of 12 statements are played, of 3 sessions on 2 connections" in said.err
    assert (
        "left out: 1 not understood: it ends within a quoted text (line 17: SELECT 'cut off"
        in said.err
    )
    assert "3 in all" in said.out and "failed" in said.out


def test_the_longest_statement_that_is_played_is_set(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*LOG, "--data", "shop.sql", "--set", "statement_limit=40"]
    assert run_words(["play", "sqlite@system", *words]) == 64
    assert "3 too long (lines 6" in capsys.readouterr().err


def test_what_is_shown_of_a_log_is_neither_masked_nor_obeyed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pg.log").write_text("260101 10:00:00\x1b[2J UTC:100:app@shop nothing\n")
    assert run_words(["play", "sqlite@system", "--log", "pg.log", "--data", "shop.sql"]) == 64
    said = capsys.readouterr().err
    assert r"'260101 10:00:00\x1b[2J UTC:100:app@shop nothing'" in said, said
