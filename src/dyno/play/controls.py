"""The controls of a trial: held together until its end, and written down as its conditions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyno.builds import Build
from dyno.controls import NOT_HERE, Held, Restored, Started, Subject, controls
from dyno.engines import MISSED, Engine, Knobs, Preloads, Server
from dyno.play.job import Job, Notes

#: Why a control of a load's copy rests.
NO_COPY = "the data were loaded in this trial, and are as warm as that left them"


@dataclass(frozen=True)
class Joined:
    """What all controls together want (`controls.Held`); the calls by the control's name."""

    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()
    restored: dict[str, Restored] = field(default_factory=dict)
    started: dict[str, Started] = field(default_factory=dict)
    preload: str = ""

    def beside(self, name: str, held: Held) -> Joined:
        """This, and what the control `name` wants."""
        return Joined(
            prefix=(*self.prefix, *held.prefix),
            environment=_together(self.environment, held.environment),
            cpus=(*self.cpus, *held.cpus),
            restored=self.restored | ({name: held.restored} if held.restored else {}),
            started=self.started | ({name: held.started} if held.started else {}),
            preload=name if held.preload else self.preload,
        )


def _together(ours: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Two environments in one; libraries to be preloaded are a list, and two may be wanted."""
    libraries = [each["LD_PRELOAD"] for each in (ours, more) if "LD_PRELOAD" in each]
    return {**ours, **more, **({"LD_PRELOAD": ":".join(libraries)} if libraries else {})}


def subject(engine: Engine, build: Build, home: Path) -> Subject:
    """What the controls are held for."""
    return Subject(
        embedded=engine.embedded,
        attached=build.attached,
        home=home,
        settings=engine.knobs if isinstance(engine, Knobs) else {},
        preloads=isinstance(engine, Preloads),
    )


def hold(job: Job, notes: Notes, stack: ExitStack) -> Joined:
    """Holds every control until the stack is left; what one of them found only then joins too."""
    dice = random.Random(f"{job.seed}/{job.candidate.name}/{job.attempt}")
    held_for = replace(subject(job.engine, job.build, job.home), dice=dice)
    joined = Joined()
    for name, control in controls().items():
        value = job.controls.get(name, control.default)
        held = stack.enter_context(control.hold(value, held_for))
        held.found["value"] = value
        notes.conditions[name] = held.found
        joined = joined.beside(name, held)
    return joined


def restored(joined: Joined, notes: Notes, home: Path) -> None:
    """A load's copy lies in `home`, and the engine is about to start on it."""
    for name, act in joined.restored.items():
        _note(notes, name, act(home))


def not_restored(joined: Joined, notes: Notes) -> None:
    """There is no copy of a load: nothing to be done to it."""
    for name in joined.restored:
        _note(notes, name, {"state": f"{NOT_HERE}: {NO_COPY}"})


def started(joined: Joined, notes: Notes, pid: int | None) -> None:
    """The engine's process runs, and its connections stand."""
    for name, look in joined.started.items() if pid else ():
        _note(notes, name, look(pid or 0))


def preload(joined: Joined, notes: Notes, engine: Engine, server: Server) -> None:
    """A phase is about to begin."""
    if joined.preload and isinstance(engine, Preloads):
        found = engine.preload(server)
        if why := found.pop(MISSED, ""):
            found["state"] = f"{NOT_HERE}: {why}"
        _note(notes, joined.preload, found)


def _note(notes: Notes, name: str, found: dict[str, str]) -> None:
    """What turned out later; a `state` says that nothing is set after all."""
    notes.conditions[name] |= found
    if "state" in found:
        notes.conditions[name].pop("set", None)
