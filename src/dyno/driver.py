"""The Python side of `dyno-driver`: find it, ask it, play a plan through its handshake."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dyno import plain
from dyno.errors import DynoError, HostError, InternalError, TrialFailed, UsageError
from dyno.plan import VERSION, Description, Plan, Session
from dyno.record import PhaseRecord

#: A question (`describe`, `ask`) unanswered for so long is not answered at all. Generous, since
#: settling an engine (checkpoint, vacuum) is such a question too.
QUESTION_S = 300.0

#: What a user may say to the driver: which way of waiting for sockets it takes.
OURS = ("DYNO_WIRE",)

#: Who keeps us waiting, by the driver's command.
_ASKED = {
    "ask": "the engine",
    "describe": "the driver, running the script,",
    "schema": "the driver",
}

_BLAME: dict[str, type[DynoError]] = {
    "user": UsageError,
    "host": HostError,
    "engine": TrialFailed,
    "driver": InternalError,
}


def locate() -> Path:
    """The driver: ``$DYNO_DRIVER``, else beside the interpreter, else on the path."""
    if chosen := os.environ.get("DYNO_DRIVER"):
        if not os.access(chosen, os.X_OK):
            raise HostError(f"$DYNO_DRIVER names no program: {chosen}")
        return Path(chosen).absolute()
    beside = Path(sys.executable).with_name("dyno-driver")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("dyno-driver")
    if not found:
        raise HostError("dyno-driver is not installed", hint="make setup builds it")
    return Path(found).absolute()


def environment() -> dict[str, str]:
    """The environment of every driver process, as small as it can be, so that runs agree."""
    chosen = {name: os.environ[name] for name in OURS if name in os.environ}
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"} | chosen


def describe(plan: Plan) -> Description:
    """What the plan's script declares under the plan's options; an error of it is raised."""
    return plain.load(Description, _question("describe", plan.line()))


def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
    """The rows of each statement as text; None is NULL. This is the `engines.Ask` callable.

    `TrialFailed` where the engine refuses one, or has not answered all of them in `QUESTION_S`.
    """
    question = {"version": VERSION, "session": session, "statements": list(statements)}
    return [answer["rows"] for answer in _question("ask", json.dumps(question))]


def schema() -> dict[str, Any]:
    """The JSON Schemas of everything that the driver reads and says, by type."""
    said: dict[str, Any] = _question("schema", "")
    return said


def _question(command: str, line: str) -> Any:
    """One question to a driver of its own, and its answer."""
    try:
        done = subprocess.run(
            [locate(), command],
            input=line + "\n",
            capture_output=True,
            text=True,
            timeout=QUESTION_S,
            env=environment(),
            process_group=0,
        )
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"{_ASKED[command]} did not answer in {QUESTION_S:.0f} s") from None
    return _answer(command, done)


def _answer(command: str, done: subprocess.CompletedProcess[str]) -> Any:
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise _ended(done.returncode, done.stderr) from None
    if isinstance(said, dict) and said.get("event") == "error":
        raise failure(said)
    if done.returncode != 0:
        raise InternalError(f"the driver's '{command}' ended with exit code {done.returncode}")
    return said


def failure(event: Mapping[str, Any]) -> DynoError:
    """The driver's error event as the exception of whoever can put it right, with its place."""
    place, connection, phase = event.get("place"), event.get("connection"), event.get("phase")
    places = [
        place,
        f"connection {connection}" if connection is not None and (place or phase) else None,
        f"phase {phase}" if phase else None,
    ]
    where = ", ".join(filter(None, places))
    message = f"{event['message']} ({where})" if where else str(event["message"])
    hint = event.get("hint", "")
    if event["blame"] == "user" and place and not hint:
        hint = "dyno play null --workload SCRIPT tries a script without an engine"
    return _BLAME.get(event["blame"], InternalError)(message, hint=hint)


def _ended(code: int, said: str) -> DynoError:
    """Why a driver that gave no reason is gone."""
    if code < 0:
        return TrialFailed(f"the driver was killed (signal {-code})")
    lines = said.strip().splitlines()
    return TrialFailed(f"the driver ended early (exit code {code})", cause="".join(lines[-1:]))


@dataclass(frozen=True)
class Settle:
    """The engine should settle before a phase: nobody is connected. Waits for `go`."""

    phase: str


