"""Control `aslr`: whether the engine's memory layout is drawn anew at every start, or frozen.

Where code and stack lie moves speed by a few percent (Mytkowicz et al., ASPLOS 2009, "Producing
wrong data without doing anything obviously wrong"; Curtsinger and Berger, ASPLOS 2013). Left on,
and with an environment whose size varies, each restart draws another layout, and the spread shows
in the interval. Frozen, the spread is gone, but both candidates sit in one layout each for good.
The lengths of paths move the same stack as the environment's size, so they are not drawn as well.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import ClassVar

from dyno import subprocesses
from dyno.host.controls import (
    RUNS_ALREADY,
    ControlResult,
    ControlTarget,
    OneOfWords,
    _knob,
    make_not_held,
)

#: Fills the environment; its length moves the stack, which begins below it.
FILLER = "DYNO_LAYOUT"
#: A page: what a longer filler adds is aligned away.
FILLER_BYTES = 4096
SWITCH = "/proc/sys/kernel/randomize_va_space"
PREFIX = ("setarch", "-R")


class Aslr(OneOfWords):
    """Address space layout randomisation of the engine's process."""

    name = "aslr"
    summary = "draws the engine's memory layout anew at each restart, or freezes it"
    default = "on"
    values: ClassVar[dict[str, str]] = {
        "on": "left on; the environment's size varies from restart to restart too",
        "off": "switched off for the engine's process (setarch -R), environment of fixed size",
    }

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        if subject.attached:
            return RUNS_ALREADY
        if value == "off":
            return _find_refusal()
        return f"switched off for the whole machine ({SWITCH})" if _read_state() == "off" else ""

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        filler = "x" * (subject.rng.randrange(FILLER_BYTES) if value == "on" else 0)
        if why := self.find_refusal(value, subject):
            yield make_not_held(_read_state(), why)
            return
        found = {"before": _read_state(), "set": value, "filler_bytes": str(len(filler))}
        yield ControlResult(found, PREFIX if value == "off" else (), {FILLER: filler})


def _read_state() -> str:
    """The machine's own setting: `off`, `stack` (without the heap) or `on` (proc(5))."""
    digit = _knob.read_current_value(_knob.find_path(SWITCH))
    return {"0": "off", "1": "stack", "2": "on"}.get(digit, digit or "unknown")


#: What trying it may take.
TRIED_S = 10.0


@cache
def _find_refusal() -> str:
    """Return why `setarch -R` does not work here, found by trying it, or ""."""
    try:
        done = subprocesses.run([*PREFIX, "true"], TRIED_S)
    except (OSError, subprocess.TimeoutExpired):
        return "no setarch (util-linux)"
    return "" if done.returncode == 0 else done.stderr.strip() or "setarch -R is refused"


CONTROL = Aslr()
