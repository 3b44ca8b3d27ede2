"""The words of a limit: what they mean, and what is refused."""

from __future__ import annotations

import pytest

from dyno.errors import UsageError
from dyno.instruments.capacity.limits import (
    count_events_least,
    count_events_wanted,
    parse_limits,
)


@pytest.mark.parametrize(
    ("words", "kind", "limit"),
    [
        ("p99<10ms", "percentile", 10e6),
        ("p99.9 < 1.5 ms", "percentile", 1.5e6),
        ("P50<=200us", "percentile", 200e3),
        ("mean<2ms", "mean", 2e6),
        ("max<1s", "max", 1e9),
        ("errors<0.1%", "errors", 0.001),
    ],
)
def test_a_limit_is_read_in_its_unit(words: str, kind: str, limit: float) -> None:
    (term,) = parse_limits(words)
    assert term.kind == kind
    assert term.limit == pytest.approx(limit)


def test_several_limits_are_joined_by_commas_or_and() -> None:
    terms = parse_limits("p99<10ms and mean<2ms, errors<1%")
    assert [term.words for term in terms] == ["p99<10ms", "mean<2ms", "errors<1%"]


@pytest.mark.parametrize(
    "words",
    [
        "",
        "p99",
        "p99>10ms",
        "p99<10",
        "p99<10m",
        "p99<0ms",
        "p99<ms",
        "p<10ms",
        "p49<1ms",
        "p100<1ms",
        "q99<1ms",
        "errors<0.1",
        "errors<100%",
        "errors<5ms",
        "mean5<2ms",
        "p9.9.9<1s",
        "p99<10ms,",
        "p99<10ms,p99<20ms",
        "latency<5ms",
        "p99<1.2.3ms",
    ],
)
def test_what_is_no_limit_is_refused_with_a_hint(words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_limits(words)
    assert refused.value.hint or "above 0" in refused.value.message


def test_a_rarer_percentile_needs_more_requests() -> None:
    assert count_events_wanted(parse_limits("p99<1ms")) == 3000
    assert count_events_wanted(parse_limits("p99.9<1ms, p50<1ms")) == 30_000
    assert count_events_least(parse_limits("p99<1ms")) == 500
    assert count_events_least(parse_limits("errors<0.1%")) == 1000
