"""Controls beside a server that runs already: done, or said not to be, and nothing of it set."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import private_mysql
import private_postgres
import pytest
from private_servers import choose_build

from dyno import driver
from dyno.access.url import find_local_pid
from dyno.cli import run_words
from dyno.driver.plan import Session
from dyno.host.controls import NOT_HERE

pytestmark = [pytest.mark.timeout(300)]

PASSWORD = private_postgres.PASSWORD
NOT_OURS = {
    "adaptive_hash_index": "off",
    "allocator": "jemalloc",
    "aslr": "off",
    "niceness": "3",
    "numa": "interleave",
    "page_cache": "drop",
    "thp": "off",
}
#: What a server is set to, and which databases it has.
STATE = {
    "postgres": ["SELECT datname FROM pg_database", "SELECT name, reset_val FROM pg_settings"],
    "mysql": ["SHOW DATABASES", "SELECT @@GLOBAL.innodb_adaptive_hash_index"],
}


@dataclass(frozen=True)
class Theirs:
    """Somebody's server: its owner's session, and the URL of a database for the test."""

    kind: str
    session: Session
    url: str

    def cores(self) -> set[int]:
        """The cores that its process may use."""
        pid = find_local_pid(str(self.session["host"]))
        assert pid is not None
        return os.sched_getaffinity(pid)

    def state(self) -> object:
        return driver.ask(self.session, STATE[self.kind])


@contextmanager
def theirs(kind: str) -> Iterator[Theirs]:
    if kind == "postgres":
        with private_postgres.private("18") as server:
            driver.ask(server.session, ["CREATE DATABASE anns OWNER ann"])
            yield Theirs(kind, server.session, _url("postgres://ann", server.session))
    else:
        text = choose_build("mysql@8.0.33")
        with private_mysql.private(text) as server:
            user = min(private_mysql.USERS[text])
            grants = f"GRANT ALL ON anns.* TO '{user}'@'localhost'"
            driver.ask(server.session, ["CREATE DATABASE anns", grants])
            yield Theirs(kind, server.session, _url(f"mysql://{user}", server.session))


def _url(user: str, session: Session) -> str:
    return f"{user}:{PASSWORD}@{str(session['host']).replace('/', '%2F')}/anns"


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_what_is_not_ours_to_control_is_said_and_left_alone(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    asked = [f"--control={name}={value}" for name, value in {**NOT_OURS, "preload": "on"}.items()]
    size = ["--set", "time=0.3", "--set", "table_size=200", "--blocks", "3", "--aa"]
    with theirs(kind) as server:
        before, cores = server.state(), server.cores()
        sides = [f"one={server.url}", f"two={server.url}"]
        code = run_words(["compare", *sides, "-w", "oltp_read_write", *size, *asked])
        assert (server.state(), server.cores()) == (before, cores)
    said = "".join(capfd.readouterr())
    assert code in (0, 1, 2), said
    assert PASSWORD not in said
    for name, value in NOT_OURS.items():
        assert f"{NOT_HERE}: {name}={value}: the server runs already" in said
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in files if PASSWORD.encode() in file.read_bytes()]
    _recorded(kind, tmp_path)


def _recorded(kind: str, folder: Path) -> None:
    for file in folder.rglob("trials/*.json"):
        trial = json.loads(file.read_text())
        assert trial["status"] == "ok", trial["failure"]
        if trial["block"] < 0:  # the echo is ours, and holds what it would by default
            continue
        for name in NOT_OURS:
            kept = trial["conditions"]["controls"][name]
            assert kept["refused"] and not kept["set"]
        assert bool(trial["conditions"]["controls"]["preload"]["set"]) == (kind == "mysql")
        # a server of this machine is placed as one of ours would be, and put back
        assert trial["conditions"]["controls"]["pinning"]["set"]
        assert trial["conditions"]["pinning"]["engine"]
    (verdict,) = folder.rglob("verdict.json")
    findings = json.loads(verdict.read_text())["findings"]
    assert "invalid" not in {finding["soundness"] for finding in findings}, findings
