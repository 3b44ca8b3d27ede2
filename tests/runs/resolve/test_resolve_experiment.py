"""From what a user wrote to what will be played, with the real driver describing the scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple
from small_scripts import PHASES, PLAIN, resolve

from dyno.errors import UsageError
from dyno.judge.stats.scenarios import ANALYSES
from dyno.record import Run, Stop, WorkloadPlan
from dyno.record.run import LIMITS_INTERLEAVED
from dyno.runs import experiment
from dyno.runs.experiment import Experiment, Workload
from dyno.runs.resolve.experiment import draft_run


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "mine.lua"
    path.write_text(PLAIN)
    return path


def only(run: Run) -> WorkloadPlan:
    return run.workloads[0]


def primaries(plan: WorkloadPlan) -> dict[str, list[tuple[Any, ...]]]:
    return {phase.name: [astuple(each) for each in phase.primary] for phase in plan.phases}


def test_a_run_says_everything_that_decides_its_result(script: Path) -> None:
    run = resolve(script, "null@1us", "fast=null@0?aslr=off", seed=5)
    assert [c.name for c in run.candidates] == ["null@1us", "fast"]
    assert run.candidates[0].build["delay_ns"] == "1000"
    assert run.candidates[1].controls == {"aslr": "off"}
    assert (run.design.base, run.design.analyses, run.seed) == ("null@1us", ANALYSES.blocks, 5)
    assert run.design.limits == LIMITS_INTERLEAVED
    assert run.design.controls["aslr"] == "on"
    assert {"cpu", "cores", "kernel", "memory_mb", "file_system"} <= run.host.keys()
    assert len(run.driver_sha256) == len(only(run).script_sha256) == 64
    assert only(run).commands == ("prepare", "run")


def test_two_runs_without_a_seed_have_two_seeds(script: Path) -> None:
    assert resolve(script).seed != resolve(script).seed


def test_a_comparison_measures_briefly_and_says_so(script: Path) -> None:
    assert only(resolve(script)).options == {"time": "2", "warmup_time": "0.3"}
    assert only(resolve(script)).phases[0].stop == Stop("time", duration_s=2.0)
    assert only(resolve(script, quick=True)).options["time"] == "1"
    theirs = only(resolve(script, options={"time": "5"})).options
    assert theirs == {"time": "5", "warmup_time": "0.3"}
    assert "time" not in only(resolve(script, options={"events": "9"})).options
    assert only(resolve(script, "null@1us")).options == {}


def test_a_script_with_phases_of_its_own_is_left_alone(script: Path) -> None:
    script.write_text(PHASES)
    plan = only(resolve(script))
    assert plan.options == {}
    assert plan.commands == ("run",)
    assert primaries(plan) == {"first": [("one", "rate_per_s", 5.0)], "then": []}


def test_a_margin_of_the_user_s_stands_above_the_script_s(script: Path) -> None:
    script.write_text(PHASES)
    run = resolve(script, margin_percent=1.0)
    assert run.design.margin_percent == 1.0
    assert primaries(only(run))["first"] == [("one", "rate_per_s", None)]


def test_a_script_that_names_nothing_is_judged_by_its_throughput_or_latency(script: Path) -> None:
    closed = primaries(only(resolve(script)))
    assert [metric for _, metric, _ in closed["run"]] == ["rate_per_s"]
    paced = primaries(only(resolve(script, options={"rate": "10"})))
    assert [metric for _, metric, _ in paced["run"]] == ["latency_ns_p99"]


def test_a_primary_that_is_declared_twice_is_one(script: Path) -> None:
    again = 'margin_percent = 5}, {stream = "one", metric = "rate_per_s"}'
    script.write_text(PHASES.replace("margin_percent = 5}", again))
    assert primaries(only(resolve(script)))["first"] == [("one", "rate_per_s", 5.0)]


def test_an_experiment_may_name_its_primaries(script: Path) -> None:
    script.write_text(PHASES)
    sides = experiment.compare_candidates(["null@1us"], str(script), {}).candidates

    def judged_by(**primary: Any) -> dict[str, list[tuple[Any, ...]]]:
        workload = Workload(str(script), {}, (primary,))
        made = Experiment("x", sides, (workload,))
        return primaries(only(draft_run(made, lambda _: None).run))

    found = judged_by(phase="then", metric="latency_ns_p99", margin_percent=3)
    assert found == {"first": [], "then": [("one", "latency_ns_p99", 3)]}
    with pytest.raises(UsageError, match="unknown phase 'thn'"):
        judged_by(phase="thn")
    with pytest.raises(UsageError, match="unknown stream 'two'"):
        judged_by(stream="two")


@pytest.mark.parametrize(
    ("specs", "more", "says"),
    [
        (("nul@1us", "null@2us"), {}, "unknown engine 'nul'(.|\n)*did you mean null"),
        (("null@1us?alsr=off",), {}, "unknown flag, setting or control 'alsr'(.|\n)*mean aslr"),
        (("null@1us?aslr=of",), {}, "unknown value of aslr 'of'"),
        (("null@1us",), {"controls": {"alsr": "off"}}, "unknown control 'alsr'"),
        (("null@1us",), {"options": {"table_sise": "1"}}, "table_sise(.|\n)*table_size"),
        (("null@1us",), {"quick": True, "blocks": 9}, "--quick and --blocks cannot be combined"),
    ],
)
def test_a_word_that_nobody_knows_is_refused_before_anything_is_played(
    script: Path, specs: tuple[str, ...], more: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        resolve(script, *specs, **more)


def test_a_script_with_an_error_is_the_user_s_with_its_line(script: Path) -> None:
    script.write_text("-- A mistake.\nlocal x = nothing.here\n")
    with pytest.raises(UsageError, match=r"mine\.lua:2"):
        resolve(script)
