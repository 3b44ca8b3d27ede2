"""A run of kills judged: what was acknowledged and is gone, what nobody looked at, and of several
engines the time to recover and the rate of commits, kill by kill beside the base's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from dyno.engines import SURVIVES
from dyno.judge.analysis.block_pairs import BLOCKS_LEAST, BlockPair, compare_blocks
from dyno.judge.analysis.sentence import build_result_clause
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.simulate import compute_clopper_pearson
from dyno.numbers import format_count, format_percent, format_quantity
from dyno.record import Comparison, Finding, Verdict
from dyno.record.crash import CrashRun, CrashSide
from dyno.record.verdict import Overall, find_overall

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
    rows = compare_sides(run)
    losses = [describe_losses(side, run.silent) for side in run.sides if side.plays]
    compared = [build_result_clause(find_overall(rows), rows)] if rows else []
    sentence = f"{'; '.join((*losses, *compared))}." if losses else "No kill yet."
    few = bool(run.others) and run.is_over and not rows
    return Verdict(
        overall="invalid" if invalid else choose_word(run, rows),
        sentence=f"Invalid: {invalid}" if invalid else sentence,
        complete=run.is_over,
        comparisons=rows,
        findings=findings,
        dropped=(),
        reason="too few kills after which all engines recovered" if few else "",
    )


def choose_word(run: CrashRun, rows: Sequence[Comparison]) -> Overall:
    """A loss beyond a promise stands before all else, and what is slower before a loss of what the
    base keeps, by settings that permit it.
    """
    base, *others = run.sides
    loses = any(it.loses for it in others) and not base.loses if others else base.loses
    if any(exceeds_promise(side, run.silent) for side in run.sides):
        return "loses"
    word: Overall = find_overall(rows) if rows or not others else "inconclusive"
    return "loses as permitted" if loses and word != "slower" else word


def compare_sides(run: CrashRun) -> tuple[Comparison, ...]:
    """Each engine against the base, in the time to recover and the rate of commits, once all are
    killed; of kills after which one did not recover nothing is compared.
    """
    sides = run.sides
    rounds = [
        each
        for each in zip(*(side.plays for side in sides), strict=False)
        if all(it.recovery_s and it.rate_per_s for it in each)
    ]
    if len(sides) < 2 or not run.is_over or len(rounds) < BLOCKS_LEAST:
        return ()
    pairs = [
        BlockPair(
            metric,
            sides[0].candidate.name,
            side.candidate.name,
            [getattr(each[0], name) for each in rounds],
            [getattr(each[place], name) for each in rounds],
        )
        for place, side in enumerate(sides[1:], 1)
        for name, metric in (("recovery_s", run.metric), ("rate_per_s", run.rate_metric))
    ]
    return tuple(compare_blocks(pairs, (len(rounds),), run.margin_percent))


def exceeds_promise(side: CrashSide, is_silent: bool) -> bool:
    """Return whether any kill took more than the settings say: where a commit survives a power cut
    but for the last ones, these alone may go, and in their order. An engine of which nothing is
    known promises all, and so does one whose syncs did nothing.
    """
    promise = SURVIVES[-1] if is_silent else side.promise or SURVIVES[-1]
    if promise == SURVIVES[2]:
        return any(it.is_broken or it.passed_count for it in side.plays)
    return promise == SURVIVES[3] and side.loses


def describe_losses(side: CrashSide, is_silent: bool) -> str:
    """Return how many acknowledged commits are lost and torn in how many kills, how long it took to
    recover, and where any is lost the first, and what was promised. Commits of an engine that did
    not recover are not among these.
    """
    plays = side.plays
    kills = format_count(len(plays), "kill")
    asked = sum(it.acknowledged for it in plays if not it.failure)
    losing = sum(it.loses for it in plays)
    lost, torn = (sum(getattr(it, name) for it in plays) for name in COUNTS)
    clauses = [f"lost {lost:,} of {asked:,} acknowledged commits", f"{torn:,} torn"]
    if passed := sum(it.passed_count for it in plays):
        clauses.append(f"{passed:,} lost before one that is kept")
    if dead := sum(bool(it.failure) for it in plays):
        clauses.append(f"{dead} did not recover")
    if damaged := sum(bool(it.damage) for it in plays):
        clauses.append(f"{damaged} damaged")
    if recovered := describe_recovery(side):
        clauses.append(f"recovered in {recovered}")
    told = ", ".join(clauses)
    if not losing:
        return f"{side.candidate.name} keeps its commits in {kills}: {told}"
    is_promised = bool(side.promise) and not is_silent
    beyond = exceeds_promise(side, is_silent)
    how = ", beyond its promise" if beyond else ", as its settings permit"
    decided = ", ".join(f"{name}={value}" for name, value in side.decided_by.items())
    first = next((f"; the first: kill {it.number}, {it.first}" for it in plays if it.first), "")
    return (
        f"{side.candidate.name} loses in {losing} of {kills}{how * is_promised}: {told}"
        f"{f'; a commit survives {side.promise} ({decided})' * is_promised}{first}"
    )


def describe_recovery(side: CrashSide) -> str:
    """`1.21 s [1.12, 1.31]`: geometric mean with its 95 % interval; empty where none recovered."""
    found = side.recoveries_s
    if not found:
        return ""
    logs = np.log(found)
    mean = format_quantity(math.exp(float(logs.mean())), "s")
    if len(found) < 2:
        return mean
    interval = compute_t_interval(logs, 0.05)
    low, high = (format_quantity(math.exp(float(it)), "s") for it in (interval.low, interval.high))
    return f"{mean} [{low}, {high}]"


def list_findings(run: CrashRun) -> list[Finding]:
    """What was looked at, and by name what was not."""
    found = []
    for side in run.sides:
        whose = f"{side.candidate.name}: " if run.others else ""
        own = list(_list_side_findings(side)) if side.plays else []
        found += [replace(it, sentence=f"{whose}{it.sentence}") for it in own]
    if run.silent:
        told = "syncs did nothing (--silent-sync), so what is lost says nothing of the engine"
        found.append(Finding("syncs", "doubtful", told))
    if not run.torn:
        told = "torn writes: --torn keeps some of the sectors that were not synced"
        found.append(Finding("torn", "not checked", told))
    return found + [Finding(name, "not checked", told) for name, told in UNSEEN.items()]


def _list_side_findings(side: CrashSide) -> Iterator[Finding]:
    plays = side.plays
    if unseen := sorted({name for play in plays for name in play.unseen}):
        told = f"the layer does not see what is written by {', '.join(unseen)}"
        yield Finding("layer", "invalid", told)
    else:
        syncs, names = (sum(getattr(it, name) for it in plays) for name in ("syncs", "names"))
        told = f"{syncs:,} syncs seen, and no writes by a mapping, io_uring or io_submit"
        more = f"; {names:,} names of files taken back" if names else ""
        yield Finding("layer", "sound", f"{told}{more}")
    if unknown := [name for play in plays for name in play.unknown]:
        told = f"the engine has what nobody asked for: {unknown[0]}"
        yield Finding("ledger", "invalid", told)
    if not any(it.lost_bytes or it.names for it in plays):
        told = "no kill took anything from the files: all was synced by then"
        yield Finding("cut", "doubtful", told)
    if not side.loses:
        most = compute_clopper_pearson(0, len(plays))[1]
        told = f"a loss in {format_percent(100 * most)} of kills may have been missed (95 %)"
        yield Finding("kills", "sound", told)
    if unchecked := sorted({name for play in plays for name in play.unchecked}):
        told = f"whether these are whole: {', '.join(unchecked)}"
        yield Finding("integrity", "not checked", told)
    elif not any(it.damage or it.failure for it in plays):
        yield Finding("integrity", "sound", "whole after every kill, by its own checks")
