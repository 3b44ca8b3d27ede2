"""How numbers are written."""

from __future__ import annotations

import math

import pytest

from dyno import numbers
from dyno.report.html.markup import mark_code


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (912_345, "ns", "912 µs"),
        (999_999, "ns", "1.00 ms"),
        (21.04, "µs", "21.0 µs"),
        (0.5, "ns", "0.500 ns"),
        (41_234, "row/s", "41.2 k/s"),
        (999.96, "row/s", "1.00 k/s"),
        (100, "row/s", "100/s"),
        (12_345_678, "B", "12.3 MB"),
        (612, "B", "612 B"),
        (0.4, "switches", "0.400"),
        (0, "calls", "0"),
        (2.5, "%", "2.50 %"),
        (math.nan, "ns", "—"),
        (math.inf, "row/s", "—"),
    ],
)
def test_a_quantity_has_three_digits_and_a_readable_unit(
    value: float, unit: str, shown: str
) -> None:
    assert numbers.format_quantity(value, unit) == shown


@pytest.mark.parametrize(
    ("percent", "shown"),
    [
        (5.04, "+5.0"),
        (-0.314, "−0.31"),
        (0.0, "0.00"),
        (-1e-9, "0.00"),
        (0.997, "+1.0"),
        (99.96, "+100"),
        (618.2, "+618"),
        (9.2e14, "> +9999"),
        (-math.inf, "−∞"),
    ],
)
def test_a_change_has_its_sign(percent: float, shown: str) -> None:
    assert numbers.format_signed_percent(percent) == shown


@pytest.mark.parametrize(
    ("percent", "shown"),
    [(1.94, "1.9 %"), (0.001, "< 0.01 %"), (1.2e30, "> 9999 %"), (float("nan"), "—")],
)
def test_a_size_in_percent_stays_short(percent: float, shown: str) -> None:
    assert numbers.format_percent(percent) == shown


def test_commands_in_a_sentence_are_code_and_the_rest_is_escaped() -> None:
    said = mark_code("quiet it (`dyno doctor <x>`), or <b>")
    assert said == "quiet it (<code>dyno doctor &lt;x&gt;</code>), or &lt;b&gt;"


def test_no_line_is_broken_before_a_sign_of_percent() -> None:
    said = mark_code("3 % more, % or `x % 3 %`")
    assert said == "3\u00a0% more, % or <code>x % 3 %</code>"
