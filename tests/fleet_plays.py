"""Runs over a cluster as a user starts them, and what is known of them while they play."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import DRIVER, descendants

DYNO = Path(sys.executable).with_name("dyno")
LIMIT_S = 300
#: Small, and of a script of the user's own; hosts of one machine disturb each other.
EXPERIMENT = """
name = "tiny"
candidates = ["null@50us", "null@51us"]
blocks = %s
seed = 7
sequential = true
limits = { foreign_percent = 100, steal_percent = 100 }

[[workload]]
name = "scripts/own.lua"
options = { time = "%s", warmup_time = "0", threads = "1" }
"""
SCRIPT = """
require("own_part")
function event() con:query("SELECT " .. part()) end
function thread_init() con = sysbench.sql.driver():connect() end
"""


def write_experiment(folder: Path, time_s: float = 0.2, blocks: int = 3) -> Path:
    """An experiment with a script beside it, which requires another one."""
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "scripts" / "own.lua").write_text(SCRIPT)
    (folder / "scripts" / "own_part.lua").write_text("function part() return 1 end\n")
    file = folder / "tiny.toml"
    file.write_text(EXPERIMENT % (blocks, time_s))
    return file


@dataclass
class FleetCaller:
    """Where a user calls dyno from: a folder, and what goes before the command's words."""

    folder: Path
    before: Sequence[str] = ()

    def _popen(self, words: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.before, str(DYNO), *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"DYNO_RUNS": str(self.folder / "runs")},
            start_new_session=True,
        )

    def call(self, *words: str) -> tuple[int, str]:
        """Exit code, and all that was printed."""
        with self._popen(words) as process:
            try:
                said, _ = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise AssertionError(process.communicate()[0]) from None
        return process.returncode, said

    @contextmanager
    def begin(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A call under way, which has ended in the end."""
        with self._popen(words) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate(timeout=20)

    def find_run(self) -> Path:
        """The only run's folder."""
        (found,) = (self.folder / "runs").iterdir()
        return found

    def list_back(self) -> list[Path]:
        """The records of trials that have come back, of shares that are not gathered."""
        return sorted((self.folder / "runs").glob("*/shares/0*/*/trials/0*.json"))


def wait_until(
    sees: Callable[[], object],
    what: str,
    limit_s: float = 150,
    process: subprocess.Popen[str] | None = None,
) -> None:
    """Waits until it does; `process` must not end before, and has its words told."""
    until = time.monotonic() + limit_s
    while not sees():
        if process and process.poll() is not None and not sees():
            raise AssertionError(f"it has ended before {what}: {process.communicate()[0]}")
        assert time.monotonic() < until, f"not within {limit_s} s: {what}"
        time.sleep(0.05)


def list_players(host: int) -> list[int]:
    """The processes that play below the first one of a node: `dyno shard`, drivers."""
    found = []
    for pid in descendants(host):
        words = read_words(pid)
        if Path(words[0].decode()).name == DRIVER or b"shard" in words:
            found.append(pid)
    return found


def list_workers(host: int) -> list[int]:
    """Ray's processes that run a share's task there."""
    return [pid for pid in descendants(host) if read_words(pid)[0] == b"ray::play_share"]


def read_words(pid: int) -> list[bytes]:
    """A process's words; an empty one of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]


def read_trials(run: Path) -> list[dict[str, Any]]:
    """The trials of a run that is gathered."""
    return [json.loads(file.read_text()) for file in sorted((run / "trials").glob("*.json"))]


def check_blocks(trials: list[dict[str, Any]], hosts: set[str]) -> None:
    """Each block is there whole, and of one host; all of these have played."""
    players: dict[object, set[str]] = {}
    sides: dict[object, set[str]] = {}
    for trial in trials:
        if trial["status"] == "ok" and trial["block"] >= 0:
            players.setdefault(trial["block"], set()).add(trial["host"])
            sides.setdefault(trial["block"], set()).add(trial["candidate"])
    assert {0, 1, 2} <= players.keys(), players
    assert all(len(names) == 1 for names in players.values()), players
    assert all(len(names) == 2 for names in sides.values()), sides
    assert set().union(*players.values()) == hosts, players
