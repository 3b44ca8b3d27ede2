"""Whole rehearsals of upgrades: differences of real releases, by class."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest
from conftest import outside

from dyno.cli import run_words

pytestmark = [pytest.mark.timeout(600)]

COPY = """\
CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(40), stock INTEGER, made TIMESTAMP NULL);
INSERT INTO item VALUES (1, 'one', 5, '2026-01-01 10:00:01'), (2, 'two', 5, NULL);
INSERT INTO item VALUES (3, 'x', 5, NULL);
"""
#: Alike on both sides, each sent often.
ALIKE = (
    *("SELECT name FROM item WHERE id = {}", "UPDATE item SET stock = stock + 1 WHERE id = {}"),
    "SELECT count(*), sum(stock) FROM item WHERE id > {}",
)
#: Statements that a release refuses, or answers otherwise; the words of their classes.
POSTGRES = {
    "SELECT 5 ! AS factorial FROM item WHERE id = 1": "fails",
    "SELECT 0x1F": "answers otherwise",
    "SELECT extract(epoch FROM made) FROM item WHERE id = 1": "types or warnings",
}
MYSQL = {
    "SELECT 1 AS qualify FROM item WHERE id = 1": "fails",
    "SELECT version()": "answers otherwise",
}


#: Words that no time can give a class.
ANSWERED = ("fails", "answers otherwise", "types or warnings")


def write_postgres(statements: list[str]) -> str:
    return "".join(
        f"2026-01-01 10:00:{at // 100:02}.{at % 100:02}0 UTC [{1000 + at % 2}] LOG:  statement: "
        f"{sql}\n"
        for at, sql in enumerate(statements)
    )


def write_mysql(statements: list[str]) -> str:
    head = (
        "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n"
        "Tcp port: 3306  Unix socket: /tmp/mysql.sock\n"
        "Time                 Id Command    Argument\n"
    )
    began = "2026-01-01T09:59:59.000000Z\t{0:>5} Connect\tapp@localhost on shop using Socket\n"
    return (
        head
        + began.format(8)
        + began.format(9)
        + "".join(
            f"2026-01-01T10:00:{at // 100:02}.{at % 100:02}0000Z\t    {8 + at % 2} Query\t{sql}\n"
            for at, sql in enumerate(statements)
        )
    )


@pytest.mark.parametrize(
    "sides,odd,write,words",
    [
        (("postgres@13", "postgres@18"), POSTGRES, write_postgres, "--blocks 3"),
        (("mysql@8.0.33", "mysql@9.7"), MYSQL, write_mysql, "--no-time"),
    ],
    ids=["postgres", "mysql"],
)
def test_an_upgrade_is_rehearsed_to_a_first_line(
    sides: tuple[str, str],
    odd: dict[str, str],
    write: Callable[[list[str]], str],
    words: str,
    tmp_path: Path,
) -> None:
    outside("setpriv")
    alike = [text.format(at % 3) for at in range(60) for text in ALIKE]
    log, copy, told = (tmp_path / name for name in ("it.log", "copy.sql", "it.json"))
    log.write_text(write([*alike[:90], *odd, *alike[90:]]))
    copy.write_text(COPY)
    line = ["rehearse", *sides, "--log", str(log), "--data", str(copy), "--json", str(told)]
    with chdir(tmp_path):
        assert run_words([*line, *words.split()]) == 1
    made = json.loads(told.read_text())
    classes = made["rehearsal"]["classes"]
    begins = f"Of {len(ALIKE) + len(odd)} statement classes 1 fails on {sides[1].split('@')[1]}, 1 "
    assert made["sentence"].startswith(f"{begins}answers differently"), made["sentence"]
    assert {it["answers"]["example"]: it["word"] for it in classes if it["word"] in ANSWERED} == odd
    assert made["rehearsal"]["plans"] >= len(ALIKE)
    tables = made["rehearsal"]["tables"]
    assert {it["answers"]["kind"]: it["word"] for it in tables} == {"table": "same", "rule": "same"}
