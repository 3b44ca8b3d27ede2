"""Controls: one file per thing held still during a trial, which offers `CONTROL`.

A control sets, yields what it found and what the processes to be started need, and puts back
exactly what it found.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from dyno.plugins import things

#: How `Held.found` begins to say, under `state`, that this machine did not let a control do it.
NOT_HERE = "not controllable here"


#: What a control does to the folder of a load's copy, and what it answers for the record.
Restored = Callable[[Path], dict[str, str]]


@dataclass(frozen=True)
class Held:
    """What a control did.

    `found` is the state before and the state set, for the record. `prefix` is the command that
    starts the engine's process under it (`("setarch", "-R")`), `environment` is added to that
    process's; `cpus` are the driver's cores, where the control chooses them. `restored` is called
    with the folder of a load's copy before the engine starts on it.
    """

    found: dict[str, str]
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()
    restored: Restored | None = None


class Control(Protocol):
    """Holds one thing still; `values` maps each value it takes to its meaning.

    A value in capitals (`LIST`) stands for a kind of values.
    """

    summary: str
    default: str
    values: ClassVar[dict[str, str]]

    def check(self, value: str) -> None:
        """`UsageError` where the control takes no such value, before anything is started."""

    def hold(
        self, value: str, *, embedded: bool, dice: random.Random
    ) -> AbstractContextManager[Held]:
        """Holds `value` for one trial; `dice` is the trial's own randomness."""


def controls() -> dict[str, Control]:
    """Every control, by name."""
    return things("dyno.controls", "CONTROL")
