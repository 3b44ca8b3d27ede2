"""Waits as time of an operation: what is named, in which order, and what is not judged."""

from __future__ import annotations

from collections.abc import Sequence

from fakes import make_run, make_trials
from judging import judge_unaudited
from msgspec import structs
from sampled_trials import ENGINE, add_profile, change

from dyno.judge.analysis.measures import count_operations
from dyno.judge.analysis.run_view import RunView
from dyno.judge.analysis.waits import compare_waits
from dyno.record import Cause, Reading, Trial, WaitDifference
from dyno.record.waits import SessionState, WaitProfile

BLOCKS = 6
SAMPLES = 100
#: Of a candidate the states met in 100 samples of each block.
States = Sequence[SessionState]
RUNNING = SessionState("running", "", 100)


def make_sampled(old: States, new: States, fsyncs: float = 0.0) -> list[Trial]:
    """Six blocks in which the sides' sessions were met so; `fsyncs` are those of `new`'s operation,
    beside one of the other's.
    """
    sides = {"old": (old, 1.0), "new": (new, 1.0 + fsyncs)}
    trials = make_trials({"new": [0.0 + 0.001 * (at % 2) for at in range(BLOCKS)]})
    return [_with_waits(trial, *sides[trial.candidate]) for trial in trials]


def _with_waits(trial: Trial, states: States, fsyncs: float) -> Trial:
    record = trial.phases[0]
    value = fsyncs * count_operations(record)
    counted = Reading("work", "fsyncs", "fsyncs", "lower", value, per_operation=False)
    profile = WaitProfile(SAMPLES, tuple(states))
    record = structs.replace(record, readings=(*record.readings, counted), waits=profile)
    return structs.replace(trial, phases=(record,))


def find_waits(trials: Sequence[Trial]) -> dict[tuple[str, bool], WaitDifference]:
    found = compare_waits(RunView(make_run(), trials), "new")
    return {(each.kind, each.is_counted): each for each in found}


def find_cause(trials: Sequence[Trial]) -> Cause:
    (cause,) = judge_unaudited(make_run(), trials).causes
    return cause


def compute_own_us(trial: Trial) -> float:
    return trial.phases[0].own_time_ns / 1e3 / count_operations(trial.phases[0])


def test_sampled_sessions_are_time_of_an_operation_and_a_share_of_the_databases() -> None:
    trials = make_sampled([RUNNING], [RUNNING, SessionState("locks", "tuple", 300)])
    wait = find_waits(trials)["locks", False]
    news = [compute_own_us(trial) for trial in trials if trial.candidate == "new"]
    assert abs(wait.candidate_us - 3 * sum(news) / len(news)) < 1e-6 and wait.base_us == 0
    assert wait.differs and wait.low_us <= wait.difference_us <= wait.high_us
    assert (wait.base_share, round(wait.candidate_share or 0, 9)) == (0.0, 0.75)
    assert wait.events == {"tuple": wait.candidate_us}


def test_a_wait_for_locks_is_named_before_counters_and_one_for_files_after_them() -> None:
    locks = SessionState("locks", "tuple", 300)
    told = find_cause(make_sampled([RUNNING], [RUNNING, locks], fsyncs=1.0)).sentence
    assert told.startswith("an operation waits ") and " longer for locks [" in told
    assert told.index("longer for locks") < told.index("more fsyncs")
    files = SessionState("files", "WALSync", 300)
    told = find_cause(make_sampled([RUNNING], [RUNNING, files], fsyncs=1.0)).sentence
    assert told.startswith("an operation takes 1.00 more fsyncs")
    assert "longer for reads and writes of files" in told.partition(";")[2]
    less = find_cause(make_sampled([RUNNING, locks], [RUNNING])).sentence
    assert " µs less for locks [" in less


def test_what_explains_more_of_the_time_than_cpu_time_stands_before_it() -> None:
    """And what explains less, after it: an fsync is taken for 100 µs."""
    trials = make_sampled([RUNNING], [RUNNING], fsyncs=1.0)
    slow, slower = (
        [
            add_profile(trial, change(ENGINE, lex=ns) if trial.candidate == "new" else ENGINE)
            for trial in trials
        ]
        for ns in (5e3, 5e5)
    )
    for sampled, told in ((slow, "an operation takes 1.00 more fsyncs"), (slower, "of +500.0 µs")):
        sentence = find_cause(sampled).sentence
        assert sentence.startswith(told), sentence
        assert "CPU time an operation" in sentence and "more fsyncs" in sentence


def test_running_is_a_row_of_the_table_and_no_wait_of_the_sentence() -> None:
    more = structs.replace(RUNNING, sessions=300)
    trials = make_sampled([RUNNING], [more])
    assert find_waits(trials)["running", False].differs
    assert find_cause(trials).sentence == "no server counter is shown to differ"


def test_a_trial_that_was_not_sampled_leaves_samples_unjudged() -> None:
    trials = make_sampled([RUNNING], [RUNNING, SessionState("locks", "tuple", 300)])
    record = structs.replace(trials[0].phases[0], waits=None)
    trials[0] = structs.replace(trials[0], phases=(record,))
    assert not find_waits(trials)


def test_few_sessions_met_are_chance() -> None:
    trials = make_sampled([RUNNING], [RUNNING, SessionState("locks", "tuple", 1)])
    assert not find_waits(trials)["locks", False].differs


def test_waits_that_the_engine_counted_itself_need_no_samples() -> None:
    trials = []
    for trial in make_sampled([], []):
        record = trial.phases[0]
        us = count_operations(record) * (250.0 if trial.candidate == "new" else 50.0)
        counted = Reading("work", "lock_wait_us", "µs", "lower", us, per_operation=False)
        record = structs.replace(record, readings=(*record.readings, counted), waits=None)
        trials.append(structs.replace(trial, phases=(record,)))
    wait = find_waits(trials)["locks", True]
    assert abs(wait.difference_us - 200.0) < 1e-6 and wait.differs and wait.base_share is None
    assert find_cause(trials).sentence.startswith(
        "an operation waits 200 µs longer for locks [200, 200] (50.0 → 250 µs)"
    )
