"""What an engine is asked for the ledger: values written last, and rows that a record holds."""

from __future__ import annotations

from dyno.driver import WrittenKey, WrittenKeys
from dyno.driver.plan import Description, Plan, Script
from dyno.instruments.time.evidence import LastWrites, compute_digest, read_ledger
from dyno.instruments.time.job import Tools
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


def test_a_record_holds_few_rows_whole_and_of_more_their_digests() -> None:
    answers: dict[str, list[list[str | None]]] = {
        "SELECT 1": [["1", None]],
        "SELECT 2": [["1"]] * 201,
        "SELECT 3": [["x" * 16_385]],
        "SELECT 4": [],
    }
    ledger = tuple(LedgerEntry(sql, sql) for sql in answers)
    tools = Tools(
        describe=lambda _: Description("", (), (), (), ledger, 0),
        ask=lambda _, statements: [answers[sql] for sql in statements],
    )
    found = read_ledger(Plan({"kind": "sqlite"}, Script(""), 1), {}, (), tools)
    assert [it.rows for it in found] == [(("1", None),), (), (), ()]
    assert [it.found for it in found] == ["1", "201", "1", "0"]
    assert {len(it.digest) for it in found} == {32} and {it.session for it in found} == {"sqlite"}
