"""What a report says of waits, and of what a server did not tell."""

from __future__ import annotations

from fakes import make_record, make_tally
from msgspec import structs

from dyno.record import Cause, WaitDifference
from dyno.record.waits import SessionState, WaitProfile
from dyno.report.render.html import render_html
from dyno.report.sections.cause import build_waits, list_missing

RECORD = make_record([make_tally(10.0)])
LOCKS = WaitDifference(
    *("select", "run", "new", "locks"),
    *(0.0, 120.0, 120.0, 110.0, 130.0, 0.001),
    differs=True,
    base_share=0.0,
    candidate_share=0.4,
    base_events={"tuple": 0.0},
    events={"transactionid": 118.0, "tuple": 2.0, "relation": 0.0},
)


def render(cause: Cause, **changes: object) -> str:
    record = structs.replace(RECORD, **changes)
    return str(render_html(build_waits(cause, "old", "95 % interval", "waits-1", [record])))


def test_a_row_has_both_sides_shares_interval_and_what_was_waited_for() -> None:
    profile = WaitProfile(40, (SessionState("locks", "tuple", 3),), cpu_ns=20_000_000)
    html = render(Cause("new", "", waits=(LOCKS,)), waits=profile)
    assert 'id="waits-1"' in html and "transactionid, tuple</td>" in html
    assert ", 40.0\N{NO-BREAK SPACE}%" in html and "relation" not in html
    assert "Sessions were sampled 40 times" in html and "0.2\N{NO-BREAK SPACE}% of a core" in html


def test_why_sessions_were_not_sampled_is_said() -> None:
    html = render(Cause("new", ""), unread={"waits": "access denied"})
    assert "Sessions were not sampled: access denied." in html and "<table" not in html


def test_rights_that_are_missing_and_counters_of_one_side_are_a_sentence_each() -> None:
    denied = "you need the PROCESS privilege"
    record = structs.replace(RECORD, unread={"contention": denied})
    cause = Cause("new", "", uncounted=("fsyncs", "temporary_bytes"))
    assert list_missing(cause, [record, record]) == [
        f"A server did not tell page splits and lock waits: {denied}.",
        "Not compared, since one side does not count it: fsyncs, temporary bytes.",
    ]
    assert list_missing(Cause("new", ""), [RECORD]) == []
