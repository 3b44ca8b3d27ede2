"""Losses that a repository accepts (`.dyno/accepted.toml`): told as accepted, and no failure, until
a day. The verdict of a run stays what it is; only what is said and done about it differs.
"""

from __future__ import annotations

import math
import tomllib
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from dyno.errors import UsageError
from dyno.judge.analysis.effect_words import measure_losses, name_metric
from dyno.record import Comparison, Verdict
from dyno.record.decode import decode
from dyno.record.schema import Record, require

FILE = Path(".dyno", "accepted.toml")


class AcceptedLoss(Record):
    """A loss of at most `size` (`"8%"`, as it is told) in `metric`, as formats name it
    (`name_metric`; a `*` stands for anything), until that day's end in UTC.
    """

    metric: str
    size: str | float
    reason: str
    until: date

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
