"""The planner where factors are crossed: what it says, against runs made up of cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from crossed import SIZES, crossed, played

from dyno.judge.analysis.effects import Effect, list_effects
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.log_ratio import Floats, to_log
from dyno.judge.stats.simulate import Rule, simulate_runs
from dyno.record import Crossing, Run
from dyno.runs.forecast.earlier_run import learn_from
from dyno.runs.forecast.estimate import forecast_run
from dyno.runs.forecast.planner import Planner, RunPlan
from dyno.runs.resolve.draft import Prepared
from dyno.runs.run_folder import RunFolder, create_run

THREE = {"aslr": ("on", "off"), "ahi": ("on", "off"), "preload": ("no", "yes")}
UNEVEN = {"aslr": ("on", "off"), "cache": ("small", "middle", "large")}
PAIR_PERCENT = 2.0


def planned(run: Run, source: RunFolder | None = None) -> RunPlan:
    known = learn_from(source) if source else None
    return Planner(Prepared(run=run), known).plan_for(24)


def mains(run: Run) -> list[Effect]:
    return [effect for effect in list_effects(run) if not effect.interaction]


def found(run: Run, moved: Effect, slowdown_percent: float) -> float:
    """Of 4000 runs of restarts that vary, two of them by `PAIR_PERCENT`, and in which the cells at
    the level of `moved` are slower, the share that call `moved` slower.
    """
    names = [side.name for side in run.candidates]
    rng = np.random.default_rng(8)
    logs = rng.normal(0.0, to_log(PAIR_PERCENT) / np.sqrt(2), (4000, 24, len(names)))
    logs += rng.normal(0.0, 0.1, (4000, 24, 1))
    (level,) = moved.levels.items()
    logs += [to_log(slowdown_percent) * (level in s.levels.items()) for s in run.candidates]
    own = logs @ weights(moved, names)
    # with δ far below the slowdown, so that one which is found is called slower
    rule = Rule(
        InterimAnalyses(run.design.analyses, run.design.alpha), 1e-4, family=len(mains(run))
    )
    return simulate_runs(own[:, None, :], rule).compute_share("slower")


def weights(effect: Effect, names: list[str]) -> Floats:
    return np.array([effect.weights.get(name, 0.0) for name in names])


@pytest.mark.parametrize(
    ("levels", "crossing"),
    [
        (SIZES, "factorial"),
        (THREE, "factorial"),
        (UNEVEN, "factorial"),
        (THREE, "one at a time"),
    ],
)
def test_crossed_runs_find_the_mde80_of_the_plan_four_times_in_five(
    levels: dict[str, tuple[str, ...]], crossing: Crossing
) -> None:
    run = crossed(levels, crossing)
    told = {s.primary: s.mde80_percent for s in planned(run).forecasts if "by 2 %" in s.primary}
    by_factor = {
        name: next(told[said] for said in told if len(told) == 1 or f"({name})" in said)
        for name in levels
    }
    for effect in mains(run):
        (factor,) = effect.levels
        # early analyses, which the formula leaves out, find a little more
        assert 0.78 <= found(run, effect, by_factor[factor]) <= 0.87, effect.candidate


def test_more_cells_see_more_in_as_many_blocks_and_one_at_a_time_does_not() -> None:
    sds = [planned(crossed(levels)).forecasts[1].sd_percent for levels in (SIZES, THREE)]
    assert sds == pytest.approx([2 / np.sqrt(2), 2 / 2], rel=0.01)
    assert planned(crossed(THREE, "one at a time")).forecasts[1].sd_percent == pytest.approx(2.0)


def test_what_is_said_before_a_run_is_what_the_plan_says() -> None:
    for run in (crossed(THREE), crossed(UNEVEN), crossed(THREE, "one at a time")):
        told = forecast_run(Prepared(run=run)).detectable[PAIR_PERCENT]
        mde80s = [s.mde80_percent for s in planned(run).forecasts if "by 2 %" in s.primary]
        assert told == pytest.approx(max(mde80s))


def test_a_run_of_other_factors_tells_how_restarts_vary(tmp_path: Path) -> None:
    """And not how its own effects did, which were over other numbers of cells."""
    known = create_run(source := crossed(SIZES, analyses=(24,)), tmp_path)
    for trial in played(source, lambda _: 0.0, blocks=24, sd=0.03):
        known.write_trial(trial)
    (own,) = planned(source, known).forecasts
    assert own.sd_percent == pytest.approx(3.0, rel=0.3)
    for name, cells in {"two": 2, "four": 4, "eight": 8, "one at a time": 2}.items():
        (forecast,) = planned(_plans()[name], known).forecasts
        assert forecast.sd_percent / own.sd_percent == pytest.approx(np.sqrt(4 / cells), rel=0.01)


def _plans() -> dict[str, Run]:
    found = {"two": {"aslr": ("on", "off")}, "four": SIZES, "eight": THREE}
    return {name: crossed(levels) for name, levels in found.items()} | {
        "one at a time": crossed(THREE, "one at a time")
    }


def test_factors_with_other_numbers_of_levels_are_told_apart(tmp_path: Path) -> None:
    known = create_run(source := crossed(UNEVEN), tmp_path)
    for trial in played(source, lambda _: 0.0):
        known.write_trial(trial)
    aslr, cache = planned(source, known).forecasts
    assert aslr.primary.endswith("(aslr)") and cache.primary.endswith("(cache)")
    # of six cells three stand at either level of one factor, two at each of the other's
    assert cache.sd_percent / aslr.sd_percent == pytest.approx(np.sqrt(3 / 2), rel=1e-2)
