"""Causes of known truth on real engines: the first one named is the right one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from fakes import make_run
from judging import judge_unaudited

from dyno.compare.experiment import compare_candidates
from dyno.compare.play.run import play_once
from dyno.compare.resolve.experiment import draft_run
from dyno.judge.analysis.measures import count_operations
from dyno.record import Cause, Trial

pytestmark = [pytest.mark.timeout(300)]

GUIDE = (Path(__file__).parents[3] / "docs/guides/cause.md").read_text()
STATEMENT = "SELECT c FROM item WHERE k = ?"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scripts") / "lookup.lua"
    path.write_text(GUIDE.partition("```lua\n")[2].partition("```")[0])
    return path


def play(engine: str, workload: str, **options: str) -> Trial:
    wanted = compare_candidates([engine], workload, options)
    trial = play_once(draft_run(wanted, lambda _: None).freeze(), lambda _: None)
    assert trial.status == "ok", trial.failure
    return trial


@cache
def play_lookups(engine: str, script: Path, indexed: str) -> Trial:
    return play(engine, str(script), indexed=indexed)


def find_cause(base: Trial, candidate: Trial) -> Cause:
    """Of two restarts, as if each had come out the same in two blocks."""
    trials = [
        replace(trial, number=2 * block + at, candidate=name, workload="select", block=block)
        for block in range(2)
        for at, (name, trial) in enumerate((("old", base), ("new", candidate)))
    ]
    (cause,) = judge_unaudited(make_run(limits={}), trials).causes
    return cause


@pytest.mark.parametrize(
    ("engine", "steps"),
    [
        ("sqlite", "SEARCH item USING INDEX item_k (k=?) → SCAN item"),
        ("duckdb", ""),
        ("postgres@18", "Scan"),
        ("mysql@8.0.33", "item: ref by item_k → item: full table scan (Using where)"),
    ],
)
def test_an_index_that_is_gone_on_one_side_is_named_first(
    engine: str, steps: str, script: Path
) -> None:
    base, other = (play_lookups(engine, script, indexed) for indexed in ("true", "false"))
    assert base.plans.keys() == other.plans.keys() == {STATEMENT}
    assert base.generic_plans.keys() == ({STATEMENT} if "postgres" in engine else set())
    same = find_cause(base, base)
    assert same.sentence.startswith("no plan changed on new (1 statement compared)")
    assert not any(each.differs for each in same.counters)
    cause = find_cause(base, other)
    if engine == "duckdb":  # its optimizer takes no index for so small a table
        return
    assert cause.sentence.startswith(f"new has another plan: {STATEMENT}: ")
    assert steps in cause.sentence
    told = f"what changed: {cause.sentence}".replace("new has", "indexed=false has")
    assert engine != "sqlite" or told in " ".join(GUIDE.split()), "the guide shows another sentence"


def find_counters(trial: Trial) -> dict[str, float]:
    """What the server counted for an operation of the last phase."""
    record = trial.phases[-1]
    own = (each for each in record.readings if each.probe == "work")
    return {each.name: each.value / count_operations(record) for each in own}


def test_a_cache_that_is_too_small_shows_as_pages_read() -> None:
    options = {"table_size": "20000", "threads": "1", "time": "0.3"}
    base = play("postgres@18", "oltp_point_select", **options)
    small = play("postgres@18?shared_buffers=1MB", "oltp_point_select", **options)
    assert find_counters(base)["pages_read"] < 0.1 and find_counters(small)["pages_read"] > 0.5
    told = find_cause(base, small).sentence
    assert "no plan changed" in told and "an operation takes" in told
    assert "more pages read from files" in told.partition(",")[0]


def test_commits_that_are_not_flushed_show_as_fewer_fsyncs() -> None:
    options = {"table_size": "500", "threads": "1", "time": "0.3"}
    flushed, lazy = (
        play(
            f"mysql@8.0.33?innodb_flush_log_at_trx_commit={way}", "oltp_update_non_index", **options
        )
        for way in (1, 2)
    )
    assert find_counters(flushed)["fsyncs"] > 0.9 > 0.5 > find_counters(lazy)["fsyncs"]
    told = find_cause(flushed, lazy).sentence
    assert "an operation takes" in told and "fewer fsyncs" in told.partition(",")[0]
