"""Control `inject`: a slowdown of known size in the engine, to see whether it is found.

A library is preloaded into the engine's process and spins before each answer: before a server's
`send`, and before the call that unlocks the file where an embedded engine ends a read. It counts
what it spun, and the probe `inject` reads that: the size is measured and not believed. An engine
that makes neither call gets no delay, and the probe says so. `dyno calibrate` lives on this; the
base carries `0ns`, so that both sides run the same code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from dyno.builds.compiler import Recipe, compile_library
from dyno.errors import DynoError, build_unknown_error
from dyno.host.controls import KEEP, ControlResult, OneProcess

SOURCE = Path(__file__).with_name("_inject.c")
#: A second: more would be a hang.
LONGEST_NS = 1_000_000_000


class InjectedDelay(OneProcess):
    """A busy loop of a set length before an engine's answers."""

    name = "inject"
    summary = "slows the engine down by a known amount, to see whether that is found"
    values: ClassVar[dict[str, str]] = {
        KEEP: "nothing is injected",
        "TIME": "before each answer the engine spins so long: 2500ns (below 5000ns: before "
        "some, for all of them); 0ns only counts answers",
        "TIME/N": "before each Nth answer of a thread: 20000ns/50",
    }

    def __init__(self, ensure_library: Callable[[], str] | None = None) -> None:
        """`ensure_library` answers the path of what is preloaded; None: a spin before answers."""
        self.ensure_library = ensure_library or _ensure_library

    def check(self, value: str) -> None:
        if value != KEEP:
            _parse_size(value)

    def describe_default(self) -> str:
        return "nothing"

    def find_reason(self, value: str) -> str:
        del value
        try:
            self.ensure_library()
        except DynoError as error:
            return error.message
        return ""

    def start(self, value: str, found: dict[str, str]) -> ControlResult:
        delay_ns, every = _parse_size(value)
        library = self.ensure_library()
        size = {"LD_PRELOAD": library, "DYNO_INJECT": f"{delay_ns} {every}"}
        return ControlResult(found | {"library": library}, environment=size)


def _ensure_library() -> str:
    return str(
        compile_library(Recipe("inject", SOURCE, "-O2", "", ("dl",)), lambda _: None).program
    )


def _parse_size(value: str) -> tuple[int, int]:
    """The spin in ns, and the nth answer gets it."""
    match = re.fullmatch(r"(\d{1,10})ns(?:/([1-9]\d{0,5}))?", value)
    if match is None or int(match[1]) > LONGEST_NS:
        raise build_unknown_error("value of inject", value, InjectedDelay.values)
    return int(match[1]), int(match[2] or 1)


CONTROL = InjectedDelay()
