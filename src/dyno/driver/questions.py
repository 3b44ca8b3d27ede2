"""Questions to the driver, each to a process of its own: `describe`, `outline`, `schema`.

Also which program `dyno-driver` is, and the environment that it runs in.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dyno import subprocesses
from dyno.driver.events import convert_error, explain_silence
from dyno.driver.plan import VERSION, Description, Outline, Plan
from dyno.errors import HostError, InternalError, TrialFailed
from dyno.record import decode

#: What a user may say to the driver: which way of waiting for sockets it takes, and where LuaJIT
#: looks for modules besides.
OURS = ("DYNO_WIRE", "LUA_PATH", "LUA_CPATH")


def find_driver() -> Path:
    """The driver: ``$DYNO_DRIVER``, else beside the interpreter, else on the path."""
    if chosen := os.environ.get("DYNO_DRIVER"):
        if not os.access(chosen, os.X_OK):
            raise HostError(f"$DYNO_DRIVER is not a program: {chosen}")
        return Path(chosen).absolute()
    beside = Path(sys.executable).with_name("dyno-driver")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("dyno-driver")
    if not found:
        raise HostError("dyno-driver is not installed", hint="make setup builds it")
    return Path(found).absolute()


def build_driver_environment() -> dict[str, str]:
    """The environment of every driver process, as small as it can be, so that runs agree."""
    chosen = {name: os.environ[name] for name in OURS if name in os.environ}
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"} | chosen


#: A question unanswered for so long is not answered at all. Generous, since settling an engine
#: (checkpoint, vacuum) is such a question too.
QUESTION_S = 300.0

#: What an answer may take: a row may be larger than the 16 MB of a packet of MySQL's.
ANSWER_BYTES = 64 << 20

#: Who keeps us waiting, by the driver's command.
_ASKED = {
    "describe": "the driver, running the script,",
    "outline": "the driver, reading the file,",
    "schema": "the driver",
    "lockstep": "the driver, playing the log,",
    "merge": "the driver",
    "cache-lines": "the driver, moving cache lines,",
    "identify": "the driver",
}


def describe(plan: Plan) -> Description:
    """What the plan's script declares under the plan's options; an error of it is raised."""
    return decode.decode(Description, ask_question("describe", plan.to_line()))


def outline(path: Path, kind: str) -> Outline:
    """What an SQL file holds, its rows aside, as a session of that kind (`postgres`) would play it.

    `UsageError` where the file is cut, or cannot be played there.
    """
    question = {"version": VERSION, "path": str(path), "kind": kind}
    return decode.decode(Outline, ask_question("outline", json.dumps(question)))


def read_schema() -> dict[str, Any]:
    """The JSON Schemas of everything that the driver reads and says, by type."""
    said: dict[str, Any] = ask_question("schema", "")
    return said


def merge_phases(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The records of one phase, as several drivers told them, as one: events add up, histograms
    bucket by bucket.
    """
    question = {"version": VERSION, "parts": list(parts)}
    said: dict[str, Any] = ask_question("merge", json.dumps(question))
    return said


def identify() -> dict[str, Any]:
    """Which driver ours is, and where it runs."""
    said: dict[str, Any] = ask_question("identify", "")
    return said


def ask_question(command: str, line: str, limit_s: float = QUESTION_S) -> Any:
    """One question to a driver of its own, and its answer; `TrialFailed` where there is none in
    time.
    """
    program, content = [str(find_driver()), command], line.encode() + b"\n"
    environment = build_driver_environment()
    done = run_limited(program, content, _ASKED[command], limit_s, environment)
    return _read_answer(command, done)


def run_limited(
    command: Sequence[str],
    content: bytes,
    who: str,
    limit_s: float,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """What a program ends with, `content` its input; `OSError` where it cannot be started.

    `TrialFailed` naming `who` where it says more than `ANSWER_BYTES`, or is not over in `limit_s`.
    """
    pipe, limit_s = subprocess.PIPE, subprocesses.choose_limit(limit_s)
    with os.fdopen(os.memfd_create("question"), "w+b") as question:
        question.write(content)
        question.seek(0)
        heed = subprocesses.Heed()
        with subprocess.Popen(
            command,
            stdin=question,
            stdout=pipe,
            stderr=pipe,
            env=environment,
            process_group=0,
        ) as process:
            try:
                with subprocesses.wait_for(process, heed):
                    said, words = _read(process, who, limit_s)
                    code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                raise TrialFailed(tell_late(who, limit_s)) from None
            finally:
                subprocesses.kill(process)
    return subprocess.CompletedProcess(command, code, said, words)


def _read(process: subprocess.Popen[bytes], who: str, limit_s: float) -> tuple[str, str]:
    """All that a process says, and all that it complains of, but no more than `ANSWER_BYTES`.

    `TrialFailed` naming `who` where that is more, or not over in `limit_s`.
    """
    until_s = time.monotonic() + limit_s
    heard = {pipe.fileno(): bytearray() for pipe in (process.stdout, process.stderr) if pipe}
    with selectors.DefaultSelector() as waiting:
        for handle in heard:
            waiting.register(handle, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(until_s - time.monotonic(), 0.0))
            if not ready:
                raise TrialFailed(tell_late(who, limit_s))
            for handle in (key.fd for key, _ in ready):
                chunk = os.read(handle, 1 << 16)
                heard[handle] += chunk
                if not chunk:
                    waiting.unregister(handle)
                if len(heard[handle]) > ANSWER_BYTES:
                    raise TrialFailed(tell_endless(who))
    said, words = (content.decode(errors="replace") for content in heard.values())
    return said, words


def tell_late(who: str, limit_s: float) -> str:
    """That nothing was answered in time."""
    return f"{who} did not answer in {limit_s:.0f} s"


def tell_endless(who: str) -> str:
    """That an answer was not read to its end."""
    return f"{who} answered with more than {ANSWER_BYTES >> 20} MB"


def _read_answer(command: str, done: subprocess.CompletedProcess[str]) -> Any:
    try:
        said = json.loads(done.stdout)
    except (ValueError, RecursionError):
        raise explain_silence(done.returncode, done.stderr) from None
    if isinstance(said, dict) and said.get("event") == "error":
        raise convert_error(said)
    if done.returncode != 0:
        raise InternalError(f"the driver's '{command}' ended with exit code {done.returncode}")
    return said
