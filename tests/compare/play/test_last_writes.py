"""Values written last, held against an engine's rows."""

from __future__ import annotations

from dyno.compare.play.evidence import LastWrites, compute_digest
from dyno.driver import WrittenKey, WrittenKeys
from dyno.record import LedgerEntry

ENTRY = LedgerEntry("c", "SELECT id, c FROM t WHERE id IN (?)", written="c")


def last_writes(**values: str) -> LastWrites:
    keys = (
        WrittenKey(int(key[1:]), (compute_digest(value.encode()),)) for key, value in values.items()
    )
    return LastWrites.from_written(WrittenKeys("c", (*keys, WrittenKey(99, ()))))


def test_rows_are_kept_whose_values_were_written_last_with_or_without_blanks() -> None:
    last = last_writes(k1="abc", k3="de")
    assert last.keys == 2
    assert last.build_question(ENTRY) == "SELECT id, c FROM t WHERE id IN (1, 3)"
    assert last.count_kept([["1", "abc  "], ["3", "de"]]) == 2
    assert last.count_kept([["1", "abd"], ["3", None], ["99", "x"]]) == 0


def test_without_a_key_that_is_known_no_row_is_asked_for() -> None:
    assert LastWrites().build_question(ENTRY) == "SELECT id, c FROM t WHERE id IN (NULL)"
