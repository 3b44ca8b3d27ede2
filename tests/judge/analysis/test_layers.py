"""CPU time by layer: which differences are found, how large, and how often by chance."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import make_run
from judging import judge_unaudited
from msgspec import structs
from sampled_trials import ENGINE, Costs, add_profile, change, make_sampled, vary

from dyno.judge.analysis.cpu_samples import ENGINES_OWN, LIBRARIES, UNKNOWN
from dyno.judge.analysis.layer_words import describe_cpu, describe_explained
from dyno.judge.analysis.layers import compare_layers, compute_fieller_share
from dyno.judge.analysis.run_view import RunView
from dyno.profile.layers import ALLOCATION, C_LIBRARY, EXTENSIONS, LOADER
from dyno.record import Cause, Conditions, PinningCondition, Run, Trial
from dyno.record.cause import CpuDifference, ExplainedShare, LayerDifference

#: One analysis of six blocks.
ONE = make_run(analyses=(6,))


def compare(trials: list[Trial], run: Run = ONE) -> CpuDifference:
    (found,) = compare_layers(RunView(run, trials), "new", [])
    return found


def find_layer(found: CpuDifference, name: str) -> LayerDifference:
    return next(row for row in found.layers if row.layer == name)


def find_cause(trials: list[Trial], run: Run = ONE) -> Cause:
    (cause,) = judge_unaudited(run, trials).causes
    return cause


def test_layers_add_up_to_the_whole_on_both_sides_and_in_the_difference() -> None:
    found = compare(make_sampled(ENGINE, change(ENGINE, yyparse=900.0), noise=vary(1, 3)))
    for part in ("base_ns", "candidate_ns", "difference_ns"):
        parts = sum(getattr(row, part) for row in found.layers)
        assert abs(parts - getattr(found.total, part)) < 1e-6
    assert abs(found.total.base_ns - 10_000) < 300


def test_a_planted_cost_is_found_in_its_layer_and_function_and_nowhere_else() -> None:
    found = compare(make_sampled(ENGINE, change(ENGINE, yyparse=900.0), noise=vary(2, 1)))
    assert found.total.word == "costlier"
    first = found.layers[0]
    assert (first.layer, first.word) == ("parser", "costlier")
    assert first.low_ns < 900 < first.high_ns and abs(first.difference_ns - 900) < 0.2 * 900
    assert first.functions[0].name == "yyparse" and first.functions[0].differs
    assert {row.word for row in found.layers[1:]} <= {"not costlier", "undecided"}
    assert find_layer(found, "b-tree").functions[0].differs is False


def test_a_function_that_vanished_and_one_that_is_new_are_differences_too() -> None:
    new = {place: ns for place, ns in ENGINE.items() if place[1] != "lex"} | {
        ("parser", "scan"): 500.0
    }
    parser = find_layer(compare(make_sampled(ENGINE, new, noise=vary(3, 1))), "parser")
    assert parser.word == "cheaper"
    by_name = {each.name: each for each in parser.functions}
    assert by_name["lex"].candidate_ns == 0 and by_name["lex"].differs
    assert by_name["scan"].base_ns == 0 and by_name["scan"].differs


def test_a_cost_that_only_moved_between_layers_is_not_called_costlier() -> None:
    moved = change(ENGINE, yyparse=-500.0, choose_plan=500.0)
    found = compare(make_sampled(ENGINE, moved, noise=vary(4, 0.5)))
    assert found.total.word == "not costlier"
    assert not {row.word for row in found.layers} & {"costlier", "cheaper"}


@pytest.mark.slow
def test_of_equal_builds_intervals_hold_zero_and_words_err_in_at_most_one_run_of_twenty() -> None:
    """1,000 A/A runs: 95 % of layer intervals hold 0, less two standard errors."""
    runs, held, of, named = 1_000, 0, 0, 0
    noise = vary(5, 5)
    for _ in range(runs):
        found = compare(make_sampled(ENGINE, ENGINE, noise=noise))
        held += sum(row.low_ns <= 0 <= row.high_ns for row in found.layers)
        of += len(found.layers)
        changed = [
            row for row in (found.total, *found.layers) if row.word in ("costlier", "cheaper")
        ]
        named += bool(changed)
    assert held / of >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / of)
    assert named / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_planted_differences_are_held_by_their_intervals_in_nineteen_of_twenty_runs() -> None:
    runs, held = 300, 0
    noise = vary(6, 2)
    for _ in range(runs):
        found = compare(make_sampled(ENGINE, change(ENGINE, search=400.0), noise=noise))
        row = find_layer(found, "b-tree")
        held += row.low_ns <= 400 <= row.high_ns
    assert held / runs >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / runs)


def test_layers_that_hold_next_to_nothing_are_not_tested_and_cost_no_certainty() -> None:
    tiny = {(f"layer {at}", f"f{at}"): 1.0 for at in range(20)}
    noise = vary(7, 1)
    few = compare(make_sampled(ENGINE, change(ENGINE, yyparse=900.0), noise=noise))
    more = compare(make_sampled(ENGINE | tiny, change(ENGINE | tiny, yyparse=900.0), noise=noise))
    assert few.tested == more.tested == 5
    words = {row.word for row in more.layers if row.layer.startswith("layer ")}
    assert not words & {"costlier", "cheaper"}
    assert find_layer(more, "parser").word == "costlier"


def test_phases_without_samples_on_one_side_have_no_layers() -> None:
    trials = make_sampled(ENGINE, ENGINE)
    phases = [structs.replace(trial.phases[0], profile=None) for trial in trials]
    none = [
        structs.replace(trial, phases=(phase,)) if trial.candidate == "new" else trial
        for trial, phase in zip(trials, phases, strict=True)
    ]
    assert not compare_layers(RunView(ONE, none), "new", [])


def test_sides_that_were_sampled_differently_are_not_compared() -> None:
    trials = make_sampled(ENGINE, ENGINE)
    unlike = []
    for trial in trials:
        profile = trial.phases[0].profile
        assert profile
        seen = structs.replace(profile, kernel=trial.candidate == "old")
        phase = structs.replace(trial.phases[0], profile=seen)
        unlike.append(structs.replace(trial, phases=(phase,)))
    assert not compare_layers(RunView(ONE, unlike), "new", [])


def test_a_block_in_which_a_side_has_no_sample_is_not_one_without_cpu_time() -> None:
    none = dict.fromkeys(ENGINE, 0.0)
    assert not compare_layers(RunView(ONE, make_sampled(ENGINE, none)), "new", [])


def test_layers_are_tested_only_where_the_whole_surely_differs_by_every_bound() -> None:
    """Student's interval of the whole excludes 0, the one that counts skewness does not."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        tail = 1 + 0.04 * rng.exponential(size=6)
        trials = make_sampled(ENGINE, ENGINE)
        skewed = [
            add_profile(trial, scale(ENGINE, tail[trial.block]))
            if trial.candidate == "new"
            else trial
            for trial in trials
        ]
        found = compare(skewed)
        if found.total.word == "undecided" and found.total.low_ns > 0:
            assert not {row.word for row in found.layers} & {"costlier", "cheaper"}
            return
    raise AssertionError("no such case was met")


