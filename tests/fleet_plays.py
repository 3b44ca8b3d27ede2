"""Runs over a fleet as a user starts them, and what is known of them while they play."""

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

DYNO = Path(sys.executable).with_name("dyno")
LIMIT_S = 50
#: Small, and of a script of the user's own; hosts of one machine disturb each other.
EXPERIMENT = """
name = "tiny"
candidates = ["null@50us", "null@51us"]
blocks = 3
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


def write_experiment(folder: Path, time_s: float = 0.2) -> Path:
    """An experiment with a script beside it, which requires another one."""
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "scripts" / "own.lua").write_text(SCRIPT)
    (folder / "scripts" / "own_part.lua").write_text("function part() return 1 end\n")
    file = folder / "tiny.toml"
    file.write_text(EXPERIMENT % time_s)
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
        return sorted((self.folder / "runs").glob("*/shares/*/*/trials/0*.json"))


def wait_until(sees: Callable[[], object], what: str, limit_s: float = 30) -> None:
    """Waits until it does."""
    until = time.monotonic() + limit_s
    while not sees():
        assert time.monotonic() < until, f"not within {limit_s} s: {what}"
        time.sleep(0.05)


def list_players(state: Path) -> list[int]:
    """The processes that play on the host of this `$DYNO_STATE`: its agents, plays and drivers."""
    mark = f"DYNO_STATE={state}\0".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        ours = (
            any(word in (b"fleet-host", b"shard") for word in words) or b"dyno-driver" in words[0]
        )
        if mark in environment and ours:
            found.append(int(folder.name))
    return found


def read_trials(run: Path) -> list[dict[str, Any]]:
    """The trials of a run that is gathered."""
    return [json.loads(file.read_text()) for file in sorted((run / "trials").glob("*.json"))]
