"""Control `preload`: whether tables and indexes are in the engine's cache when a phase begins.

Else the first minutes of a phase read what the ones before it happened to leave there, another
part after each restart. The engine must have a cache that its connections share, and hold the
data: what is larger drives itself out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from dyno.host.controls import KEEP, ControlResult, ControlTarget, OneOfWords, make_not_held


class Preload(OneOfWords):
    """Has the engine read every table and index before each phase (`engines.Preloads`)."""

    name = "preload"
    summary = "reads all tables and indexes into the engine's cache before each phase"
    default = KEEP
    values: ClassVar[dict[str, str]] = {
        KEEP: "as loading, settling and earlier phases left the cache",
        "on": "every table and index is read once, before each phase but the load",
    }

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        if value == KEEP or subject.preloads:
            return ""
        return "only its own connections can fill this engine's cache"

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        before = "as it was"
        if why := self.find_refusal(value, subject):
            yield make_not_held(before, why)
        elif value == KEEP:
            yield ControlResult({"before": before})
        else:
            yield ControlResult({"before": before, "set": value}, preload=True)


CONTROL = Preload()
