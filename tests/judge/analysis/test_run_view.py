"""One answer to what counts: tables and exports show the numbers that a verdict rests on."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from fakes import make_readings, make_record, make_run, make_tally, make_trial
from judging import judge_unaudited
from msgspec import structs

from dyno.judge.analysis.run_view import RunView
from dyno.record import CLIENT_BASELINE, Run, Trial
from dyno.report import Book
from dyno.report.export import write_csv

CPU_US = {"old": 50.0, "new": 80.0, CLIENT_BASELINE: 20.0}


def _costing(number: int, candidate: str, block: int) -> Trial:
    """A trial whose operations each took that much CPU in the driver's process."""
    tally = make_tally(1000.0)
    costs = make_readings(server_cpu_us=CPU_US[candidate] * tally.done)
    return make_trial(number, candidate, block, 1.0, phases=(make_record([tally], readings=costs),))


def _beside_null() -> tuple[Run, list[Trial]]:
    """`null` as the base beside an embedded engine, with the client-only baseline that is taken
    off the latter.
    """
    run = make_run(analyses=(2,))
    null, other = run.candidates
    run = structs.replace(run, candidates=(null, structs.replace(other, engine="sqlite")))
    trials = [_costing(1, CLIENT_BASELINE, -1)]
    trials += [_costing(2 + n, name, n // 2) for n, name in enumerate(("old", "new") * 2)]
    return run, trials


def test_the_baseline_is_taken_off_alike_in_verdict_and_export(tmp_path: Path) -> None:
    run, trials = _beside_null()
    verdict = judge_unaudited(run, trials)
    (cost,) = (c for c in verdict.comparisons if c.metric.name == "server_cpu_us_per_op")
    assert [cost.base_value, cost.candidate_value] == pytest.approx([50.0, 60.0])
    with write_csv(Book(tmp_path, run, trials, verdict)).open() as file:
        rows = [r for r in csv.DictReader(file) if r["metric"] == "server_cpu_us_per_op"]
    shown = {row["candidate"]: float(row["value"]) for row in rows if row["block"] == "1"}
    assert shown == {"old": pytest.approx(50.0), "new": pytest.approx(60.0)}


def test_a_block_that_is_not_whole_counts_nowhere() -> None:
    run, trials = _beside_null()
    view = RunView(run, [*trials, _costing(9, "old", 2)])
    assert [t.number for t in view.counted_trials] == [2, 3, 4, 5]
    assert view.valid_blocks == {"select": 2} and not view.torn_numbers
    assert {t.number for t in view.counted_only.trials} == {1, 2, 3, 4, 5}


def test_an_attempt_that_was_begun_anew_is_torn() -> None:
    run, trials = _beside_null()
    anew = [structs.replace(_costing(n, s, 1), attempt=2) for n, s in ((8, "old"), (9, "new"))]
    view = RunView(run, [*trials, *anew])
    assert view.torn_numbers == {4, 5} and [t.number for t in view.counted_trials] == [2, 3, 8, 9]
