"""The controls of a trial: held together until its end, and written down as its conditions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyno.engines import MISSED, Engine, Preloads, Server, WeighsData
from dyno.host.controls import AfterRestore, AfterStart, ControlResult
from dyno.host.probes import flushes
from dyno.instruments.time.job import TrialJob, TrialNotes
from dyno.record import ControlCondition, PinningCondition
from dyno.runs.resolve.design import make_control_target

#: Why a control of a load's copy rests.
NO_COPY = "the data were loaded in this trial, and are as warm as that left them"


@dataclass(frozen=True)
class ControlStack:
    """What all controls together want; the calls by the control's name. `executor`
    and `shown_as` are as in `StartConditions`.
    """

    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    pinning: PinningCondition | None = None
    restored: dict[str, AfterRestore] = field(default_factory=dict)
    started: dict[str, AfterStart] = field(default_factory=dict)
    preload: str = ""
    executor: tuple[str, ...] = ()
    shown_as: Path | None = None

    @property
    def cpus(self) -> tuple[int, ...]:
        """The driver's cores; empty for any."""
        return self.pinning.driver if self.pinning else ()

    def with_control(self, name: str, result: ControlResult) -> ControlStack:
        """This, and what the control `name` wants."""
        return ControlStack(
            prefix=(*self.prefix, *result.prefix),
            environment=merge_environments(self.environment, result.environment),
            pinning=result.pinning or self.pinning,
            restored=self.restored | ({name: result.restored} if result.restored else {}),
            started=self.started | ({name: result.started} if result.started else {}),
            preload=name if result.preload else self.preload,
            executor=self.executor,
            shown_as=self.shown_as,
        )


def merge_environments(ours: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Two environments in one; libraries to be preloaded are a list, and two may be wanted."""
    libraries = [each["LD_PRELOAD"] for each in (ours, more) if "LD_PRELOAD" in each]
    return {**ours, **more, **({"LD_PRELOAD": ":".join(libraries)} if libraries else {})}


def build_engine_environment(job: TrialJob, held: ControlStack) -> dict[str, str]:
    """What joins the environment of the engine's process: what the controls want and, where it
    keeps data, the library that counts its flushes. That comes last, so that it counts what no
    other leaves out; callgrind and sanitizers bear none.
    """
    (job.home / flushes.FILE).unlink(missing_ok=True)  # a copied load brings its own
    instrumented = held.executor or "instrumentation" in job.build.facts
    if instrumented or not isinstance(job.engine, WeighsData) or not flushes.LIBRARY.is_file():
        return held.environment
    return merge_environments(held.environment, {"LD_PRELOAD": str(flushes.LIBRARY)})


def hold_controls(job: TrialJob, notes: TrialNotes, stack: ExitStack) -> ControlStack:
    """Holds every control until the stack is left; what one of them found only then joins too."""
    rng = random.Random(f"{job.seed}/{job.candidate.name}/{job.attempt}")
    target = replace(make_control_target(job.engine, job.build, job.home), rng=rng)
    together = ControlStack()
    for name, control in job.tools.controls.items():
        value = job.controls.get(name, control.default)
        result = stack.enter_context(control.hold(value, target))
        result.found["value"] = value
        notes.controls[name] = result.found
        together = together.with_control(name, result)
    notes.pinning = together.pinning
    return together


def act_after_restore(stack: ControlStack, notes: TrialNotes, home: Path) -> None:
    """Lets the controls act on a load's copy in `home`, before the engine starts on it."""
    for name, act in stack.restored.items():
        _record_note(notes, name, act(home))


def record_no_copy(stack: ControlStack, notes: TrialNotes) -> None:
    """Notes that controls of a load's copy had nothing to act on."""
    for name in stack.restored:
        _record_note(notes, name, {"refused": NO_COPY})


def act_after_start(stack: ControlStack, notes: TrialNotes, pid: int | None) -> None:
    """Lets the controls look at the engine's process, once it runs and is connected to."""
    for name, look in stack.started.items() if pid else ():
        _record_note(notes, name, look(pid or 0))


def fill_cache(stack: ControlStack, notes: TrialNotes, engine: Engine, server: Server) -> None:
    """Fills the engine's cache before a phase, where a control wants it."""
    if stack.preload and isinstance(engine, Preloads):
        found = engine.preload(server)
        if why := found.pop(MISSED, ""):
            found["refused"] = why
        _record_note(notes, stack.preload, found)


def _record_note(notes: TrialNotes, name: str, found: dict[str, str]) -> None:
    """Adds what a control found out later; a refusal takes back what it had set."""
    notes.controls[name] |= found
    if "refused" in found:
        notes.controls[name].pop("set", None)


def describe_conditions(notes: TrialNotes) -> dict[str, ControlCondition]:
    """What each control did, for the record."""
    return {name: _describe_condition(dict(found)) for name, found in notes.controls.items()}


def _describe_condition(found: dict[str, str]) -> ControlCondition:
    before, chosen = found.pop("before", ""), found.pop("set", "")
    refused = found.pop("refused", "")
    return ControlCondition(found.pop("value"), before, chosen, refused, details=found)
