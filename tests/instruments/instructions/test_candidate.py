"""A candidate's count: what only the longer play did, by function."""

from __future__ import annotations

from collections import Counter

from dyno.instruments.instructions.candidate import (
    CountedWork,
    find_varied,
    name_calls,
    name_functions,
    subtract_work,
)
from dyno.profile.callgrind import UNKNOWN, CodeFunction
from dyno.profile.layers import read_layers

MOVE = CodeFunction("sqlite3BtreeTableMoveto", UNKNOWN, "libsqlite3.so")
OPEN = CodeFunction("openDatabase", UNKNOWN, "libsqlite3.so")
STEP = CodeFunction("sqlite3_step", UNKNOWN, "libsqlite3.so")


def test_what_both_plays_do_falls_out_of_the_difference() -> None:
    short = CountedWork(10, Counter({MOVE: 1_000, OPEN: 5_000}), 200)
    long = CountedWork(110, Counter({MOVE: 11_000, OPEN: 5_000, STEP: 300}), 700)
    only = subtract_work(short, long)
    assert (only.functions, only.beside) == ({MOVE: 100.0, STEP: 3.0}, 5.0)


def test_calls_are_those_of_the_longer_play_alone_and_trifles_are_left_out() -> None:
    short = CountedWork(10, Counter({MOVE: 1}), 0, Counter({(OPEN, MOVE): 500, (STEP, MOVE): 10}))
    long = CountedWork(
        *(110, Counter({MOVE: 2}), 0),
        Counter({(OPEN, MOVE): 500, (STEP, MOVE): 20_010, (MOVE, OPEN): 1}),
    )
    (call,) = name_calls([subtract_work(short, long).calls])
    assert (call.caller, call.callee, call.instructions) == ("sqlite3_step", MOVE.name, 200.0)


def test_functions_have_the_mean_of_the_repetitions_and_their_layers() -> None:
    repeats = [{MOVE: 100.0, STEP: 3.0}, {MOVE: 102.0, STEP: 3.0}]
    found = name_functions(repeats, read_layers("sqlite"))
    assert [(each.name, each.layer, each.instructions) for each in found] == [
        ("sqlite3BtreeTableMoveto", "b-tree", 101.0),
        ("sqlite3_step", "virtual machine", 3.0),
    ]


def test_functions_that_differ_between_repetitions_are_named_the_widest_first() -> None:
    repeats = [{MOVE: 100.0, STEP: 3.0, OPEN: 1.0}, {MOVE: 101.0, STEP: 9.0, OPEN: 1.0}]
    assert find_varied(repeats) == [
        "sqlite3_step (libsqlite3.so)",
        "sqlite3BtreeTableMoveto (libsqlite3.so)",
    ]
