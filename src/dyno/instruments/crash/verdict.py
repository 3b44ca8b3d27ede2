"""A run of kills judged: what was acknowledged and is gone, and what nobody looked at."""

from __future__ import annotations

import math

import numpy as np

from dyno.engines import SURVIVES
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.simulate import compute_clopper_pearson
from dyno.numbers import format_percent, format_quantity
from dyno.record import Finding, Verdict
from dyno.record.crash import CrashPlay, CrashRun
from dyno.record.verdict import Overall

#: What is counted of each kill.
COUNTS = ("lost_count", "torn_count")
#: What a kill does not tell.
UNSEEN = {
    "folders": "whether a folder that was made, moved or removed outlives a cut: it does so here",
    "other writes": "those by stdio, or by an instruction of its own, are kept synced or not",
    "hardware": "what the disk itself does with a sync: a cut of its power is needed for that",
}


def judge_crashes(run: CrashRun) -> Verdict:
    """The verdict on all kills of the record."""
    findings = tuple(list_findings(run))
    invalid = next((it.sentence for it in findings if it.soundness == "invalid"), "")
    overall: Overall = "measured"
    if any(it.loses for it in run.plays):
        overall = "loses" if exceeds_promise(run) else "loses as permitted"
    sentence = f"{describe_losses(run)}." if run.plays else "No kill yet."
    return Verdict(
        overall="invalid" if invalid else overall,
        sentence=f"Invalid: {invalid}" if invalid else sentence,
        complete=len(run.plays) == run.times,
        comparisons=(),
        findings=findings,
        dropped=(),
    )


def exceeds_promise(run: CrashRun) -> bool:
    """Return whether any kill took more than the settings say: where a commit survives a power cut
    but for the last ones, these alone may go, and in their order. An engine of which nothing is
    known promises all, and so does one whose syncs did nothing.
    """
    promise = SURVIVES[-1] if run.silent else run.promise or SURVIVES[-1]
    if promise == SURVIVES[2]:
        return any(it.is_broken or it.passed_count for it in run.plays)
    return promise == SURVIVES[3] and any(it.loses for it in run.plays)


def describe_losses(run: CrashRun) -> str:
    """Return how many acknowledged commits are lost and torn in how many kills, how long it took to
    recover, and where any is lost the first, and what was promised. Commits of an engine that did
    not recover are not among these.
    """
    kills = f"{len(run.plays)} kill{'s' * (len(run.plays) != 1)}"
    asked = sum(it.acknowledged for it in run.plays if not it.failure)
    losing = sum(it.loses for it in run.plays)
    lost, torn = (sum(getattr(it, name) for it in run.plays) for name in COUNTS)
    clauses = [f"lost {lost:,} of {asked:,} acknowledged commits", f"{torn:,} torn"]
    if passed := sum(it.passed_count for it in run.plays):
        clauses.append(f"{passed:,} lost before one that is kept")
    if dead := sum(bool(it.failure) for it in run.plays):
        clauses.append(f"{dead} did not recover")
    if damaged := sum(bool(it.damage) for it in run.plays):
        clauses.append(f"{damaged} damaged")
    if recovered := describe_recovery(run):
        clauses.append(f"recovered in {recovered}")
    told = ", ".join(clauses)
    if not losing:
        return f"{run.candidate.name} keeps its commits in {kills}: {told}"
    is_promised = bool(run.promise) and not run.silent
    beyond = ", beyond its promise" if exceeds_promise(run) else ", as its settings permit"
    decided = ", ".join(f"{name}={value}" for name, value in run.decided_by.items())
    firsts = [
        f"; the first: kill {it.number}, {tell}" for it in run.plays if (tell := tell_first(it))
    ]
    return (
        f"{run.candidate.name} loses in {losing} of {kills}{beyond * is_promised}: {told}"
        f"{f'; a commit survives {run.promise} ({decided})' * is_promised}{''.join(firsts[:1])}"
    )


def tell_first(play: CrashPlay) -> str:
    """What is gone of a kill first; empty where nothing is."""
    named = next(iter((*play.lost, *play.torn, *play.damage)), "")
    return play.failure.partition("\n")[0] or named


def describe_recovery(run: CrashRun) -> str:
    """`1.21 s [1.12, 1.31]`: geometric mean with its 95 % interval; empty where none recovered."""
    found = find_recoveries(run)
    if not found:
        return ""
    logs = np.log(found)
    mean = format_quantity(math.exp(float(logs.mean())), "s")
    if len(found) < 2:
        return mean
    interval = compute_t_interval(logs, 0.05)
    low, high = (format_quantity(math.exp(float(it)), "s") for it in (interval.low, interval.high))
    return f"{mean} [{low}, {high}]"


def find_recoveries(run: CrashRun) -> list[float]:
    """The times to recover of those that did, in s."""
    return [it.recovery_s for it in run.plays if it.recovery_s is not None]


def list_findings(run: CrashRun) -> list[Finding]:
    """What was looked at, and by name what was not."""
    found = []
    if unseen := sorted({name for play in run.plays for name in play.unseen}):
        told = f"the layer does not see what is written by {', '.join(unseen)}"
        found.append(Finding("layer", "invalid", told))
    elif run.plays:
        syncs = sum(it.syncs for it in run.plays)
        told = f"{syncs:,} syncs seen, and no writes by a mapping, io_uring or io_submit"
        if names := sum(it.names for it in run.plays):
            told = f"{told}; {names:,} names of files taken back"
        found.append(Finding("layer", "sound", told))
    if unknown := [name for play in run.plays for name in play.unknown]:
        told = f"the engine has what nobody asked for: {unknown[0]}"
        found.append(Finding("ledger", "invalid", told))
    if run.plays and not any(it.lost_bytes or it.names for it in run.plays):
        told = "no kill took anything from the files: all was synced by then"
        found.append(Finding("cut", "doubtful", told))
    if run.silent:
        told = "syncs did nothing (--silent-sync), so what is lost says nothing of the engine"
        found.append(Finding("syncs", "doubtful", told))
    if run.plays and not any(it.loses for it in run.plays):
        most = compute_clopper_pearson(0, len(run.plays))[1]
        told = f"a loss in {format_percent(100 * most)} of kills may have been missed (95 %)"
        found.append(Finding("kills", "sound", told))
    if unchecked := sorted({name for play in run.plays for name in play.unchecked}):
        told = f"whether these are whole: {', '.join(unchecked)}"
        found.append(Finding("integrity", "not checked", told))
    elif run.plays and not any(it.damage or it.failure for it in run.plays):
        found.append(Finding("integrity", "sound", "whole after every kill, by its own checks"))
    if not run.torn:
        told = "torn writes: --torn keeps some of the sectors that were not synced"
        found.append(Finding("torn", "not checked", told))
    return found + [Finding(name, "not checked", told) for name, told in UNSEEN.items()]
