"""What a block costs beside its slices: interleaved side by side, else one after the other."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from fakes import make_run, make_trials
from judging import judge_unaudited
from msgspec import structs

from dyno.record import Interleaving, Trial
from dyno.report import Book
from dyno.report.block_cost import compute_block_costs, describe_block_cost
from dyno.report.sections.trust import SECTION
from dyno.runs.resolve.design import TURNS
from report.page_text import draw, words

S = 10**9


def timed(trial: Trial, after_s: float) -> Trial:
    """From 0 to 2 s begun and loaded, warm until 3 s, played until 13 s, over `after_s` later."""
    (phase,) = trial.phases
    phase = structs.replace(
        phase, started_ns=4 * S, measured_ns=5 * S, ended_ns=15 * S, counted_ns=4 * S
    )
    over_ns = round((15 + after_s) * S)
    return structs.replace(trial, phases=(phase,), began_ns=2 * S, over_ns=over_ns)


def book(turns: Interleaving | None, after_s: tuple[float, float] = (0.5, 1.5)) -> Book:
    run = make_run()
    run = structs.replace(run, design=structs.replace(run.design, interleaving=turns))
    trials = [timed(t, after_s[t.candidate == "new"]) for t in make_trials({"new": [0.0, 0.0]})]
    return Book(Path(), run, trials, judge_unaudited(run, trials))


def test_interleaved_the_slowest_of_each_part_counts() -> None:
    cost, same = compute_block_costs(book(TURNS))
    assert cost == same
    assert (cost.whole_s, cost.counted_s) == (14.5, 8.0)
    assert (cost.before_s, cost.warmup_s, cost.after_s) == (2.0, 1.0, 1.5)
    assert cost.between_s == pytest.approx(2.0)


def test_one_after_the_other_all_of_them_count() -> None:
    cost, _ = compute_block_costs(book(None))
    assert (cost.whole_s, cost.before_s, cost.warmup_s, cost.after_s) == (28.0, 4.0, 2.0, 2.0)


def test_it_is_told_where_it_is_known_and_of_whole_blocks_only() -> None:
    told = (
        "block took 14 s, of which 8 s are compared; the rest: start and load 2 s, warm-up 1 s, "
        "ramp-ins and pauses 2 s, ledger and stop 1.5 s"
    )
    known = book(TURNS)
    assert describe_block_cost(known) == f"a {told}"
    assert f"A {told}." in words(draw(SECTION, known))
    older = [structs.replace(t, began_ns=0, over_ns=0) for t in known.trials]
    torn = [t for t in known.trials if (t.block, t.candidate) != (1, "new")]
    assert describe_block_cost(dataclasses.replace(known, trials=older)) == ""
    assert len(compute_block_costs(dataclasses.replace(known, trials=torn))) == 1
