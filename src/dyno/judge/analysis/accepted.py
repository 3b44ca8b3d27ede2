"""Losses that a repository accepts (`.dyno/accepted.toml`): told as accepted, and no failure, until
a day. The verdict of a run stays what it is; only what is said and done about it differs.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from dyno.judge.analysis.effect_words import name_metric
from dyno.record import AcceptedLoss, Comparison, Verdict


def find_accepted(losses: tuple[AcceptedLoss, ...], row: Comparison) -> AcceptedLoss | None:
    """Return the entry that accepts a row's loss, else the one that did and is over; None if there
    is none. A loss that was estimated larger than its entry's size is not accepted.
    """
    own = [
        it
        for it in losses
        if row.verdict == "slower"
        and fnmatchcase(name_metric(row.metric), it.metric)
        and row.slowdown_percent <= it.size_percent
    ]
    return max(own, key=lambda it: it.until, default=None)


def describe_accepted(losses: tuple[AcceptedLoss, ...], row: Comparison) -> str:
    """Return until when a row's loss is accepted, or was, and why; empty if nobody accepts it."""
    if (found := find_accepted(losses, row)) is None:
        return ""
    word = "no longer accepted since" if found.is_over else "accepted until"
    return f"{word} {found.until}: {found.reason}"


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
