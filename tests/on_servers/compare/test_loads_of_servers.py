"""Loads of real servers: kept once stopped, started in another home, and nothing of them lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_driver import ONE_BLOCK

from dyno.builds import cache
from dyno.errors import HostError
from dyno.instruments.time.run import play_run
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

pytestmark = [pytest.mark.timeout(300)]

ENGINES = ("postgres@18", "mysql@5.6.14", "mysql@8.0.33", "mariadb@10.11.5")
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}
#: A setting that shapes no file, so that both candidates share their loads.
MEMORY = {
    "postgres": "shared_buffers=64MB",
    "mysql": "innodb_buffer_pool_size=64M",
    "mariadb": "innodb_buffer_pool_size=64M",
}
OPTIONS = {"time": "0.3", "warmup_time": "0", "table_size": "5000"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_is_made_once_and_every_trial_starts_on_a_copy(
    home: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))
    drop = {"page_cache": "drop"}
    measuring = Measuring(blocks=3, fixed=True, limits=CALM, loads=1, controls=drop)
    sides = [engine, f"{engine}?{MEMORY[engine.partition('@')[0]]}"]
    prepared = draft_run(
        compare_candidates(sides, "oltp_write_only", OPTIONS, measuring), lambda _: None
    )
    folder = create_run(prepared.run, home)
    before = {entry.name for entry in cache.list_entries()}
    play_run(prepared, folder, lambda _: None, ONE_BLOCK)
    trials = [trial for trial in folder.read_trials() if trial.block >= 0]
    assert [trial.failure for trial in trials if trial.status != "ok"] == []
    assert len({trial.conditions.load_name for trial in trials}) == 1
    assert {tuple(phase.phase for phase in trial.phases) for trial in trials} == {("run",)}
    evidence = [each for trial in trials for each in trial.evidence]
    assert [each for each in evidence if each.found != str(each.expected)] == []
    # on a crowded host a side may do nothing in so short a time
    assert sum(each.expected for each in evidence) > 0
    dropped = [trial.conditions.controls["page_cache"].details for trial in trials]
    assert all(int(each["files"]) > 10 for each in dropped)
    for entry in cache.list_entries():
        if entry.kind == "load" and entry.name not in before:
            cache.remove(entry)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_disk_that_is_too_small_is_noticed_before_anything_is_started(
    home: Path, engine: str
) -> None:
    options = OPTIONS | {"table_size": str(10**10)}
    prepared = draft_run(
        compare_candidates([engine, engine], "oltp_write_only", options), lambda _: None
    )
    with pytest.raises(HostError, match="MB free, and the run needs"):
        play_run(prepared, create_run(prepared.run, home), lambda _: None)
