"""Audit `settings`: what was asked for is held against what engines report."""

from __future__ import annotations

import pytest
from audit_records import a_run, a_trial, engine, findings
from msgspec.structs import replace


def judged(asked: str, told: str, name: str = "x") -> list[str]:
    """What it says of one candidate that was asked for `x`, and reports `name`."""
    side = replace(engine("new"), settings={"x": asked})
    trial = replace(a_trial(2, "new"), settings={name: told})
    return [each.soundness for each in findings("settings", a_run(side), trial)]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("full", "FULL"),
        ("full", "microtime,query_plan,innodb"),
        ("ALL", "a,b,c"),
        ("mrr=on", "index_merge=on,mrr=on"),
        ("mrr=on,default", "index_merge=on,mrr=on"),
        ("ANSI", "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI"),
        ("'a', 'b'", "b, a (configuration file)"),
        ("on", "1"),
        ("off", ""),
        ("64MB", "65536kB"),
        ("64MB", "63.9MB"),
        ("1GB", "1073741824"),
        ("-1", "4MB"),
    ],
)
def test_a_value_may_be_spelled_in_several_ways(asked: str, told: str) -> None:
    assert judged(asked, told) == ["sound"]


@pytest.mark.parametrize(
    ("asked", "told", "word"),
    [
        ("full", "minimal", "doubtful"),
        ("minimal", "full", "doubtful"),
        ("all", "none", "doubtful"),
        ("ddl", "all", "doubtful"),
        ("FILE", "FILE,TABLE", "doubtful"),
        ("a,b", "a", "doubtful"),
        ("", "auto_explain", "doubtful"),
        ("mrr=on", "index_merge=on,mrr=off", "doubtful"),
        ("100", "101", "invalid"),
        ("64MB", "60s", "invalid"),
        ("64MB", "32MB", "invalid"),
        ("on", "off", "invalid"),
    ],
)
def test_another_value_than_asked_for_is_found(asked: str, told: str, word: str) -> None:
    assert judged(asked, told) == [word]


def test_what_cannot_be_held_against_what_was_asked_is_not_checked() -> None:
    assert judged("64MB", "8192") == ["sound", "not checked"]
    assert judged("on", "on", name="y") == ["sound", "not checked"]