def scale(costs: Costs, factor: float) -> Costs:
    return {place: ns * factor for place, ns in costs.items()}


def test_a_layer_that_differs_is_named_though_the_whole_stays_within_its_margin() -> None:
    moved = change(ENGINE, yyparse=400.0, search=-280.0)
    sentence = find_cause(make_sampled(ENGINE, moved, noise=vary(14, 0.1))).sentence
    assert sentence.startswith("of +0.1")
    assert "in the parser" in sentence and "in the b-tree" in sentence


def test_across_engines_only_layers_that_both_have_are_told_apart() -> None:
    other = structs.replace(ONE.candidates[1], engine="other")
    run = structs.replace(ONE, candidates=(ONE.candidates[0], other))
    found = compare(make_sampled(ENGINE, change(ENGINE, search=900.0)), run)
    assert {row.layer for row in found.layers} == {ENGINES_OWN, "kernel: network", UNKNOWN}
    assert found.is_across_engines
    assert {ALLOCATION, C_LIBRARY, EXTENSIONS, LOADER, UNKNOWN} < set(LIBRARIES)


def test_the_sentence_ranks_layers_and_says_what_is_unchanged_and_what_has_no_layer() -> None:
    new = change(ENGINE, yyparse=1_400.0, tcp_sendmsg=900.0)
    cause = find_cause(make_sampled(ENGINE, new, noise=vary(8, 0.2)))
    first, *others = [clause.text for clause in cause.clauses]
    assert first.startswith("of +2.3 µs [")
    assert (
        first.index("in the parser") < first.index("in kernel: network") < first.index("in others")
    )
    assert others[:2] == [
        "the b-tree differs by less than 0.5 % of the whole",
        "5 % of the CPU time has no known layer",
    ]
    assert {clause.table for clause in cause.clauses} == {"layers"}
    assert cause.sentence == "; ".join(clause.text for clause in cause.clauses)


