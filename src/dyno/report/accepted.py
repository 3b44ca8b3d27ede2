"""Losses that a repository accepts (`.dyno/accepted.toml`): told as accepted, and no failure, until
a day. The verdict of a run stays what it is; only what is said and done about it differs. So is the
state of a history's flagged change: *open*, *accepted*, *rejected*, or *fixed*.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import structs

from dyno.errors import UsageError
from dyno.judge.analysis.effect_words import describe_verdict, measure_losses, name_metric
from dyno.record import Comparison, FlaggedChange, History, HistorySeries, Verdict
from dyno.record.decode import decode
from dyno.record.history import ChangeState
from dyno.record.schema import Record, require
from dyno.report.names import NamedRow

FILE = Path(".dyno", "accepted.toml")


class AcceptedLoss(Record):
    """A loss of at most `size` (`"8%"`, as it is told) in `metric`, as formats name it
    (`name_metric`; a `*` stands for anything), until that day's end in UTC. With a `commit`, or its
    beginning, only the step of a history that this one brought.
    """

    metric: str
    size: str | float
    reason: str
    until: date
    commit: str = ""

    def __post_init__(self) -> None:
        require(self.metric.strip(), "metric", "a name")
        require(self.reason.strip(), "reason", "a reason")
        require(0 < self.size_percent < math.inf, "size", "above 0 %")

    @property
    def size_percent(self) -> float:
        """Raise `ValueError` if it is no number."""
        return float(str(self.size).strip().removesuffix("%"))

    @property
    def is_over(self) -> bool:
        """It is accepted no longer."""
        return datetime.now(UTC).date() > self.until


class AcceptedFile(Record):
    """All of `.dyno/accepted.toml`."""

    accepted: tuple[AcceptedLoss, ...] = ()


def read_accepted(here: Path) -> tuple[AcceptedLoss, ...]:
    """Return what is accepted in the repository that `here` lies in, else in that folder; raise
    `UsageError` if its file is not whole.
    """
    root = next((it for it in (here, *here.parents) if (it / ".git").exists()), here)
    try:
        text = (root / FILE).read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ()
    try:
        return decode(AcceptedFile, tomllib.loads(text)).accepted
    except ValueError as error:
        hint = '[[accepted]] has metric = "…", size = "5%", reason = "…", until = 2030-01-31'
        raise UsageError(f"cannot read {root / FILE}", cause=error, hint=hint) from None


def find_accepted(losses: tuple[AcceptedLoss, ...], row: Comparison) -> AcceptedLoss | None:
    """Return the entry that accepts a row's loss, else the one that did and is over; None if there
    is none. A loss that was estimated larger than its entry's size is not accepted.
    """
    own = [
        it
        for it in losses
        if row.verdict == "slower"
        and not it.commit
        and fnmatchcase(name_metric(row.metric), it.metric)
        and measure_losses(row)[0] <= it.size_percent
    ]
    return max(own, key=lambda it: it.until, default=None)


def describe_accepted(losses: tuple[AcceptedLoss, ...], row: Comparison) -> str:
    """Return until when a row's loss is accepted, or was, and why; empty if nobody accepts it."""
    if (found := find_accepted(losses, row)) is None:
        return ""
    word = "no longer accepted since" if found.is_over else "accepted until"
    return f"{word} {found.until}: {found.reason}"


def name_accepted(losses: tuple[AcceptedLoss, ...], rows: Sequence[NamedRow]) -> list[NamedRow]:
    """Return the rows; one whose loss is accepted today says so."""
    return [
        replace(it, word=f"{describe_verdict(it.row)}, {describe_accepted(losses, it.row)}")
        if (found := find_accepted(losses, it.row)) and not found.is_over
        else it
        for it in rows
    ]


def find_states(losses: tuple[AcceptedLoss, ...], history: History) -> History:
    """Return the history with the state of each flagged change."""

    def find(series: HistorySeries, flagged: FlaggedChange) -> FlaggedChange:
        state, why = find_state(losses, series, flagged)
        return structs.replace(flagged, state=state, state_reason=why)

    found = (
        structs.replace(it, flagged_changes=tuple(find(it, each) for each in it.flagged_changes))
        for it in history.series
    )
    return structs.replace(history, series=tuple(found))


def find_state(
    losses: tuple[AcceptedLoss, ...], series: HistorySeries, flagged: FlaggedChange
) -> tuple[ChangeState, str]:
    """Return the state of a flagged change, and why where that is not plain to see.

    A slowdown is *fixed* once the level has come back, *rejected* by its fresh comparison, and
    *accepted* by an entry of its size; a gain has no state.
    """
    if flagged.slowdown_percent <= 0:
        return "", ""
    if not flagged.stands:
        return "fixed", ""
    if flagged.trial and flagged.trial.verdict in ("not slower", "faster"):
        return "rejected", "by its fresh comparison"
    slowdown, build = flagged.slowdown_percent, series.points[flagged.at].build
    size = slowdown if series.metric.name != "capacity" else 100 * slowdown / (100 + slowdown)
    commit = build.get("commit", "")
    own = [
        it
        for it in losses
        if not it.is_over
        and fnmatchcase(name_metric(series.metric), it.metric)
        and size <= it.size_percent
        and commit.startswith(it.commit)
    ]
    found = max(own, key=lambda it: it.until, default=None)
    return ("accepted", f"until {found.until}: {found.reason}") if found else ("open", "")


def list_accepted(losses: tuple[AcceptedLoss, ...], verdict: Verdict) -> list[str]:
    """Return a line for each loss that is accepted, or was until a day that is over."""
    return [
        f"{row.candidate}, {name_metric(row.metric)}: {told}"
        for row in verdict.comparisons
        if row.primary and (told := describe_accepted(losses, row))
    ]


def judge_accepted(losses: tuple[AcceptedLoss, ...], verdict: Verdict) -> str:
    """Return the verdict's word where accepted losses are *not slower*."""
    if verdict.overall != "slower" or verdict.rehearsal or not losses:
        return verdict.overall
    words = set()
    for row in verdict.means or [it for it in verdict.comparisons if it.primary]:
        found = find_accepted(losses, row)
        words.add("accepted" if found and not found.is_over else row.verdict)
    if "slower" in words:
        return "slower"
    # what was not measured, or not to its end, is worse than accepted
    is_open = "inconclusive" in words or not verdict.complete or bool(verdict.reason)
    return "inconclusive" if is_open else "not slower"
