"""What the controls share that are for the engine's process alone; few of them need root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dyno import subprocesses
from dyno.host.controls import (
    KEEP,
    RUNS_ALREADY,
    ControlResult,
    ControlTarget,
    OneOfWords,
    make_not_held,
)

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
