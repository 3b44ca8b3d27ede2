"""Audit `client_hosts`: the start of several hosts, their clocks, and what else ran there."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import (
    SECOND_NS,
    make_client_part,
    make_record,
    make_run,
    make_tally,
    make_trial,
)
from msgspec import structs
from ways_to_be_fooled import assert_caught

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import ClientHost, ClientPart, ClockOffset, Finding

HOSTS = (ClientHost("c1", ("env",)), ClientHost("c2", ("env",)))


def judge(*parts: ClientPart) -> list[Finding]:
    run = structs.replace(make_run(), client_hosts=HOSTS)
    record = structs.replace(make_record([make_tally(100.0)]), clients=parts)
    trials = [
        make_trial(number, run.candidates[0].name, number, 100.0, phases=(record,))
        for number in range(3)
    ]
    return load_audits()["client_hosts"].judge(RunView(run, trials))


def test_a_start_within_microseconds_is_told_with_its_error() -> None:
    parts = (
        make_client_part("c1", foreign_percent=0.5),
        make_client_part("c2", foreign_percent=0.5, last_began_ns=SECOND_NS + 50_000),
    )
    (finding,) = judge(*parts)
    assert finding.soundness == "sound"
    assert "clients on 2 hosts started within 40 µs ± 40 µs" in finding.sentence


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"last_began_ns": 2 * SECOND_NS}, "started within 1,000.0 ms ± 40 µs only"),
        (
            {"clock_after": ClockOffset(SECOND_NS // 10, 20_000, 24)},
            "the clock of client host c2 went by 100.0 ms in a phase",
        ),
        ({"stolen_percent": 40.0}, "client host c2 had 40.0 % steal (limit 5 %)"),
        ({"foreign_percent": 70.0}, "client host c2 had 70.0 % foreign CPU (limit 10 %)"),
    ],
)
def test_a_host_that_was_not_with_the_others_is_named(changes: dict[str, Any], says: str) -> None:
    findings = judge(make_client_part("c1"), make_client_part("c2", **changes))
    assert findings[0].soundness == "doubtful"
    assert says in findings[0].sentence


def test_a_host_that_starts_late_is_a_way_to_be_fooled() -> None:
    late = make_client_part("c2", last_began_ns=2 * SECOND_NS)
    assert_caught("late-host", judge(make_client_part("c1"), late))


def test_what_a_host_does_not_tell_is_not_checked_and_not_sound() -> None:
    findings = judge(make_client_part("c1"), make_client_part("c2", foreign_percent=1.0))
    (unchecked,) = [each for each in findings if each.soundness == "not checked"]
    assert "c1" in unchecked.sentence


def test_one_driver_is_no_client_host() -> None:
    (finding,) = load_audits()["client_hosts"].judge(RunView(make_run(), []))
    assert finding.soundness == "does not apply"
