"""Control `aslr`: whether the engine's memory layout is drawn anew at every start, or frozen.

Where code and stack lie moves speed by a few percent (Mytkowicz et al., ASPLOS 2009, "Producing
wrong data without doing anything obviously wrong"; Curtsinger and Berger, ASPLOS 2013). Left on,
and with an environment whose size varies, each restart draws another layout, and the spread shows
in the interval. Frozen, the spread is gone, but both candidates sit in one layout each for good.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import ClassVar

from dyno.controls import NOT_HERE, Held
from dyno.errors import unknown

#: Fills the environment; its length moves the stack, which begins below it.
FILLER = "DYNO_LAYOUT"
#: A page: what a longer filler adds is aligned away.
FILLER_BYTES = 4096
SWITCH = Path("/proc/sys/kernel/randomize_va_space")
PREFIX = ("setarch", "-R")


class Aslr:
    """Address space layout randomisation of the engine's process."""

    summary = "draws the engine's memory layout anew at each restart, or freezes it"
    default = "on"
    values: ClassVar[dict[str, str]] = {
        "on": "left on; the environment's size varies from restart to restart too",
        "off": "switched off for the engine's process (setarch -R), environment of fixed size",
    }

    def check(self, value: str) -> None:
        """`UsageError` where `value` is neither."""
        if value not in self.values:
            raise unknown("value of aslr", value, self.values)

    @contextmanager
    def hold(self, value: str, *, embedded: bool, dice: random.Random) -> Iterator[Held]:
        """Answers the prefix and the filler; nothing of the machine is changed."""
        del embedded
        before, refused = _state(), _refusal() if value == "off" else ""
        filler = "x" * (dice.randrange(FILLER_BYTES) if value == "on" else 0)
        found = {"before": before, "filler_bytes": str(len(filler))}
        prefix = PREFIX if value == "off" and not refused else ()
        if refused:
            found["state"] = f"{NOT_HERE}: {refused}"
        elif value == "on" and before == "off":
            found["state"] = f"{NOT_HERE}: switched off for the whole machine ({SWITCH})"
        yield Held(found, prefix=prefix, environment={FILLER: filler})


def _state() -> str:
    """The machine's own setting: `off`, `stack` (without the heap) or `on` (proc(5))."""
    try:
        digit = SWITCH.read_text().strip()
    except OSError:
        return "unknown"
    return {"0": "off", "1": "stack", "2": "on"}.get(digit, digit)


@cache
def _refusal() -> str:
    """Why `setarch -R` does not work here, found by trying it; empty where it does."""
    try:
        done = subprocess.run([*PREFIX, "true"], capture_output=True, text=True, check=False)
    except OSError:
        return "no setarch (util-linux)"
    return "" if done.returncode == 0 else done.stderr.strip() or "setarch -R is refused"


CONTROL = Aslr()
