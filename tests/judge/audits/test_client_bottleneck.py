"""Audit `client_bottleneck`: a driver at its limit is found out, a busy server is no fault."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import (
    make_client_part,
    make_phase,
    make_record,
    make_run,
    make_tally,
    make_trial,
    make_workload,
)
from msgspec import structs

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Candidate, Conditions, Finding, PinningCondition, Reading, Run, Trial

PINNED = Conditions(pinning=PinningCondition(driver=(3,), engine=(0, 1, 2)))


def _run(primary: tuple[str, ...] = ("rate_per_s",)) -> Run:
    side = Candidate("new", "real@1", "real", False, {}, {}, {})
    workload = make_workload("select", [make_phase(primary=primary)])
    return structs.replace(make_run([side], [workload]), host={"cores": "4"})


def _trial(driver: float, server: float | None, connections: int = 8, **tally: Any) -> Trial:
    """Ten seconds with the driver's busiest thread at `driver` %, the server at so much of three
    cores.
    """
    readings = [Reading("client", "driver_busy_percent", "%", "lower", driver, False)]
    if server is not None:
        spent_us = server / 100 * 3 * 10e6
        readings.append(Reading("process", "server_cpu_us", "µs", "lower", spent_us, True))
    streams = [make_tally(1000, connections=connections, **tally)]
    record = make_record(streams, readings=tuple(readings))
    return make_trial(3, "new", 0, 1, phases=(record,), conditions=PINNED)


def _only(run: Run, *trials: Trial) -> Finding:
    (finding,) = load_audits()["client_bottleneck"].judge(RunView(run, trials))
    return finding


@pytest.mark.parametrize(
    ("driver", "server", "soundness"),
    [
        (37.0, 99.0, "sound"),
        (37.0, 40.0, "sound"),
        (60.0, 99.0, "sound"),
        (60.0, 40.0, "doubtful"),
        (97.0, 98.0, "doubtful"),
        (97.0, 40.0, "invalid"),
        (97.0, None, "invalid"),
        (60.0, None, "doubtful"),
        (30.0, None, "sound"),
    ],
)
def test_a_driver_is_judged_beside_its_server(
    driver: float, server: float | None, soundness: str
) -> None:
    finding = _only(_run(), _trial(driver, server))
    assert finding.soundness == soundness
    assert f"{driver:.0f} %" in finding.sentence
    assert finding.trials == (() if soundness == "sound" else (3,))


def test_a_server_can_use_no_more_cores_than_there_are_connections() -> None:
    assert _only(_run(), _trial(60.0, 33.0, connections=1)).soundness == "sound"
    assert _only(_run(), _trial(60.0, 33.0, connections=2)).soundness == "doubtful"


def test_a_paced_driver_rests_on_purpose_until_it_is_at_its_limit() -> None:
    assert _only(_run(), _trial(60.0, 40.0, target_per_s=1e3)).soundness == "sound"
    assert _only(_run(), _trial(95.0, 40.0, target_per_s=1e3)).soundness == "invalid"


def test_users_who_rest_leave_a_driver_that_spins_no_fault() -> None:
    assert _only(_run(), _trial(60.0, 40.0, rested_ns=1)).soundness == "sound"
    assert _only(_run(), _trial(95.0, 40.0, rested_ns=1)).soundness == "invalid"


def test_one_trial_of_many_decides_nothing() -> None:
    calm = [_trial(30.0, 99.0) for _ in range(3)]
    assert _only(_run(), *calm, _trial(97.0, 40.0)).soundness == "sound"


def test_a_phase_that_decides_nothing_is_not_judged() -> None:
    assert _only(_run(primary=()), _trial(97.0, 40.0)).soundness == "not checked"


def test_unpinned_the_server_has_all_the_host_s_cores() -> None:
    free = structs.replace(_trial(60.0, 99.0), conditions=Conditions())
    assert _only(_run(), free).soundness == "doubtful"


def test_a_client_host_at_its_limit_is_named_whatever_the_others_do() -> None:
    trial = _trial(97.0, 40.0)
    (record,) = trial.phases
    parts = (make_client_part("c1", busiest=30.0), make_client_part("c2", busiest=97.0))
    finding = _only(
        _run(), structs.replace(trial, phases=(structs.replace(record, clients=parts),))
    )
    assert finding.soundness == "invalid"
    assert "the busiest thread of client host c2 worked 97 % of the time" in finding.sentence
