"""What a server of MySQL's family is asked for: words, settings, profiles, read back or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_callbacks import ask_nothing

from dyno.builds import Build
from dyno.engines import Accepts, Checks, find_engine
from dyno.engines.mysql.builds import Prefix
from dyno.engines.mysql.settings import sort_settings
from dyno.engines.mysql.values import check_values, compare_values, select_lasting_values
from dyno.errors import TrialFailed, UsageError

MYSQL = find_engine("mysql", ask_nothing)


def _check(name: str, build: str = "", **keys: str) -> None:
    engine = find_engine(name, ask_nothing)
    assert isinstance(engine, Checks)
    engine.check(build, {}, keys)


def _prefix(folder: Path) -> Prefix:
    return Prefix(folder / "mysqld", folder, folder, folder / "plugin", ())


LISTING = """#!/bin/sh
echo asked >> {folder}/asked
cat <<end
Variables (--variable-name=value)
and boolean options {{FALSE|TRUE}}  Value (after reading options)
--------------------------------- ----------------------------------------
binlog-row-image                  FULL
innodb-doublewrite                TRUE
general-log-file                  a path of
two.words

To see what values a running MySQL server is using, type
end
"""


def _listing_server(folder: Path) -> Build:
    """A program that lists three variables, and takes every value."""
    folder.chmod(0o777)  # whoever runs it notes that he was asked
    (folder / "share/english").mkdir(parents=True)
    (folder / "share/english/errmsg.sys").touch()
    program = folder / "mysqld"
    program.write_text(LISTING.format(folder=folder))
    program.chmod(0o755)
    return Build("mysql", "", "9.9.9", program)


@pytest.mark.parametrize(
    "build", ["", "5.5.34", "5.6", "8", "8.0.33", "9.7", "sid", "/opt/mysql", "system"]
)
def test_a_build_may_be_a_version_its_beginning_or_a_place(build: str) -> None:
    _check("mysql", build, innodb_flush_log_at_trx_commit="1", max_connections="10")


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        ("5.7", "conda-forge's mysql=5.7.20, and name its folder; nearest: 5.6.24 and 8.0.33"),
        ("10", "nearest: 9.7.4;"),
        ("sistem", "system"),
    ],
)
def test_an_unknown_version_is_answered_with_its_neighbours(build: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"(version|build) '{build}'") as caught:
        _check("mysql", build)
    assert hint in caught.value.hint


def test_every_variable_is_a_setting_and_a_wrong_one_finds_its_neighbour(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(home / "cache"))
    build = _listing_server(home)
    assert isinstance(MYSQL, Accepts)
    MYSQL.accept(build, {"binlog_row_image": "FULL", "profile": "cached"})
    for wrong, meant in (("innodb_doublewrit", "innodb_doublewrite"), ("alsr", "aslr")):
        with pytest.raises(UsageError, match=f"variable of mysql 9.9.9 '{wrong}'") as caught:
            MYSQL.accept(build, {wrong: "1"}, ["aslr"])
        assert meant in caught.value.hint
    # asked once for its variables, and once whether it takes the right ones' values
    assert (home / "asked").read_text().count("asked") == 2


def test_what_is_no_variable_or_no_flag_is_refused_before_anything_is_fetched() -> None:
    with pytest.raises(UsageError, match="help cannot be set"):
        _check("mysql", help="1")
    assert isinstance(MYSQL, Checks)
    with pytest.raises(UsageError, match="'cflags' is for builds from source"):
        MYSQL.check("", {"cflags": "-O3"}, {})


@pytest.mark.parametrize(
    "wrong", [{"profile": "cold"}, {"log_bin": "maybe"}, {"skip_grant_tables": "1"}]
)
def test_a_wrong_value_is_refused_before_anything_starts(wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=f"unknown value of {next(iter(wrong))}"):
        _check("mariadb", **wrong)


def test_a_profile_fills_in_what_the_user_left_open(tmp_path: Path) -> None:
    cached = sort_settings({"innodb_doublewrite": "OFF"}, {})
    assert cached.table["innodb_buffer_pool_size"] == "1G"
    assert "innodb_doublewrite" not in cached.table
    words = cached.list_arguments(_prefix(tmp_path))
    assert "--innodb_doublewrite=OFF" in words and "--skip-log-bin" in words
    # a row that a build lacks must not keep it from starting, and 5.5 takes no words
    assert "--loose-innodb_redo_log_capacity=512M" in words
    assert "--loose-performance_schema=0" in words
    small = sort_settings({"profile": "io-bound"}, {"innodb_log_file_size": "1G", "back_log": ""})
    assert small.table["innodb_buffer_pool_size"] == "128M"
    assert small.table["innodb_log_file_size"] == "1G" and "back_log" not in small.table


def test_what_is_no_variable_becomes_words_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "ha_rocksdb.so").touch()
    chosen = sort_settings({"engine": "RocksDB", "skip_grant_tables": "on", "log_bin": "on"}, {})
    words = chosen.list_arguments(_prefix(tmp_path))
    for word in ("--plugin-load-add=ha_rocksdb.so", "--skip-grant-tables", "--log-bin=binlog"):
        assert word in words
    assert chosen.list_strict() == {"log_bin": "on", "skip_grant_tables": "ON"}


def test_ones_own_file_takes_the_place_of_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    with pytest.raises(UsageError, match="cannot read"):
        _check("mysql", config=str(file))
    file.write_text("[mysqld]\ninnodb_buffer_pool_size=2G\n")
    chosen = sort_settings({"config": str(file)}, {})
    assert set(chosen.table) == {"skip_networking", "mysqlx"}
    assert chosen.storage == "" and chosen.log_bin == ""
    with pytest.raises(UsageError, match="config and profile cannot be combined"):
        _check("mysql", config=str(file), profile="cached")


@pytest.mark.parametrize(
    ("wanted", "told", "same"),
    [
        ("1G", "1073741824", True),
        ("1g", "1073741825", False),
        ("on", "ON", True),
        ("1", "ON", True),
        ("0", "ON", False),
        ("2", "2", True),
        ("90", "90.000000", True),
        ("O_DIRECT", "o_direct", True),
        ("O_DIRECT", "fsync", False),
        ("B,A", "A,B", True),
        ("A", "A,B", False),
        ("OFF", "DISABLED", True),
        ("mrr=on", "index_merge=on,mrr=on,mrr_cost_based=off", True),
        ("mrr=on", "index_merge=on,mrr=off", False),
        ("mrr=on,index_merge=off", "index_merge=off,mrr=on,x=on", True),
        ("default,mrr=on", "index_merge=on,mrr=on", True),
        ("mrr=default", "index_merge=on,mrr=off", True),
        ("no_such=on", "index_merge=on", False),
        ("TRADITIONAL", "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,TRADITIONAL", True),
        ("ANSI", "REAL_AS_FLOAT,PIPES_AS_CONCAT", False),
        ("STRICT_ALL_TABLES", "STRICT_ALL_TABLES,TRADITIONAL", False),
        ("full", "microtime,query_plan,innodb", True),
        ("full", "minimal", False),
        ("full", "FULL", True),
    ],
)
def test_a_value_is_recognised_as_the_server_spells_it(wanted: str, told: str, same: bool) -> None:
    assert compare_values(wanted, told) is same


def test_another_value_than_asked_for_fails_the_trial() -> None:
    told = {"innodb_buffer_pool_size": "134217728", "log_bin": "OFF"}
    check_values(
        "it", told, {"log_bin": "off"}, {"innodb_buffer_pool_size": "128M", "mysqlx": "OFF"}
    )
    with pytest.raises(TrialFailed, match="it runs with innodb_buffer_pool_size=134217728"):
        check_values("it", told, {}, {"innodb_buffer_pool_size": "100M"})
    with pytest.raises(TrialFailed, match="does not report a variable mysqlx"):
        check_values("it", told, {"mysqlx": "OFF"}, {})


def test_a_message_repeats_of_a_list_of_flags_those_that_were_asked_for() -> None:
    told = {"optimizer_switch": ",".join(f"flag{i}=on" for i in range(90)) + ",mrr=off"}
    with pytest.raises(TrialFailed) as caught:
        check_values("it", told, {"optimizer_switch": "mrr=on"}, {})
    assert (
        caught.value.message == "it runs with optimizer_switch=mrr=off, though mrr=on was asked for"
    )


def test_what_names_this_start_is_not_stored() -> None:
    told = {"datadir": "/home/x/data/", "server_uuid": "5", "version": "5.6.14", "socket": "/s"}
    told |= {"gtid_executed": "56abbdb2:1-218", "gtid_binlog_pos": "0-1-7"}
    assert select_lasting_values(told, Path("/home/x")) == {"version": "5.6.14"}
