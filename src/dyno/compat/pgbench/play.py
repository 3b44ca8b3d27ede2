"""The driver plays the scripts as pgbench's clients would: its plan, and what came of it."""

from __future__ import annotations

import fcntl
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dyno import driver
from dyno.compat.pgbench.board import Board, BoardTally
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
    `problem` is what ended it early.
    """

    tally: BoardTally
    duration_s: float
    commands: list[list[str]]
    problem: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Moment:
    """How it goes: seconds since the start, and all that was counted until now."""

    elapsed_s: float
    tally: BoardTally


def choose_seed(settings: PgbenchSettings) -> int:
    """The seed of all random numbers."""
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
        """Seconds between progress lines."""
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

    def check(self) -> None:
        """Reads the scripts, before anybody connects; `UsageError` for what they get wrong."""
        driver.describe(self.make_plan(ServerFacts("", 1)))

    def play(
        self,
        facts: ServerFacts,
        on_ready: Callable[[], None],
        on_progress: Callable[[Moment], None],
    ) -> PlayedRun:
        """Plays the scripts once; `on_ready` is called when all clients stand connected."""
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
        began, duration_s, problem, hint, start_s = False, 0.0, "", "", time.monotonic()
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
                        duration_s = event.duration_s
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
        return PlayedRun(tally, duration_s, commands, problem, hint)
