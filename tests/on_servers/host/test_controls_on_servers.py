"""Controls that act in a server: its cache filled, its process as asked, and the record of both."""

from __future__ import annotations

from pathlib import Path

import pytest
from mysql_family import answers, asked, running

from dyno.engines import Preloads
from dyno.instruments.time.run import play_once
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run

pytestmark = [pytest.mark.timeout(180)]

MYSQLS = ("mysql@5.6.14", "mysql@8.0.33", "mariadb@10.11.5")
POSTGRES = ("postgres@12", "postgres@18")
SHORT = {"time": "0.3", "warmup_time": "0", "table_size": "2000"}
CONTROLS = {"thp": "off", "niceness": "4", "preload": "on", "adaptive_hash_index": "off"}


@pytest.mark.parametrize("engine", [*MYSQLS, POSTGRES[-1]])
def test_a_trial_records_what_its_controls_did_to_the_server(
    home: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))
    measuring = Measuring(controls=CONTROLS)
    prepared = draft_run(
        compare_candidates([engine], "oltp_point_select", SHORT, measuring), lambda _: None
    )
    trial = play_once(prepared, lambda _: None)
    assert trial.status == "ok", trial.failure
    found = trial.conditions.controls
    assert found["thp"].details["in_process"] == "disabled" and found["thp"].set == "off"
    assert (found["niceness"].before, found["niceness"].set) == ("0", "4")
    assert found["preload"].details["read"].startswith("1 tables, ")
    if engine in MYSQLS:
        assert found["adaptive_hash_index"].set == "off"
        assert trial.settings["innodb_adaptive_hash_index"] == "OFF"
    else:
        assert found["adaptive_hash_index"].refused


BIG = (
    "CREATE TABLE digits (i int PRIMARY KEY)",
    "INSERT INTO digits VALUES " + ", ".join(f"({i})" for i in range(100)),
    "CREATE TABLE big (id int PRIMARY KEY, k int NOT NULL, c char(200), KEY k_1 (k))",
    "INSERT INTO big SELECT a.i * 100 + b.i, b.i, 'x' FROM digits a, digits b",
)
CACHED = (
    "SELECT INDEX_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE"
    " WHERE TABLE_NAME LIKE '%big%' AND PAGE_TYPE = 'INDEX' GROUP BY 1"
)


@pytest.mark.parametrize("text", MYSQLS)
def test_after_a_preload_every_index_lies_in_the_buffer_pool(home: Path, text: str) -> None:
    with running(text, home) as (_, server):
        asked(server, *BIG)
    with running(text, home) as (engine, server):
        assert isinstance(engine, Preloads)
        before = answers(asked(server, CACHED))
        assert engine.preload(server) == {"read": "2 tables, 3 indexes"}
        after = answers(asked(server, CACHED))
    assert int(before.get("k_1", "0")) < 5 < int(after["k_1"])
    assert int(after["PRIMARY"]) > 100


@pytest.mark.parametrize("text", POSTGRES)
def test_after_a_preload_nothing_is_read_into_the_shared_buffers(home: Path, text: str) -> None:
    with running(text, home) as (_, server):
        asked(
            server,
            "CREATE TABLE big AS SELECT i, repeat('x', 200) AS c FROM generate_series(1, 10000) i",
            "CREATE INDEX big_i ON big (i)",
        )
    scans = ("SET enable_seqscan = off", "EXPLAIN (ANALYZE, BUFFERS) SELECT max(c) FROM big")
    with running(text, home) as (engine, server):
        cold = str(asked(server, *scans))
        assert isinstance(engine, Preloads)
        assert engine.preload(server) == {"read": "1 tables, 1 indexes by pg_prewarm"}
        assert engine.preload(server) == {"read": "1 tables, 1 indexes by pg_prewarm"}
        warm = str(asked(server, *scans))
    assert "read=" in cold and "read=" not in warm
