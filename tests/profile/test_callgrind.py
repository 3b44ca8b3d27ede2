"""Callgrind's files: whose instructions are whose."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.errors import HostError
from dyno.profile.callgrind import (
    CodeFunction,
    count_library,
    find_serving,
    parse_profile,
    read_profile,
)

SMALL = Path(__file__).parent.parent / "golden" / "callgrind" / "small.out"
ENGINE, LIBC = "/cache/engine/libengine.so", "/usr/lib/libc.so.6"
PARSE = CodeFunction("parse_statement.part.0", "/src/engine/parser.c", ENGINE)
FIND = CodeFunction("find_row", "/src/engine/parser.c", ENGINE)
MALLOC = CodeFunction("malloc@@GLIBC_2.2.5", "./malloc/malloc.c", LIBC)


def test_a_functions_own_instructions_hold_inlined_code_and_no_calls() -> None:
    profile = read_profile([SMALL])
    assert profile.own[PARSE] == 300 + 40 + 60 + 10
    assert profile.own[FIND] == 500
    assert profile.own[MALLOC] == 100
    assert profile.total == 1166


def test_calls_are_kept_with_all_that_they_cost() -> None:
    calls = read_profile([SMALL]).calls
    assert calls[PARSE, MALLOC] == 150
    assert calls[FIND, PARSE] == 560


def test_a_librarys_count_is_its_own_code_and_what_it_has_others_execute() -> None:
    counts = count_library(read_profile([SMALL]), Path(ENGINE))
    assert counts == {PARSE: 410, FIND: 500, MALLOC: 150}


def test_two_files_add_up() -> None:
    assert read_profile([SMALL, SMALL]).total == 2 * 1166


@pytest.mark.parametrize("text", ["", "Hello\n", "events: Cy\n0 5\n", "events: Ir\nfn=(7)\n0 1\n"])
def test_another_kind_of_file_is_refused(text: str) -> None:
    with pytest.raises(HostError, match="not a callgrind file"):
        parse_profile(text.splitlines())


def test_whoever_did_the_most_serves_the_user() -> None:
    busy, idle = read_profile([SMALL, SMALL]), read_profile([SMALL])
    assert find_serving({"1": idle, "2": busy, "3": idle}) == "2"
