"""A capacity told: sentences for every outcome, and a page with the curve."""

from __future__ import annotations

import re

from made_rates import make_blocks, make_plan
from msgspec.structs import replace

from dyno.cli.capacity import format_block, format_step
from dyno.instruments.capacity.player import StepTold
from dyno.judge.analysis.capacity import judge_capacity
from dyno.record.capacity import CapacityBlock, CapacityPlan
from dyno.report.capacity import build_answer, build_capacity_result, describe_step
from dyno.report.document import Prose
from dyno.report.html.page import render_result


def render(plan: CapacityPlan, blocks: list[CapacityBlock]) -> str:
    return render_result(build_capacity_result(plan, blocks, judge_capacity(plan, blocks)))


def tell(plan: CapacityPlan, blocks: list[CapacityBlock]) -> str:
    answer = build_answer(plan, judge_capacity(plan, blocks))
    return " ".join(str(it.words) for it in answer if isinstance(it, Prose))


def test_the_verdict_says_how_much_more_capacity_within_which_interval() -> None:
    gains = (1.10, 1.14, 1.12, 1.11, 1.13, 1.12)
    told = tell(make_plan(), make_blocks({"A": (1000,) * 6, "B": [1000 * g for g in gains]}))
    assert "B has more capacity than A: it holds 12 % more [11, 13]." in told
    assert "A holds p99<10ms up to 1,000 events/s [1,000, 1,000] (16 connections, 6 rest" in told


def test_a_server_that_runs_already_has_searches_and_no_restarts() -> None:
    plan, blocks = make_plan(), make_blocks({"A": (1000,) * 6, "B": (1100,) * 6})
    base, other = plan.run.candidates
    theirs = replace(base, build={**base.build, "address": "//me@h/d"})
    plan = replace(plan, run=replace(plan.run, candidates=(theirs, other)))
    told = tell(plan, blocks)
    assert "A holds p99<10ms up to 1,000 events/s [1,000, 1,000] (16 connections, 6 sea" in told
    assert "6 restarts" in told and "A ran already and was not restarted" in told
    page = render(plan, blocks)
    assert "A ran already: its data were loaded anew" in page


def test_a_loss_is_told_without_a_sign_and_with_its_interval_in_order() -> None:
    losses = (0.80, 0.82, 0.81, 0.80, 0.82, 0.81)
    told = tell(make_plan(), make_blocks({"A": (1000,) * 6, "B": [1000 * g for g in losses]}))
    assert "B has less capacity than A: it holds 19 % less [18, 20]." in told


def test_a_limit_that_no_rate_holds_is_said_with_the_lowest_rate_tried() -> None:
    told = tell(make_plan(), make_blocks({"A": (1000,) * 6, "B": (0,) * 6}))
    assert "B has less capacity than A: only A holds the limit." in told
    assert "B holds p99<10ms at no rate: even 30.0 events/s breaks it." in told


def test_an_answer_of_the_drivers_is_refused() -> None:
    told = tell(
        make_plan(), make_blocks({"A": (1000,) * 6, "B": (1000,) * 6}, baselines=(3.0, 2.0))
    )
    assert told.startswith("Invalid: the figures say nothing.")
    assert "the driver, not the server, is the limit: without an engine" in told
    assert "up to" not in told


def test_a_step_says_its_values_and_an_overload_since_when() -> None:
    plan, (block, *_) = make_plan(), make_blocks({"A": (1000,), "B": (0,)})
    held, broke = block.restarts[0].steps
    assert describe_step(plan, held) == "980/s: p99 9.80 ms, holds"
    assert describe_step(plan, broke).endswith("p99 10.2 ms, breaks")


def test_the_line_of_a_search_names_block_step_rate_and_what_is_left() -> None:
    plan, (block, *_) = make_plan(), make_blocks({"B": (2000,), "A": (1000,)})
    step = block.restarts[1].steps[0]
    told = StepTold(0, "A", 1, step, 980.0, None)
    line = "block 1/6  A  step 1  980/s: p99 9.80 ms, holds  between 980 and ?"
    assert format_step(plan, told) == line
    assert format_block(plan, block) == "block 1/6  A 1,000/s  B 2,000/s  4 steps"


def test_the_page_draws_the_curve_with_the_limit_and_the_interval() -> None:
    plan = make_plan()
    rates = {"A": (1000, 1010, 990, 1005, 995, 1000), "B": (1100,) * 6}
    blocks = make_blocks(rates)
    page = render(plan, blocks)
    for part in ("the limit, p99&lt;10ms", 'class="band"', "<circle", 'class="hollow"', "1.1"):
        assert part in page, part
    assert "http" not in re.sub(r"http://www\.w3\.org\S*", "", page.split("<main", 1)[-1])


def test_a_run_without_a_block_says_so_and_has_a_page() -> None:
    plan = make_plan()
    assert "A: no block is over." in tell(plan, [])
    assert "this is what has been measured so far" in tell(plan, [])
    assert "0 of 6 blocks" in render(plan, [])


def test_a_limit_that_holds_in_some_restarts_only_has_no_rate() -> None:
    told = tell(make_plan(["A"]), make_blocks({"A": (1000, 0, 1000, 1000, 1000, 1000)}))
    assert "A holds p99<10ms in some restarts only." in told
    assert "1 of 6 restarts of A held the limit at no rate" in told
