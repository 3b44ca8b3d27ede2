"""The driver plays the scripts as pgbench's clients would: its plan, what the clients count while
they play, and what came of it.

The clients count in a file: a row of 64 KB of doubles for each client, whose columns are those of
`client.rs` and `client.lua` of the driver's pgbench packages; a test compares them.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from dyno import driver
from dyno.compat.pgbench.server import ServerFacts
from dyno.compat.pgbench.words import PgbenchSettings
from dyno.driver.plan import Plan, Script, Session
from dyno.errors import DynoError, UsageError
from dyno.record import PhaseRecord

#: What a number of Lua's holds exactly.
SEED_MAX = 2**53
#: A driver tells its progress every second at the latest; one that is silent for so long is stuck.
SILENCE_S = 60.0
STDOUT, STDERR = 1, 2
#: Files that every shell can be told to write to.
SHELL_FILES = range(3, 10)


@dataclass(frozen=True)
class PlayedRun:
    """A run as it ended: what was counted, how long it took in seconds, the commands' first lines;
    `problem` is what ended it early; `hdr` the histogram of its latencies, empty then.
    """

    tally: BoardTally
    duration_s: float
    commands: list[list[str]]
    problem: str = ""
    hint: str = ""
    hdr: str = ""


@dataclass(frozen=True)
class Moment:
    """Progress: seconds since the start, and all that was counted until now."""

    elapsed_s: float
    tally: BoardTally


def choose_seed(settings: PgbenchSettings) -> int:
    if settings.seed is None:
        return random.SystemRandom().randrange(2**32)
    if settings.seed >= SEED_MAX:
        raise UsageError(f"a seed of {settings.seed} is not taken here", hint="one below 2^53 is")
    return settings.seed


def build_options(
    settings: PgbenchSettings, facts: ServerFacts, board: Path, seed: int
) -> dict[str, str]:
    """The options of the driver's pgbench package for this command line."""
    first, *others = settings.scripts
    if odd := next((each.shown for each in others if "," in each.shown), None):
        raise UsageError(f"the name of a script has a comma: {odd}", hint="rename the file")
    has = settings.has
    transactions = settings.transactions
    # Without a rate each client ends by its own count, which takes one event more.
    paced = settings.rate_per_s > 0
    events = settings.clients * (transactions + (not paced)) if transactions else 0
    wants_times = ("progress", "latency-limit", "log")
    options: dict[str, object] = {
        "protocol": settings.protocol,
        "scale": facts.scale,
        "threads": settings.clients,
        "events": events,
        "transactions": 0 if paced else transactions,
        "time": settings.number.get("time", 0),
        "warmup_time": 0,
        "weight": first.weight,
        "also": ",".join(f"{each.path.resolve()}@{each.weight}" for each in others),
        "allow_shell": "on",
        "rand_seed": seed,
        "board": board,
        "max_tries": settings.max_tries,
        "latency_limit_us": f"{settings.latency_limit_us:.0f}",
        "timed": _format_switch(paced or bool(others) or any(map(has, wants_times))),
        "connect": _format_switch(has("connect")),
        "report_commands": _format_switch(has("report-per-command")),
        "continue_on_error": _format_switch(has("continue-on-error")),
        "exit_on_abort": _format_switch(has("exit-on-abort")),
        "failures_detailed": _format_switch(has("failures-detailed")),
        "verbose_errors": _format_switch(has("verbose-errors")),
        "debugging": _format_switch(has("debug")),
    }
    if paced:
        options |= {"rate": f"{settings.rate_per_s:g}", "arrivals": "poisson"}
    if has("log"):
        options |= {"log_part": f"{board}.log", "sampling_rate": f"{settings.sampling_rate:g}"}
    options |= {f":{name}": value for name, value in settings.defined}
    return {name: str(value) for name, value in options.items()}


def _format_switch(is_on: bool) -> str:
    return "on" if is_on else "off"


