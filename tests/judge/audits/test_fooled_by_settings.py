"""Ways to be fooled by a setting of one side that nobody chose: injected in a record, and
caught.
"""

from __future__ import annotations

import pytest
from audit_records import a_run, a_trial, engine, findings
from msgspec.structs import replace
from ways_to_be_fooled import assert_caught

from dyno.record import Candidate, Finding

#: A setting of an engine, and its values on the two sides.
Setting = tuple[str, str, str, str]


def served(name: str, kind: str, **build: str) -> Candidate:
    return replace(engine(name, kind, embedded=kind in ("sqlite", "duckdb")), build=build)


def differing(setting: Setting, *sides: Candidate) -> list[Finding]:
    """The two sides report these values, and were asked for neither."""
    _, name, ours, theirs = setting
    trials = [
        replace(a_trial(at, side.name), settings={name: value})
        for at, (side, value) in enumerate(zip(sides, (ours, theirs), strict=True), 2)
    ]
    return findings("settings", a_run(*sides), *trials)


def unasked(setting: Setting) -> list[Finding]:
    """One build under two names."""
    kind = setting[0]
    return differing(setting, *(served(name, kind, sha256="1f") for name in ("old", "new")))


def running(setting: Setting) -> list[Finding]:
    """The second is somebody's server, which has been running for days."""
    theirs = served("new", setting[0], address="joe@db.example/bench")
    return differing(setting, served("old", setting[0], sha256="1f"), theirs)


@pytest.mark.parametrize(
    "setting",
    [
        ("postgres", "default_transaction_isolation", "read committed", "serializable"),
        ("mysql", "transaction_isolation", "REPEATABLE-READ", "READ-UNCOMMITTED"),
        ("mariadb", "tx_isolation", "REPEATABLE-READ", "SERIALIZABLE"),
    ],
)
def test_another_isolation_level_on_one_side(setting: Setting) -> None:
    assert_caught("isolation", unasked(setting))


@pytest.mark.parametrize(
    "setting",
    [
        ("postgres", "lc_collate", "C", "en_US.UTF-8"),
        ("mysql", "collation_server", "latin1_swedish_ci", "utf8mb4_0900_ai_ci"),
        ("mariadb", "character_set_server", "latin1", "utf8mb4"),
        ("duckdb", "default_collation", "", "nocase"),
    ],
)
def test_another_collation_on_one_side(setting: Setting) -> None:
    assert_caught("collation", unasked(setting))


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_query_cache_on_one_side(kind: str) -> None:
    assert_caught("query-cache", unasked((kind, "query_cache_type", "OFF", "ON")))


@pytest.mark.parametrize(
    "setting",
    [
        ("postgres", "wal_compression", "off", "zstd"),
        ("mysql", "innodb_compression_level", "6", "9"),
        ("mariadb", "innodb_compression_default", "OFF", "ON"),
    ],
)
def test_compression_on_one_side(setting: Setting) -> None:
    assert_caught("compression", unasked(setting))


@pytest.mark.parametrize(
    "setting",
    [
        ("postgres", "ssl", "off", "on"),
        ("mysql", "require_secure_transport", "OFF", "ON"),
        ("mariadb", "have_ssl", "DISABLED", "YES"),
    ],
)
def test_encrypted_connections_on_one_side(setting: Setting) -> None:
    assert_caught("encryption", unasked(setting))


@pytest.mark.parametrize(
    "setting",
    [
        ("postgres", "log_min_duration_statement", "-1", "0"),
        ("mysql", "general_log", "OFF", "ON"),
        ("mariadb", "general_log", "OFF", "ON"),
    ],
)
def test_a_server_of_ones_own_that_logs_every_statement(setting: Setting) -> None:
    assert_caught("logging", running(setting))


@pytest.mark.parametrize(
    "setting",
    [
        ("postgres", "data_checksums", "off", "on"),
        ("mysql", "innodb_checksum_algorithm", "crc32", "none"),
    ],
)
def test_a_server_of_ones_own_without_checksums(setting: Setting) -> None:
    assert_caught("checksums", running(setting))


@pytest.mark.parametrize(
    "setting",
    [
        ("postgres", "max_parallel_workers_per_gather", "0", "4"),
        ("duckdb", "threads", "1", "2"),
    ],
)
def test_more_threads_for_a_query_on_one_side(setting: Setting) -> None:
    assert_caught("parallelism", unasked(setting))