def test_what_has_no_layer_is_that_of_the_side_with_more() -> None:
    new = {**ENGINE, ("other", "scan"): 9_500.0}
    found = compare(make_sampled(ENGINE, new, noise=vary(13, 0.2)))
    assert 50 < found.unattributed_percent < 52


def test_of_several_phases_the_sentence_tells_the_one_that_changed_most_and_where_it_is() -> None:
    cheap = compare(make_sampled(ENGINE, change(ENGINE, yyparse=900.0), noise=vary(15, 0.5)))
    dear = compare(make_sampled(ENGINE, change(ENGINE, yyparse=1_900.0), noise=vary(15, 0.5)))
    by_workload = [structs.replace(dear, workload="update"), cheap]
    first, *others = describe_cpu(by_workload)
    assert " on new in update, " in first
    assert others[-1] == "CPU time differs in 1 further phase"
    by_phase = describe_cpu([structs.replace(dear, phase="second"), cheap])
    assert " on new in second, " in next(by_phase)


def test_where_no_layer_is_certain_the_likeliest_are_told_as_such() -> None:
    more = change(ENGINE, yyparse=200.0, choose_plan=200.0, search=250.0, tcp_sendmsg=250.0)
    cause = find_cause(make_sampled(ENGINE, more, noise=vary(21, 7)))
    assert cause.cpu[0].total.word == "costlier"
    assert not {row.word for row in cause.cpu[0].layers} & {"costlier", "cheaper"}
    assert ", no large part is certain, the likeliest +" in cause.sentence


def test_where_no_layer_is_sampled_the_sentence_ends_in_no_empty_list() -> None:
    found = compare(make_sampled(ENGINE, change(ENGINE, yyparse=1_900.0), noise=vary(15, 0.5)))
    first = next(iter(describe_cpu([structs.replace(found, layers=())])))
    assert first.endswith(", no large part is certain")


@pytest.mark.parametrize("ns", [80.0, -80.0])
def test_what_is_surely_more_or_less_by_less_than_the_margin_is_told_alike(ns: float) -> None:
    """By 0.8 % of all CPU time, of which a margin is 2 %."""
    found = compare(make_sampled(ENGINE, change(ENGINE, yyparse=ns), noise=vary(15, 0.02)))
    assert found.total.low_ns * found.total.high_ns > 0
    word = "slightly costlier" if ns > 0 else "slightly cheaper"
    assert found.total.word == word
    assert next(iter(describe_cpu([found]))).startswith(("of ", f"CPU time is {word}: "))


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (
            (-3.0, -75.0, 70.0),
            "is not shown to explain the difference in time: −3 % [−75, 70] of it",
        ),
        (
            (30.0, -20.0, 80.0),
            "is not shown to explain the difference in time: 30 % [−20, 80] of it",
        ),
        ((-60.0, -75.0, -40.0), "went opposite ways"),
        ((93.0, 85.0, 101.0), "CPU time explains 93 % [85, 101] of the difference in time"),
    ],
)
def test_an_uncertain_share_is_not_told_as_an_explanation_or_as_none(
    share: tuple[float, float, float], told: str
) -> None:
    found = compare(make_sampled(ENGINE, ENGINE, noise=vary(9, 0.5)))
    said = describe_explained(structs.replace(found, explained=ExplainedShare(*share)))
    assert told in said


