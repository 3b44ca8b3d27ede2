"""What the controls share that set knobs of the whole host, for as long as a trial lasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dyno.host.controls import (
    KEEP,
    RUNS_ALREADY,
    ControlResult,
    ControlTarget,
    OneOfWords,
    _journal,
    _knob,
    make_not_held,
)
from dyno.host.controls._journal import KnobHold


@dataclass(frozen=True)
class HostSetting:
    """A knob's file, and the text to be written to it."""

    knob: Path
    text: str


class HostWide(OneOfWords):
    """Sets every knob that `settings` answers, all or none, and puts all of them back.

    `missing` says what a host without any of them lacks.
    """

    missing: ClassVar[str]
    default = KEEP
    holds_host = True

    def list_settings(self, value: str, subject: ControlTarget) -> Sequence[HostSetting]:
        """The knobs of this host with what each is to hold; `keep` asks only which they are."""
        raise NotImplementedError

    def describe_value(self, setting: HostSetting, raw: str) -> str:
        """What a knob holds, in the control's own words."""
        del setting
        return raw

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        """Return the first obstacle that looking shows."""
        if value == KEEP:
            return ""
        if subject.attached:
            return RUNS_ALREADY
        settings = self.list_settings(value, subject)
        whys = (_knob.find_refusal(each.knob, each.text) for each in settings)
        return next(filter(None, whys), "") if settings else self.missing

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        """Set the knobs; a note at the end says if another process changed one meanwhile."""
        settings = self.list_settings(value, subject)
        before = self._describe_values(
            (each, _knob.read_current_value(each.knob)) for each in settings
        )
        if value == KEEP:
            yield ControlResult({"before": before})
        elif why := self.find_refusal(value, subject):
            yield make_not_held(before, why)
        else:
            with ExitStack() as stack:
                found, holdings = self._hold_all(value, settings, stack)
                yield ControlResult(found)
            if changed := _explain_loss(settings, holdings):
                found["refused"] = changed
                found.pop("set", None)

    def _hold_all(
        self, value: str, settings: Sequence[HostSetting], stack: ExitStack
    ) -> tuple[dict[str, str], list[KnobHold]]:
        """Hold every knob until the stack closes; none if one is refused."""
        holdings: list[KnobHold] = []
        try:
            for each in settings:
                holdings.append(stack.enter_context(_journal.hold_knob(each.knob, each.text)))
        except _knob.KnobRefused as why:
            stack.close()
            before = self._describe_values(
                (each, _knob.read_current_value(each.knob)) for each in settings
            )
            return {"before": before, "refused": str(why)}, []
        pairs = zip(settings, holdings, strict=True)
        before = self._describe_values((each, holding.found) for each, holding in pairs)
        return {"before": before, "set": value}, holdings

    def _describe_values(self, pairs: Iterable[tuple[HostSetting, str]]) -> str:
        words = dict.fromkeys(self.describe_value(each, raw) for each, raw in pairs if raw)
        return ", ".join(words) or "none"


def _explain_loss(settings: Sequence[HostSetting], holdings: Sequence[KnobHold]) -> str:
    """Return why a control was not held to the end, or ""."""
    for each, holding in zip(settings, holdings, strict=False):
        outcome = holding.outcome
        if outcome and outcome.now != each.text:
            return f"another process set it to {outcome.now} meanwhile"
        if outcome and outcome.state == "refused":
            return f"it was held, and now {outcome}"
    return ""
