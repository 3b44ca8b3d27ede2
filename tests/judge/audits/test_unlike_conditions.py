"""Audit `unlike_conditions`: each way in which two candidates are not held alike is listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from audit_records import NEW, OLD, a_run, a_trial, findings, only
from fakes import make_load, make_readings, make_run
from msgspec import structs

from dyno.record import (
    Candidate,
    Conditions,
    ControlCondition,
    DataCondition,
    DriverCondition,
    Finding,
    PinningCondition,
    Reading,
    Trial,
)
from dyno.runs.resolve.design import TURNS

SERVER = structs.replace(OLD, embedded=False)
OTHER = structs.replace(NEW, embedded=False)
ATTACHED = structs.replace(OTHER, build={"address": "//u@h/d", "source": "runs"})
ASKED = structs.replace(OTHER, settings={"cache": "1GB"})
MEMORY = DataCondition(size_bytes=50 << 20, cache_bytes=128 << 20)
LARGE = DataCondition(size_bytes=200 << 20, cache_bytes=128 << 20)
MORE = structs.replace(LARGE, cache_bytes=1 << 30)
SAFE = DataCondition(survives="a power cut")
UNSAFE = DataCondition(survives="nothing")
ON_0 = PinningCondition((1,), (0,))


def trial(number: int, name: str, **conditions: Any) -> Trial:
    known = Conditions(driver=DriverCondition("", "", (), 1), **conditions)
    found = structs.replace(a_trial(number, name), conditions=known)
    return structs.replace(found, block=number // 2)


def judged(ours: dict[str, Any], theirs: dict[str, Any], side: Candidate = OTHER) -> Finding:
    trials = (trial(2, "old", **ours), trial(3, "new", **theirs))
    return only("unlike_conditions", a_run(SERVER, side), *trials)


def held(refused: str = "", set_: str = "on") -> dict[str, ControlCondition]:
    return {"preload": ControlCondition("on", "", "" if refused else set_, refused)}


@pytest.mark.parametrize(
    ("ours", "theirs", "side", "told"),
    [
        ({}, {}, OTHER, ""),
        ({}, {}, ATTACHED, "new runs already, old is started anew for each trial"),
        ({"pinning": ON_0}, {"pinning": ON_0}, OTHER, ""),
        (
            {"pinning": ON_0},
            {"pinning": PinningCondition((1,), ())},
            OTHER,
            "old on core 0, new on any core (not pinned)",
        ),
        ({"pinning": ON_0}, {}, structs.replace(OTHER, controls={"pinning": "off"}), ""),
        ({"pinning": ON_0}, {}, NEW, ""),
        ({"controls": held()}, {"controls": held("no")}, OTHER, "preload not held for new alone"),
        ({"controls": held("no")}, {"controls": held("no")}, OTHER, ""),
        ({"data": MEMORY}, {"data": structs.replace(MEMORY, cache_bytes=1 << 30)}, OTHER, ""),
        ({"data": LARGE}, {"data": MORE}, OTHER, "old has a cache of 134 MB, new has a cache of"),
        ({"data": LARGE}, {"data": MORE}, ASKED, ""),
        ({"data": LARGE}, {"data": MORE}, ATTACHED, "a cache of 1074 MB"),
        ({"data": SAFE}, {"data": UNSAFE}, OTHER, "survives a power cut on old, nothing on new"),
        ({"data": SAFE}, {"data": UNSAFE}, ASKED, ""),
        (
            {"load": make_load()},
            {},
            OTHER,
            "old began with a copy of a load, new began with data just loaded",
        ),
    ],
)
def test_what_is_not_held_alike_is_listed(
    ours: dict[str, Any], theirs: dict[str, Any], side: Candidate, told: str
) -> None:
    found = judged(ours, theirs, side)
    assert found.soundness == ("doubtful" if told else "sound")
    assert told in found.sentence
    assert found.trials == ((3,) if told else ())


def test_only_what_is_known_of_both_is_told_as_alike() -> None:
    def told(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
        trials = (trial(2, "old", **ours), trial(3, "new", **theirs))
        found = findings("unlike_conditions", a_run(SERVER, OTHER), *trials)
        return [each.sentence for each in found]

    sound, unknown = told({"data": MEMORY}, {"data": MEMORY})
    assert sound.endswith("like conditions: placement, memory, files")
    assert "a commit survives (flushes)" in unknown and "fewer than 5 blocks" in unknown
    assert told({"data": MEMORY}, {"data": SAFE})[0].endswith("conditions: placement, files")


def test_all_that_differs_is_one_list() -> None:
    theirs = {"data": MORE, "pinning": PinningCondition((1,), ())}
    found = judged({"data": LARGE, "pinning": ON_0}, theirs, ATTACHED)
    assert found.sentence.startswith("new and old differ in conditions: new runs already")
    assert found.sentence.count("; ") == 2


def with_readings(played: Trial, *more: Reading, **host: float) -> Trial:
    (record,) = played.phases
    readings = (*(make_readings(host) if host else ()), *more)
    return structs.replace(played, phases=(structs.replace(record, readings=readings),))


def crowded(foreign: Sequence[float]) -> list[Trial]:
    """A block for each: others take 2 % beside `old`, and so many points more beside `new`."""
    trials = []
    for block, more in enumerate(foreign):
        for place, (name, extra) in enumerate((("old", 2.0), ("new", 2.0 + more))):
            host = {"steal_ns": 0.0, "busy_ns": 50.0, "idle_ns": 50.0, "own_ns": 50.0 - extra}
            played = structs.replace(trial(2 * block + place + 1, name), block=block)
            trials.append(with_readings(played, **host))
    return trials


@pytest.mark.parametrize(
    ("foreign", "doubtful"),
    [
        ([9.0] * 5, True),
        ([9.0] * 4, False),
        ([2.0] * 5, False),
        ([9.0, 9.0, 9.0, -1.0, 9.0], False),
    ],
)
def test_others_work_counts_where_it_is_on_one_side_in_every_block(
    foreign: list[float], doubtful: bool
) -> None:
    trials = crowded(foreign)
    found = only("unlike_conditions", a_run(SERVER, OTHER), *trials)
    assert (found.soundness == "doubtful") == doubtful
    assert ("others used 2 % beside old and 11 % beside new" in found.sentence) == doubtful


def test_cold_files_count_beside_a_server_that_runs_already() -> None:
    fetched = Reading("process", "read_bytes", "bytes", "lower", 9e7, False)
    old = with_readings(trial(2, "old", data=LARGE), fetched)
    new = with_readings(trial(3, "new", data=LARGE))
    for side in (OTHER, ATTACHED):
        found = only("unlike_conditions", a_run(SERVER, side), old, new)
        assert ("only old fetched its data from storage" in found.sentence) == (side is ATTACHED)


def test_others_work_on_one_side_is_not_checked_where_trials_took_turns() -> None:
    run = structs.replace(a_run(SERVER, OTHER), design=make_run(interleaving=TURNS).design)
    found = findings("unlike_conditions", run, *crowded([9.0] * 6))
    assert [each.soundness for each in found] == ["sound", "not checked"]
    assert "others' work" not in found[0].sentence
    assert "trials were interleaved" in found[1].sentence
