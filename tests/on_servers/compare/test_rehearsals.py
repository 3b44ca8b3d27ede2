"""Whole rehearsals of upgrades: differences of real releases, by class."""

from __future__ import annotations

import html
import json
import zipfile
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import outside
from private_servers import started
from profiled_servers import url_of

from dyno import driver
from dyno.cli import run_words

pytestmark = [pytest.mark.timeout(600)]

COPY = """\
CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(40), stock INTEGER, made TIMESTAMP NULL);
INSERT INTO item VALUES (1, 'one', 5, '2026-01-01 10:00:01'), (2, 'two', 5, NULL);
INSERT INTO item VALUES (3, 'x', 5, NULL);
"""
#: Its index is gone on NEW: one value is read by it on OLD, and the other, sent first, by none.
SKEWED = """\
CREATE TABLE skewed AS SELECT (g % 1000 = 0)::int AS kind, g FROM generate_series(1, 20000) g;
CREATE INDEX skewed_kind ON skewed (kind);
DO $$ BEGIN
  IF current_setting('server_version_num')::int > 140000 THEN DROP INDEX skewed_kind; END IF;
END $$;
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


def write_files(
    folder: Path, odd: dict[str, str], write: Callable[[list[str]], str], *more: str
) -> list[str]:
    """A log of what is alike and of what is odd, and the data, as words."""
    alike = [text.format(at % 3) for at in range(60) for text in ALIKE]
    log, copy = folder / "it.log", folder / "copy.sql"
    log.write_text(write([*alike[:90], *odd, *more, *alike[90:]]))
    copy.write_text(COPY)
    return ["--log", str(log), "--data", str(copy)]


def rehearse(folder: Path, *words: str, code: int = 1) -> dict[str, Any]:
    """What a rehearsal of these words says."""
    told = folder / "it.json"
    with chdir(folder):
        assert run_words(["rehearse", *words, "--json", str(told)]) == code
    made: dict[str, Any] = json.loads(told.read_text())
    return made


@pytest.mark.parametrize(
    "sides,odd,write,words",
    [
        (("postgres@13", "postgres@18"), POSTGRES, write_postgres, "--blocks 3"),
        (("mysql@8.0.33", "mysql@9.7"), MYSQL, write_mysql, "--no-time --save old.answers"),
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
    files = write_files(tmp_path, odd, write)
    made = rehearse(tmp_path, *sides, *files, *words.split())
    classes = made["rehearsal"]["classes"]
    begins = f"Of {len(ALIKE) + len(odd)} statement classes 1 fails on {sides[1].split('@')[1]}, 1 "
    assert made["sentence"].startswith(f"{begins}answers differently"), made["sentence"]
    assert {it["answers"]["example"]: it["word"] for it in classes if it["word"] in ANSWERED} == odd
    assert made["rehearsal"]["plans"] >= len(ALIKE)
    tables = made["rehearsal"]["tables"]
    assert {it["answers"]["kind"]: it["word"] for it in tables} == {"table": "same", "rule": "same"}
    if "--save" in words:
        later = rehearse(tmp_path, "--old-answers", "old.answers", sides[1], *files)
        assert later["rehearsal"] == made["rehearsal"], "saved answers say the same"


def test_a_new_release_is_held_against_what_the_old_one_answered_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside("setpriv")
    of_kind = (f"SELECT count(*) FROM skewed WHERE kind = {it}" for it in (0, 1, 0))
    files = write_files(tmp_path, POSTGRES, write_postgres, "SELECT random()", *of_kind)
    (tmp_path / "copy.sql").write_text(COPY + SKEWED)
    saved = tmp_path / "old.answers"
    alone = rehearse(tmp_path, "postgres@13", "--save", str(saved), *files, code=0)
    assert "twice: 1 unsteady on OLD itself." in alone["sentence"], alone["sentence"]
    again = ["--old-answers", str(saved), *files]
    made = rehearse(tmp_path, *again, "postgres@18")["rehearsal"]
    said = {it["answers"]["example"]: it["word"] for it in made["classes"] if it["answers"]["why"]}
    assert said == POSTGRES | {"SELECT random()": "not compared"}
    assert made["plans"] >= len(ALIKE) and made["base"] == "13"
    assert {it["word"] for it in made["tables"]} == {"same"}
    (planned,) = (it for it in made["classes"] if it["word"] == "plan changed")
    assert planned["why"].endswith(" for 1 of 2 values") and "kind" in planned["answers"]["text"]
    page = next(tmp_path.glob("runs/*13-postgres@18/report.html")).read_text()
    assert "13 was played on another day or host" in page and "its answers are saved ones" in page
    for name, option in (("it.log", "--log"), ("copy.sql", "--data")):
        file = tmp_path / name
        before = file.read_text()
        file.write_text(f"{before}{before.splitlines()[0]}\n")
        capsys.readouterr()
        with chdir(tmp_path):
            assert run_words(["rehearse", *again, "postgres@18"]) == 64
        assert f"{option} is not what the saved answers were given" in capsys.readouterr().err
        file.write_text(before)


#: A user's file: what NEW refuses, what is applied, what is not on this host.
POSTGRES_FILE = """\
port = 6000
work_mem = 5MB
vacuum_defer_cleanup_age = 5
"""
MYSQL_FILE = """\
[mysqld]
port = 6000
lower_case_table_names = 1
sort_buffer_size = 5M
query_cache_limit = 5
expire_logs_days = 5
binlog_format = ROW
"""
#: By the option: verdict, and whether it is applied.
OF_POSTGRES = {
    "port": ("taken", False),
    "work_mem": ("taken", True),
    "vacuum_defer_cleanup_age": ("fails", False),
}
OF_MYSQL = {
    "port": ("taken", False),
    "lower_case_table_names": ("taken", True),
    "sort_buffer_size": ("taken", True),
    "query_cache_limit": ("refused by both", True),
    "expire_logs_days": ("fails", False),
    "binlog_format": ("warned of", False),
}


@dataclass(frozen=True)
class Configured:
    """An upgrade with a user's file, what becomes of its options, and one as servers report it."""

    old: str
    new: str
    write: Callable[[list[str]], str]
    file: str
    options: dict[str, tuple[str, bool]]
    setting: tuple[str, str]


