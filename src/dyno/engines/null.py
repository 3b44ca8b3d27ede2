"""Engine `null`: answers after a set delay and keeps nothing.

It is the test double, the client-only baseline and the positive control. What stands after the
`@` is the delay: `null@200us`, `null@1.5ms`, `null@0`; bare `null` answers at once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import ClassVar

from dyno.builds import Build, Say
from dyno.engines import NO_CONDITIONS, Ask, Server, StartConditions
from dyno.errors import UsageError

#: Nanoseconds in each unit that a delay may carry.
UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
#: The longest delay; the driver's histograms end at an hour, its users' patience before.
LONGEST_NS = 60 * UNITS_NS["s"]


class Engine:
    """No program, no settings, no data: a delay."""

    embedded: ClassVar[bool] = True
    options: ClassVar[dict[str, tuple[str, str]]] = {}
    flags: ClassVar[dict[str, tuple[str, str]]] = {}
    versions: ClassVar[tuple[str, ...]] = ()

    def __init__(self, ask: Ask) -> None:
        del ask

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        del flags, settings
        parse_delay_ns(build or "0")

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        del flags, say
        delay = parse_delay_ns(build or "0")
        facts = {"source": "none", "delay_ns": str(delay)}
        return Build("null", build, build or "0", Path(os.devnull), facts)

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        del settings
        return Server({"kind": "null", "delay_ns": int(build.facts["delay_ns"])}, home)

    def settings(self, server: Server) -> dict[str, str]:
        return {"delay_ns": str(server.session["delay_ns"])}

    def settle(self, server: Server) -> None:
        """Nothing to settle."""

    def stop(self, server: Server) -> None:
        """Nothing to stop."""


def parse_delay_ns(text: str) -> int:
    """A duration such as `200us` in ns; 0 needs no unit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-zµ]*)", text)
    number, unit = match.groups() if match else ("", "")
    if unit not in UNITS_NS and float(number or 1) != 0:
        hint = f"a number and one of {', '.join(UNITS_NS)}, for instance null@200us"
        raise UsageError(f"cannot read the delay '{text}'", hint=hint)
    delay = round(float(number) * UNITS_NS.get(unit, 0))
    if delay > LONGEST_NS:
        raise UsageError(f"the delay '{text}' is too long", hint="60 s at most")
    return delay
