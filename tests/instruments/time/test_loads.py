"""Loads that are kept: made once, restored into each trial's home, and the ledger stays true."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes import make_load, make_trial, make_workload
from msgspec import structs

from dyno.builds import cache
from dyno.errors import UsageError
from dyno.instruments.time import loads
from dyno.instruments.time.job import LoadChoice
from dyno.instruments.time.run import LoadChooser, Rules, play_run
from dyno.record import Conditions, LoadCondition, Trial, WorkloadPlan
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.design import SLOW_LOAD_S
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import RunFolder, create_run

pytestmark = pytest.mark.slow

WORKLOAD = make_workload()
BRIEF_KV = {"time": "0.1", "warmup_time": "0", "records": "300"}
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}

#: Loads a row for each thread, as a parallel `prepare` of sysbench's may.
ANOTHERS = """
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE t (n INTEGER)")
  for n = 1, sysbench.opt.threads do con:query("INSERT INTO t VALUES (" .. n .. ")") end
end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT COUNT(*) FROM t") end
function cleanup() sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS t") end
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def asked_after(slow_s: float) -> LoadChooser:
    """The choice of a load where nobody guesses how large the data are: the first load decides,
    and is slow from `slow_s` on.
    """

    def choose(
        asked: int | None,
        workload: WorkloadPlan,
        played: Sequence[Trial],
        block: int,
        size_bytes: int,
    ) -> LoadChoice | None:
        del size_bytes
        choice = loads.choose_load(asked, workload, played, block)
        return choice and dataclasses.replace(choice, slow_s=slow_s)

    return choose


def _played(
    folder: Path,
    loads_of: int | None,
    *specs: str,
    blocks: int = 3,
    choose_load: LoadChooser = loads.choose_load,
) -> list[Trial]:
    options = {"table_size": "300", "time": "0.1", "warmup_time": "0"}
    measuring = Measuring(blocks=blocks, fixed=True, limits=CALM, seed=3, loads=loads_of)
    experiment = compare_candidates(specs, "oltp_write_only", options, measuring)
    prepared = draft_run(experiment, lambda _: None)
    kept: RunFolder = create_run(prepared.run, folder)
    play_run(prepared, kept, lambda _: None, Rules(choose_load=choose_load))
    return [trial for trial in kept.read_trials() if trial.block >= 0]


def _kept() -> list[cache.CacheEntry]:
    return [entry for entry in cache.list_entries() if entry.kind == "load"]


def _load(trial: Trial) -> LoadCondition:
    assert trial.conditions.load, "it loaded its data anew"
    return trial.conditions.load


def test_blocks_take_turns_with_the_loads_and_the_ledger_stays_true(tmp_path: Path) -> None:
    trials = _played(tmp_path, 2, "sqlite@system", "sqlite@system?cache_size=-100")
    assert {trial.status for trial in trials} == {"ok"}
    # a block in which Dyno stood still is followed by one in its place
    assert {0, 1, 2} <= {t.block for t in trials}
    assert {_load(t).number - t.block % 2 for t in trials} == {1}
    assert {_load(t).of for t in trials} == {2}
    assert all(e.found == str(e.expected) and e.expected > 0 for t in trials for e in t.evidence)
    assert {tuple(p.phase for p in t.phases) for t in trials} == {("run",)}
    assert len(_kept()) == 2, "both candidates share their loads: a cache's size shapes no file"


def test_candidates_whose_files_differ_have_loads_of_their_own(tmp_path: Path) -> None:
    _played(tmp_path, 1, "sqlite@system", "sqlite@system?page_size=8192")
    assert len(_kept()) == 2


def test_another_driver_may_make_other_rows_and_loads_anew(tmp_path: Path) -> None:
    measuring = Measuring(blocks=3, fixed=True, limits=CALM, seed=3, loads=1)
    experiment = compare_candidates(("sqlite@system",), "kv", BRIEF_KV, measuring)
    prepared = draft_run(experiment, lambda _: None)
    for driver in ("this", "another"):
        run = structs.replace(prepared.run, driver_sha256=driver)
        ours = dataclasses.replace(prepared, run=run)
        play_run(ours, create_run(run, tmp_path / driver), lambda _: None, Rules())
    assert len(_kept()) == 2


