"""Waits for the client are left out of a count, with all that they call."""

from __future__ import annotations

import re
from collections import Counter

from dyno.profile.callgrind import CodeFunction, InstructionProfile, leave_out_waits
from dyno.profile.layers import read_layers


def make_function(name: str) -> CodeFunction:
    return CodeFunction(name, "???", "server")


READ, WAIT, POLL, COPY = map(make_function, ("read", "wait_for(Line*, int)", "poll", "memcpy"))
PROFILE = InstructionProfile(
    Counter({READ: 1000, WAIT: 60, POLL: 30, COPY: 400}),
    Counter({(READ, WAIT): 190, (WAIT, POLL): 30, (WAIT, COPY): 100, (READ, COPY): 300}),
)


def test_a_wait_and_what_it_calls_are_left_out_and_of_shared_functions_its_share() -> None:
    left, waiting = leave_out_waits(PROFILE, re.compile("wait_for"))
    assert (left.own[READ], left.own[WAIT], left.own[POLL], left.own[COPY]) == (1000, 0, 0, 300)
    assert waiting == 190
    assert left.calls == {(READ, COPY): 300}


def test_without_a_wait_a_profile_stays_as_it_is() -> None:
    assert leave_out_waits(PROFILE, None) == (PROFILE, 0)
    left, waiting = leave_out_waits(PROFILE, re.compile("sleep"))
    assert (left.own, waiting) == (PROFILE.own, 0)


def test_servers_know_where_they_wait() -> None:
    for engine in ("postgres", "mysql", "mariadb"):
        assert read_layers(engine).waits is not None