def test_a_small_layer_that_is_certain_does_not_stand_in_front_of_a_large_one_that_is_not() -> None:
    found = compare(make_sampled(ENGINE, change(ENGINE, tcp_sendmsg=200.0), noise=vary(22, 0.1)))
    network = find_layer(found, "kernel: network")
    assert network.word == "costlier"
    large = structs.replace(
        find_layer(found, "b-tree"), difference_ns=9_000.0, word="undecided", p_value=0.2
    )
    rows = (
        large,
        network,
        *(it for it in found.layers if it.layer not in ("b-tree", network.layer)),
    )
    total = structs.replace(found.total, difference_ns=9_200.0)
    first = next(iter(describe_cpu([structs.replace(found, total=total, layers=rows)])))
    assert "network" not in first and "no large part is certain" in first
    assert first.endswith(" in the b-tree")


def test_many_tiny_functions_do_not_hide_one_that_changed() -> None:
    tiny = {("parser", f"tiny{at}"): 1.0 for at in range(2_000)}
    old, new = {**ENGINE, **tiny}, {**change(ENGINE, yyparse=900.0), **tiny}
    parser = find_layer(compare(make_sampled(old, new, noise=vary(17, 5))), "parser")
    assert parser.functions[0].name == "yyparse" and parser.functions[0].differs


def test_of_equal_builds_the_sentence_names_no_layer() -> None:
    cause = find_cause(make_sampled(ENGINE, ENGINE, noise=vary(9, 0.5)))
    assert cause.sentence.startswith("CPU time is not costlier: ")
    assert "parser" not in cause.sentence


def test_how_much_of_the_time_cpu_explains_is_told_where_time_is_slower_and_nowhere_else() -> None:
    whole = {place: ns / 10 for place, ns in ENGINE.items()}
    dearer = change(whole, yyparse=1_000 * (np.exp(0.1) - 1))
    trials = make_sampled(whole, dearer, slowdown=0.1, noise=vary(10, 0.5))
    on_one_core = Conditions(pinning=PinningCondition((1,), (0,)))
    slower = find_cause([structs.replace(trial, conditions=on_one_core) for trial in trials])
    assert find_cause(trials).cpu[0].explained is None, "nobody knows the cores"
    share = slower.cpu[0].explained
    assert share and share.low_percent < 100 < share.high_percent
    assert "CPU time explains " in slower.sentence
    equal = make_sampled(whole, dearer, noise=vary(10, 0.5))
    equal = [structs.replace(trial, conditions=on_one_core) for trial in equal]
    assert find_cause(equal).cpu[0].explained is None


def test_fiellers_interval_holds_the_share_in_nineteen_of_twenty_and_has_ends_or_is_not_told() -> (
    None
):
    rng, held, runs = np.random.default_rng(11), 0, 1_000
    for _ in range(runs):
        whole = rng.normal(100, 10, 8)
        share = compute_fieller_share(0.6 * whole + rng.normal(0, 5, 8), whole, 0.05)
        held += bool(share and share.low_percent <= 60 <= share.high_percent)
    assert held / runs >= 0.935
    assert compute_fieller_share(whole, rng.normal(0, 10, 8), 0.05) is None


def test_a_small_layer_shows_a_tenth_of_itself() -> None:
    """A slowdown of 1 % of the whole is a tenth of a layer that holds a tenth."""
    costs: Costs = ENGINE | {("log", "flush"): 1_000.0}
    found = compare(make_sampled(costs, change(costs, flush=110.0), noise=vary(12, 0.3)))
    assert find_layer(found, "log").word == "costlier"
