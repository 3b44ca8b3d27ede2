"""The judge on several comparisons: primaries among many, what is explored, paced writers."""

from __future__ import annotations

import pytest
from fakes import (
    make_phase,
    make_readings,
    make_record,
    make_run,
    make_tally,
    make_trial,
    make_trials,
    make_workload,
)
from judging import analyse_unaudited, judge_unaudited, logs, primary
from msgspec import structs

from dyno.record import Trial


def test_a_primary_may_have_a_margin_of_its_own() -> None:
    phase = make_phase()
    phase["primary"][0]["margin_percent"] = 8.0
    trials = make_trials({"new": logs(0.05, 0.005, 10)})
    verdict = judge_unaudited(make_run(workloads=[make_workload(phases=[phase])]), trials)
    assert (primary(verdict).verdict, primary(verdict).margin_percent) == ("not slower", 8.0)


def test_every_workload_needs_its_blocks() -> None:
    run = make_run(workloads=[make_workload("select"), make_workload("update")])
    trials = make_trials({"new": [0.0] * 6})
    now = analyse_unaudited(run, trials)
    assert now.missing == {"select": 0, "update": 6}
    verdict = judge_unaudited(run, trials)
    assert (verdict.overall, verdict.complete) == ("inconclusive", False)


def test_holm_asks_more_of_a_primary_among_many() -> None:
    alone = judge_unaudited(make_run(analyses=(6,)), make_trials({"b": logs(0.02, 0.018, 6)}))
    assert alone.overall == "inconclusive"  # candidate "new" was never played
    values = {name: logs(0.03 if name == "b" else 0.0, 0.024, 6) for name in "bcd"}
    one = judge_unaudited(make_run(["old", "b"], analyses=(6,)), make_trials({"b": values["b"]}))
    many = judge_unaudited(make_run(["old", "b", "c", "d"], analyses=(6,)), make_trials(values))
    assert primary(one, "b").verdict == "slower"
    assert primary(many, "b").verdict == "inconclusive"
    assert primary(many, "b").p_value == pytest.approx(3 * primary(one, "b").p_value, rel=0.01)
    assert primary(many, "b").mde80_percent > primary(one, "b").mde80_percent
    assert any("among 3 primaries" in note for note in primary(many, "b").notes)


def test_the_worst_primary_is_the_verdict() -> None:
    trials = make_trials({"b": logs(0.05, 0.005, 6), "c": logs(0.0, 0.005, 6)})
    assert judge_unaudited(make_run(["old", "b", "c"]), trials).overall == "slower"


def test_what_is_explored_never_sets_the_verdict() -> None:
    trials = [
        structs.replace(
            trial,
            phases=(
                make_record(
                    [make_tally(1000.0)],
                    readings=make_readings(server_cpu_us=2.0 if trial.candidate == "new" else 1.0),
                ),
            ),
        )
        for trial in make_trials({"new": [0.0] * 10})
    ]
    verdict = judge_unaudited(make_run(), trials)
    cost = next(c for c in verdict.comparisons if c.metric.name == "server_cpu_us_per_op")
    assert (cost.primary, cost.verdict, verdict.overall) == (False, "slower", "not slower")


def paced(done: int, candidate: str) -> Trial:
    """A phase with a paced writer that was to play 1000 events, beside a reader."""
    intended = {"intended": 1000, "done": done, "skipped": 1000 - done, "target_per_s": 100.0}
    writer = make_tally(100.0, name="writer", **intended)
    rate = 900.0 if candidate == "new" else 1000.0
    streams = [writer, make_tally(rate)]
    return make_trial(1, candidate, 0, 1.0, phases=(make_record(streams),))


@pytest.mark.parametrize("done,word", [(940, "inconclusive"), (960, "slower")])
def test_a_phase_whose_paced_writers_fell_behind_gets_no_verdict(done: int, word: str) -> None:
    phase = make_phase()
    writer = phase["streams"][0] | {
        "name": "writer",
        "role": "writer",
        "pace": {"kind": "uniform", "rate_per_s": 100.0},
    }
    phase["streams"].append(writer)
    phase["primary"].append({"stream": "writer", "metric": "rate_per_s", "margin_percent": None})
    run = make_run(workloads=[make_workload(phases=[phase])])
    trials = [
        structs.replace(paced(done, name), block=block, number=2 * block + place)
        for block in range(6)
        for place, name in enumerate(["old", "new"])
    ]
    verdict = judge_unaudited(run, trials)
    assert [c.verdict for c in verdict.comparisons if c.primary] == [word]
    assert analyse_unaudited(run, trials).state == "decided"