@dataclass(frozen=True)
class Ready:
    """A phase stands ready, its connections open, and waits for `go`."""

    phase: str
    monotonic_ns: int


@dataclass(frozen=True)
class Answered:
    """A server gave its last answer of a phase; its connections are still open. Waits for `go`."""

    phase: str


@dataclass(frozen=True)
class StreamProgress:
    """How a stream is going: totals since the phase began, rate and maximum of late."""

    name: str
    done: int
    failed: int
    rate_per_s: float
    latency_ns_max: int


@dataclass(frozen=True)
class Progress:
    """How a phase is going, once a second."""

    phase: str
    elapsed_s: float
    streams: tuple[StreamProgress, ...]


@dataclass(frozen=True)
class End:
    """The trial is over, and well; `counters` are the script's own."""

    counters: dict[str, int]


@dataclass(frozen=True)
class Hello:
    """The first line: which driver speaks, and which version of the plan."""

    version: int
    driver: str


Event = Settle | Ready | Answered | Progress | PhaseRecord | End

_EVENTS: dict[str, type[Any]] = {
    "hello": Hello,
    "settle": Settle,
    "ready": Ready,
    "answered": Answered,
    "progress": Progress,
    "done": PhaseRecord,
    "end": End,
}


@dataclass(frozen=True)
class Launch:
    """How to start a driver: the command before it, what joins its environment, its stderr."""

    log: Path
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Limit:
    """How long the driver may take over what it is `doing`; no wait is without one."""

    doing: str
    limit_s: float
    began_s: float = field(default_factory=time.monotonic)


class Process:
    """A driver that plays a plan. It leads a process group of its own, so that Ctrl-C reaches it
    only through us; it dies with us (parent-death signal, and the end of its stdin).
    """

    def __init__(self, plan: Plan, launch: Launch) -> None:
        """Starts the driver and hands it the plan; `HostError` where it cannot be started."""
        self._log = launch.log
        command = [*launch.prefix, str(locate()), "run"]
        with launch.log.open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment() | launch.environment,
                    process_group=0,
                    bufsize=0,
                )
            except OSError as error:
                raise HostError(f"cannot start '{command[0]}'", cause=error.strerror) from error
        self.pid = self._process.pid
        self._buffer = bytearray()
        self._say(plan.line())

    def go(self) -> None:
        """Lets the driver go on after a `Settle`, `Ready`, `Answered` or a phase's record."""
        self._say("go")

    def next(self, limit: Limit) -> Event:
        """The next event; the driver's own error is raised as the exception it stands for.

        `TrialFailed` where the driver is gone or the limit is over.
        """
        while True:
            event: Hello | Event = self._event(self._line(limit))
            if not isinstance(event, Hello):
                return event
            if event.version != VERSION:
                raise HostError(
                    f"dyno-driver speaks version {event.version} of the plan, dyno {VERSION}",
                    hint="make setup builds both from one source",
                )

    def interrupt(self) -> None:
        """Asks the driver to end now and say what it measured so far."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGINT)

    def close(self) -> None:
        """Kills what is left of the driver's process group, and reaps it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _say(self, line: str) -> None:
        # A driver that died meanwhile is noticed where its answer is missing.
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.write(line.encode() + b"\n")

    def _event(self, line: bytes) -> Any:
        try:
            said = json.loads(line)
            kind = said.pop("event")
            if kind == "error":
                raise failure(said)
            return plain.load(_EVENTS[kind], said)
        except (ValueError, KeyError, AttributeError) as error:
            raise InternalError("the driver's words make no sense", cause=error) from error

    def _line(self, limit: Limit) -> bytes:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            chunk = self._read(limit)
            if not chunk:
                raise _ended(self._process.wait(), _tail(self._log))
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _read(self, limit: Limit) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            raise InternalError("the driver has no stdout")
        poll = select.poll()
        poll.register(stdout, select.POLLIN)
        left_s = limit.began_s + limit.limit_s - time.monotonic()
        if not poll.poll(max(0.0, left_s) * 1000):
            raise TrialFailed(f"{limit.doing} was not over after {limit.limit_s:.0f} s")
        return os.read(stdout.fileno(), 1 << 18)


def _tail(log: Path) -> str:
    with suppress(OSError):
        return log.read_text(errors="replace")[-4000:]
    return ""
