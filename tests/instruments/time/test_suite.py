"""Several candidates and several workloads in one run: Holm to blame, all of them to pass."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from fakes import make_readings, make_record, make_run, make_tally, make_trial, make_workload
from judging import judge_unaudited
from msgspec import structs

from dyno.builds import Build
from dyno.engines.null import Engine
from dyno.instruments.time.job import TrialJob
from dyno.instruments.time.run import Rules, play_run
from dyno.instruments.time.trial import TrialPlayer
from dyno.instruments.time.watch import BlockDropped, Event, Watch
from dyno.judge.analysis.judge import judge
from dyno.record import Run, Trial, Verdict
from dyno.runs.experiment import Experiment, Measuring, Workload, compare_candidates
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

NOISY = {"steal_ns": 1.0, "busy_ns": 1.0, "idle_ns": 1.0, "own_ns": 1.0}
NAMES = ("old", "b", "c")
SUITE = make_run(NAMES, [make_workload("select"), make_workload("update")], analyses=(6,))


def played(slowdowns: dict[tuple[str, str], float]) -> list[Trial]:
    """Six blocks of each workload; what is named is so much slower, the rest as fast."""
    rng = np.random.default_rng(1)
    trials: list[Trial] = []
    for workload in SUITE.workloads:
        for block in range(6):
            for name in NAMES:
                log = slowdowns.get((workload.name, name), 0.0) + rng.normal(0.0, 0.002)
                trial = make_trial(len(trials) + 1, name, block, 1e6 * float(np.exp(-log)))
                trials.append(structs.replace(trial, workload=workload.name))
    return trials


def verdict(**slowdowns: float) -> Verdict:
    return judge_unaudited(
        SUITE, played({("update", name): log for name, log in slowdowns.items()})
    )


def test_a_suite_passes_where_each_of_its_parts_does_and_says_so() -> None:
    found = verdict(b=0.01)
    assert found.overall == "not slower"
    # of each the comparison that is nearest to its margin, by its bound and not by its estimate
    assert "b is not slower than old: update is at most 1." in found.sentence
    assert "(margin 2 %; the others by less); c is not slower than old: " in found.sentence


def test_one_part_that_is_open_keeps_the_suite_from_passing() -> None:
    trials = played({})
    wild = [
        structs.replace(t, phases=(make_record([make_tally(1e6 * (1.1 if t.block % 2 else 0.9))]),))
        if (t.workload, t.candidate) == ("update", "c")
        else t
        for t in trials
    ]
    found = judge_unaudited(SUITE, wild)
    assert found.overall == "inconclusive"
    assert "c may be slower than old or not" in found.sentence
    assert "1 of its 2 primary comparisons is not slower; b is not slower" in found.sentence


def test_one_slower_part_makes_the_suite_slower_by_holm_over_all() -> None:
    found = verdict(c=0.05)
    assert found.overall == "slower"
    assert found.sentence.startswith(
        "c is slower than old: update takes 5.2 % more time [4.8, 5.6]"
    )
    assert min(c.p_value for c in found.comparisons if c.candidate == "c" and c.primary) <= 0.05


@pytest.mark.slow
def test_the_driver_plays_a_suite_and_each_candidate_meets_the_base_in_its_blocks(
    tmp_path: Path,
) -> None:
    """End to end on null: b answers as fast as the base, c five times slower.

    The delays are long beside what a crowded machine adds to each.
    """
    specs = ["a=null@2ms", "b=null@2ms", "c=null@10ms"]
    busy = {"steal_percent": 100.0, "foreign_percent": 100.0}  # tests run beside one another
    measuring = Measuring(50.0, blocks=3, fixed=True, seed=1, limits=busy, aa=True)
    options = {"time": "0", "events": "12", "warmup_time": "0"}
    made: Experiment = compare_candidates(specs, "oltp_point_select", options, measuring)
    kinds = ("simple", "sum", "order", "distinct")
    few_queries = {"point_selects": "2", **{f"{kind}_ranges": "0" for kind in kinds}}
    more = Workload("oltp_read_only", options | few_queries)
    made = dataclasses.replace(made, workloads=(*made.workloads, more))
    prepared = draft_run(made, lambda _: None)
    home = create_run(prepared.run, tmp_path)
    play_run(prepared, home, lambda _: None)
    rows = [c for c in judge(home.read_run(), home.read_trials()).comparisons if c.primary]
    assert {(c.metric.workload, c.base, c.candidate) for c in rows} == {
        (name, "a", rival) for name in ("oltp_point_select", "oltp_read_only") for rival in "bc"
    }
    assert all(c.slowdown_percent > 100 for c in rows if c.candidate == "c")
    assert all(c.p_value <= 1.0 and c.blocks == 3 for c in rows)


def noisy_in(blocks: set[int]) -> TrialPlayer:
    """Plays no engine; the host is noisy in the first attempts at `blocks`."""

    def play(job: TrialJob, watch: Watch) -> tuple[Trial, None]:
        readings = make_readings(NOISY) if job.block in blocks else None
        record = make_record([make_tally(1e6 + job.block)], readings=readings)
        return make_trial(job.number, job.candidate.name, job.block, 1.0, phases=(record,)), None

    return play


@pytest.mark.parametrize(
    ("noisy", "played_blocks", "overall"),
    [({1, 4}, 8, "not slower"), ({0, 2, 4, 6}, 9, "inconclusive")],
)
def test_dropped_blocks_are_played_anew_up_to_half_as_many_again(
    noisy: set[int],
    played_blocks: int,
    overall: str,
    tmp_path: Path,
) -> None:
    events: list[Event] = []
    run: Run = make_run(analyses=(6,))
    engine, build = Engine(lambda *_: []), Build("null", "0us", "1", Path("/bin/true"))
    sides = [c.name for c in run.candidates]
    prepared = Prepared(run, dict.fromkeys(sides, engine), dict.fromkeys(sides, build))
    home = create_run(run, tmp_path)
    play_run(prepared, home, events.append, Rules(play_trial=noisy_in(noisy)))
    dropped = [event.block for event in events if isinstance(event, BlockDropped)]
    found = judge_unaudited(run, home.read_trials())
    assert dropped == sorted(noisy)
    assert len({t.block for t in home.read_trials()}) == played_blocks
    assert (found.overall, len(found.dropped)) == (overall, len(noisy))
    assert ("too noisy" in found.sentence) == (overall == "inconclusive")
