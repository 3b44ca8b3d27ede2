"""Profiles of each engine, and the words on keys without effect: nothing is started."""

from __future__ import annotations

import pytest
from engine_callbacks import ask_nothing

from dyno.engines import Checks, find_engine
from dyno.engines._configs import OFF, Idle, find_idle_keys
from dyno.engines._packaged import choose_packaged, list_packaged_remarks
from dyno.engines.mysql.settings import sort_settings
from dyno.engines.postgres.settings import choose_settings
from dyno.engines.sqlite import list_pragmas
from dyno.errors import UsageError

PAIRS = (Idle("sync_binlog|binlog_.*", "log_bin", OFF), Idle("log_bin.*", "log_bin", OFF))


@pytest.mark.parametrize(
    ("asked", "chosen", "told"),
    [
        ({"sync_binlog": "1"}, {"log_bin": "off"}, ["sync_binlog=1 can have no effect while log_"]),
        ({"binlog_format": "ROW"}, {"log_bin": "OFF"}, ["binlog_format=ROW"]),
        ({"sync_binlog": "1"}, {"log_bin": "on"}, []),
        ({"sync_binlog": "1"}, {}, []),
        ({"sync_binlog": "0"}, {"log_bin": "off"}, []),
        ({"log_bin": "off"}, {"log_bin": "off"}, []),
        ({"jit_cost": "1"}, {"log_bin": "off"}, []),
    ],
)
def test_a_key_is_idle_only_beside_a_value_that_is_known_to_disarm_it(
    asked: dict[str, str], chosen: dict[str, str], told: list[str]
) -> None:
    found = list(find_idle_keys(asked, chosen, PAIRS))
    assert len(found) == len(told)
    assert all(each.startswith(words) for each, words in zip(found, told, strict=True))


def test_durable_is_cached_but_for_the_commit() -> None:
    cached, durable = (choose_settings({"profile": name}, 18) for name in ("cached", "durable"))
    assert {name for name in cached if cached[name] != durable[name]} == {"synchronous_commit"}
    ours, waits = (
        sort_settings({"profile": name}, {}).list_all() for name in ("cached", "durable")
    )
    assert {name: waits[name] for name in ours if ours[name] != waits[name]} == {
        "innodb_flush_log_at_trx_commit": "1",
        "rocksdb_flush_log_at_trx_commit": "1",
        "sync_binlog": "1",
    }
    logs = [{"profile": "durable"}, {}, {"profile": "durable", "log_bin": "off"}]
    assert [sort_settings(each, {}).log_bin for each in logs] == ["on", "off", "off"]
    assert dict(list_pragmas({"profile": "durable"})) == dict(list_pragmas({})) | {
        "synchronous": "full"
    }


def test_stock_sets_nothing_but_what_a_user_asks_for_and_nobody_else_is_let_in() -> None:
    assert choose_settings({"profile": "stock", "jit": "off"}, 18) == {"jit": "off"}
    asked = sort_settings({"profile": "stock", "back_log": "5"}, {})
    assert asked.list_all() == {"skip_networking": "ON", "mysqlx": "OFF", "back_log": "5"}
    assert (asked.storage, asked.log_bin) == ("", "")


def test_packaged_is_stock_and_what_the_package_of_that_version_sets() -> None:
    wanted = {"profile": "packaged", "jit": "off"}
    assert choose_settings(wanted, 16) == {
        "cluster_name": "16/main",
        "log_line_prefix": "%m [%p] %q%u@%d ",
        "jit": "off",
    }
    package = choose_packaged("mariadb", "10.11.18", {"profile": "packaged"})
    asked = sort_settings({"profile": "packaged", "character_set_server": "latin1"}, {}, package)
    assert asked.list_all() == {
        "skip_networking": "ON",
        "mysqlx": "OFF",
        "expire_logs_days": "10",
        "character_set_server": "latin1",
    }
    assert choose_packaged("mysql", "8.0.33", {"profile": "packaged"}) == {}
    assert choose_packaged("mysql", "9.7.4", {"profile": "stock"}) == {}
    (told,) = list_packaged_remarks("mysql", "9.7.4", {"profile": "packaged"})
    assert "key_buffer_size=16M" in told and "left out: user, bind_address" in told


def test_a_version_whose_package_nobody_read_has_no_packaged_settings() -> None:
    with pytest.raises(UsageError, match=r"a package of mariadb 11.4.5 sets is not known") as told:
        choose_packaged("mariadb", "11.4.5", {"profile": "packaged"})
    assert "Debian's mariadb-server 11.8.9" in told.value.hint
    assert list_pragmas({"profile": "stock"}) == [["busy_timeout", "5000"]]
    own = list_pragmas({"profile": "stock", "cache_size": "-9", "page_size": "512"})
    assert [name for name, _ in own] == ["page_size", "cache_size", "busy_timeout"]


@pytest.mark.parametrize("name", ["mysql", "mariadb", "postgres", "sqlite"])
def test_a_stock_load_is_never_taken_for_one_of_ours(name: str) -> None:
    engine = find_engine(name, ask_nothing)
    kept = getattr(engine, "select_file_settings")  # noqa: B009
    assert kept({"profile": "stock"}) != kept({"profile": "durable"})
    logged = {"log_bin": "on"} if name in ("mysql", "mariadb") else {}
    assert kept({"profile": "durable"}) == kept({}) | logged


@pytest.mark.parametrize(
    ("name", "profile", "hint"),
    [
        ("sqlite", "io-bound", "no cache for all connections"),
        ("sqlite", "stok", "stock"),
        ("postgres", "durrable", "durable"),
        ("mysql", "stok", "stock"),
    ],
)
def test_a_profile_that_an_engine_has_not_is_refused_by_name(
    name: str, profile: str, hint: str
) -> None:
    engine = find_engine(name, ask_nothing)
    assert isinstance(engine, Checks)
    with pytest.raises(UsageError, match=profile) as refused:
        engine.check("", {}, {"profile": profile})
    assert hint in refused.value.hint
