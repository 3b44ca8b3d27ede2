"""The audits: clean records are sound, and each injected fault is found where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from audit_records import CLEAN, COUNT, NEW, OLD, a_run, a_trial, engine, findings, only, recorded
from fakes import make_latency, make_phase, make_record, make_tally, make_trial
from msgspec import structs
from ways_to_be_fooled import assert_caught

from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.measures import compute_measures
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import Audit, load_audits
from dyno.record import (
    CLIENT_BASELINE,
    Evidence,
    Interleaving,
    Latency,
    Reading,
    Series,
    Slice,
    Tally,
    Trial,
    Usage,
)

PACKAGE = sorted(load_audits().items())


#: What can be looked at in records of two restarts without readings, settings and conditions.
CHECKABLE = (
    *("client_share", "coordinated_omission", "counters", "dropped_blocks", "errors"),
    *("failed_restarts", "ledger", "noise", "results", "stalls"),
)
#: What they have nothing of: two embedded engines with one primary rate, one after the other.
INAPPLICABLE = (
    *("carry_over", "client_bottleneck", "data_size", "levels", "percentiles", "pilot", "results"),
    *("round_trip", "server_count", "interleaving", "shares", "client_hosts"),
)


@pytest.mark.parametrize(("name", "audit"), PACKAGE)
def test_clean_records_are_sound_and_the_rest_was_not_checked_or_does_not_apply(
    name: str, audit: Audit
) -> None:
    found = findings(name, a_run(), *CLEAN)
    told = {f.soundness for f in found}
    assert told - {"sound"} <= {"not checked", "does not apply"}
    assert ("sound" in told) == (name in CHECKABLE)
    assert ("does not apply" in told) == (name in INAPPLICABLE)
    assert {(f.audit, f.trials) for f in found} == {(name, ())}
    assert all(f.sentence for f in found) and audit.summary


def test_of_a_run_without_a_trial_nothing_was_checked() -> None:
    found = Analysis(RunView(a_run(), ())).findings
    assert {f.audit: f.soundness for f in found} == dict.fromkeys(load_audits(), "not checked")


#: What trials tell by themselves, whatever is in them: that they ended well.
TOLD_BY_TRIALS = ("failed_restarts",)
NOTHING = Latency(0, 0.0, 0, {}, "")


def hollow(number: int, candidate: str, block: int, streams: Sequence[Tally], own_s: int) -> Trial:
    """A trial that ended well, and of which nothing is on record but that streams were there, in
    slices of so many seconds in all (0: not interleaved).
    """
    record = structs.replace(make_record(streams, readings=()), usage=Usage(0, 0, 0, 0, 0))
    if own_s:
        record = structs.replace(record, own_ns=own_s * 10**9, counted_ns=own_s * 10**9)
    return make_trial(number, candidate, block, 1, phases=(record,) if streams else ())


@pytest.mark.parametrize(("name", "audit"), PACKAGE)
@pytest.mark.parametrize("embedded", [True, False])
@pytest.mark.parametrize("way", ["closed", "paced", "interleaved", "counted", "no phase"])
def test_an_audit_with_nothing_to_look_at_says_so_and_never_sound(
    name: str, audit: Audit, embedded: bool, way: str
) -> None:
    none: dict[str, Any] = dict.fromkeys(("intended", "done", "queries", "rows_read"), 0)
    none |= {"latency": NOTHING, "lateness": NOTHING, "series": Series((), (), ())}
    tally = make_tally(1, service_ns=None, target_per_s=9.0 if way == "paced" else None, **none)
    own_s = 10 if way == "interleaved" else 0
    streams = () if way == "no phase" else (tally,)
    phase = make_phase(primary=("rate_per_s", "latency_ns_p99"))
    phase |= {"stop": {"kind": "count", "events": 9}} if way == "counted" else {}
    run = a_run(*(engine(side, embedded=embedded) for side in ("old", "new")), phase=phase)
    run = structs.replace(run, host={})
    if way == "interleaved":
        turns = Interleaving(Slice(0.1, 0.005), epoch_s=1.0, frozen=True)
        run = structs.replace(run, design=structs.replace(run.design, interleaving=turns))
    sides = enumerate(("old", "new") * 6)
    trials = [hollow(at + 2, side, at // 2, streams, own_s) for at, side in sides]
    found = audit.judge(RunView(run, trials))
    assert found and all(each.sentence for each in found)
    assert ("sound" in {each.soundness for each in found}) == (name in TOLD_BY_TRIALS), found
    assert "sound" not in {each.soundness for each in audit.judge(RunView(run, ()))}


@pytest.mark.parametrize(("name", "audit"), PACKAGE)
def test_a_trial_that_failed_is_not_judged(name: str, audit: Audit) -> None:
    broken = structs.replace(a_trial(4, "new", done=0, intended=0), status="failed")
    found, clean = (
        {f.soundness for f in audit.judge(RunView(a_run(), trials))}
        for trials in ((*CLEAN, broken), CLEAN)
    )
    assert found == clean, name


@pytest.mark.parametrize("found", ["6", "8", "", "None", "seven"])
def test_an_engine_that_lost_a_row_is_found_out(found: str) -> None:
    wrong = structs.replace(CLEAN[2], evidence=(Evidence("rows", COUNT, 7, found),))
    finding = only("ledger", a_run(), *CLEAN[:2], wrong)
    assert (finding.soundness, finding.trials) == ("invalid", (3,))
    assert "select on new" in finding.sentence and "trial 3: 7 expected" in finding.sentence


def test_an_engine_may_write_a_whole_number_as_a_decimal() -> None:
    same = structs.replace(CLEAN[2], evidence=(Evidence("rows", COUNT, 7, "7.000"),))
    assert only("ledger", a_run(), *CLEAN[:2], same).soundness == "sound"


def test_missing_evidence_is_doubtful_unless_the_engine_keeps_nothing() -> None:
    bare = structs.replace(CLEAN[2], evidence=())
    finding = only("ledger", a_run(), *CLEAN[:2], bare)
    assert (finding.soundness, finding.trials) == ("doubtful", (3,))
    assert only("ledger", a_run(OLD, engine("new", "null")), bare).soundness == "does not apply"


def test_rows_lost_in_many_trials_are_one_finding_with_the_first_as_example() -> None:
    wrong = [
        structs.replace(a_trial(n, "new"), evidence=(Evidence("rows", COUNT, 7, str(n)),))
        for n in (5, 6)
    ]
    finding = only("ledger", a_run(), *CLEAN, *wrong)
    assert finding.trials == (5, 6) and "the engine says 5" in finding.sentence


def test_one_fault_of_many_trials_is_one_finding() -> None:
    bare = [structs.replace(a_trial(number, "new"), evidence=()) for number in (5, 6, 7)]
    assert only("ledger", a_run(), *CLEAN, *bare).trials == (5, 6, 7)


def _idle(**changes: Any) -> dict[str, Any]:
    empty = {"done": 0, "latency": make_latency(1, 0), "series": Series((), (), ())}
    return {**empty, **changes}


def test_a_trial_that_did_nothing_is_invalid() -> None:
    finding = only("ledger", a_run(), a_trial(3, "new", **_idle(intended=0)))
    assert (finding.soundness, finding.trials) == ("invalid", (3,))


@pytest.mark.parametrize(
    ("baseline_ns", "soundness"),
    [(1_000, "sound"), (4_900, "sound"), (5_100, "doubtful"), (9_100, "invalid")],
)
def test_the_baseline_is_set_against_the_cost_of_an_event(
    baseline_ns: float, soundness: str
) -> None:
    baseline = a_trial(1, CLIENT_BASELINE, cpu_ns=baseline_ns)
    found = findings("client_share", a_run(), baseline, *CLEAN[1:])
    assert {finding.soundness for finding in found} == {soundness}
    if soundness != "sound":
        assert [finding.trials for finding in found] == [(2,), (3,)]


def test_only_the_side_that_is_near_the_baseline_is_blamed() -> None:
    baseline = a_trial(1, CLIENT_BASELINE, cpu_ns=1_000)
    finding = only("client_share", a_run(), baseline, CLEAN[1], a_trial(3, "new", cpu_ns=1_050))
    assert (finding.soundness, finding.trials) == ("invalid", (3,)) and "new" in finding.sentence


def test_events_of_the_warm_up_share_the_cost() -> None:
    trial = a_trial(3, "new", cpu_ns=3_000, warmup=20_000)
    finding = only("client_share", a_run(NEW), a_trial(1, CLIENT_BASELINE, cpu_ns=700), trial)
    assert finding.soundness == "doubtful" and "70 %" in finding.sentence


def test_without_a_baseline_the_share_is_doubtful() -> None:
    found = findings("client_share", a_run(), *CLEAN[1:])
    assert [finding.soundness for finding in found] == ["doubtful", "doubtful"]


def test_a_phase_that_decides_nothing_is_not_judged() -> None:
    run = a_run(OLD, NEW, primary=())
    assert only("client_share", run, *CLEAN[1:]).soundness == "not checked"


def test_a_server_in_its_own_process_has_no_baseline() -> None:
    sides = engine("old", embedded=False), engine("new", embedded=False)
    assert only("client_share", a_run(*sides), *CLEAN[1:]).soundness == "does not apply"


@pytest.mark.parametrize(
    ("service_ns", "soundness"),
    [(9_900_000_000, "sound"), (4_900_000_000, "doubtful"), (0, "invalid"), (None, "invalid")],
)
def test_null_is_judged_by_the_size_that_was_measured(
    service_ns: int | None, soundness: str
) -> None:
    trial = a_trial(3, "new", service_ns=service_ns)
    assert only("client_share", a_run(engine("new", "null")), trial).soundness == soundness


def test_users_who_rest_are_not_the_clients_time() -> None:
    null = a_run(engine("new", "null"))

    def judged(service_ns: int, connections: int, rested_ns: int) -> str:
        stand = {"service_ns": service_ns, "connections": connections, "rested_ns": rested_ns}
        return only("client_share", null, a_trial(3, "new", **stand)).soundness

    assert judged(9_900_000_000, 10, 90_000_000_000) == "sound"
    assert judged(4_900_000_000, 10, 90_000_000_000) == "doubtful"
    assert judged(0, 1, 10_000_000_000) == "not checked", "nobody did anything"
    resting = [structs.replace(t.phases[0].streams[0], rested_ns=1) for t in CLEAN[1:]]
    embedded = [
        structs.replace(t, phases=(structs.replace(t.phases[0], streams=(tally,)),))
        for t, tally in zip(CLEAN[1:], resting, strict=True)
    ]
    unknown = only("client_share", a_run(), *embedded)
    assert unknown.soundness == "not checked", "without a client-only baseline, too"


def test_null_under_a_paced_load_rests_on_purpose() -> None:
    trial = a_trial(3, "new", service_ns=1, target_per_s=1000.0)
    assert only("client_share", a_run(engine("new", "null")), trial).soundness == "not checked"


def _failing_baseline(failed: int) -> Trial:
    """A client-only baseline of which so many of 10,000 events fail, at nine times the cost of
    an event.
    """
    counts = {"done": 10_000 - failed, "failed": failed, "intended": 10_000}
    return a_trial(1, CLIENT_BASELINE, cpu_ns=90_000, **counts)


def test_a_baseline_whose_events_fail_is_none() -> None:
    (finding,) = findings("client_share", a_run(), _failing_baseline(9_900), *CLEAN[1:])
    assert finding.soundness == "not checked"
    assert "without an engine 99 % of its events fail, so it is not a baseline" in finding.sentence
    assert_caught("failed-baseline", [finding])
    again = (_failing_baseline(9_900), a_trial(4, CLIENT_BASELINE, cpu_ns=1_000))
    assert only("client_share", a_run(), *again, *CLEAN[1:]).soundness == "sound"


def test_a_baseline_that_costs_more_than_the_whole_played_something_else() -> None:
    found = findings("client_share", a_run(), _failing_baseline(50), *CLEAN[1:])
    assert "the client takes 900 % of the time, so that played something else" in found[0].sentence
    assert_caught("other-baseline", found)


def test_the_cost_of_events_that_fail_is_not_taken_off_an_engine_s() -> None:
    cost = Reading("process", "server_cpu_us", "µs", "lower", 1e6, True)

    def costs(failed: int) -> float:
        baseline = recorded(_failing_baseline(failed), readings=(cost,))
        numbers = compute_measures(recorded(CLEAN[2], readings=(cost,)), baseline)
        return next(value for m, value in numbers.items() if m.name == "server_cpu_us_per_op")

    assert costs(0) == 0.0
    assert costs(9_900) == pytest.approx(100.0)
