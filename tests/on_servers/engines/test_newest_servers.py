"""The newest releases beside older ones: like settings, like plans."""

from __future__ import annotations

import pytest
from private_servers import started

from dyno import driver
from dyno.engines import Engine, Server, find_engine
from dyno.engines._packaged import choose_packaged
from dyno.engines.mysql.server import Family
from dyno.judge.audits.settings import COSTLY
from dyno.judge.settings import load_known_costs
from dyno.judge.settings.values import is_same_value, strip_source

pytestmark = [pytest.mark.timeout(120)]

#: What a release does in its own way, and no setting makes alike: MariaDB's undo lies in files of
#: its own from 11.0 on.
OWN_WAY = {"mariadb": {"innodb_undo_tablespaces"}}
PAIRS = (
    ("mysql@8.0.33", "mysql@9.7"),
    ("mariadb@10.11", "mariadb@11.8"),
    ("postgres@13", "postgres@18"),
    ("postgres@18", "postgres@19"),
)
STATEMENT = "SELECT id FROM item WHERE name = 'x'"


def engine_of(version: str) -> Engine:
    return find_engine(version.partition("@")[0], driver.ask)


def settings_of(version: str, server: Server) -> dict[str, str]:
    told = engine_of(version).settings(server)
    return {name: strip_source(value) for name, value in told.items()}


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_profile_leaves_no_default_of_a_release_that_costs_time(
    pair: tuple[str, str],
) -> None:
    told = []
    for version in pair:
        with started(version, {"profile": "durable"}) as server:
            told.append(settings_of(version, server))
    old, new = told
    unlike = {
        name: (old[name], new[name])
        for name in old.keys() & new.keys()
        if not old[name].startswith("/") and not is_same_value(old[name], new[name])
    }
    known = load_known_costs(engine := pair[0].partition("@")[0])
    costly = {name for name in unlike if (cost := known.find(name)) and cost.kind in COSTLY}
    assert costly <= OWN_WAY.get(engine, set()), {name: unlike[name] for name in costly}
    assert unlike


@pytest.mark.parametrize("version", ["mysql@9.7", "mariadb@11.8", "postgres@18"])
def test_packaged_is_started_with_what_the_package_sets_beside_stock(version: str) -> None:
    told = []
    for profile in ("stock", "packaged"):
        with started(f"{version}?profile={profile}") as server:
            told.append(settings_of(version, server))
    stock, packaged = told
    engine, _, number = version.partition("@")
    unlike = {name for name, value in stock.items() if packaged.get(name) != value}
    assert set(choose_packaged(engine, number, {"profile": "packaged"})) <= unlike


@pytest.mark.parametrize("version", ["mysql@5.5.34", "mysql@9.7", "mariadb@10.5"])
def test_a_release_that_takes_less_of_a_profile_s_threads_and_parts_is_played_so(
    version: str,
) -> None:
    with started(version, {"innodb_buffer_pool_size": "64M"}) as server:
        told = engine_of(version).settings(server)
    assert told.get("innodb_buffer_pool_instances") in ("1", "8")
    assert not {"gtid_executed", "gtid_binlog_state"} & told.keys()


@pytest.mark.parametrize("version", ["mysql@5.6.14", "mysql@9.7", "mariadb@11.8"])
def test_a_plan_is_a_row_for_each_table_whatever_the_release_shows_by_itself(version: str) -> None:
    engine = engine_of(version)
    assert isinstance(engine, Family)
    table = "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), KEY name (name))"
    with started(version) as server:
        *_, rows = driver.ask(server.session, [table, f"{engine.explain} {STATEMENT}"], 60)
    assert engine.extract_plan(rows).startswith("item: ref by name (Using")
