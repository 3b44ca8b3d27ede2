"""Controls: one file per thing held still during a trial, which offers `CONTROL`.

A control sets, yields what it found and what the processes to be started need, and puts back
exactly what it found: a knob of the whole host is noted in a journal first, so that `put_back`
can do that for a run that was killed.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from dyno import subprocesses
from dyno.errors import build_unknown_error
from dyno.host.controls._journal import KnobOutcome, list_knobs_of_root, put_back
from dyno.plugins import load_things
from dyno.record import PinningCondition

__all__ = ["NOT_HERE", "KnobOutcome", "list_knobs_of_root", "load_controls", "put_back"]

#: What is said of a control that this machine does not allow, before the reason.
NOT_HERE = "not controllable here"
#: The value of a control that leaves things as they are.
KEEP = "keep"
#: Why nothing of an attached server is controlled.
RUNS_ALREADY = "the server runs already, is not ours, and may be on another host"

#: What a control does to the folder of a load's copy, and what it answers for the record.
AfterRestore = Callable[[Path], dict[str, str]]
#: What a control finds in the engine's process, once it runs, for the record.
AfterStart = Callable[[int], dict[str, str]]


@dataclass(frozen=True)
class ControlTarget:
    """What a control is held for.

    `embedded`: the engine lives in the driver's process. `attached`: it is a server that runs
    already, not ours to start or to set, perhaps on another host. `home` is where its data will
    lie (the folder need not exist yet); `pid` its process, where an attached one is known to run
    here. `settings` says, by a control's name and value, what the
    engine itself is set to for it (`engines.Knobs`); `preloads`: it can be told to fill its cache.
    `rng` is the trial's own randomness.
    """

    embedded: bool = True
    attached: bool = False
    pid: int | None = None
    home: Path = Path()
    settings: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    preloads: bool = False
    rng: random.Random = field(default_factory=random.Random)


@dataclass(frozen=True)
class ControlResult:
    """What a control did.

    `found` is for the record: `before`, the state found; `set`, what was set, if anything; and
    `refused`, only where it is not held: why; all else is a detail. `prefix` is the command that
    starts the engine's process under it (`("setarch", "-R")`), `environment` is added to that
    process's; `pinning` the cores, where the control chooses them. `restored` is called
    with the folder of a load's copy before the engine starts on it, `started` with the engine's
    process when its connections stand. `preload` has the engine fill its cache before each phase.
    """

    found: dict[str, str]
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    pinning: PinningCondition | None = None
    restored: AfterRestore | None = None
    started: AfterStart | None = None
    preload: bool = False


class Control(Protocol):
    """Holds one thing still; `values` maps each value it takes to its meaning.

    A value in capitals (`LIST`) stands for a kind of values.
    """

    summary: str
    default: str
    values: ClassVar[dict[str, str]]

    def check(self, value: str) -> None:
        """`UsageError` where the control takes no such value, before anything is started."""

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        """Why `value` (or a kind of values) cannot be held here; empty where it can."""

    def hold(self, value: str, subject: ControlTarget) -> AbstractContextManager[ControlResult]:
        """Holds `value` for one trial, or says under `refused` why not."""


class OneOfWords:
    """What controls share whose every value is a word of its own, a key of `values`."""

    name: ClassVar[str]
    values: ClassVar[dict[str, str]]

    def check(self, value: str) -> None:
        """`UsageError` where `value` is none of the words."""
        if value not in self.values:
            raise build_unknown_error(f"value of {self.name}", value, self.values)


@runtime_checkable
class HoldsHost(Protocol):
    """A control of something that the whole host has once: two trials cannot differ in it at the
    same time.
    """

    holds_host: ClassVar[bool]


def load_controls() -> dict[str, Control]:
    """Every control, by name."""
    return load_things("dyno.host.controls", "CONTROL")


def make_not_held(before: str, why: str) -> ControlResult:
    """Nothing is held, and the record says why."""
    return ControlResult({"before": before, "refused": why})


TRIED_S = 10.0


class OneProcess(OneOfWords):
    """Says how the engine's process is to be started; nothing is to be put back."""

    default = KEEP

    def describe_default(self) -> str:
        raise NotImplementedError

    def find_reason(self, value: str) -> str:
        """Return why no process of this host can have `value`, or ""."""
        raise NotImplementedError

    def start(self, value: str, found: dict[str, str]) -> ControlResult:
        """Return how to start one that has it; `found` goes into the record."""
        raise NotImplementedError

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        if value == KEEP:
            return ""
        return RUNS_ALREADY if subject.attached else self.find_reason(value)

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        before = self.describe_default()
        if value == KEEP:
            yield ControlResult({"before": before})
        elif why := self.find_refusal(value, subject):
            yield make_not_held(before, why)
        else:
            yield self.start(value, {"before": before, "set": value})


def try_command(command: Sequence[str]) -> tuple[bool, str]:
    """Return whether the command succeeded, and its output; a missing one fails with none."""
    try:
        done = subprocesses.run(command, TRIED_S)
    except (OSError, subprocess.TimeoutExpired):
        return False, ""
    return done.returncode == 0, (done.stdout or done.stderr).strip()
