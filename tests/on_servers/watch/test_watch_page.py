"""docs/guides/kit/watch.md: its example is played word for word; `…` stands for what differs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from kit_servers import answer_text, serving
from repository import ROOT

from dyno import driver
from dyno.cli import run_words
from dyno.servers.watch import store

pytestmark = [pytest.mark.timeout(120)]

PAGE = ROOT / "docs/guides/kit/watch.md"
URL = "mysql://root@127.0.0.1:3306"


def test_the_example_is_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(console|sql|sql-duckdb)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert [kind for kind, _ in blocks] == ["console", "sql", "console", "sql-duckdb"]
    with serving("mysql@8.0.33", performance_schema="ON") as server:
        for kind, text in blocks:
            if kind == "sql":
                told = re.findall(r"(.*?);\n((?:-- .*\n)?)", text)
                for (_, answer), rows in zip(told, server_answers(server, told), strict=True):
                    assert answer_text(rows) == answer.removeprefix("-- ").strip()
            elif kind == "console":
                for command, answer in re.findall(r"^\$ dyno (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
                    assert run_words(shlex.split(command.replace(URL, server.url))) == 0
                    said = capsys.readouterr().out
                    assert re.search(pattern(answer), said), said
            else:
                rows = driver.ask(
                    store.open_library(driver.ask, print), [text.strip().rstrip(";")]
                )[0]
                assert rows and all(int(str(n)) > 0 for _, n in rows)


def server_answers(server: object, told: list[tuple[str, str]]) -> list[list[list[str | None]]]:
    session = server.engine.session  # type: ignore[attr-defined]
    return driver.ask(session, [statement for statement, _ in told], 60)


def pattern(answer: str) -> str:
    """Lines as they stand, but that any space may be a line's end."""
    return r"\s+".join(re.escape(word).replace("…", "(?s:.*?)") for word in answer.split())
