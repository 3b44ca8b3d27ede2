"""A crossed run, played on `null`: injected effects come out, and stand wherever it is shown."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest
from report.page_text import format_verdict

from dyno.instruments.time.run import play_run
from dyno.judge.analysis.judge import judge
from dyno.record import CLIENT_BASELINE, Run, Trial, Verdict
from dyno.report import Book, export
from dyno.runs import experiment
from dyno.runs.experiment import Measuring
from dyno.runs.experiment.candidates import CrossedFactors
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import RunFolder, create_run

SCRIPT = """
-- As many queries per event as `queries` says.
sysbench.cmdline.options = { queries = {"Queries per event", 1} }
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  for _ = 1, sysbench.opt.queries do con:query("SELECT 1") end
end
"""
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}

Played = tuple[RunFolder, Run, list[Trial], Verdict]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A delay that doubles, crossed with an option that doubles the work of an event.

    It is long beside what a crowded machine adds to it.
    """
    folder = tmp_path_factory.mktemp("crossed")
    (folder / "mine.lua").write_text(SCRIPT)
    measuring = Measuring(blocks=3, fixed=True, limits=CALM)
    specs, options = ("fast=null@3ms", "slow=null@6ms"), {"time": "0.2", "warmup_time": "0"}
    made = experiment.compare_candidates(specs, str(folder / "mine.lua"), options, measuring)
    crossed = replace(made, crossed=CrossedFactors({"queries": ("1", "2")}))
    prepared = draft_run(crossed, lambda _: None)
    kept = create_run(prepared.run, folder / "runs")
    play_run(prepared, kept, lambda _: None)
    run, found = kept.read_run(), kept.read_trials()
    return kept, run, found, judge(run, found)


@pytest.mark.slow
def test_injected_effects_come_out(played: Played) -> None:
    _, _, _, verdict = played
    found = {c.candidate: c for c in verdict.comparisons if c.primary or len(c.levels) > 1}
    assert list(found) == ["slow", "queries=2", "slow × queries=2"]
    assert found["slow"].slowdown_percent > 30 and found["queries=2"].slowdown_percent > 30
    assert (found["slow"].base, found["queries=2"].base) == ("fast", "queries=1")


def test_a_block_plays_every_cell_with_its_own_options(played: Played) -> None:
    _, run, found, _ = played
    for block in range(3):
        own = {t.candidate: t.options for t in found if t.block == block}
        assert own == {side.name: side.options for side in run.candidates}
    assert not [t for t in found if t.candidate == CLIENT_BASELINE], "null is its own baseline"


def test_the_terminal_shows_effects_first_and_then_the_spread(played: Played) -> None:
    _, run, _, verdict = played
    said = format_verdict(run, verdict, width=200)
    places = [said.index(word) for word in ("slow against fast", "slow × queries=2", "Spread")]
    assert places == sorted(places)
    assert "fast queries=1" in said and "all cells" in said


def test_rows_and_trials_carry_the_levels(played: Played) -> None:
    kept, run, found, verdict = played
    assert export.to_json_rows(verdict)[0]["levels"] == {"candidate": "slow"}
    with export.write_csv(Book(kept.path, run, found, verdict)).open() as file:
        lines = list(csv.DictReader(file))
    assert {(r["level_candidate"], r["level_queries"]) for r in lines} == {
        (name, queries) for name in ("fast", "slow") for queries in ("1", "2")
    }
