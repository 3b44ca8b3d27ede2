"""Audit `carry_over`: what one side loses in slices after another's, and the other does not."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest
from audit_records import NEW, OLD, a_run, engine, findings, with_margin
from fakes import make_record, make_tally, make_trial
from msgspec import structs
from ways_to_be_fooled import assert_caught

from dyno.instruments.time.interleaving import plan_turns
from dyno.instruments.time.switch import iterate_turns
from dyno.judge.analysis.carry_over import carry_over
from dyno.record import Candidate, Finding, Interleaving, Run, Slice, Trial

#: Slices of 5 ms: an epoch has 200 of each side.
TURNS = Interleaving(Slice(0.005, 0.001), epoch_s=1.0, frozen=True)
SLICES = 1000
LOST = {"old": 0.0, "new": 0.05}


def interleaved(turns: Interleaving = TURNS, *sides: Candidate) -> Run:
    return structs.replace(
        a_run(*sides), design=structs.replace(a_run().design, interleaving=turns)
    )


@cache
def follows_own(epoch_s: float, sides: int, block: int, own: int) -> tuple[bool | None, ...]:
    """Slice by slice, as the switch plays them: None where users connected anew before it."""
    turns = structs.replace(TURNS, epoch_s=epoch_s)
    run = interleaved(turns)
    (first, *_) = plan_turns(turns, run, run.workloads[0], block, run.candidates[:1] * sides)
    connecting = sides if first.epoch_turns else 0
    found: list[bool | None] = []
    before: int | None = None
    for number, (who, _) in enumerate(iterate_turns(first)):
        is_slice = not connecting or number % (connecting + first.epoch_turns) >= connecting
        if is_slice and who == own:
            found.append(None if before is None else before == own)
        if len(found) == SLICES:
            break
        before = who if is_slice else None
    return tuple(found)


@dataclass(frozen=True)
class Slices:
    """How many events slices hold: so many on average, spread by `sd` on a host that drifts, and
    fewer by `lost` after another's.
    """

    per_slice: float = 50.0
    sd: float = 0.02
    lost: Mapping[str, float] = field(default_factory=dict)
    blocks: int = 6
    seed: int = 1
    target_per_s: float | None = None


def made(run: Run, given: Slices = Slices()) -> list[Trial]:
    assert run.design.interleaving
    rng = np.random.default_rng(given.seed)
    numbers = itertools.count(1)
    names = [side.name for side in run.candidates]
    trials = []
    for block in range(given.blocks):
        host = np.cumsum(rng.normal(0.0, given.sd / 10, SLICES))
        for own, side in enumerate(names):
            before = follows_own(run.design.interleaving.epoch_s, len(names), block, own)
            follows = np.array(before, dtype=float)
            kept = 1.0 - np.where(follows == 1.0, 0.0, given.lost.get(side, 0.0))
            spread = np.exp(host + rng.normal(0.0, given.sd, SLICES))
            counts = tuple(int(each) for each in rng.poisson(given.per_slice * spread * kept))
            stream = make_tally(sum(counts) / 10, slices=counts, target_per_s=given.target_per_s)
            phases = (make_record([stream]),)
            trials.append(make_trial(next(numbers), side, block, 1.0, order=own, phases=phases))
    return trials


def judged(run: Run, trials: Sequence[Trial]) -> Finding:
    (finding,) = findings("carry_over", run, *trials)
    return finding


def test_one_side_that_loses_five_percent_after_the_others_slices_is_doubtful() -> None:
    finding = judged(interleaved(), made(interleaved(), Slices(lost=LOST, per_slice=1000.0)))
    assert_caught("carry-over", [finding])
    said = re.match(
        r"select/run on new: slices after another's hold (\S+) % fewer", finding.sentence
    )
    assert said and float(said[1]) == pytest.approx(5.0, abs=0.4)
    assert "moves the slowdown by +2." in finding.sentence and "--sequential" in finding.sentence


def test_what_the_base_loses_alone_is_doubtful_too() -> None:
    finding = judged(interleaved(), made(interleaved(), Slices(lost={"old": 0.05})))
    assert finding.soundness == "doubtful" and "slowdown by -2." in finding.sentence


def test_clean_slices_are_sound_and_what_both_sides_lose_alike_is_told() -> None:
    run = interleaved()
    clean = judged(run, made(run, Slices(blocks=10, per_slice=200.0)))
    assert clean.soundness == "sound" and "ramp-in" not in clean.sentence
    alike = judged(
        run, made(run, Slices(blocks=10, per_slice=200.0, lost={"old": 0.05, "new": 0.05}))
    )
    assert alike.soundness == "sound"
    assert "hold 5." in alike.sentence and "the ramp-in is too short" in alike.sentence


def test_a_difference_is_held_against_the_primarys_own_margin() -> None:
    run = with_margin(interleaved(), 20.0)
    assert judged(run, made(run, Slices(lost=LOST))).soundness == "sound"


@pytest.mark.parametrize("turns", [TURNS, structs.replace(TURNS, epoch_s=0.0)])
@pytest.mark.parametrize("further", [(), (engine("other"),)])
def test_the_contrast_knows_what_was_played_before_each_slice(
    turns: Interleaving, further: tuple[Candidate, ...]
) -> None:
    """Of three candidates the order comes again after an odd number of rows."""
    run = interleaved(turns, OLD, NEW, *further)
    block = made(run, Slices(blocks=1, lost=LOST, sd=0.0, per_slice=10_000.0))
    found = carry_over(run, run.workloads[0], "run", {trial.candidate: trial for trial in block})
    expected = {side.candidate: -np.log1p(-LOST.get(side.candidate, 0.0)) for side in block}
    assert found == pytest.approx(expected, abs=0.002)


def test_slices_of_the_warm_up_are_no_part_of_the_counts_but_of_the_order() -> None:
    run = interleaved()
    (phase,) = run.workloads[0].phases
    workload = structs.replace(run.workloads[0], phases=(structs.replace(phase, warmup_s=0.5),))
    trials = []
    for trial in made(run, Slices(blocks=1, lost=LOST, sd=0.0, per_slice=10_000.0)):
        (record,) = trial.phases
        (stream,) = record.streams
        late = structs.replace(stream, slices=stream.slices[100:])
        trials.append(structs.replace(trial, phases=(structs.replace(record, streams=(late,)),)))
    found = carry_over(run, workload, "run", dict(zip(("old", "new"), trials, strict=True)))
    assert found == pytest.approx({"old": 0.0, "new": -np.log(0.95)}, abs=0.002)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (Slices(per_slice=0.05), "too few blocks with 30 events"),
        (Slices(blocks=2), "too few blocks"),
        (Slices(sd=1.0, per_slice=2.0, blocks=3), "too noisy to tell"),
    ],
)
def test_what_cannot_tell_is_not_checked(given: Slices, says: str) -> None:
    finding = judged(interleaved(), made(interleaved(), given))
    assert finding.soundness == "not checked" and says in finding.sentence


def test_records_without_counts_by_slice_are_not_checked() -> None:
    bare = [
        structs.replace(t, phases=(structs.replace(t.phases[0], streams=(make_tally(1000),)),))
        for t in made(interleaved(), Slices(blocks=3))
    ]
    assert judged(interleaved(), bare).soundness == "not checked"


def test_restarts_in_sequence_and_rates_that_are_set_have_nothing_to_carry_over() -> None:
    for run, given, says in (
        (a_run(), Slices(), "one after the other"),
        (interleaved(), Slices(target_per_s=100.0), "the rate was set"),
    ):
        finding = judged(run, made(interleaved(), replace(given, blocks=3)))
        assert finding.soundness == "does not apply" and says in finding.sentence


@pytest.mark.slow
def test_of_two_hundred_runs_of_one_build_about_one_in_a_hundred_is_called_doubtful() -> None:
    run = interleaved()
    doubtful = 0
    for seed in range(200):
        sd, lost = (0.02, 0.0) if seed % 2 else (0.3, 0.05)
        alike = {"old": lost, "new": lost}
        each = made(run, Slices(sd=sd, lost=alike, seed=seed))
        doubtful += judged(run, each).soundness == "doubtful"
    assert doubtful <= 4