@dataclass(frozen=True)
class PgbenchRun:
    """What a command line plays: on which server, with which seed, counting in which file."""

    session: Session
    settings: PgbenchSettings
    board: Path
    seed: int

    @property
    def every_s(self) -> float:
        return float(self.settings.number.get("progress", 1))

    def make_plan(self, facts: ServerFacts, **more: str) -> Plan:
        """The driver's plan; `more` joins the script's options."""
        settings = self.settings
        options = build_options(settings, facts, self.board, self.seed) | more
        script = Script(str(settings.scripts[0].path.resolve()), options)
        return Plan(
            self.session,
            script,
            self.seed,
            ("run",),
            threads=settings.threads,
            progress_s=self.every_s,
        )

    def check(self) -> tuple[str, ...]:
        """Read the scripts, before any connection, and return what of them Lua plays; `UsageError`
        for their errors.
        """
        return driver.describe(self.make_plan(ServerFacts("", 1))).in_lua

    def play(
        self,
        facts: ServerFacts,
        on_ready: Callable[[], None],
        on_progress: Callable[[Moment], None],
    ) -> PlayedRun:
        """Play the scripts once; `on_ready` is called when all clients are connected."""
        board = Board(self.board, self.settings.clients, len(self.settings.scripts))
        output = fcntl.fcntl(STDOUT, fcntl.F_DUPFD, STDERR + 1)
        plan = self.make_plan(facts, shell_output=str(output if output in SHELL_FILES else STDERR))
        try:
            launch = driver.DriverLaunch(None, stderr=STDERR, passed=(output,))
            with driver.DriverProcess(plan, launch) as process:
                return self._follow(process, board, on_ready, on_progress)
        finally:
            os.close(output)

    def _follow(
        self,
        process: driver.DriverProcess,
        board: Board,
        on_ready: Callable[[], None],
        on_progress: Callable[[Moment], None],
    ) -> PlayedRun:
        began, duration_s, hdr, problem, hint = False, 0.0, "", "", ""
        start_s = time.monotonic()
        try:
            while True:
                event = process.read_event(driver.Limit("the run", SILENCE_S + self.every_s))
                match event:
                    case driver.End():
                        break
                    case driver.Progress():
                        on_progress(Moment(event.elapsed_s, board.read()))
                        continue
                    case PhaseRecord():
                        duration_s, hdr = event.duration_s, event.streams[0].latency.hdr
                    case driver.Ready():
                        on_ready()
                        began, start_s = True, time.monotonic()
                process.go()
        except DynoError as error:
            if not began:
                raise
            problem, hint = error.sentence, error.hint
        duration_s = duration_s or time.monotonic() - start_s
        commands = board.read_commands() if self.settings.has("report-per-command") else []
        tally = board.read(sum(map(len, commands)))
        return PlayedRun(tally, duration_s, commands, problem, hint, hdr)


ROW_CELLS = 8192
SCRIPTS, PER_SCRIPT, PER_COMMAND = 8, 16, 4


@dataclass
class BoardCounts:
    """Of a script, or of all, in the order of the columns. Times in microseconds, with the sums of
    their squares.
    """

    done: float = 0
    skipped: float = 0
    serialization: float = 0
    deadlock: float = 0
    other: float = 0
    retried: float = 0
    retries: float = 0
    late: float = 0
    latency_us: float = 0
    latency_us2: float = 0
    lag_us: float = 0
    lag_us_max: float = 0

    @property
    def failed(self) -> int:
        """Transactions that failed for good."""
        return int(self.serialization + self.deadlock + self.other)

    @property
    def all(self) -> int:
        return int(self.done + self.skipped) + self.failed

    def add(self, other: BoardCounts) -> None:
        for each in fields(BoardCounts):
            mine, its = getattr(self, each.name), getattr(other, each.name)
            most = each.name == "lag_us_max"
            setattr(self, each.name, max(mine, its) if most else mine + its)


class CommandCounts(NamedTuple):
    """Of a command, in the order of the columns: how often, how long in all, in microseconds."""

    played: float
    spent_us: float
    failures: float
    retries: float


@dataclass(frozen=True)
class BoardTally:
    scripts: list[BoardCounts]
    connect_us: float
    connects: int
    aborted: int
    commands: list[CommandCounts] = field(default_factory=list)

    @property
    def total(self) -> BoardCounts:
        total = BoardCounts()
        for each in self.scripts:
            total.add(each)
        return total


class Board:
    """The file in which `clients` count transactions of `scripts` scripts."""

    def __init__(self, path: Path, clients: int, scripts: int) -> None:
        self.path, self._clients, self._scripts = path, clients, scripts
        with path.open("w+b") as file:
            os.truncate(file.fileno(), clients * ROW_CELLS * 8)
            self._cells = memoryview(mmap.mmap(file.fileno(), 0)).cast("d")

    def read(self, commands: int = 0) -> BoardTally:
        scripts = [BoardCounts() for _ in range(self._scripts)]
        sums, per_command = [0.0] * 3, [[0.0] * PER_COMMAND for _ in range(commands)]
        width = len(fields(BoardCounts))
        for client in range(self._clients):
            row = self._cells[client * ROW_CELLS : (client + 1) * ROW_CELLS]
            sums = [mine + its for mine, its in zip(sums, row[:3], strict=True)]
            for script, counts in enumerate(scripts):
                at = SCRIPTS + script * PER_SCRIPT
                counts.add(BoardCounts(*row[at : at + width]))
            for command, cells in enumerate(per_command):
                at = SCRIPTS + self._scripts * PER_SCRIPT + command * PER_COMMAND
                for cell in range(PER_COMMAND):
                    cells[cell] += row[at + cell]
        told = [CommandCounts(*cells) for cells in per_command]
        return BoardTally(scripts, sums[0], int(sums[1]), int(sums[2]), told)

    def read_commands(self) -> list[list[str]]:
        """The first lines of each script's commands, where they were to be reported."""
        text = self.path.with_name(f"{self.path.name}.commands").read_text()
        return [script.split("\0") for script in text.split("\0\0")[:-1]]
