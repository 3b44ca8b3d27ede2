"""Values of answers are equal where they are, however an engine spells them."""

from __future__ import annotations

import pytest

from dyno.cli.play import describe_ledger
from dyno.compare.play.evidence import compute_rows_digest
from dyno.numbers import are_equal, normalize_value
from dyno.record import Evidence, Trial


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("619348737.0", "619348737"),
        ("6.19348737E8", "619348737"),
        ("1e3", "1000.00"),
        ("-0", "0"),
        ("-0.0", "0.00"),
        ("+7", "7"),
        ("1.10", "1.1000"),
        ("0.30000000000000004", "0.3"),
        ("9007199254740993.0", "9007199254740993"),
        ("t", "1"),
        ("TRUE", "t"),
        ("false", "0"),
        ("2026-11-26 12:00:00.000000", "2026-11-26 12:00:00"),
        ("2026-11-26 12:00:00.50", "2026-11-26 12:00:00.5"),
    ],
)
def test_one_value_in_two_spellings_is_one(one: str, other: str) -> None:
    assert are_equal(one, other)
    assert compute_rows_digest([["a", one]]) == compute_rows_digest([["a", other]])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("619348737.5", "619348737"),
        ("9007199254740993", "9007199254740992"),
        ("007", "7"),
        ("1 ", "1"),
        ("1.2.3", "1.2"),
        ("", "0"),
        ("NULL", ""),
        ("true", "0"),
        ("2026-11-26 12:00:00.5", "2026-11-26 12:00:00"),
        ("2026-11-26", "2026-11-26 00:00:00"),
        ("nan", "0"),
        ("1e999999999", "1"),
    ],
)
def test_two_values_are_two(one: str, other: str) -> None:
    assert not are_equal(one, other)


def test_no_value_is_none_of_them() -> None:
    digests = {compute_rows_digest([[cell]]) for cell in (None, "", "0", "NULL", "None")}
    assert len(digests) == 5


def test_a_long_text_of_digits_stays_what_it_is() -> None:
    assert normalize_value("9" * 5000) == "9" * 5000
    assert not are_equal("1" + "0" * 500, "1" + "0" * 499 + "1")


def test_a_play_says_that_a_number_differs_only_where_it_does() -> None:
    def told(found: str) -> list[str]:
        trial = Trial(1, "tpcc", 0, "new", 1, 0, "", "ok", evidence=(seen(found),))
        return describe_ledger(trial)

    def seen(found: str) -> Evidence:
        return Evidence("sum", "SELECT", 619348737, found)

    assert "they differ" not in told("619348737.0")[0]
    assert "they differ" in told("619348738.0")[0] and "they differ" in told("None")[0]