CONFIGURED = (
    Configured(
        *("postgres@13", "postgres@18", write_postgres, POSTGRES_FILE, OF_POSTGRES),
        ("work_mem", "5MB (configuration file)"),
    ),
    Configured(
        *("mysql@8.0.33", "mysql@9.7", write_mysql, MYSQL_FILE, OF_MYSQL),
        ("sort_buffer_size", str(5 << 20)),
    ),
)


@pytest.mark.parametrize("it", CONFIGURED, ids=lambda it: it.old.partition("@")[0])
def test_a_users_options_are_judged_by_both_releases_and_played_with(
    it: Configured, tmp_path: Path
) -> None:
    outside("setpriv")
    files = write_files(tmp_path, {}, it.write)
    (tmp_path / "own.conf").write_text(it.file)
    words = [it.old, it.new, *files, "--no-time", "--config", "own.conf"]
    made = rehearse(tmp_path, *words)
    found = made["rehearsal"]
    assert {each["word"] for each in (*found["classes"], *found["tables"])} == {"same"}
    options = {each["name"]: (each["word"], not each["held"]) for each in found["options"]}
    assert options == it.options
    release = it.new.partition("@")[2]
    assert f"1 of your {len(options)} options fails on {release}." in made["sentence"]
    name, value = it.setting
    (run,) = (tmp_path / "runs").iterdir()
    trials = [json.loads(each.read_text()) for each in (run / "trials").iterdir()]
    assert {each["settings"][name] for each in trials if each["settings"]} == {value}


