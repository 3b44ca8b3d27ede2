"""The planner: what a time buys, what a slowdown costs to be found, from an earlier run or not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import make_load, make_run, make_trials, make_workload
from gathered_runs import make_gathered, play_gathered
from msgspec import structs

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.judge.stats.power import compute_sd_bound
from dyno.record import Conditions, Run
from dyno.runs.forecast.earlier_run import find_newest_run, learn_from
from dyno.runs.forecast.planner import Planner
from dyno.runs.resolve.draft import Prepared
from dyno.runs.run_folder import RunFolder, create_run, list_runs

pytestmark = pytest.mark.slow

SD = 0.03
EXPERIMENT = """
name = "fake"
candidates = ["old=null@200us", "new=null@210us"]
[[workload]]
name = "oltp_point_select"
"""


def played(runs: Path, run: Run, blocks: int = 12) -> RunFolder:
    """A run on disk whose blocks vary by `SD`, a trial of 10 s every 14 s."""
    raw = np.random.default_rng(3).normal(0.0, 1.0, blocks)
    logs = SD * (raw - raw.mean()) / raw.std(ddof=1)
    made = create_run(run, runs)
    for trial in make_trials({"new": list(logs)}):
        seconds = 14 * trial.number
        began = f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"
        made.write_trial(structs.replace(trial, workload=run.workloads[0].name, started_utc=began))
    return made


def planner(run: Run, source: RunFolder | None = None) -> Planner:
    return Planner(Prepared(run=run), learn_from(source) if source else None)


def test_without_a_run_three_spreads_are_assumed() -> None:
    plan = planner(make_run()).plan_budget(5 * 60)
    assert plan.source == ""
    assert plan.analyses == (6, 10, 14)  # 20.4 s a block
    assert [round(each.sd_percent, 6) for each in plan.forecasts] == [1.0, 2.0, 5.0]
    assert all(each.doubled_percent < each.mde80_percent for each in plan.forecasts)
    assert plan.full_s <= 300 < plan.worst_s
    assert plan.expected_s <= plan.full_s


def test_an_earlier_run_tells_spread_and_cost(tmp_path: Path) -> None:
    plan = planner(make_run(), played(tmp_path, make_run())).plan_budget(10 * 60)
    assert plan.source.endswith("-fake")
    assert plan.block_s == pytest.approx(2 * 14)
    assert plan.analyses[-1] == int(600 / 28)
    (forecast,) = plan.forecasts
    assert forecast.primary.startswith("select / run / reader")
    assert forecast.sd_percent == pytest.approx(100 * np.expm1(SD), rel=1e-3)
    # twelve blocks, at an analysis before the last: ten degrees of freedom, χ² 6.18 at 20 %
    bound = 100 * np.expm1(SD * math.sqrt(10 / 6.179))
    assert forecast.planned_sd_percent == pytest.approx(bound, rel=1e-3)


def test_older_runs_of_the_same_experiment_on_the_same_host_tell_too(tmp_path: Path) -> None:
    run = make_run()
    elsewhere = structs.replace(run, host={"cpu": "another"})
    for each in (elsewhere, run, run):
        played(tmp_path, each)
    alone = planner(run, list_runs(tmp_path)[-1]).plan_for(24)
    pooled = Planner(Prepared(run=run), find_newest_run(list_runs(tmp_path), run, print)).plan_for(
        24
    )
    assert (alone.pooled, pooled.pooled) == (0, 1)
    assert pooled.forecasts[0].sd_percent == pytest.approx(alone.forecasts[0].sd_percent)
    assert pooled.forecasts[0].planned_sd_percent < alone.forecasts[0].planned_sd_percent
    assert pooled.forecasts[0].mde80_percent < alone.forecasts[0].mde80_percent


def test_loads_that_took_turns_will_again(tmp_path: Path) -> None:
    made = create_run(make_run(), tmp_path)
    for trial in make_trials({"new": list(np.random.default_rng(3).normal(0.0, SD, 12))}):
        kept = Conditions(load=make_load(f"{trial.candidate}{trial.block % 3}", of=3))
        made.write_trial(structs.replace(trial, conditions=kept))
    assert learn_from(made).loads == 3
    few = planner(make_run(), made).plan_for(24).forecasts[0]
    many = planner(make_run(loads=0), made).plan_for(24).forecasts[0]
    assert few.mde80_percent > 1.5 * many.mde80_percent
    # three loads, at an analysis before the last: one degree of freedom, χ² 0.064 at 20 %
    assert math.log1p(few.planned_sd_percent / 100) == pytest.approx(
        math.log1p(few.sd_percent / 100) * math.sqrt(1 / 0.0642), rel=1e-2
    )


def test_the_fewest_blocks_that_find_it_are_found(tmp_path: Path) -> None:
    known = planner(make_run(), played(tmp_path, make_run()))
    fewer = known.plan_for((plan := known.plan_detection(1.5)).analyses[-1] - 1)
    assert plan.forecasts[0].mde80_percent <= 1.5 < fewer.forecasts[0].mde80_percent
    assert {24, 32} < set(plan.analyses) and plan.analyses[-1] < 80


def test_what_cannot_be_had_is_said(tmp_path: Path) -> None:
    known = planner(make_run(), played(tmp_path, make_run()))
    most = r"200 blocks, the maximum, are too few(.|\n)*200 blocks find .* in select / run"
    with pytest.raises(UsageError, match=most):
        known.plan_detection(0.1)
    assumed = r"200 blocks find .* if blocks vary by 5 %, as is assumed"
    with pytest.raises(UsageError, match=assumed):
        planner(make_run()).plan_detection(0.1)
    with pytest.raises(UsageError, match=r"a budget of 60 s is too short(.|\n)*3 blocks take 84"):
        known.plan_budget(60)
    with pytest.raises(UsageError, match="cannot be detected"):
        known.plan_detection(0)


def test_more_candidates_and_primaries_see_less() -> None:
    two, four = make_run(), make_run(["old", "b", "c", "d"])
    few, many = planner(two).plan_for(24), planner(four).plan_for(24)
    assert (few.primaries, many.primaries) == (1, 3)
    assert few.forecasts[1].mde80_percent < many.forecasts[1].mde80_percent
    assert few.expected_s < many.expected_s


def test_an_experiment_with_one_analysis_keeps_it() -> None:
    run = make_run(analyses=(10,))
    assert planner(run).plan_for(10).analyses == (10,)
    assert planner(run).plan_budget(20.5 * 20.4).analyses == (6, 10, 14, 20)


def test_a_run_of_something_else_or_too_short_is_no_source(tmp_path: Path) -> None:
    other = make_run(workloads=[make_workload("update")])
    played(tmp_path, other)
    played(tmp_path, make_run(), blocks=2)
    said: list[str] = []
    assert find_newest_run(list_runs(tmp_path), make_run(), said.append) is None
    assert said and all(each.startswith("not planned from ") for each in said)
    with pytest.raises(UsageError, match="2 valid blocks, too few"):
        learn_from(list_runs(tmp_path)[-1])
    wanted = played(tmp_path, make_run())
    found = find_newest_run(list_runs(tmp_path), make_run(), print)
    assert found is not None and found.name == wanted.path.name and found.blocks == 12


def gathered(runs: Path, shares: list[list[float]]) -> RunFolder:
    """A run on disk of a cell whose blocks were played by several hosts."""
    run = make_gathered({"select": [len(own) for own in shares]})
    made = create_run(run, runs)
    for trial in play_gathered(run, {"select": shares}):
        made.write_trial(trial)
    return made


def test_a_gathered_run_is_planned_from_by_what_varies_within_its_hosts(tmp_path: Path) -> None:
    raw = np.random.default_rng(5).normal(0.0, SD, (4, 6))
    alike = raw - raw.mean(axis=1, keepdims=True)
    apart = alike + np.array([[0.0], [0.2], [0.4], [0.6]])  # hosts differ in effect
    made = [gathered(tmp_path, own.tolist()) for own in (alike, apart)]
    plans = [planner(make_run(), each).plan_for(24) for each in made]
    own_sd = math.sqrt(float((alike**2).sum()) / (4 * 5))
    for plan in plans:
        (forecast,) = plan.forecasts
        assert math.log1p(forecast.sd_percent / 100) == pytest.approx(own_sd, rel=1e-4)
        bound = math.log1p(forecast.planned_sd_percent / 100) / own_sd
        assert bound == pytest.approx(compute_sd_bound(1.0, 20), rel=1e-4), "20 are known, not 23"
    said: list[str] = []
    assert find_newest_run(list_runs(tmp_path), make_run(), said.append) is None
    assert all("gathered of hosts" in each for each in said) and len(said) == 2
    with pytest.raises(UsageError, match="1 valid blocks on a host, too few"):
        learn_from(gathered(tmp_path, [[0.0], [0.1], [0.2], [0.3]]))


def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    file = tmp_path / "fake.toml"
    file.write_text(EXPERIMENT)
    return run_words(["plan", str(file), *words])


def test_a_run_is_planned_by_its_name_or_as_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run = played(tmp_path, make_run())
    for word in ("last", run.path.name):
        assert run_words(["plan", word, "--detect", "1.5%"]) == 0
        said = capsys.readouterr().out
        assert f"as in {run.path.name}" in " ".join(said.split())
        assert f"to play it: {make_run().command} --blocks " in said
    assert run_words(["plan", "lst"]) == 64
    assert "unknown experiment 'lst'" in capsys.readouterr().err


def test_the_command_plays_nothing_and_writes_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(tmp_path, monkeypatch, "--budget", "2m", "--json", str(tmp_path / "p.json")) == 0
    said = capsys.readouterr().out
    for word in ("by assumption", "MDE80", "with twice", "to play it: dyno run", "--blocks"):
        assert word in said
    told: dict[str, Any] = json.loads((tmp_path / "p.json").read_text())
    assert told["analyses"][-1] * told["block_s"] <= 120
    assert not (tmp_path / "runs").exists()
    assert cli(tmp_path, monkeypatch) == 0
    assert (
        "fake.toml\n" in capsys.readouterr().out
    )  # --blocks would give other analyses to fixed ones


def test_two_questions_at_once_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(tmp_path, monkeypatch, "--budget", "2m", "--detect", "2%") == 64
    assert "cannot be combined" in capsys.readouterr().err
