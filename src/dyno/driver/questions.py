"""Which program `dyno-driver` is, and the environment that it runs in.

Questions to the driver, each put to a process of its own: `describe`, `ask`, `schema`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dyno import decode
from dyno.driver.events import error_of_event, error_of_silence
from dyno.errors import HostError, InternalError, TrialFailed
from dyno.plan import VERSION, Description, Plan, Session

#: What a user may say to the driver: which way of waiting for sockets it takes.
OURS = ("DYNO_WIRE",)


def driver_program() -> Path:
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


def driver_environment() -> dict[str, str]:
    """The environment of every driver process, as small as it can be, so that runs agree."""
    chosen = {name: os.environ[name] for name in OURS if name in os.environ}
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"} | chosen


#: A question (`describe`, `ask`) unanswered for so long is not answered at all. Generous, since
#: settling an engine (checkpoint, vacuum) is such a question too.
QUESTION_S = 300.0

#: Who keeps us waiting, by the driver's command.
_ASKED = {
    "ask": "the engine",
    "describe": "the driver, running the script,",
    "schema": "the driver",
}


def describe(plan: Plan) -> Description:
    """What the plan's script declares under the plan's options; an error of it is raised."""
    return decode.decode(Description, _question("describe", plan.line()))


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
            [driver_program(), command],
            input=line + "\n",
            capture_output=True,
            text=True,
            timeout=QUESTION_S,
            env=driver_environment(),
            process_group=0,
        )
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"{_ASKED[command]} did not answer in {QUESTION_S:.0f} s") from None
    return _answer(command, done)


def _answer(command: str, done: subprocess.CompletedProcess[str]) -> Any:
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise error_of_silence(done.returncode, done.stderr) from None
    if isinstance(said, dict) and said.get("event") == "error":
        raise error_of_event(said)
    if done.returncode != 0:
        raise InternalError(f"the driver's '{command}' ended with exit code {done.returncode}")
    return said
