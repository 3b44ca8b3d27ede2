"""How often the judge errs where the truth is known: false alarms and coverage, simulated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from statistics import mean
from typing import get_args

import numpy as np
import pytest
from fakes import make_load, make_run, make_trials
from made_rates import make_blocks, make_plan
from msgspec import structs
from sampled_trials import ENGINE, Costs, make_sampled, vary

from dyno.judge.analysis.capacity import judge_capacity
from dyno.judge.analysis.counters import compare_counters
from dyno.judge.analysis.cpu_samples import CodePlace
from dyno.judge.analysis.instructions import say_instructions
from dyno.judge.analysis.layers import compare_layers
from dyno.judge.analysis.measures import count_operations
from dyno.judge.analysis.run_view import RunView
from dyno.judge.analysis.server_profiles import compare_rows
from dyno.judge.analysis.waits import compare_waits
from dyno.judge.stats.batch_means import estimate_series_mean
from dyno.judge.stats.changes import find_place
from dyno.judge.stats.sign_test import compute_sign_p
from dyno.record import Conditions, PinningCondition, Reading, Run, Trial
from dyno.record.cause import CpuDifference, InstructionChange
from dyno.record.waits import SessionState, WaitKind, WaitProfile

ONE = make_run(analyses=(6,))
Draw = Callable[[], float]


def is_rate(count: int, of: int, most: float) -> bool:
    """Is a share no larger than `most`, but for three standard errors of chance?"""
    return count / of <= most + 3 * math.sqrt(most * (1 - most) / of)


def test_a_capacitys_interval_holds_the_true_rate_in_95_of_100_runs() -> None:
    rng, held, runs = np.random.default_rng(21), 0, 500
    for _ in range(runs):
        rates = list(1000 * np.exp(rng.normal(0, 0.03, 6)))
        (side,) = judge_capacity(make_plan(["A"]), make_blocks({"A": rates})).candidates
        assert side.low and side.high
        held += side.low <= 1000 <= side.high
    assert is_rate(runs - held, runs, 0.05)
    assert held < 0.985 * runs


def test_of_equal_candidates_a_capacity_accuses_or_praises_any_in_5_of_100_runs() -> None:
    rng, wrong, runs = np.random.default_rng(22), 0, 300
    names = list("ABCDEFGHI")
    for _ in range(runs):
        rates = {name: list(1000 * np.exp(rng.normal(0, 0.1, 6))) for name in names}
        rows = judge_capacity(make_plan(names), make_blocks(rates)).comparisons
        wrong += any(row.verdict in ("slower", "faster") for row in rows)
    assert is_rate(wrong, runs, 0.05)


def with_record(trial: Trial, **changes: object) -> Trial:
    """The trial with its only phase changed."""
    (record,) = trial.phases
    changed = structs.replace(record, **changes)
    return structs.replace(trial, phases=(changed,))


def wait_at_random(rng: np.random.Generator) -> Iterator[Trial]:
    """Equal sides whose sessions are met in eight states, by chance."""
    kinds: tuple[WaitKind, ...] = get_args(WaitKind)[:8]
    for trial in make_trials({"new": [0.0] * 6}):
        states = [SessionState(kind, "", int(rng.poisson(60))) for kind in kinds]
        yield with_record(trial, waits=WaitProfile(100, tuple(states)))


def test_of_equal_sides_any_wait_differs_in_5_of_100_runs() -> None:
    rng, wrong, runs = np.random.default_rng(23), 0, 300
    for _ in range(runs):
        found = compare_waits(RunView(ONE, list(wait_at_random(rng))), "new")
        assert len(found) == 8
        wrong += any(each.differs for each in found)
    assert is_rate(wrong, runs, 0.05)


def test_of_equal_profiles_of_a_server_any_of_ten_rows_differs_in_5_of_100_pairs() -> None:
    rng, wrong, runs = np.random.default_rng(24), 0, 300
    places = [CodePlace(f"layer {at}", "") for at in range(10)]
    for _ in range(runs):
        base, other = ({place: list(rng.normal(1, 0.1, 36)) for place in places} for _ in range(2))
        wrong += any(row.word == "differs" for row in compare_rows(base, other))
    assert is_rate(wrong, runs, 0.05)


def compare_cpu(trials: list[Trial], run: Run = ONE) -> CpuDifference:
    (found,) = compare_layers(RunView(run, trials), "new", [])
    return found


def test_a_layer_that_is_as_costly_as_before_is_named_as_seldom_as_its_p_value_says() -> None:
    """The whole differs surely, so that the layers are tested; all but one are equal."""
    noise, wrong, runs = vary(25, 2), 0, 200
    changed = {place: ns * (1.3 if place[0] == "b-tree" else 1.0) for place, ns in ENGINE.items()}
    near = 0
    for _ in range(runs):
        found = compare_cpu(make_sampled(ENGINE, changed, noise=noise))
        named = [row for row in found.layers if row.word in ("costlier", "cheaper")]
        assert all(row.p_value <= 0.05 for row in named)
        wrong += any(row.layer != "b-tree" for row in named)
        near += any(0.05 < row.p_value <= 0.1 for row in found.layers if row.low_ns > 0)
    assert is_rate(wrong, runs, 0.05) and near > 3


def on_loads(trials: list[Trial], of: int) -> list[Trial]:
    """The trials, each candidate's begun with so many loads in turn."""
    return [
        structs.replace(
            trial, conditions=Conditions(load=make_load(f"{trial.candidate}{trial.block % of}"))
        )
        for trial in trials
    ]