def test_what_a_server_has_counted_is_rehearsed_without_a_log(tmp_path: Path) -> None:
    """Of most statements PostgreSQL keeps no values: they are prepared, and planned for any."""
    outside("setpriv")
    (tmp_path / "copy.sql").write_text(COPY)
    sent = {
        "SELECT count(*) FROM item": ("same", 4),
        "SELECT version()": ("answers otherwise", 1),
        "SELECT name FROM item WHERE id = 2": ("not compared", 3),
        "SELECT 5 ! AS factorial FROM item": ("fails", 2),
        "SELECT string_agg(name, '; ' ORDER BY name) FROM item WHERE id > 0": ("plan changed", 5),
    }
    with started("postgres@13", {"shared_preload_libraries": "pg_stat_statements"}) as server:
        made = COPY.split(";\n")[:-1]
        driver.ask(server.session, [*made, "CREATE EXTENSION pg_stat_statements"])
        driver.ask(server.session, ["SELECT pg_stat_statements_reset()"])
        for sql, (_, calls) in sent.items():
            driver.ask(server.session, [sql] * calls)
        words = ("--data", "copy.sql", "--no-time", "--statements", url_of(server.session))
        told = rehearse(tmp_path, "postgres@13", "postgres@18", *words)["rehearsal"]
    classes = [it for it in told["classes"] if "reset" not in it["answers"]["text"]]
    assert sorted((it["word"], it["answers"]["sent"]) for it in classes) == sorted(sent.values())
    assert told["plans"] == 4
    assert all("PREPARE" in it["answers"]["text"] for it in classes if it["word"] == "fails")


ODD = {"postgres": "E'it''s \\\\ \\n\\tä'", "mariadb": "'it''s \\\\ \\n\\tä'"}
OF_SERVER = {
    "postgres": "CREATE MATERIALIZED VIEW kept AS SELECT name FROM item",
    "mariadb": "CREATE TRIGGER t BEFORE UPDATE ON part FOR EACH ROW BEGIN SET NEW.n = 1; END",
}


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_share_of_a_running_servers_rows_is_rehearsed_on_without_a_dump(
    engine: str, tmp_path: Path
) -> None:
    """Both sides have what the server has, of tables with more rows the last ones."""
    outside("setpriv")
    old, new = {"postgres": ("13", "18"), "mariadb": ("debian", "debian")}[engine]
    with started(f"{engine}@{old}") as server:
        binary = "BYTEA" if engine == "postgres" else "BLOB"
        made = [
            *COPY.split(";\n")[:-1],
            f"CREATE TABLE part (id INTEGER PRIMARY KEY, item INTEGER, n INTEGER, raw {binary},"
            " double_n INTEGER GENERATED ALWAYS AS (2 * id) STORED,"
            " CONSTRAINT of_item FOREIGN KEY (item) REFERENCES item (id))",
            "CREATE VIEW above AS SELECT id FROM part",
            *(f"INSERT INTO part (id, item) VALUES ({it}, {1 + it % 3})" for it in range(9)),
            "CREATE VIEW a_first AS SELECT id FROM above",
            f"UPDATE item SET name = {ODD[engine]} WHERE id = 3",
            OF_SERVER[engine],
        ]
        driver.ask(server.session, made)
        asked = {
            "SELECT id, item FROM part ORDER BY id": [["7", "2"], ["8", "3"]],
            f"SELECT id FROM item WHERE name = {ODD[engine]}": [["3"]],
            "SELECT sum(double_n), (SELECT sum(id) FROM a_first) FROM part": [["30", "15"]],
        }
        write = write_postgres if engine == "postgres" else write_mysql
        (tmp_path / "it.log").write_text(write([*asked, "UPDATE part SET n = 0"] * 2))
        words = [f"old={engine}@{old}", f"new={engine}@{new}", "--log", "it.log", "--no-time"]
        words += ["--from", url_of(server.session), "--rows", "2", "--save", "old.answers"]
        found = rehearse(tmp_path, *words, code=0)["rehearsal"]
        counted = driver.ask(server.session, ["SELECT count(*), count(n) FROM part"])
    assert counted == [[["9", "0"]]], "nothing is written there"
    assert {it["word"] for it in (*found["classes"], *found["tables"])} == {"same"}
    left = {it["why"].partition(":")[0]: it["where"] for it in found["left_out"]}
    assert "item" in left["tables"] and "part" in left["tables"]
    with zipfile.ZipFile(tmp_path / "old.answers") as saved:
        answers = [
            json.loads(line.split(b"\t")[2]) for line in saved.read("0.answers").splitlines()[:3]
        ]
    assert [it["rows"] for it in answers] == [*asked.values()]


