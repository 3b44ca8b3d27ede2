"""The kit and watch on the newest servers, which lack what older ones have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit_servers import serving

from dyno.cli import exit_code

pytestmark = [pytest.mark.timeout(300)]


@pytest.mark.parametrize("version", ["mysql@9.7", "mariadb@11.8"])
def test_every_part_is_installed_and_answers_on_the_newest_servers(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(version) as server:
        assert server.kit("install", "json", "history", "async") == 0
        server.ask(
            "CREATE TABLE dyno.items (id INT PRIMARY KEY, doc TEXT CHARACTER SET utf8mb4)",
            """INSERT INTO dyno.items VALUES (1, '{"a": 1}'), (2, '{"a": 2}')""",
        )
        assert server.kit("index-json", "dyno.items.doc") == 0
        assert server.ask("""CALL kit.search('dyno.items.doc', '{"a": 2}')""")[0][0] == "2"
        server.ask("CALL ps_history.collect()", "CALL ps_history.collect()")
        assert server.one("SELECT COUNT(*) >= 2 FROM ps_history.psh_collections") == "1"
        record = str(tmp_path / "watched")
        watched = ["watch", "--dsn", server.url, "--for", "1s", "--every", "50ms", "--into", record]
        assert exit_code(watched) == 0
        capsys.readouterr()
        asked = ["watch", "as-of", "now", "statement_analysis", "--json", "--from", record]
        assert exit_code(asked) == 0
        assert json.loads(capsys.readouterr().out)
        assert server.kit("uninstall", "json", "history", "async") == 0