def test_loads_that_come_again_are_one_datum_of_a_counter_and_of_a_layer() -> None:
    """Equal builds: what a load is like moves both, and comes again in every block that has it."""
    rng, runs = np.random.default_rng(26), 120
    run = make_run(analyses=(12,))
    wrong = {"counter": 0, "layer": 0}
    for _ in range(runs):
        like = {f"{side}{at}": rng.normal(1, 0.1) for side in ("old", "new") for at in range(4)}

        def draw(trial: Trial, like: dict[str, float] = like) -> float:
            return float(like[trial.conditions.load_name] * rng.normal(1, 0.005))

        trials = on_loads(make_sampled(ENGINE, ENGINE, blocks=12), 4)
        trials = [spend(trial, draw(trial)) for trial in trials]
        wrong["layer"] += compare_cpu(trials, run).total.word in ("costlier", "cheaper")
        (counted,) = compare_counters(RunView(run, trials), "new")
        wrong["counter"] += counted.differs
    assert all(is_rate(count, runs, 0.05) for count in wrong.values()), wrong


def spend(trial: Trial, times: float) -> Trial:
    """The trial, its CPU time and its scanned rows multiplied."""
    (record,) = trial.phases
    assert record.profile
    functions = tuple(
        structs.replace(each, samples=round(times * each.samples))
        for each in record.profile.functions
    )
    samples = sum(each.samples for each in functions)
    profile = structs.replace(record.profile, functions=functions, samples=samples)
    rows = 100 * times * count_operations(record)
    read = Reading("work", "rows_read", "rows", "lower", rows, per_operation=False)
    return with_record(trial, profile=profile, readings=(*record.readings, read))


def test_the_interval_of_a_series_mean_leaves_the_truth_out_on_both_sides() -> None:
    rng, out, runs = np.random.default_rng(27), {"below": 0, "above": 0}, 2000
    for _ in range(runs):
        low, high = estimate_series_mean(list(rng.normal(1, 0.1, 36))).compute_ends()
        out["below"] += high < 1
        out["above"] += low > 1
    assert all(0.015 * runs < count and is_rate(count, runs, 0.025) for count in out.values()), out


@pytest.mark.parametrize(("users", "cores"), [(1, 2), (2, 2), (16, 2)])
def test_cpu_time_of_a_server_at_its_limit_explains_all_of_the_time_however_many_users(
    users: int, cores: int
) -> None:
    """Users beyond the cores wait for them, and their waiting is no further time of the server."""
    costs: list[Costs] = [ENGINE, {place: 1.2 * ns for place, ns in ENGINE.items()}]
    trials = []
    for trial, cost in zip(
        make_sampled(costs[0], costs[1], noise=vary(28, 0.1)), itertools.cycle(costs), strict=False
    ):
        (record,) = trial.phases
        at_once = min(users, cores)
        done = round(at_once * record.duration_s * 1e9 / sum(cost.values()))
        tally = structs.replace(
            record.streams[0], connections=users, intended=done, done=done, queries=done
        )
        pinned = Conditions(pinning=PinningCondition(driver=(9,), engine=tuple(range(cores))))
        made = with_record(trial, streams=(tally,))
        trials.append(structs.replace(made, conditions=pinned))
    found = compare_cpu(trials).time_difference_ns
    assert found == pytest.approx(0.2 * sum(ENGINE.values()), rel=0.01)


def test_the_interval_of_a_steps_place_holds_it_in_99_of_100_series() -> None:
    rng, held, runs, wide = np.random.default_rng(29), 0, 1500, []
    for _ in range(runs):
        values = rng.normal(size=30) + np.where(np.arange(30) >= 15, 2.0, 0.0)
        explained = [abs(values[:at].mean() - values[at:].mean()) for at in range(3, 28)]
        first, last = find_place(values, 3 + int(np.argmax(explained)))
        held += first <= 15 <= last
        wide.append(last - first)
    assert is_rate(runs - held, runs, 0.01)
    assert mean(wide) < 12


@pytest.mark.parametrize(("percent", "is_whole"), [(99.0, False), (60.0, False), (100.0, True)])
def test_instructions_are_the_whole_change_from_all_of_it_on(
    percent: float, is_whole: bool
) -> None:
    change = InstructionChange(
        "w", "run", "event", 100.0, 102.0, 2.0, 1.9, 2.1, percent, percent - 9, percent + 9
    )
    (told,) = say_instructions([change])
    assert ("whole change" in told) == is_whole


@pytest.mark.parametrize("of", [6, 8, 11, 20])
def test_a_fair_coin_is_called_unfair_in_5_of_100_throws_at_most(of: int) -> None:
    """Both sides counted: the chance of all numbers of heads whose p value is 5 % or less."""
    chances = {heads: math.comb(of, heads) / 2**of for heads in range(of + 1)}
    unfair = sum(chance for heads, chance in chances.items() if compute_sign_p(heads, of) <= 0.05)
    assert 0.005 < unfair <= 0.05


def test_holm_counts_every_row_that_is_tested() -> None:
    """One p value of 0.02 among ten is no difference; alone it is one."""
    rng = np.random.default_rng(30)
    base = list(rng.normal(1, 0.1, 36))
    shift = 0.0
    alone: dict[CodePlace, list[float]] = {CodePlace("a", ""): base}
    while True:
        shift += 0.002
        raised = {CodePlace("a", ""): [each + shift for each in base]}
        if compare_rows(alone, raised)[0].word == "differs":
            break
    others = {CodePlace(f"b{at}", ""): list(rng.normal(1, 0.1, 36)) for at in range(9)}
    rows = compare_rows(alone | others, raised | others)
    assert "differs" not in {row.word for row in rows}
