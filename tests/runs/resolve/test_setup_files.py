"""An SQL file that makes tables, held against the candidates before anything is played."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.errors import UsageError
from dyno.runs.experiment.candidates import parse_candidate
from dyno.runs.resolve.setup_files import ReadyFile, make_ready

MYSQLDUMP = "-- MySQL dump 10.13  Distrib 8.0.33\n{}\n-- Dump completed on 2026-01-01\n"


def ready(text: str, home: Path, *candidates: str) -> ReadyFile:
    (home / "it.sql").write_text(text)
    specs = [parse_candidate(each) for each in candidates]
    return make_ready(home / "it.sql", specs, lambda _: None)


def test_a_dump_of_one_database_is_loaded_into_ours_and_that_is_said(tmp_path: Path) -> None:
    text = MYSQLDUMP.format("CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE t (i INT);")
    found = ready(text, tmp_path, "mysql@8.0", "null")
    assert found.list_options() == {"setup": str(tmp_path / "it.sql")}
    (said,) = found.describe()
    assert said == "the database shop of it.sql is loaded into the candidate's own"


NAMES_ITSELF = [
    # as mysqlpump writes them
    "CREATE DATABASE `shop`;\nCREATE TABLE `shop`.`t` (i INT);\nUSE `shop`;\n",
    "CREATE SCHEMA shop;\nDROP TABLE IF EXISTS shop . t;\nCREATE TABLE shop.t (i INT);\n",
    "USE shop;\nCREATE TABLE t (i INT);\nCREATE VIEW v AS SELECT i FROM shop.t;\n",
    "USE shop;\nCREATE TABLE t (i INT);\nDELIMITER ;;\n"
    "CREATE DEFINER=`a`@`b` PROCEDURE p() BEGIN SELECT `shop`.`t`.i FROM t; END ;;\n",
]


@pytest.mark.parametrize("candidate", ["mysql@8.0", "mariadb://root@localhost/mine"])
@pytest.mark.parametrize("text", NAMES_ITSELF)
def test_a_dump_that_names_its_own_database_comes_into_ours(
    text: str, candidate: str, tmp_path: Path
) -> None:
    """Case 29 from the field. What the driver takes out of it is tested there."""
    found = ready(text, tmp_path, candidate)
    assert found.list_options()["setup_database"] == "shop"
    assert "'shop.' before names is left out" in "".join(found.describe())


@pytest.mark.parametrize(
    ("candidate", "text", "count", "first"),
    [
        ("postgres@18", "CREATE DATABASE d;\nALTER DATABASE d SET jit='off';\n", 2, "1: CREATE"),
        ("mysql@8.0", "CREATE DATABASE d;\nALTER DATABASE d CHARACTER SET ascii;\n", 1, "2: ALTER"),
    ],
)
def test_what_is_set_for_a_database_is_left_out_and_told(
    candidate: str, text: str, count: int, first: str, tmp_path: Path
) -> None:
    use = "USE d;\n" if candidate.startswith("mysql") else ""
    found = ready(f"{text}{use}CREATE TABLE t (i INT);\n", tmp_path, candidate)
    said = " ".join(found.describe())
    assert f"what it says of databases ({count} times; line {first}" in said


def test_of_databases_that_only_their_tables_name_all_are_loaded_or_none(tmp_path: Path) -> None:
    text = "CREATE DATABASE a;\nCREATE TABLE a.t (i INT);\nINSERT INTO `b`.t VALUES (1);\n"
    assert ready(text, tmp_path, "mysql@8.0").database == "*"
    with pytest.raises(UsageError, match="holds 2 databases") as refused:
        ready(text, tmp_path, "mysql://root@localhost/mine")
    assert refused.value.cause == "a, b"


def test_what_is_left_out_is_counted_with_its_line(tmp_path: Path) -> None:
    text = "CREATE TABLE t (i int);\nALTER TABLE t OWNER TO a;\nALTER TABLE t OWNER TO b;\n"
    (said,) = ready(text + "GRANT ALL ON t TO a;\n", tmp_path, "postgres@18").describe()
    assert "1 GRANT or REVOKE (line 4), 2 OWNER TO (line 2)" in said


def test_of_several_databases_all_are_loaded_where_a_connection_can_go_there(
    tmp_path: Path,
) -> None:
    text = "USE a;\nCREATE TABLE t (i INT);\nUSE b;\nCREATE TABLE t (i INT);\n"
    found = ready(text, tmp_path, "mysql@8.0")
    assert found.database == "*" and "makes the databases a, b" in "".join(found.describe())
    with pytest.raises(UsageError, match="holds 2 databases"):
        ready(text, tmp_path, "mysql://root@localhost/mine")
    text = "\\connect a\nCREATE TABLE t (i int);\n\\connect b\nCREATE TABLE t (i int);\n"
    with pytest.raises(UsageError, match="holds 2 databases"):
        ready(text, tmp_path, "postgres@18")


def test_of_a_dump_of_all_databases_the_one_that_is_not_the_servers_is_loaded(
    tmp_path: Path,
) -> None:
    text = "USE mysql;\nCREATE TABLE user (i INT);\nUSE shop;\nCREATE TABLE t (i INT);\n"
    found = ready(MYSQLDUMP.format(text), tmp_path, "mysql@8.0")
    assert found.list_options()["setup_database"] == "shop"
    assert "mysql of it is left out" in "".join(found.describe())
    text = (
        "CREATE ROLE a;\n\\connect template1\nSELECT 1;\n\\connect shop\nCREATE TABLE t (i int);\n"
    )
    assert ready(text, tmp_path, "postgres@18").database == "shop"


PG_DUMP = "--\n-- PostgreSQL database dump\n--\n"


@pytest.mark.parametrize(
    ("text", "candidate"),
    [
        (f"{PG_DUMP}CREATE TABLE item (id int);\nINSERT INTO item VALUES (1);\n", "postgres@18"),
        ("-- MySQL dump 10.13\nCREATE TABLE item (id int);\n", "mysql@8.0"),
    ],
)
def test_a_file_put_together_under_a_dump_s_head_needs_no_end(
    text: str, candidate: str, tmp_path: Path
) -> None:
    """Case 30 from the field."""
    (said,) = ready(text, tmp_path, candidate).describe()
    assert said.startswith("note: it.sql ends on line ") and "if it was cut" in said


@pytest.mark.parametrize(
    ("text", "candidate", "said"),
    [
        (MYSQLDUMP.format(""), "postgres@18", "a dump of MySQL or MariaDB cannot be loaded"),
        (MYSQLDUMP.format(""), "sqlite@system", "a dump of MySQL or MariaDB cannot be loaded"),
        ("-- MySQL dump 10.13\nSELECT 1\n", "mysql@8.0", "is not whole"),
        ("-- MySQL dump 10.13\n-- Server version 8\nSELECT 1;\n", "mysql@8.0", "is not whole"),
        (f"{PG_DUMP}-- Dumped by pg_dump version 18\nSELECT 1;\n", "postgres@18", "is not whole"),
        (f"{PG_DUMP}COPY t FROM stdin;\n1\n", "postgres@18", "ends amid the rows"),
        ("INSERT INTO t VALUES ('a", "mysql@8.0", "ends amid a quoted text"),
        ("COPY t FROM stdin;\n1\n", "postgres@18", "ends amid the rows"),
        ("\\i other.sql\n", "postgres@18", "a command of psql cannot be played"),
    ],
)
def test_what_a_candidate_cannot_load_whole_is_refused_before_anything_is_played(
    text: str, candidate: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        ready(text, tmp_path, candidate, "null")
    assert "it.sql" in str(raised.value)


def test_events_of_a_dump_are_told(tmp_path: Path) -> None:
    text = "DELIMITER ;;\nCREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN SELECT 1; END ;;\n"
    assert "makes 1 events" in "".join(ready(text, tmp_path, "mariadb@11.8").describe())
