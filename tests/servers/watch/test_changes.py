"""What of a sample is recorded: changes, resets, rows that are gone; and what is asked for it."""

from __future__ import annotations

import pytest

from dyno.servers.watch import mysql, postgres
from dyno.servers.watch.recorder import _Uptime
from dyno.servers.watch.source import CHANGE, GONE, WHOLE, Row, WatchSource, build_question
from dyno.servers.watch.store import Changes, Recorded, SampleTime

SOURCE = WatchSource("t", ("t",), ("k",), ("n", "m"), ("high",), told=("text",), born="high")
PLAIN = WatchSource("t", ("t",), ("k",), ("n", "m"), told=("text",))


def of(changes: Changes, *rows: Row, **look: bool) -> list[Recorded]:
    return changes.record_changes(rows, SampleTime("now", **look))


def test_the_first_sample_is_whole_and_the_next_one_a_change() -> None:
    changes = Changes(PLAIN)
    assert of(changes, ["a", "words", "5", "7"]) == [["now", WHOLE, "a", "words", 5, 7]]
    assert of(changes, ["a", "words", "5", "7"]) == []
    assert of(changes, ["a", "words", "8", "7"]) == [["now", CHANGE, "a", None, 3, 0]]


def test_a_row_that_appears_changed_by_all_that_it_holds() -> None:
    changes = Changes(PLAIN)
    of(changes, ["a", "words", "5", "7"])
    found = of(changes, ["a", "words", "5", "7"], ["b", "more", "2", None])
    assert found == [["now", CHANGE, "b", "more", 2, None]]


@pytest.mark.parametrize("numbers", [["4", "7"], ["9", "1"]])
def test_a_counter_that_fell_began_anew(numbers: list[str]) -> None:
    changes = Changes(PLAIN)
    of(changes, ["a", "words", "5", "7"])
    n, m = map(int, numbers)
    found = of(changes, ["a", "words", *numbers])
    assert found == [["now", WHOLE, "a", "words", n, m], ["now", CHANGE, "a", None, n, m]]


def test_a_row_that_was_born_again_began_anew_though_it_counts_more() -> None:
    changes = Changes(SOURCE)
    of(changes, ["a", "words", "5", "7", "1"])
    found = of(changes, ["a", "words", "6", "8", "2"])
    assert [row[1] for row in found] == [WHOLE, CHANGE]
    assert found[1][4:] == [6, 8, "2"]


def test_after_a_restart_everything_changed_by_what_it_holds() -> None:
    changes = Changes(PLAIN)
    of(changes, ["a", "words", "5", "7"], ["b", "more", "1", "1"])
    found = of(changes, ["a", "words", "6", "9"], restarted=True)
    assert found == [["now", WHOLE, "a", "words", 6, 9], ["now", CHANGE, "a", "words", 6, 9]]
    assert of(changes, ["a", "words", "6", "9"]) == []


def test_a_value_that_falls_is_a_change_and_no_reset() -> None:
    changes = Changes(WatchSource("t", ("t",), ("k",), ("n",), signed=True))
    of(changes, ["a", "5"])
    assert of(changes, ["a", "3"]) == [["now", CHANGE, "a", -2]]


def test_a_row_is_gone_only_if_all_were_asked_for() -> None:
    changes = Changes(PLAIN)
    of(changes, ["a", "words", "5", "7"], ["b", "more", "1", "1"])
    assert of(changes, ["a", "words", "5", "7"], all_rows=False) == []
    assert of(changes, ["a", "words", "5", "7"]) == [["now", GONE, "b", None, None, None]]
    assert of(changes, ["b", "more", "1", "1"], ["a", "words", "5", "7"])[0][1:3] == [CHANGE, "b"]


def test_an_hour_begins_with_whole_values_beside_the_changes() -> None:
    changes = Changes(PLAIN)
    of(changes, ["a", "words", "5", "7"], ["b", "more", "1", "1"])
    found = of(changes, ["a", "words", "6", "7"], ["b", "more", "1", "1"], anew=True)
    assert [(row[1], row[2]) for row in found] == [(WHOLE, "a"), (CHANGE, "a"), (WHOLE, "b")]


def test_rows_of_a_moment_are_recorded_as_they_are() -> None:
    changes = Changes(WatchSource("t", ("t",), words=("a",), sampled=True))
    assert of(changes, ["x"], ["x"]) == [["now", WHOLE, "x"]] * 2


@pytest.mark.parametrize(
    ("up_s", "same"), [(110.0, True), (109.0, True), (106.0, False), (3.0, False)]
)
def test_a_server_that_is_up_for_less_than_awaited_has_restarted(up_s: float, same: bool) -> None:
    assert _Uptime(100.0, 50.0).is_before(_Uptime(up_s, 60.0)) is same


def test_what_a_server_lacks_is_asked_as_null_or_not_at_all() -> None:
    available = {"t": {"k", "n"}}
    asked = build_question(PLAIN, available, "")
    assert asked and asked.whole == "SELECT k, NULL, n, NULL FROM t"
    assert build_question(PLAIN, {}, "") is None
    assert build_question(WatchSource("t", ("t",), needs="z"), available, "") is None
    other = build_question(
        WatchSource("t", ("old", "t"), ("k",), where="n > 0", recent="n > 1"), available, ""
    )
    assert other and other.recent == "SELECT k FROM t WHERE (n > 0) AND (n > 1)"


def test_several_rows_of_one_key_are_added_up_by_the_server() -> None:
    files = WatchSource("f", ("f",), ("k",), ("n",), ("MIN_T", "MAX_T"), several=True)
    asked = build_question(files, {"f": {"k", "n", "min_t", "max_t"}}, "")
    assert asked and asked.whole == "SELECT k, SUM(n), MIN(MIN_T), MAX(MAX_T) FROM f GROUP BY k"


@pytest.mark.parametrize("kind", [mysql, postgres])
def test_the_columns_of_a_source_differ(kind: object) -> None:
    for source in kind.SOURCES:  # type: ignore[attr-defined]
        names = [name for name, _ in source.list_types()]
        assert len(set(names)) == len(names), source.name
