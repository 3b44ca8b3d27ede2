"""What real MySQL servers refuse: settings of other versions, values, places; with what words."""

from __future__ import annotations

from pathlib import Path

import pytest
from mysql_family import build, processes_left_in, running

from dyno.engines import Accepts
from dyno.engines.mysql.settings import sort_settings
from dyno.errors import TrialFailed, UsageError

pytestmark = [pytest.mark.timeout(1200)]

OLD, NEW = "mysql@5.6.24", "mysql@8.0.33"


def test_a_setting_that_the_server_changes_fails_the_trial(home: Path) -> None:
    changed = "innodb_buffer_pool_size=268435456, though 130M was asked for"
    with (
        running(f"{NEW}?innodb_buffer_pool_size=130M", home) as (engine, server),
        pytest.raises(TrialFailed, match=changed),
    ):
        engine.settings(server)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{OLD}?innodb_redo_log_capacity=1G", "unknown variable of mysql 5.6.24"),
        (f"{NEW}?query_cache_size=1M", "unknown variable of mysql 8.0.33"),
        (f"{OLD}?max_connections=lots", "'lots' to 'max_connections'"),
        (f"{OLD}?innodb_io_capacity=1", "makes 100 of innodb_io_capacity=1"),
        (f"{NEW}?sort_buffer_size=1", "makes 32768 of sort_buffer_size=1"),
        (f"{NEW}?innodb_buffer_pool_size=130M", "makes 268435456 of innodb_buffer_pool_size=130M"),
    ],
)
def test_a_build_refuses_what_it_has_not_before_any_trial(text: str, says: str) -> None:
    engine, program, settings = build(text)
    assert isinstance(engine, Accepts)
    with pytest.raises(UsageError, match="mysql") as caught:
        engine.accept(program, settings)
    assert says in str(caught.value)


def test_values_that_are_kept_as_written_are_no_ones_mistake() -> None:
    kept = "innodb_buffer_pool_size=100M&binlog_format=row&long_query_time=0.50&sql_mode=ANSI"
    for server in (OLD, NEW, "mariadb@debian"):
        engine, program, settings = build(f"{server}?{kept}&optimizer_switch=mrr=on")
        assert isinstance(engine, Accepts)
        engine.accept(program, settings)


@pytest.mark.parametrize("server", [NEW, "mariadb@debian"])
def test_flags_that_are_set_in_part_and_modes_in_groups_are_what_was_asked_for(
    home: Path, server: str
) -> None:
    asked = "optimizer_switch=mrr=on,mrr_cost_based=off&sql_mode=TRADITIONAL"
    with running(f"{server}?{asked}", home) as (engine, started):
        told = engine.settings(started)
    assert "mrr=on" in told["optimizer_switch"] and "STRICT_ALL_TABLES" in told["sql_mode"]


def test_a_server_that_cannot_start_tells_its_last_words(home: Path) -> None:
    engine, program, settings = build(f"{NEW}?innodb_undo_directory=/nowhere")
    with pytest.raises(TrialFailed, match=r"mysql 8\.0\.33 did not start") as caught:
        engine.start(program, home, settings)
    said = str(caught.value)
    assert "[ERROR]" in said and "InnoDB" in said
    assert processes_left_in(home) == []


@pytest.mark.parametrize("server", [OLD, NEW, "mariadb@debian"])
@pytest.mark.parametrize(
    ("asked", "implied"),
    [
        ("character_set_server=utf8mb4", ("collation_server", "utf8mb4_")),
        ("collation_server=utf8mb4_bin", ("character_set_server", "utf8mb4")),
        ("innodb_io_capacity=8000", ("innodb_io_capacity_max", "")),
    ],
)
def test_a_default_of_ours_yields_to_what_is_asked_for(
    server: str, asked: str, implied: tuple[str, str]
) -> None:
    engine, program, settings = build(f"{server}?{asked}")
    assert isinstance(engine, Accepts)
    engine.accept(program, settings)
    name, begin = implied
    assert sort_settings(settings, {}).list_all().get(name, begin).startswith(begin)
