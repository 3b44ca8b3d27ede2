"""`dyno options` on real servers, and the example of its page, word for word."""

from __future__ import annotations

import re

import pytest
from kit_servers import KitServer, serving
from repository import ROOT

from dyno.cli import run_words

pytestmark = [pytest.mark.timeout(120)]

PAGE = ROOT / "docs/guides/kit/options.md"
URL = "mysql://root@127.0.0.1:3306"


def test_the_example_is_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    with serving("mysql@8.0.33") as server:
        for command, answer in re.findall(r"^\$ dyno (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            assert run_words(command.replace(URL, server.url).split()) == 0
            assert capsys.readouterr().out == answer, command


def test_one_option_of_each_kind_is_set_and_the_others_stay(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def value(name: str) -> str:
        return str(kit_server.one(f"SELECT @@GLOBAL.{name}"))

    def options(*words: str) -> int:
        return run_words(["options", *words, "--dsn", kit_server.url])

    mode, switch = value("sql_mode"), value("optimizer_switch")
    for variable, option in (("sql_mode", "ANSI_QUOTES"), ("optimizer_switch", "mrr")):
        for word in ("on", "off"):
            assert options("set", variable, option, word) == 0
    assert value("sql_mode") == mode
    assert value("optimizer_switch") == re.sub(r"\bmrr=on", "mrr=off", switch)
    assert options("set", "optimizer_switch", "mrr", "default") == 0
    capsys.readouterr()
    assert options("set", "sql_mode", "TRADITIONAL", "on") == 0
    assert options("set", "sql_mode", "NO_ZERO_DATE", "off") == 64
    assert "NO_ZERO_DATE=on" in capsys.readouterr().err
    kit_server.ask(f"SET GLOBAL sql_mode = '{mode}'")
    for words in (("sql_mode", "NONSENSE", "on"), ("port", "a", "on"), ("sql_mode", "'", "on")):
        assert options("set", *words) == 64
    assert value("sql_mode") == mode
    if not kit_server.is_mysql_8:
        assert options("set", "sql_mode", "ANSI_QUOTES", "on", "--persist") == 64
