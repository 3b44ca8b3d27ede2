"""The SQL file that makes an experiment's tables, wherever it is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.cli.workload_words import prepare_workloads
from dyno.errors import UsageError
from dyno.runs.experiment import Workload
from dyno.runs.experiment.candidates import parse_candidate

DUMP = b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE item (id INTEGER);\n"
DUMP += b"INSERT INTO item VALUES(7);\nCREATE TRIGGER t AFTER INSERT ON item BEGIN\n"
DUMP += b"  SELECT 1; SELECT 2;\nEND;\nCOMMIT;\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    (tmp_path / "read.sql").write_text("SELECT id FROM item WHERE id = 7;\n")
    (tmp_path / "dump.sql.gz").write_bytes(gzip.compress(DUMP))


def test_a_packed_dump_of_sqlite_is_loaded_for_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["play", "sqlite@system", "--sql", "read.sql", "--set", "setup=dump.sql.gz"]
    assert run_words([*words, "--time", "0.1"]) == 0, capsys.readouterr().err


def test_an_experiments_dump_is_made_ready_as_a_commands_is(tmp_path: Path) -> None:
    named = Workload(str(tmp_path / "read.sql"), {"setup": "dump.sql.gz", "marked": "on"})
    plain = Workload("oltp_point_select")
    ready, other = prepare_workloads([named, plain], [parse_candidate("sqlite@system")])
    assert Path(ready.options["setup"]).read_bytes() == DUMP and other == plain
    with pytest.raises(UsageError, match="a dump of SQLite cannot be loaded into postgres"):
        prepare_workloads([named], [parse_candidate("postgres@18")])


TWO = ("a=sqlite@system", "b=sqlite@system")


@pytest.mark.parametrize(
    "words",
    [
        ("play", "sqlite@system", "--sql", "read.sql"),
        ("compare", *TWO, "--aa", "--sql", "read.sql"),
        ("count", *TWO, "--sql", "read.sql"),
        ("count", *TWO, "--workload", "read.sql"),
        ("capacity", "sqlite@system", "--workload", "read.sql", "--slo", "p99<1s"),
        ("calibrate", "--engine", "sqlite@system", "--workload", "read.sql"),
        ("bisect", "sqlite@3.50..3.54", "--workload", "read.sql"),
        ("bisect", "sqlite@3.50..3.54", "--workload", "read.sql", "--count"),
    ],
)
def test_each_command_unpacks_a_dump_and_refuses_another_servers(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = b"-- PostgreSQL database dump\nCREATE TABLE item (id int);\n"
    (tmp_path / "dump.sql.gz").write_bytes(gzip.compress(dump))
    assert run_words([*words, "--set", "setup=dump.sql.gz"]) == 64
    assert "a dump of PostgreSQL cannot be loaded into sqlite" in capsys.readouterr().err


def test_an_option_of_a_script_in_lua_that_is_called_setup_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "own.lua").write_text(
        'sysbench.cmdline.options = { setup = {"how", "fast"} }\nfunction event() end\n'
    )
    own = Workload(str(tmp_path / "own.lua"), {"setup": "slow"})
    assert prepare_workloads([own], [parse_candidate("sqlite@system")]) == (own,)
    assert run_words(["play", "null", "-w", "own.lua", "--set", "setup=slow", "--time", "0.1"]) == 0
