"""List-valued variables: taken apart, compared, and what one is set to."""

from __future__ import annotations

import pytest

from dyno.servers.kit.options import Difference, _format_setting, find_differences, parse_options


def test_flags_and_sets_are_taken_apart_and_nothing_else() -> None:
    found = parse_options(
        {
            "optimizer_switch": "mrr=on,icp=off",
            "sql_mode": "ANSI_QUOTES, STRICT_ALL_TABLES",
            "log_output": "NONE",
            "ssl_cipher": "A-B:C-D",
            "authentication_policy": "*,,",
            "version_comment": "a,b",
            "init_connect": "SET a=1",
        }
    )
    assert found == {
        "log_output": {},
        "optimizer_switch": {"mrr": "on", "icp": "off"},
        "sql_mode": {"ANSI_QUOTES": "on", "STRICT_ALL_TABLES": "on"},
        "ssl_cipher": {"A-B": "on", "C-D": "on"},
    }


def test_what_is_in_one_set_only_is_off_in_the_other_and_unknown_where_there_is_no_set() -> None:
    first = parse_options({"sql_mode": "ANSI_QUOTES", "optimizer_switch": "mrr=on,icp=on"})
    second = parse_options({"sql_mode": "", "optimizer_switch": "mrr=off,bka=on", "old_mode": "X"})
    assert find_differences(first, second) == [
        Difference("old_mode", "X", None, "on"),
        Difference("optimizer_switch", "bka", None, "on"),
        Difference("optimizer_switch", "icp", "on", None),
        Difference("optimizer_switch", "mrr", "on", "off"),
        Difference("sql_mode", "ANSI_QUOTES", "on", "off"),
    ]
    assert find_differences(first, first) == []


@pytest.mark.parametrize(
    ("variable", "option", "value", "text"),
    [
        ("sql_mode", "b", "off", "A,C"),
        ("sql_mode", "D", "on", "A,B,C,D"),
        ("sql_mode", "a", "on", "B,C,a"),
        ("optimizer_switch", "mrr", "off", "mrr=off"),
    ],
)
def test_one_option_is_set_and_the_others_stay(
    variable: str, option: str, value: str, text: str
) -> None:
    known = parse_options({"sql_mode": "A,B,C", "optimizer_switch": "mrr=on,icp=on"})
    assert _format_setting(known, variable, option, value) == text
