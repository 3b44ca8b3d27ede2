"""What is said of the controls before a run: what a dead one left, and what cannot be held here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dyno.builds import Build, Say
from dyno.conduct.held import subject
from dyno.controls import NOT_HERE, controls, put_back
from dyno.engines import Engine, Knobs
from dyno.errors import DynoError, UsageError
from dyno.record import Candidate

Side = tuple[Candidate, Engine, Build]


def recover(say: Say) -> None:
    """Puts back the knobs of the host that a run which was killed has left.

    What cannot be put back is said, and stops nobody: the run may not touch that knob at all.
    """
    try:
        for outcome in put_back():
            if outcome.state != "in use":
                say(f"left by a run that was killed: {outcome}")
    except DynoError as error:
        say(f"what a killed run left was not put back: {error.message}: {error.cause}")


def survey(sides: Iterable[Side], held: dict[str, str], home: Path, say: Say) -> None:
    """Says which of the chosen controls cannot be held for data in `home`, as every trial will.

    `UsageError` where a control and a setting of the candidate's own are one thing, and differ.
    """
    told: set[str] = set()
    for side, engine, build in sides:
        for name, value in (held | side.controls).items():
            control = controls()[name]
            _check_apart(side, engine, name, value)
            if value == control.default:
                continue
            if why := control.refusal(value, subject(engine, build, home)):
                told.add(f"{NOT_HERE}: {name}={value}: {why}")
    for sentence in sorted(told):
        say(sentence)


def _check_apart(side: Candidate, engine: Engine, name: str, value: str) -> None:
    knobs = engine.knobs if isinstance(engine, Knobs) else {}
    for setting, wanted in knobs.get(name, {}).get(value, {}).items():
        if side.settings.get(setting, wanted).lower() != wanted.lower():
            message = f"{side.name} has both {name}={value} and {setting}"
            raise UsageError(message, hint="they are one thing: leave one out")
