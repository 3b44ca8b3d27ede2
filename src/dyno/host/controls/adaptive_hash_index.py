"""Control `adaptive_hash_index`: whether an engine builds hash indexes by itself over hot pages.

What it builds hangs on what is asked for first, so restarts of one build differ by more with it
than without. It is the engine's own setting under a name that all engines share: an engine that
has one says what it is called there (`engines.Knobs`), and the candidate is given that setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from dyno.host.controls import (
    KEEP,
    RUNS_ALREADY,
    ControlResult,
    ControlTarget,
    OneOfWords,
    make_not_held,
)

NAME = "adaptive_hash_index"


class AdaptiveHashIndex(OneOfWords):
    """One of the engine's settings, which are read back at the end of the trial."""

    name = NAME
    summary = "lets the engine build hash indexes over hot pages, or not"
    default = KEEP
    values: ClassVar[dict[str, str]] = {
        KEEP: "as the engine's other settings have it",
        "on": "it does",
        "off": "it does not",
    }

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        if value == KEEP:
            return ""
        if subject.attached:
            return RUNS_ALREADY
        has_one = value in subject.settings.get(NAME, {})
        return "" if has_one else "this engine has no adaptive hash index"

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        """The candidate has the setting already: the record says that it was wanted."""
        before = "as the engine is set"
        if why := self.find_refusal(value, subject):
            yield make_not_held(before, why)
        else:
            yield ControlResult({"before": before} | ({} if value == KEEP else {"set": value}))


CONTROL = AdaptiveHashIndex()
