"""A script's text, played by the real driver through its handshake: what tests of servers share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Timer

from dyno import driver
from dyno.driver import Launch, Limit, Process
from dyno.plan import Plan, Script, Session
from dyno.record import PhaseRecord, Tally

PATIENCE_S = 40.0


def play(session: Session, text: str, folder: Path, **options: object) -> Tally:
    """Plays `run` of a script and answers what its first stream did."""
    path = folder / "script.lua"
    path.write_text(text)
    script = Script(str(path), {name: str(value) for name, value in options.items()})
    return played(Plan(session, script, seed=7, commands=("run",), progress_s=0)).streams[0]


def played(plan: Plan, begun: Callable[[int], None] = lambda _pid: None) -> PhaseRecord:
    """Plays a plan and answers its last phase; `begun` hears the driver's number beforehand."""
    record = None
    with Process(plan, Launch(Path(plan.script.path).with_name("driver.log"))) as process:
        begun(process.pid)
        limit = Limit("the script", PATIENCE_S)
        while not isinstance(event := process.next(limit), driver.End):
            record = event if isinstance(event, PhaseRecord) else record
            process.go()
    assert record is not None, "no phase was played"
    return record


def play_interrupted(session: Session, text: str, folder: Path, after_s: float) -> None:
    """Plays `run` of a script until a SIGINT so long after its driver began, and to its end."""
    path = folder / "script.lua"
    path.write_text(text)
    script = Script(str(path), {"time": "600"})
    plan = Plan(session, script, seed=7, commands=("run",), progress_s=0)
    alarms = []

    def begun(pid: int) -> None:
        alarms.append(Timer(after_s, os.kill, (pid, signal.SIGINT)))
        alarms[0].start()

    played(plan, begun)


def number(session: Session, statement: str) -> int:
    """The one number that a statement answers."""
    (((found,),),) = driver.ask(session, [statement])
    return int(found or 0)
