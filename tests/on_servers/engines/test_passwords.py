"""A password in a candidate is found nowhere afterwards, and `resume` asks for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import processes
import pytest
from private_postgres import private

from dyno import driver
from dyno.engines import Server
from dyno.runs.run_folder import RunFolder, list_runs

pytestmark = [pytest.mark.timeout(300)]

#: Unlike any other word; its last signs must be escaped in a URL.
PASSWORD = "pl4nted-s3cret@/"
EXPERIMENT = """
candidates = ["old={url}", "new={url}"]
blocks = 3
limits = {{ steal_percent = 100, foreign_percent = 100 }}
[[workload]]
name = "oltp_write_only"
options = {{ time = 0.4, warmup_time = 0, table_size = 100 }}
"""
DYNO = [sys.executable, "-m", "dyno.cli"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One that runs already, where `ann` is let in by her password alone, into `hers`."""
    with private("18") as server:
        statements = [f"ALTER ROLE ann PASSWORD '{PASSWORD}'", "CREATE DATABASE hers OWNER ann"]
        driver.ask(server.session, ["SET password_encryption = 'scram-sha-256'", *statements])
        yield server


@pytest.fixture
def run_file(server: Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(home))
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    socket = quote(str(server.session["host"]).rpartition("/")[0], safe="")
    file = home / "mine.toml"
    url = f"postgres://ann:{quote(PASSWORD, safe='')}@{socket}/hers"
    file.write_text(EXPERIMENT.format(url=url))
    return file


def _told(folder: Path) -> dict[str, bytes]:
    """Every file of a run, by its name."""
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _without(injected: Mapping[str, bytes]) -> None:
    spellings = [PASSWORD, quote(PASSWORD, safe=""), quote(PASSWORD)]
    for name, content in injected.items():
        for spelling in spellings:
            assert spelling.encode() not in content, name


def _overheard(pid: int) -> dict[str, bytes]:
    """Command line and environment of each process below `pid`, as anybody's `ps` may show them."""
    found = {}
    for each in processes.descendants(pid):
        for name in ("cmdline", "environ"):
            try:
                found[f"{each}/{name}"] = Path(f"/proc/{each}/{name}").read_bytes()
            except OSError:
                continue
    return found


def _good(folder: RunFolder) -> int:
    """Good trials of blocks: an echo is none."""
    return sum(trial.status == "ok" and trial.block >= 0 for trial in folder.read_trials())


def test_no_file_no_line_and_no_process_tells_the_password(run_file: Path, home: Path) -> None:
    command = [*DYNO, "run", str(run_file)]
    heard: dict[str, bytes] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
        while run.poll() is None:
            heard |= _overheard(run.pid)
            time.sleep(0.05)
        assert run.stdout
        said = run.stdout.read()
    (folder,) = list_runs(home)
    assert run.returncode in (0, 1, 2), said.decode()
    assert _good(folder) == 6 and (folder.path / "report.html").is_file()
    assert any(b"dyno-driver" in line for line in heard.values())
    _without({"said": said, **heard, **_told(folder.path)})
    assert b"***" in (folder.path / "run.json").read_bytes()


def test_a_failure_does_not_tell_it_either(run_file: Path, home: Path, server: Server) -> None:
    driver.ask(server.session, ["ALTER ROLE ann NOLOGIN"])
    try:
        done = subprocess.run([*DYNO, "run", str(run_file)], capture_output=True, timeout=60)
    finally:
        driver.ask(server.session, ["ALTER ROLE ann LOGIN"])
    assert done.returncode == 64
    _without({"out": done.stdout, "err": done.stderr})


def test_a_run_that_was_torn_goes_on_with_the_password_from_elsewhere(
    run_file: Path, home: Path
) -> None:
    with subprocess.Popen([*DYNO, "run", str(run_file)], stdout=subprocess.DEVNULL) as run:
        processes.wait_until_found(
            lambda: next(_good(folder) for folder in list_runs(home) if _good(folder))
        )
        run.send_signal(signal.SIGINT)
    (folder,) = list_runs(home)
    command = [*DYNO, "resume", str(folder.path)]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 64
    assert "password" in refused.stderr and "PGPASSWORD" in refused.stderr
    known = {**os.environ, "PGPASSWORD": PASSWORD}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=known)
    assert done.returncode in (0, 1, 2), done.stderr
    assert _good(folder) >= 6
    _without({"said": (done.stdout + done.stderr).encode(), **_told(folder.path)})
