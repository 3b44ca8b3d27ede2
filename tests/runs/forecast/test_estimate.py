"""The forecast: what a run will take, and how a budget cuts it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from fakes import make_phase, make_run, make_workload
from msgspec import structs

from dyno.errors import UsageError
from dyno.judge.stats.log_ratio import to_log
from dyno.judge.stats.power import BlockErrors, compute_mde80
from dyno.record import Phase, Stop, WorkloadPlan
from dyno.record.workload import UNKNOWN_S
from dyno.runs.experiment import Experiment, Measuring
from dyno.runs.forecast.estimate import (
    ECHO_S,
    OVERHEAD_S,
    SERVER_S,
    RunCost,
    estimate_block_s,
    fit_budget,
    forecast_run,
)
from dyno.runs.forecast.planner import Planner
from dyno.runs.resolve.design import TURNS
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.resolve.preconditions import SPARE_BYTES, compute_disk_bytes
from dyno.workloads import find_workload

TRIAL_S = 10 + OVERHEAD_S


def make_prepared(**design: Any) -> Prepared:
    return Prepared(make_run(**design), {}, {})


def test_a_run_is_foretold_to_the_analysis_that_may_clear_and_to_its_last_replay() -> None:
    said = forecast_run(make_prepared())
    assert said.expected_s == pytest.approx(10 * 2 * TRIAL_S)
    assert said.worst_s == pytest.approx(36 * 2 * TRIAL_S)
    assert (said.blocks_expected, said.blocks_worst) == (10, 36)
    assert said.disk_bytes == SPARE_BYTES


def test_an_engine_in_the_driver_costs_a_baseline_too() -> None:
    run = make_run()
    side = structs.replace(run.candidates[0], engine="embedded")
    embedded = structs.replace(run, candidates=(side, run.candidates[1]))
    more = (
        forecast_run(Prepared(run=embedded)).expected_s - forecast_run(make_prepared()).expected_s
    )
    assert more == pytest.approx(TRIAL_S)


def test_a_server_takes_its_time_to_start_and_to_stop() -> None:
    run = make_run()
    served = structs.replace(run.candidates[0], embedded=False)
    mixed = structs.replace(run, candidates=(served, run.candidates[1]))
    more = forecast_run(Prepared(run=mixed)).expected_s - forecast_run(make_prepared()).expected_s
    assert more == pytest.approx(10 * SERVER_S + ECHO_S)


def test_those_that_take_turns_start_and_stop_side_by_side() -> None:
    run = make_run()
    servers = tuple(structs.replace(each, embedded=False) for each in run.candidates)
    run = structs.replace(run, candidates=servers)
    interleaved = structs.replace(run, design=structs.replace(run.design, interleaving=TURNS))
    (workload,) = run.workloads
    alone, both = (
        estimate_block_s(workload, Prepared(each, {}, {}, 20_000_000))
        for each in (run, interleaved)
    )
    played_s, loads_s, restart_s = 2 * 10.0, 2 * 1.0, SERVER_S + OVERHEAD_S
    assert alone == pytest.approx(played_s + loads_s + 2 * restart_s)
    assert both == pytest.approx(1.05 * played_s + loads_s + restart_s)


def test_loads_that_are_kept_are_made_once_for_all_numbers_of_threads() -> None:
    kv = str(find_workload("kv"))
    plain = structs.replace(make_run().workloads[0], script=kv, options={"records": "9"})
    swept = [
        structs.replace(plain, name=f"kv {n}", options=plain.options | {"threads": n})
        for n in ("1", "16")
    ]
    others = [structs.replace(each, script="mine.lua") for each in swept]
    both = make_run().candidates

    def load_s(workloads: list[WorkloadPlan], blocks: int, size_bytes: int) -> float:
        run = structs.replace(make_run(analyses=(blocks,)), workloads=tuple(workloads))
        played_s = blocks * len(workloads) * len(both) * TRIAL_S
        return forecast_run(Prepared(run, {}, {}, size_bytes)).expected_s - played_s

    slow = 200_000_000  # 10 s; both candidates are one build, so that they share it, too
    assert load_s(swept, 3, slow) == pytest.approx(3 * 10)
    assert load_s(swept, 20, slow) == pytest.approx(8 * 10)
    assert load_s(others, 3, slow) == pytest.approx(3 * 2 * 10)
    quick = 20_000_000  # 1 s, in every trial
    assert load_s(swept, 3, quick) == pytest.approx(3 * 4 * 1)


def test_a_budget_counts_loads_in_the_blocks_that_make_them() -> None:
    cost = RunCost(baseline_s=5, block_s=10, loads_s=20, loads=8)
    for blocks in (3, 7, 8, 9, 20):
        assert cost.count_blocks_within(cost.compute_total_s(blocks)) == blocks
        assert cost.count_blocks_within(cost.compute_total_s(blocks + 1) - 1) == blocks
    with pytest.raises(UsageError, match="3 blocks take 95 s"):
        cost.count_blocks_within(94)


def test_a_counted_phase_lasts_as_long_as_its_script_guesses() -> None:
    phase = make_phase() | {"stop": {"kind": "count", "events": 9}, "expected_s": 3.0}
    run = make_run(workloads=[make_workload(phases=[phase])])
    assert forecast_run(Prepared(run=run)).expected_s == pytest.approx(20 * (3 + OVERHEAD_S))


def test_more_noise_or_fewer_blocks_detect_less() -> None:
    many = forecast_run(make_prepared()).detectable
    few = forecast_run(make_prepared(analyses=(6,))).detectable
    assert many[1.0] < many[2.0] < many[5.0]
    assert all(many[sd] < few[sd] for sd in many)
    once = forecast_run(make_prepared(analyses=(24,))).detectable
    assert once[2.0] < many[2.0]
    # Cohen 1988: n = 24, two-sided 5 %, power 80 % needs d = 0.60
    assert once[2.0] == pytest.approx(2 * 0.60, rel=0.02)


def make_draft(*analyses: int) -> RunDraft:
    run = make_run(analyses=analyses) if analyses else make_run()
    asked = Experiment("any", (), (), Measuring())
    return RunDraft(run, experiment=asked)


def test_a_budget_cuts_the_analyses_and_never_adds_any() -> None:
    draft, one_analysis = make_draft(), make_draft(10)
    before = draft.design
    fit_budget(draft, 1e6)
    assert draft.design == before
    with pytest.raises(UsageError, match=r"a budget of 60 s is too short(.|\n)*3 blocks take 62"):
        fit_budget(draft, 60)
    fit_budget(draft, 15 * 2 * TRIAL_S + 1)
    assert draft.design.analyses == (6, 10, 15)
    fit_budget(one_analysis, 4 * 2 * TRIAL_S + 1)
    assert one_analysis.design.analyses == (4,)


def test_no_fewer_blocks_would_do_though_one_more_may_see_less() -> None:
    known = Planner(make_prepared())  # spreads of 1, 2, 5 % are assumed, the last of which decides
    seen = {
        n: compute_mde80(known.choose_analyses(n), BlockErrors(to_log(5.0)), 1)
        for n in (6, 7, 8, 9)
    }
    assert seen[9] < seen[7] < seen[8] < seen[6]  # the look at 6 costs sight, and saves time
    assert known.plan_detection(seen[7] + 0.01).analyses == (7,)


def test_every_phase_has_a_limit_far_above_its_length() -> None:
    counted = Phase("load", (), Stop("count"))
    assert make_workload().phases[0].limit_s == 2 * 10 + 60
    assert structs.replace(counted, expected_s=100.0).limit_s == 2000
    assert counted.limit_s == UNKNOWN_S


class Outgrowing:
    def estimate_disk_bytes(self, data_bytes: int, settings: dict[str, str]) -> int:
        return data_bytes + int(settings.get("redo", "1000"))


def test_an_engine_says_what_its_files_take_beside_the_data() -> None:
    run = make_run()
    big = structs.replace(run.candidates[1], settings={"redo": "9000"})
    run = structs.replace(run, candidates=(run.candidates[0], big))
    engines: dict[str, Any] = dict.fromkeys(("old", "new"), Outgrowing())
    assert compute_disk_bytes(Prepared(run, engines, {}, 500)) == SPARE_BYTES + 9500
    assert compute_disk_bytes(Prepared(run, {}, {}, 500)) == SPARE_BYTES + 1000


@pytest.mark.parametrize(
    ("loads", "size_bytes", "homes"),
    [(None, 1 << 20, 1), (None, 1 << 30, 2), (0, 1 << 30, 1), (1, 1 << 20, 2)],
)
def test_a_load_that_is_kept_is_there_twice(loads: int | None, size_bytes: int, homes: int) -> None:
    prepared = dataclasses.replace(make_prepared(loads=loads), size_bytes=size_bytes)
    assert compute_disk_bytes(prepared) == SPARE_BYTES + homes * 2 * size_bytes


def test_trials_that_take_turns_have_their_data_on_the_disk_at_once() -> None:
    run = make_run()
    interleaved = structs.replace(run, design=structs.replace(run.design, interleaving=TURNS))
    alone, both = (compute_disk_bytes(Prepared(each, {}, {}, 500)) for each in (run, interleaved))
    assert (alone, both) == (SPARE_BYTES + 1000, SPARE_BYTES + 2000)
