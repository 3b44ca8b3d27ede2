"""What settings are known to cost, as data: the tables of the engines, and how values compare."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dyno.judge import settings
from dyno.judge.settings import CLASSES, load_known_costs
from dyno.judge.settings.values import is_same_value

PACKAGE = Path(settings.__file__).parent
TABLES = sorted(PACKAGE.glob("*.toml"))
ENGINES = {"mysql", "mariadb", "postgres", "sqlite", "duckdb"}


@pytest.mark.parametrize("file", TABLES, ids=lambda file: file.stem)
def test_a_table_has_known_classes_a_source_and_a_short_reason_for_each_setting(file: Path) -> None:
    text = file.read_text()
    assert "Source" in text.split("\n\n")[0]
    table = tomllib.loads(text)
    assert set(table) - {"like"} <= set(CLASSES)
    assert [kind for kind in CLASSES if kind in table] == [k for k in table if k != "like"]
    for kind in set(table) - {"like"}:
        for name, why in table[kind].items():
            assert name == name.lower() and 1 <= len(why.split()) <= 9, name


def test_every_engine_has_a_table() -> None:
    assert {file.stem for file in TABLES} == ENGINES
    assert load_known_costs("null").rank(["b", "a"]) == ["a", "b"]


def test_settings_are_ranked_by_cost_and_not_by_the_alphabet() -> None:
    names = ["a_new_one", "enable_sort", "jit", "work_mem", "log_statement", "fsync"]
    ranked = load_known_costs("postgres").rank(names)
    assert ranked == ["fsync", "log_statement", "work_mem", "jit", "enable_sort", "a_new_one"]
    ours = load_known_costs("mariadb").rank(["log_slow_query", "sort_buffer_size", "sync_binlog"])
    assert ours == ["sync_binlog", "log_slow_query", "sort_buffer_size"]


def test_a_pattern_means_all_that_begin_so() -> None:
    cost = load_known_costs("postgres").find("auto_explain.log_min_duration")
    assert cost and cost.kind == "logging"
    assert load_known_costs("postgres").find("log_directory") is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("on", "on (configuration file)", True),
        ("4MB (database)", "4096kB", True),
        ("ON", "on", True),
        ("1min", "60s", True),
        ("off", "", True),
        ("on", "", False),
        ("0", "-1", False),
        ("8192", "64MB", False),
        ("none", "all (configuration file)", False),
    ],
)
def test_values_that_differ_in_their_source_or_spelling_only_are_the_same(
    one: str, other: str, same: bool
) -> None:
    assert is_same_value(one, other) == same
