"""Databases, tables and keys whose names hold quotes, line ends and what else a server takes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from private_servers import login, serving

from dyno import driver
from dyno.cli import run_words

pytestmark = [pytest.mark.timeout(300)]

NAMES = ("a`b", "a'b\"c", "a\nb", "a;b -- c", "a\\b", "%41", "é\u200b", "x" * 60)
CURRENT = {"postgres": "SELECT current_database()", "mysql": "SELECT DATABASE()"}


@pytest.mark.parametrize("kind", ["mysql-8.0", "postgres-18"])
def test_a_database_of_any_name_is_reached_and_no_other(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    family = kind.partition("-")[0]
    mark = '"' if family == "postgres" else "`"
    with serving(kind) as server:
        where = str(server.session["host"]).replace("/", "%2F")
        for name in NAMES:
            quoted = mark + name.replace(mark, mark * 2) + mark
            driver.ask(server.session, [f"CREATE DATABASE {quoted}"])
            own = {**server.session, "database": name}
            key = f"{mark}k{quoted[1:]}"
            made = f"CREATE TABLE {quoted} ({quoted} int, CONSTRAINT {key} UNIQUE ({quoted}))"
            rows = driver.ask(own, [CURRENT[family], made, f"DROP TABLE {quoted}"])
            assert rows[0] == [[name]]
            url = f"{family}://{login(server.session)}@{where}/{quote(name, safe='')}"
            words = ["play", url, "-w", "oltp_point_select", "--time", "0.2s"]
            options = ["tables=1", "table_size=10", "warmup_time=0"]
            if name in NAMES[:3]:
                said = run_words([*words, *(it for each in options for it in ("--set", each))])
                assert said == 0, capsys.readouterr().err
            driver.ask(server.session, [f"DROP DATABASE {quoted}"])
        for name in ("a\0b", "x" * 70_000):
            with pytest.raises(Exception, match=r"NUL|null|closed|is too long"):
                driver.ask({**server.session, "database": name}, ["SELECT 1"])
