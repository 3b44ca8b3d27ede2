"""The commands of docs/guides/profile.md and docs/guides/your-server.md, on servers in use."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import private_servers
import pytest
from click import Group
from profiled_servers import url_of, working
from repository import ROOT

from dyno.cli import command, run_words

pytestmark = [pytest.mark.timeout(180)]

PROFILE, YOURS = ROOT / "docs/guides/profile.md", ROOT / "docs/guides/your-server.md"
#: What the guides call a server, its process, and a file; what a statement is.
_URL = re.compile(r"(postgres|mysql)://\S+|URL|4711|runs/server-profiles/\S+|FILE")
WORK = {
    "postgres": "SELECT count(*) FROM generate_series(1, 300000)",
    "mysql": "SELECT BENCHMARK(300000, MD5('x'))",
}


def list_profiles() -> list[list[str]]:
    """The words of each command of the guide's first box."""
    box = PROFILE.read_text().partition("```\n")[2].partition("```")[0]
    lines = [line for line in box.splitlines() if line.startswith("dyno profile")]
    assert len(lines) >= 4
    return [shlex.split(line, comments=True)[1:] for line in lines]


def list_inline() -> list[list[str]]:
    """The commands in the table of questions."""
    text = YOURS.read_text()
    table = text.partition("## Which to open when")[2].partition("## What each sees")[0]
    found = [shlex.split(it)[1:] for it in re.findall(r"`(dyno [^`]*)`", table)]
    assert len(found) > 4
    return found


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_the_commands_of_the_guides_profile_and_explain_a_server(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with private_servers.serving({"postgres": "postgres-18", "mysql": "mysql-8.0"}[kind]) as server:
        if server.session["password"] is not None:
            monkeypatch.setenv("MYSQL_PWD", server.session["password"])
        kept = tmp_path / "kept.json"
        real = {"4711": str(server.pid), "FILE": str(kept), "SQL": "SELECT 1"}

        def fill(word: str) -> str:
            if word.startswith("runs/"):
                return str(kept)
            return real.get(word, url_of(server.session) if _URL.fullmatch(word) else word)

        def is_meant(words: list[str]) -> bool:
            return not any("://" in it and not it.startswith(kind) for it in words)

        commands = [it for it in (*list_profiles(), *list_inline()) if is_meant(it)]
        played = [it for it in commands if it[0] in ("profile", "explain") and len(it) > 1]
        assert {it[0] for it in played} == {"profile", "explain"}
        with working(server.session, WORK[kind]):
            first = ["profile", url_of(server.session), "--for", "1s", "--output", str(kept)]
            assert run_words(first) == 0, capsys.readouterr().err
            for words in played:
                filled = [fill(it) for it in words]
                is_taken = words[0] == "profile" and filled[1] != str(kept)
                more = ["--for", "1s"] if is_taken else []
                assert run_words([*filled, *more]) == 0, capsys.readouterr().err


def test_every_command_of_the_table_of_questions_exists() -> None:
    for words in list_inline():
        known = command.commands.get(words[0])
        assert known is not None, words
        if isinstance(known, Group) and len(words) > 1:
            assert words[1] in known.commands, words
