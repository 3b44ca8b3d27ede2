"""The ledger against made-up tables: lost, torn, in doubt, unknown."""

from __future__ import annotations

import pytest

from dyno.instruments.crash.ledger import NONE, ROWS, CrashLedger


def make_ledger(acknowledged: int, asked: int, workload: str = "transactions") -> CrashLedger:
    """Two clients of whom the second has done nothing."""
    return CrashLedger(workload, "1", 2, {0: acknowledged, 1: 0}, {0: asked, 1: 0})


def make_tables(
    ledger: CrashLedger, count: int
) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """What an engine has that kept the first so many transactions of client 0."""
    rows = dict.fromkeys(range(ROWS), NONE)
    made = [ledger.draw(0, number) for number in range(count)]
    for each in made:
        rows |= dict.fromkeys(each.updated, each.number)
    return {(0, each.number): each.inserted for each in made}, rows


@pytest.mark.parametrize("kept", [9, 10])
def test_what_is_in_doubt_may_be_there_or_not(kept: int) -> None:
    ledger = make_ledger(9, 10)
    gaps = ledger.check(*make_tables(ledger, kept))
    assert (gaps.lost, gaps.torn, gaps.unknown) == ([], [], [])


def test_what_was_acknowledged_and_is_gone_is_lost_by_name() -> None:
    ledger = make_ledger(9, 10)
    gaps = ledger.check(*make_tables(ledger, 7))
    assert gaps.lost == ["commit 7 of client 0", "commit 8 of client 0"]
    assert not gaps.torn and not gaps.unknown and not gaps.passed_count


def test_a_lost_commit_before_one_that_is_kept_is_counted() -> None:
    inserted, rows = make_tables(ledger := make_ledger(9, 10), 10)
    del inserted[0, 7]
    gaps = ledger.check(inserted, rows)
    assert gaps.lost == ["commit 7 of client 0"] and gaps.passed_count == 1


def test_a_part_of_a_transaction_is_torn_acknowledged_or_not() -> None:
    ledger = make_ledger(9, 10)
    number = max(range(10), key=lambda it: ledger.draw(0, it).inserted)
    inserted, rows = make_tables(ledger, 10)
    inserted[0, number] -= 1
    (torn,) = ledger.check(inserted, rows).torn
    assert torn == f"commit {number} of client 0: {inserted[0, number]} of 4 rows"


def test_an_update_that_is_missing_beside_its_inserts_is_torn_and_so_is_the_reverse() -> None:
    ledger = make_ledger(9, 10)
    inserted, rows = make_tables(ledger, 10)
    row = ledger.draw(0, 9).updated[0]
    assert ledger.check(inserted, rows | {row: NONE}).torn
    del inserted[0, 9]
    assert len(ledger.check(inserted, rows).torn) == 2
    del rows[row]
    assert any("is gone" in it for it in ledger.check(inserted, rows).torn)


def test_what_nobody_asked_for_is_unknown() -> None:
    ledger = make_ledger(2, 3, "inserts")
    inserted, rows = make_tables(ledger, 3)
    assert not ledger.check(inserted, rows).unknown
    assert ledger.check(inserted | {(0, 5): 1}, rows).unknown == ["commit 5 of client 0"]
    assert ledger.check(inserted | {(0, 1): 2}, rows).unknown


def test_a_transaction_is_drawn_the_same_again_and_clients_share_no_row() -> None:
    ledger = make_ledger(1, 1)
    assert ledger.draw(1, 5) == ledger.draw(1, 5) != ledger.draw(1, 6)
    for client in (0, 1):
        rows = {row % 2 for number in range(50) for row in ledger.draw(client, number).updated}
        assert rows == {client}
