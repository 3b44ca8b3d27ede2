"""The audits' room: clean records are sound, and each planted fault is found where it lies."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from fakes import make_latency, make_phase, make_record, make_run, make_tally, make_trial

from dyno.audits import Audit, audits
from dyno.record import (
    FLOOR,
    Candidate,
    Evidence,
    Finding,
    Run,
    Series,
    Tally,
    Trial,
    Usage,
    WorkloadPlan,
)

ROOM = sorted(audits().items())
COUNT = "SELECT count(*) FROM t"


def _engine(name: str, engine: str = "real", *, embedded: bool = True) -> Candidate:
    return Candidate(name, f"{engine}@1", engine, embedded, {}, {}, {})


def _run(*sides: Candidate, primary: Sequence[str] = ("rate_per_s",)) -> Run:
    ledger = ({"name": "rows", "sql": COUNT, "counters": {"inserted": 1}},)
    phases = (make_phase(primary=primary),)
    workload = WorkloadPlan("select", "select.lua", "", {}, phases, ledger)
    return dataclasses.replace(make_run(workloads=[workload]), candidates=tuple(sides))


def _trial(number: int, candidate: str, *, cpu_ns: float = 10_000, **tally: Any) -> Trial:
    """1000 events a second for 10 s, at `cpu_ns` each, the engine agreeing that 7 rows exist."""
    usage = Usage(round(cpu_ns * 10_000), 0, 0, 0, 0)
    record = dataclasses.replace(make_record([make_tally(1000, **tally)]), usage=usage)
    block = -1 if candidate == FLOOR else number
    evidence = () if candidate == FLOOR else (Evidence("rows", COUNT, 7, "7"),)
    return make_trial(number, candidate, block, 1, phases=(record,), evidence=evidence)


def _findings(name: str, run: Run, *trials: Trial) -> list[Finding]:
    return audits()[name].judge(run, trials)


def _only(name: str, run: Run, *trials: Trial) -> Finding:
    (finding,) = _findings(name, run, *trials)
    return finding


OLD, NEW = _engine("old"), _engine("new")
CLEAN = (_trial(1, FLOOR, cpu_ns=1_000), _trial(2, "old"), _trial(3, "new"))


@pytest.mark.parametrize(("name", "audit"), ROOM)
def test_clean_records_are_sound(name: str, audit: Audit) -> None:
    (finding,) = audit.judge(_run(OLD, NEW), CLEAN)
    assert (finding.audit, finding.soundness, finding.trials) == (name, "sound", ())
    assert finding.sentence and audit.summary


@pytest.mark.parametrize(("name", "audit"), ROOM)
def test_a_run_without_a_trial_is_not_blamed(name: str, audit: Audit) -> None:
    assert [finding.soundness for finding in audit.judge(_run(OLD, NEW), ())] == ["sound"], name


@pytest.mark.parametrize(("name", "audit"), ROOM)
def test_a_trial_that_failed_is_not_judged(name: str, audit: Audit) -> None:
    broken = dataclasses.replace(_trial(4, "new", done=0, intended=0), status="failed")
    (finding,) = audit.judge(_run(OLD, NEW), (*CLEAN, broken))
    assert finding.soundness == "sound", name


@pytest.mark.parametrize("found", ["6", "8", "", "None", "seven"])
def test_an_engine_that_lost_a_row_is_found_out(found: str) -> None:
    wrong = dataclasses.replace(CLEAN[2], evidence=(Evidence("rows", COUNT, 7, found),))
    finding = _only("ledger", _run(OLD, NEW), *CLEAN[:2], wrong)
    assert (finding.soundness, finding.trials) == ("invalid", (3,))
    assert "select on new" in finding.sentence and "trial 3: 7 counted" in finding.sentence


def test_an_engine_may_write_a_whole_number_as_a_decimal() -> None:
    same = dataclasses.replace(CLEAN[2], evidence=(Evidence("rows", COUNT, 7, "7.000"),))
    assert _only("ledger", _run(OLD, NEW), *CLEAN[:2], same).soundness == "sound"


def test_missing_evidence_is_doubtful_unless_the_engine_keeps_nothing() -> None:
    bare = dataclasses.replace(CLEAN[2], evidence=())
    finding = _only("ledger", _run(OLD, NEW), *CLEAN[:2], bare)
    assert (finding.soundness, finding.trials) == ("doubtful", (3,))
    assert _only("ledger", _run(OLD, _engine("new", "null")), bare).soundness == "sound"


def test_rows_lost_in_many_trials_are_one_finding_with_the_first_as_example() -> None:
    wrong = [
        dataclasses.replace(_trial(n, "new"), evidence=(Evidence("rows", COUNT, 7, str(n)),))
        for n in (5, 6)
    ]
    finding = _only("ledger", _run(OLD, NEW), *CLEAN, *wrong)
    assert finding.trials == (5, 6) and "the engine says 5" in finding.sentence


def test_one_fault_of_many_trials_is_one_finding() -> None:
    bare = [dataclasses.replace(_trial(number, "new"), evidence=()) for number in (5, 6, 7)]
    assert _only("ledger", _run(OLD, NEW), *CLEAN, *bare).trials == (5, 6, 7)


@pytest.mark.parametrize(
    ("failed", "soundness"),
    [(0, "sound"), (90, "sound"), (150, "doubtful"), (9_000, "doubtful"), (11_000, "invalid")],
)
def test_failed_events_are_judged_by_their_share(failed: int, soundness: str) -> None:
    errors = {"BUSY": failed} if failed else {}
    trial = _trial(3, "new", failed=failed, intended=10_000 + failed, errors=errors)
    finding = _only("ledger", _run(OLD, NEW), *CLEAN[:2], trial)
    assert finding.soundness == soundness
    assert soundness == "sound" or (finding.trials == (3,) and "BUSY" in finding.sentence)


def _idle(**changes: Any) -> dict[str, Any]:
    empty = {"done": 0, "latency": make_latency(1, 0), "series": Series((), (), ())}
    return {**empty, **changes}


def test_a_trial_that_did_nothing_is_invalid() -> None:
    finding = _only("ledger", _run(OLD, NEW), _trial(3, "new", **_idle(intended=0)))
    assert (finding.soundness, finding.trials) == ("invalid", (3,))


def test_a_stream_that_never_began_is_doubtful() -> None:
    idle = make_tally(1000, name="writer", **_idle(intended=500, skipped=500))
    busy = CLEAN[2].phases[0]
    phase = dataclasses.replace(busy, streams=(*busy.streams, idle))
    trial = dataclasses.replace(CLEAN[2], phases=(phase,))
    finding = _only("ledger", _run(OLD, NEW), trial)
    assert finding.soundness == "doubtful" and "writer" in finding.sentence


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"latency": make_latency(1.0, 9_999)},
            "histogram and its count differ (trial 3: 9999 and 10000",
        ),
        (
            {"series": Series((1, 2), (0, 0), (1, 1))},
            "seconds and its count differ (trial 3: 3 and",
        ),
        (
            {"transactions": {"a": make_latency(1.0, 1)}},
            "types and its count differ (trial 3: 1 and",
        ),
    ],
)
def test_accounts_that_differ_are_invalid(changes: dict[str, Any], words: str) -> None:
    finding = _only("ledger", _run(OLD, NEW), *CLEAN[:2], _trial(3, "new", **changes))
    assert finding.soundness == "invalid" and words in finding.sentence


def test_events_that_do_not_add_up_are_invalid() -> None:
    tally: Tally = make_tally(1000)
    object.__setattr__(tally, "intended", 10_001)
    trial = dataclasses.replace(CLEAN[2], phases=(make_record([tally]),))
    finding = _only("ledger", _run(OLD, NEW), *CLEAN[:2], trial)
    assert finding.soundness == "invalid" and "10001 intended" in finding.sentence


@pytest.mark.parametrize(
    ("floor_ns", "soundness"),
    [(1_000, "sound"), (4_900, "sound"), (5_100, "doubtful"), (9_100, "invalid")],
)
def test_the_floor_is_set_against_the_cost_of_an_event(floor_ns: float, soundness: str) -> None:
    floor = _trial(1, FLOOR, cpu_ns=floor_ns)
    findings = _findings("client_share", _run(OLD, NEW), floor, *CLEAN[1:])
    assert {finding.soundness for finding in findings} == {soundness}
    if soundness != "sound":
        assert [finding.trials for finding in findings] == [(2,), (3,)]


def test_only_the_side_that_is_near_the_floor_is_blamed() -> None:
    floor = _trial(1, FLOOR, cpu_ns=1_000)
    finding = _only("client_share", _run(OLD, NEW), floor, CLEAN[1], _trial(3, "new", cpu_ns=1_050))
    assert (finding.soundness, finding.trials) == ("invalid", (3,)) and "new" in finding.sentence


def test_events_of_the_warm_up_share_the_cost() -> None:
    trial = _trial(3, "new", cpu_ns=3_000, warmup=20_000)
    finding = _only("client_share", _run(NEW), _trial(1, FLOOR, cpu_ns=700), trial)
    assert finding.soundness == "doubtful" and "70 %" in finding.sentence


def test_without_a_floor_the_share_is_doubtful() -> None:
    findings = _findings("client_share", _run(OLD, NEW), *CLEAN[1:])
    assert [finding.soundness for finding in findings] == ["doubtful", "doubtful"]


def test_a_phase_that_decides_nothing_is_not_judged() -> None:
    run = _run(OLD, NEW, primary=())
    assert _only("client_share", run, *CLEAN[1:]).soundness == "sound"


def test_a_server_in_its_own_process_has_no_floor() -> None:
    sides = _engine("old", embedded=False), _engine("new", embedded=False)
    assert _only("client_share", _run(*sides), *CLEAN[1:]).soundness == "sound"


@pytest.mark.parametrize(
    ("service_ns", "soundness"),
    [(9_900_000_000, "sound"), (4_900_000_000, "doubtful"), (0, "invalid"), (None, "invalid")],
)
def test_null_is_judged_by_the_dose_that_was_measured(
    service_ns: int | None, soundness: str
) -> None:
    trial = _trial(3, "new", service_ns=service_ns)
    assert _only("client_share", _run(_engine("new", "null")), trial).soundness == soundness


def test_null_under_a_paced_load_rests_on_purpose() -> None:
    trial = _trial(3, "new", service_ns=1, target_per_s=1000.0)
    assert _only("client_share", _run(_engine("new", "null")), trial).soundness == "sound"
