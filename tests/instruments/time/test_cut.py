"""Events that were cut off without an answer: from the driver's count to where a user reads it."""

from __future__ import annotations

import json
from typing import Any

from fakes import make_record, make_tally, make_trial
from msgspec import structs

from dyno.cli.play import describe_errors
from dyno.record import Tally, Trial, decode
from dyno.record.decode import encode


def cut_off(events: int) -> Trial:
    tally = make_tally(1e6, cut=events, cut_ns_max=13_000_000_000 if events else 0)
    return structs.replace(make_trial(1, "new", 0, 1e6), phases=(make_record([tally]),))


def test_a_trial_says_how_many_events_were_cut_off_and_after_how_long() -> None:
    assert describe_errors(cut_off(0)) == []
    (one,), (four,) = describe_errors(cut_off(1)), describe_errors(cut_off(4))
    assert one.startswith("run reader: 1 event was cut off without an answer")
    assert four.startswith("run reader: 4 events were cut off without an answer")
    assert "the longest after 13" in four and "at least as long" in four


def test_a_record_from_before_the_count_has_none_cut_off() -> None:
    old: dict[str, Any] = json.loads(json.dumps(encode(make_tally(1e6))))
    del old["cut"], old["cut_ns_max"]
    assert decode.decode(Tally, old).cut == 0