def test_a_new_release_takes_over_the_old_ones_data_folder_and_plays_on_it(tmp_path: Path) -> None:
    outside("setpriv")
    files = write_files(tmp_path, POSTGRES, write_postgres)
    words = ["postgres@13", "postgres@18", *files, "--blocks", "3", "--upgrade-folder"]
    found = rehearse(tmp_path, *words)["rehearsal"]
    said = {it["answers"]["example"]: it["word"] for it in found["classes"]}
    assert {sql: word for sql, word in said.items() if word in ANSWERED} == POSTGRES
    assert {it["word"] for it in found["tables"]} == {"same"} and found["blocks"] >= 2
    upgrade = found["upgrade"]
    assert "Upgrade Complete" in upgrade["words"] and upgrade["duration_s"] > 0
    checks = {it["name"]: (it["faults"], it["unchecked"]) for it in upgrade["checks"]}
    assert checks["unique key item_pkey of item"] == checks["rows of item"] == ([], "")
    (run,) = (tmp_path / "runs").iterdir()
    trials = [json.loads(each.read_text()) for each in sorted((run / "trials").iterdir())]
    prepared = {it["candidate"] for it in trials if it["upgrade"]}
    assert prepared == {"(contents) postgres@18"}, "the folder is upgraded once"
    assert not list(run.glob("**/*-upgraded")), "and goes with the run"


@pytest.mark.parametrize(
    "sides,write,more,cause",
    [
        (
            *(("postgres@13", "postgres@18"), write_postgres, "CREATE TABLE acl (it aclitem);\n"),
            'Checking for incompatible "aclitem" data type',
        ),
        (
            *(("mysql@8.0.33", "mysql@9.7"), write_mysql, ""),
            "Upgrade to next major version is only allowed from the last LTS release",
        ),
    ],
    ids=["postgres", "mysql"],
)
def test_a_folder_that_new_refuses_is_the_first_line_with_its_words(
    sides: tuple[str, str], write: Callable[[list[str]], str], more: str, cause: str, tmp_path: Path
) -> None:
    outside("setpriv")
    files = write_files(tmp_path, {}, write)
    with (tmp_path / "copy.sql").open("a") as copy:
        copy.write(more)
    made = rehearse(tmp_path, *sides, *files, "--blocks", "3", "--upgrade-folder")
    old, new = (side.partition("@")[2] for side in sides)
    begins = f"The upgrade fails: {new} cannot take over the data folder of {old}: "
    assert made["sentence"].startswith(begins) and cause in made["sentence"], made["sentence"]
    words = made["rehearsal"]["upgrade"]["words"]
    assert cause in " ".join(words.split()) and ("public.acl.it" in words) == bool(more)
    (run,) = (tmp_path / "runs").iterdir()
    trials = [json.loads(each.read_text()) for each in (run / "trials").iterdir()]
    assert all(it["block"] < 0 for it in trials), "no block is played on nothing"
    assert cause in html.unescape((run / "report.html").read_text())


def test_a_dump_of_which_new_refuses_statements_is_told_on_the_page_with_their_lines(
    tmp_path: Path,
) -> None:
    files = write_files(tmp_path, {}, write_mysql)
    made = "CREATE TABLE made_{0} (a INT, b INT GENERATED ALWAYS AS (a) STORED);\n"
    (tmp_path / "copy.sql").write_text(COPY + "".join(map(made.format, range(7))))
    told = rehearse(tmp_path, "sqlite@3.54.1", "sqlite@3.24.0", *files, "--blocks", "3")
    begins = "Nothing was compared: the log failed on 3.24.0: 7 statements of the file are refused"
    assert told["sentence"].startswith(f"{begins}: line 4: near"), told["sentence"]
    (run,) = (tmp_path / "runs").iterdir()
    assert "line 8: near" in html.unescape((run / "report.html").read_text())
    trials = [json.loads(each.read_text()) for each in (run / "trials").iterdir()]
    assert all(it["block"] < 0 for it in trials), "no block is played on half the data"
