"""Engine `null`: its delay, read and refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_callbacks import ask_nothing, say_nothing

from dyno.engines import find_engine
from dyno.engines.null import parse_delay_ns
from dyno.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("200us", 200_000), ("1.5ms", 1_500_000), ("2s", 2_000_000_000), ("7µs", 7_000)],
)
def test_a_delay_is_read_in_ns(text: str, expected: int, tmp_path: Path) -> None:
    engine = find_engine("null", ask_nothing)
    server = engine.start(engine.program(text, {}, say_nothing), tmp_path, {})
    assert server.session == {"kind": "null", "delay_ns": expected}
    assert engine.settings(server) == {"delay_ns": str(expected)}


def test_bare_null_answers_at_once() -> None:
    assert find_engine("null", ask_nothing).program("", {}, say_nothing).facts["delay_ns"] == "0"


@pytest.mark.parametrize("text", ["200", "us", "-5us", "1h", "fast", "1e3us", "61s", ""])
def test_what_is_no_delay_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_delay_ns(text)
    assert caught.value.hint
