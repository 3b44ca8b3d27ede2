"""Audit `durability`, and what engines say of it: who waits for the disk, and who does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_records import NEW, OLD, a_run, a_trial, engine, findings, only, recorded
from fakes import make_tally
from msgspec import structs
from ways_to_be_fooled import assert_caught

from dyno import engines
from dyno.engines import SURVIVES, Server, WeighsData
from dyno.record import Candidate, Conditions, DataCondition, Reading, StatementTally, Trial


def _trial(number: int, candidate: str, found: DataCondition) -> Trial:
    return structs.replace(a_trial(number, candidate), conditions=Conditions(data=found))


SAFE = DataCondition(survives="a power cut", decided_by={"fsync": "on"})
UNSAFE = DataCondition(survives="nothing", decided_by={"fsync": "off"})
ASKED = structs.replace(NEW, settings={"fsync": "off"})


@pytest.mark.parametrize(
    ("side", "found", "soundness"),
    [
        (NEW, SAFE, "sound"),
        (NEW, UNSAFE, "doubtful"),
        (ASKED, UNSAFE, "sound"),
        (structs.replace(ASKED, engine="another"), UNSAFE, "doubtful"),
        (NEW, DataCondition(), "not checked"),
    ],
)
def test_a_commit_that_survives_less_is_told(
    side: Candidate, found: DataCondition, soundness: str
) -> None:
    trials = (_trial(2, "old", SAFE), _trial(3, "new", found))
    finding = only("durability", a_run(OLD, side), *trials)
    assert finding.soundness == soundness
    if found == UNSAFE:
        assert "survives nothing on new (fsync=off) and a power cut on old" in finding.sentence


SERVERS = engine("old", embedded=False), engine("new", embedded=False)


def _committing(number: int, side: str, found: DataCondition = SAFE, **read: float) -> Trial:
    """800 commits of four connections, and these readings."""
    numbers = {"server_commits": 800.0, "synced_writes": 0.0} | read
    readings = tuple(
        Reading("", name, "", "lower", value, False, True) for name, value in numbers.items()
    )
    tally = structs.replace(make_tally(100), commits=800, connections=4)
    return recorded(_trial(number, side, found), readings=readings, streams=(tally,))


@pytest.mark.parametrize(
    ("read", "soundness"),
    [
        ({"flushes": 200}, "sound"),
        ({"flushes": 150, "synced_writes": 50}, "sound"),
        ({"fsyncs": 200}, "sound"),
        ({"flushes": 199}, "invalid"),
        ({"flushes": 0, "fsyncs": 800}, "invalid"),
        ({"fsyncs": 199}, "doubtful"),
        ({"fsyncs": 0}, "not checked"),
        ({}, "not checked"),
        ({"flushes": 0, "io_rings": 1}, "not checked"),
    ],
)
def test_a_commit_is_said_to_survive_a_power_cut_where_enough_flushes_were_counted(
    read: dict[str, float], soundness: str
) -> None:
    run = a_run(*SERVERS)
    (found,) = findings(
        "durability", run, _committing(2, "old", flushes=900), _committing(3, "new", SAFE, **read)
    )
    assert found.soundness == soundness
    assert ("survives a power cut:" in found.sentence) == (soundness == "sound")
    if soundness == "sound":
        assert "800 commits, 900 flushes on old, 800 commits, 200 flushes on new" in found.sentence
    if soundness in ("invalid", "doubtful"):
        assert found.trials == (3,) and "200 are needed" in found.sentence
    if "fsyncs" in read and soundness == "invalid":
        assert "itself counted 800, which did not reach the kernel" in found.sentence


@pytest.mark.parametrize(
    ("read", "each", "soundness"),
    [
        ({"flushes": 1600}, 2, "sound"),
        ({"flushes": 799, "write_calls": 9000}, 2, "invalid"),
        ({"flushes": 801, "write_calls": 9000}, 2, "doubtful"),
        ({"flushes": 0, "write_calls": 799}, 1, "not checked"),
    ],
)
def test_an_engine_that_shares_no_flush_needs_those_of_each_commit(
    read: dict[str, float], each: int, soundness: str
) -> None:
    safe = structs.replace(SAFE, flushes_per_commit=each)
    base = _committing(2, "old", safe, flushes=1600)
    (found,) = findings("durability", a_run(), base, _committing(3, "new", safe, **read))
    assert found.soundness == soundness


def test_without_a_promise_flushes_are_told_and_not_judged() -> None:
    some = _committing(2, "old", UNSAFE, flushes=3), _committing(3, "new", UNSAFE, flushes=0)
    found = only("durability", a_run(*SERVERS), *some)
    assert found.soundness == "sound" and "800 commits, 3 flushes on old" in found.sentence
    asked = a_run(SERVERS[0], structs.replace(SERVERS[1], settings={"fsync": "off"}))
    found = only("durability", asked, _committing(2, "old", flushes=800), some[1])
    assert found.soundness == "sound" and "fsync=off; 800 commits, 0 flushes" in found.sentence


@pytest.mark.parametrize("text", ["SET synchronous_commit = off", "INSERT INTO t -- TEMPORARY"])
def test_commits_that_statements_say_less_of_are_not_judged(text: str) -> None:
    trial = _committing(3, "new", flushes=0)
    (tally,) = trial.phases[0].streams
    told = (StatementTally(text, "1", "other", 1, 0, 0, 0),)
    changed = recorded(trial, streams=(structs.replace(tally, statements_before=told),))
    base = _committing(2, "old", flushes=800)
    found = only("durability", a_run(*SERVERS), base, changed)
    assert found.soundness == "not checked" and "0 flushes, but a statement" in found.sentence


INNODB = {"default_storage_engine": "InnoDB", "innodb_flush_log_at_trx_commit": "1"}
INNODB |= {"innodb_doublewrite": "ON", "autocommit": "ON"}


@pytest.mark.parametrize(
    ("engine", "told", "level"),
    [
        ("sqlite", {"journal_mode": "wal", "synchronous": "normal"}, 2),
        ("sqlite", {"journal_mode": "wal", "synchronous": "full"}, 3),
        ("sqlite", {"journal_mode": "delete", "synchronous": "extra"}, 3),
        ("sqlite", {"journal_mode": "delete", "synchronous": "full"}, 2),
        ("sqlite", {"journal_mode": "truncate", "synchronous": "full"}, 3),
        ("sqlite", {"journal_mode": "truncate", "synchronous": "normal"}, 2),
        ("sqlite", {"journal_mode": "delete", "synchronous": "off"}, 1),
        ("sqlite", {"journal_mode": "memory", "synchronous": "full"}, 0),
        ("sqlite", {"journal_mode": "off", "synchronous": "full"}, 0),
        ("postgres", {"synchronous_commit": "on"}, 3),
        ("postgres", {"synchronous_commit": "off (configuration file)"}, 2),
        ("postgres", {"synchronous_commit": "on", "fsync": "off (configuration file)"}, 1),
        ("postgres", {"synchronous_commit": "on", "full_page_writes": "off"}, 1),
        ("mysql", INNODB, 3),
        ("mysql", INNODB | {"innodb_flush_log_at_trx_commit": "2"}, 2),
        ("mysql", INNODB | {"innodb_doublewrite": "OFF"}, 1),
        ("mysql", INNODB | {"log_bin": "ON", "sync_binlog": "0"}, 2),
        ("mysql", INNODB | {"log_bin": "ON", "sync_binlog": "100"}, 2),
        ("mysql", INNODB | {"innodb_doublewrite": "DETECT_ONLY"}, 1),
        ("mysql", INNODB | {"innodb_flush_method": "nosync"}, 1),
        ("mariadb", INNODB | {"log_bin": "ON", "sync_binlog": "1"}, 3),
        ("mariadb", INNODB | {"innodb_flush_log_at_trx_commit": "3"}, 3),
        ("mariadb", INNODB | {"innodb_flush_log_at_trx_commit": "0"}, 2),
        ("mariadb", {"default_storage_engine": "MyISAM"}, 0),
        ("duckdb", {"version": "1.1.3"}, 3),
        ("duckdb", {"version": "1.5.6"}, 3),
    ],
)
def test_an_engine_knows_what_a_commit_survives(
    engine: str, told: dict[str, str], level: int, tmp_path: Path
) -> None:
    found = engines.find_engine(engine, lambda session, statements: [])
    assert isinstance(found, WeighsData)
    told = {
        "cache_size": "-64",
        "page_size": "4096",
        "fsync": "on",
        "full_page_writes": "on",
    } | told
    assert found.weigh(Server({}, tmp_path), {}, told).survives == SURVIVES[level]


@pytest.mark.parametrize("missing", ["innodb_flush_log_at_trx_commit", "innodb_doublewrite"])
def test_what_a_server_does_not_tell_is_not_made_up(missing: str, tmp_path: Path) -> None:
    found = engines.find_engine("mysql", lambda session, statements: [])
    assert isinstance(found, WeighsData)
    told = {name: value for name, value in INNODB.items() if name != missing}
    assert found.weigh(Server({}, tmp_path), {}, told).survives == ""
    silent = engines.find_engine("postgres", lambda session, statements: [])
    assert isinstance(silent, WeighsData)
    assert silent.weigh(Server({}, tmp_path), {}, {"fsync": "on"}).survives == ""


@pytest.mark.parametrize("told", [{}, {"version": "1.6.0"}, {"version": "2.1.3"}])
def test_a_duckdb_that_nobody_watched_is_not_said_to_flush(
    told: dict[str, str], tmp_path: Path
) -> None:
    found = engines.find_engine("duckdb", lambda session, statements: [])
    assert isinstance(found, WeighsData)
    assert found.weigh(Server({}, tmp_path), {}, told).survives == ""


@pytest.mark.parametrize(
    ("reported", "session", "autocommits"),
    [("ON", "1", True), ("ON", "0", False), ("OFF", "0", False), ("OFF", "1", True)],
)
def test_what_counts_is_the_autocommit_of_a_session_like_the_driver_s(
    reported: str, session: str, autocommits: bool, tmp_path: Path
) -> None:
    found = engines.find_engine("mysql", lambda at, statements: [[[session]]])
    assert isinstance(found, WeighsData)
    held = found.weigh(Server({}, tmp_path), {}, INNODB | {"autocommit": reported})
    assert held.autocommits == autocommits
    assert ("autocommit" in held.decided_by) != autocommits


def test_a_server_that_says_nothing_of_autocommit_is_not_known(tmp_path: Path) -> None:
    found = engines.find_engine("mysql", lambda session, statements: [])
    assert isinstance(found, WeighsData)
    told = {name: value for name, value in INNODB.items() if name != "autocommit"}
    assert found.weigh(Server({}, tmp_path), {}, told).autocommits is None


OPEN = DataCondition(survives="a power cut", decided_by={"autocommit": "OFF"}, autocommits=False)


@pytest.mark.parametrize("side", [NEW, structs.replace(NEW, settings={"autocommit": "0"})])
def test_where_nothing_commits_by_itself_no_commit_is_said_to_survive(side: Candidate) -> None:
    run = a_run(OLD, side)
    one = only("durability", run, _trial(2, "old", SAFE), _trial(3, "new", OPEN))
    assert (one.soundness, one.trials) == ("doubtful", (3,)), "asked for or not"
    assert_caught("no-commit", [one])
    both = only("durability", run, _trial(2, "old", OPEN), _trial(3, "new", OPEN))
    assert both.soundness == "not checked"
    for finding in (one, both):
        assert "never commits on" in finding.sentence and "survives" not in finding.sentence


def test_what_an_engine_holds_is_weighed_without_its_log(tmp_path: Path) -> None:
    (tmp_path / "dyno.db").write_bytes(b"x" * 5000)
    found = engines.find_engine("sqlite", lambda session, statements: [])
    assert isinstance(found, WeighsData)
    told = {"cache_size": "-64", "page_size": "4096", "journal_mode": "wal", "synchronous": "full"}
    held = found.weigh(Server({}, tmp_path), {}, told)
    assert (held.size_bytes, held.cache_bytes, held.claim) == (5000, 65536, "")
    (tmp_path / "data" / "dyno").mkdir(parents=True)
    (tmp_path / "data" / "ib_logfile0").write_bytes(b"x" * 9000)
    (tmp_path / "data" / "dyno" / "t.ibd").write_bytes(b"x" * 300)
    server = Server({}, tmp_path, handle=object())
    found = engines.find_engine("mysql", lambda session, statements: [])
    assert isinstance(found, WeighsData)
    told = INNODB | {"innodb_buffer_pool_size": "1024"}
    held = found.weigh(server, {"profile": "io-bound"}, told)
    assert (held.size_bytes, held.cache_bytes, held.claim) == (300, 1024, "io-bound")
    assert found.weigh(server, {"config": "/my.cnf"}, told).claim == ""