@pytest.mark.parametrize("own", [True, False])
def test_numbers_of_threads_share_a_load_of_our_own_scripts_and_of_no_others(
    tmp_path: Path, own: bool
) -> None:
    script = tmp_path / "mine.lua"
    script.write_text(ANOTHERS)
    workload = "kv" if own else str(script)
    options = BRIEF_KV if own else {"time": "0.1"}
    measuring = Measuring(blocks=3, fixed=True, limits=CALM, seed=3, loads=1)
    for threads in ("1", "2"):
        asked = options | {"threads": threads}
        experiment = compare_candidates(("sqlite@system",), workload, asked, measuring)
        prepared = draft_run(experiment, lambda _: None)
        kept = create_run(prepared.run, tmp_path / threads)
        play_run(prepared, kept, lambda _: None, Rules(choose_load=loads.choose_load))
        assert {t.status for t in kept.read_trials()} == {"ok"}
    assert len(_kept()) == (1 if own else 2)


def test_a_quick_load_is_made_anew_in_every_trial(tmp_path: Path) -> None:
    sides = ("sqlite@system", "sqlite@system")
    trials = _played(tmp_path, None, *sides, choose_load=asked_after(SLOW_LOAD_S))
    assert all(trial.conditions.load is None for trial in trials)
    assert {tuple(p.phase for p in t.phases) for t in trials} == {("prepare", "run")}
    assert all(e.digest or e.found == str(e.expected) for t in trials for e in t.evidence)
    assert not _kept()


def test_a_slow_load_is_kept_and_seven_more(tmp_path: Path) -> None:
    sides = ("sqlite@system", "sqlite@system")
    trials = _played(tmp_path, None, *sides, blocks=9, choose_load=asked_after(0.0))
    turns = [(t.block, _load(t).number) for t in trials]
    assert dict(turns) == {block: block % 8 + 1 for block in range(9)}
    assert len(_kept()) == 8
    assert all(e.digest or e.found == str(e.expected) for t in trials for e in t.evidence)


def test_the_first_trial_decides_for_all() -> None:
    slow = make_trial(1, "old", 0, 1.0, conditions=Conditions(load=make_load(of=8)))
    fast = make_trial(1, "old", 0, 1.0)
    failed = structs.replace(slow, status="failed")
    assert loads.choose_load(None, WORKLOAD, [], 0) == LoadChoice(0, 0)
    assert loads.choose_load(None, WORKLOAD, [], 0, size_bytes=1000) is None
    assert loads.choose_load(None, WORKLOAD, [failed], 0) == LoadChoice(0, 0)
    assert loads.choose_load(None, WORKLOAD, [slow], 9) == LoadChoice(1, 8)
    assert loads.choose_load(None, WORKLOAD, [fast], 9) is None


def test_the_experiment_decides_before_anybody() -> None:
    assert loads.choose_load(0, WORKLOAD, [], 0) is None
    assert loads.choose_load(3, WORKLOAD, [], 4, size_bytes=1000) == LoadChoice(1, 3)
    only_run = structs.replace(WORKLOAD, commands=("run",))
    assert loads.choose_load(3, only_run, [], 4) is None


def _filled(kind: str, name: str, size: int, used_s: int) -> None:
    home = cache.ensure_entry(kind, name, lambda home: _write(home, size), lambda _: None)
    os.utime(home, (used_s, used_s))


def _write(home: Path, size: int) -> None:
    (home / "x").write_bytes(b"x" * size)


def test_the_longest_unused_loads_make_room_and_builds_never_do() -> None:
    _filled("program", "build", 5000, used_s=1)
    for used_s, name in ((4, "last"), (2, "first"), (3, "second")):
        _filled("load", name, 1000, used_s)
    cache.trim("load", 2000)
    assert [entry.name for entry in cache.list_entries()] == ["build", "second", "last"]


@pytest.mark.parametrize(
    ("text", "found"), [("", 20 << 30), ("500M", 500 << 20), ("2g", 2 << 30), ("7", 7)]
)
def test_the_limit_is_read_from_the_environment(
    text: str, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE_LIMIT", text)
    assert cache.read_limit_bytes() == found


def test_a_limit_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_CACHE_LIMIT", "much")
    with pytest.raises(UsageError, match="cannot be 'much'"):
        cache.read_limit_bytes()
