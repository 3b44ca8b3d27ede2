"""Values of answers are equal where they are, however an engine spells them."""

from __future__ import annotations

import pytest

from dyno.answers import matches_number
from dyno.cli.play import describe_ledger
from dyno.instruments.time.evidence import compute_rows_digest
from dyno.record import Evidence, Trial


@pytest.mark.parametrize(
    ("found", "number"),
    [
        ("619348737.0", 619348737),
        ("6.19348737E8", 619348737),
        ("1e3", 1000),
        ("-0", 0),
        ("+7", 7),
        ("6.9999999999999999", 7),
        ("9007199254740993.0", 9007199254740993),
        ("1" + "0" * 500, 10**500),
    ],
)
def test_a_number_is_the_same_in_every_spelling(found: str, number: int) -> None:
    assert matches_number(found, number)


@pytest.mark.parametrize(
    ("found", "number"),
    [
        ("619348737.5", 619348737),
        ("9007199254740993", 9007199254740992),
        ("007", 7),
        ("7 ", 7),
        ("", 0),
        ("None", 0),
        ("nan", 0),
        ("t", 1),
        ("true", 1),
        ("1e999999999", 1),
        ("1" + "0" * 499 + "1", 10**500),
        ("9" * 5000, 9),
    ],
)
def test_another_number_or_none_is_another(found: str, number: int) -> None:
    """A word is no number, as a text of digits that begins with zeros is none."""
    assert not matches_number(found, number)


def test_no_value_is_none_of_them() -> None:
    digests = {compute_rows_digest([[cell]]) for cell in (None, "", "0", "NULL", "None")}
    assert len(digests) == 5


def test_a_play_says_that_a_number_differs_only_where_it_does() -> None:
    def told(found: str) -> list[str]:
        trial = Trial(1, "tpcc", 0, "new", 1, 0, "", "ok", evidence=(seen(found),))
        return describe_ledger(trial)

    def seen(found: str) -> Evidence:
        return Evidence("sum", "SELECT", 619348737, found)

    assert "they differ" not in told("619348737.0")[0]
    assert "they differ" in told("619348738.0")[0] and "they differ" in told("None")[0]
