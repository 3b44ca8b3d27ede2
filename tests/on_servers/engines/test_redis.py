"""Redis and Valkey: builds, settings, statements of the workload kv, what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_servers import started

from dyno import driver
from dyno.cli import run_words
from dyno.driver.plan import Session
from dyno.engines import find_engine
from dyno.errors import DynoError, TrialFailed, UsageError

BUILD = "redis@system" if shutil.which("redis-server") else "redis@bookworm"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with started(BUILD) as server:
        driver.ask(server.session, ["CREATE TABLE kv (k BIGINT PRIMARY KEY, v VARCHAR(9))"])
        yield server.session


def test_rows_are_written_and_read_by_key_as_by_sql(session: Session) -> None:
    met = "SELECT COUNT(*) FROM kv"
    asked = [
        met,
        "BEGIN",
        "INSERT INTO kv (k, v) VALUES (1, 'a'), (2, 'bb'), (-3, 'c''c')",
        "COMMIT",
        "INSERT INTO kv (v, k) VALUES ('late', 9)",
        "UPDATE kv SET v = 'new' WHERE k IN (2, 2, 77)",
        "DELETE FROM kv WHERE k IN (1, 77)",
        "SELECT v, k FROM kv WHERE k IN (9, 2, 1, 2)",
        "SELECT * FROM kv",
        "SELECT COUNT(*) FROM kv WHERE LENGTH(v) = 3",
        "SHOW TABLES",
    ]
    answers = driver.ask(session, asked)
    assert answers[7] == [["new", "2"], ["late", "9"]]
    assert answers[8] == [["-3", "c'c"], ["2", "new"], ["9", "late"]]
    assert answers[9:] == [[["2"]], [['"kv"']]]
    driver.ask(session, [met, "BEGIN", "INSERT INTO kv (k, v) VALUES (50, 'x')", "ROLLBACK"])
    assert driver.ask(session, ["SELECT v FROM kv WHERE k = 50"]) == [[]]


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("INSERT INTO kv (k, v) VALUES (9, 'again')", "there already"),
        ("CREATE TABLE kv (k BIGINT PRIMARY KEY, w INT)", "there already"),
        ("SELECT v FROM nosuch WHERE k = 1", "there is no table nosuch"),
        ("SELECT v FROM kv WHERE k >= 1 ORDER BY k LIMIT 3", "scans no range"),
        ("RESP NOSUCH", "unknown command"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(session: Session, sql: str, why: str) -> None:
    driver.ask(session, ["DELETE FROM kv WHERE k = 9", "INSERT INTO kv (k, v) VALUES (9, 'late')"])
    with pytest.raises(DynoError) as refused:
        driver.ask(session, [sql])
    assert why in str(refused.value)


def test_settings_are_judged_before_and_read_back_after() -> None:
    engine = find_engine("redis", driver.ask)
    name, _, asked = BUILD.partition("@")
    build = engine.program(asked, {}, lambda _: None)
    assert build.engine == name
    for settings, why in (
        ({"appendfsnc": "no"}, "unknown redis setting 'appendfsnc'"),
        ({"appendfsync": "often"}, "redis does not take appendfsync=often"),
    ):
        with pytest.raises(UsageError, match=why):
            engine.accept(build, settings)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="the server is private"):
        engine.check("system", {}, {"port": "1"})  # type: ignore[attr-defined]
    with started(f"{BUILD}?appendonly=yes&maxmemory=100mb") as server:
        told = engine.settings(server)
        assert (told["appendonly"], told["maxmemory"]) == ("yes", str(100 << 20))
        assert told["version"] == build.version and "dir" not in told
        weighed = engine.weigh(server, {}, told)  # type: ignore[attr-defined]
        assert weighed.survives == "a power cut, but for the last ones"
        driver.ask(server.session, ["RESP CONFIG SET appendonly no"])
        with pytest.raises(TrialFailed, match="runs with appendonly=no, and not yes"):
            engine.settings(server)


@pytest.mark.parametrize(
    ("build", "mix"),
    [
        (BUILD, ("mix=a", "in_flight=4")),
        ("valkey@trixie", ("mix=read=40,update=30,insert=20,delete=10",)),
    ],
)
def test_kv_is_played_and_its_ledger_balances(
    build: str,
    mix: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    options = ("events=200", "records=300", "warmup_time=0", *mix)
    words = ["play", build, "-w", "kv", *(it for each in options for it in ("--set", each))]
    assert run_words(words) == 0, capsys.readouterr().err
    assert "ledger: whole values = rows" in capsys.readouterr().out
