"""Audit `durability`: does every candidate promise as much for a commit, and flush as it promises?

An engine that lets a commit wait for the disk does work that another one leaves out; no other
setting changes the rate of small writes as much. It is the first thing that a reader asks.

- Candidates of one engine that differ here because one was asked to (its own settings differ from
  the base's) are what is compared: told, and sound. Where nobody asked, a default did it: doubtful.
- Different engines that promise differently are doubtful however it came: who waits less is faster.

A promise is no proof. Where settings promise that a commit survives a power cut, the flushes that
reached the kernel (probe `flushes`; with them writes to files opened with O_DSYNC) are held against
the transactions that changed rows and were committed, in each phase but loads. A flush serves at
most one commit of each connection; SQLite shares none, and its rollback journal takes two a commit.

- Fewer: *invalid*, the engine did not wait for the disk. *Doubtful* where only the server's own
  count is known, and where an embedded engine made half of them: an update that changes no byte
  writes nothing.
- *Not checked*: nobody counted; the process may flush by io_uring, which is not seen; the commits
  wrote nothing, or statements say that they wait for less or write to tables that a crash empties.

- A server whose sessions begin without autocommit commits no statement outside a transaction. What
  a commit survives then says nothing of such statements: doubtful where it is one side's alone,
  asked for or not, and not checked where it is all sides'.

What a commit is to survive, each engine says itself from the settings that it reported (`data`
among the conditions); what the disk below does with a flush, no engine knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    Case,
    Inapplicable,
    Unchecked,
    conclude,
    keeps_data,
    list_every_case,
)
from dyno.record import Candidate, DataCondition, Finding, PhaseRecord, Soundness, Trial

#: What takes flushes, as engines say it.
POWER_CUT = "a power cut"
#: Words of statements by which a commit waits for less, or writes to what a crash empties.
LESS = re.compile(
    r"synchronous|flush_log_at|sync_binlog|\b(?:temp|temporary|unlogged|memory)\b", re.I
)


@dataclass(frozen=True)
class _Account:
    """The commits of a trial that changed rows in a phase, and the flushes beside them."""

    side: Candidate
    trial: Trial
    record: PhaseRecord

    @cached_property
    def readings(self) -> Mapping[str, float]:
        return {each.name: each.value for each in self.record.readings}

    @property
    def data(self) -> DataCondition:
        return self.trial.conditions.data or DataCondition()

    @property
    def commits(self) -> int:
        return sum(tally.commits for tally in self.record.streams)

    @property
    def is_seen(self) -> bool:
        """Were those counted that reached the kernel, and not by the server itself?"""
        return "flushes" in self.readings

    @property
    def flushes(self) -> float | None:
        """None where nobody counted them; a server that tells of none may not count them at all."""
        if self.is_seen:
            return self.readings["flushes"] + self.readings["synced_writes"]
        return self.readings.get("fsyncs") or None

    @property
    def needed(self) -> int:
        if each := self.data.flushes_per_commit:
            return self.commits * each
        connections = sum(tally.connections for tally in self.record.streams)
        return math.ceil(self.commits / max(1, connections))

    @property
    def lacking(self) -> float:
        """How many flushes are missing, of a candidate that promises to make them."""
        if self.flushes is None or self.data.survives != POWER_CUT:
            return 0.0
        return max(0.0, self.needed - self.flushes)

    @property
    def is_proof(self) -> bool:
        return self.is_seen and not (self.side.embedded and self.lacking <= self.needed / 2)

    @property
    def why_unknown(self) -> str:
        """What may have made flushes needless, or unseen; empty where nothing has."""
        if self.readings.get("io_rings"):
            return "flushes by io_uring are not seen"
        if self.side.embedded and self.readings.get("write_calls", math.inf) < self.commits:
            return "the commits wrote nothing"
        if not self.side.embedded and "server_commits" not in self.readings:
            return "the server did not count commits along, as where tables have none"
        tallies = [tally for record in self.trial.phases for tally in record.streams]
        texts = (
            it.text for tally in tallies for it in (*tally.statements, *tally.statements_before)
        )
        word = next((found[0] for text in texts if (found := LESS.search(text))), "")
        return f"a statement says `{word}`, so that commits may wait for less" if word else ""


class Durability:
    """What a commit survives on each candidate, and the flushes that make it so."""

    summary = "commits are equally durable on every candidate, and were flushed as they promise"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate that promises otherwise than the base, and for each phase
        with too few flushes; else a sound one.
        """
        run, trials = view.run, view.trials
        keeping = [side for side in run.candidates if keeps_data(side)]
        told = {side.name: _find_last_condition(side, trials) for side in keeping}
        if found := _find_without_autocommit(told, trials):
            return found
        cases = [case for case in list_every_case(run, trials) if case.plan]
        findings = [it for case in cases if (it := _judge_flushes(case))]
        if len(keeping) < 2 or run.design.base not in told:
            left = Inapplicable("no candidate keeps data beside a base that does")
            return conclude("durability", findings, "", [left])
        known = {name: found for name, found in told.items() if found and found.survives}
        base = next(side for side in keeping if side.name == run.design.base)
        if base.name not in known:
            why = "the base does not tell what a commit survives"
            return conclude("durability", findings, "", [Unchecked(why)])
        counted = _describe_counts(cases)
        promises = {
            name: f"{found.survives} on {name} ({_describe_facts(found, counted.get(name))})"
            for name, found in known.items()
        }
        findings += [
            _make_finding(base, side, promises, trials)
            for side in keeping
            if side.name in known and known[side.name].survives != known[base.name].survives
        ]
        why = "the engine does not tell what a commit survives"
        unchecked = [Unchecked(why, name) for name in told if name not in known]
        unchecked += [it for case in cases for it in _list_unchecked(case)]
        sound = len(known) > 1 and not any(it.why != why for it in unchecked)
        words = _describe_sound(known, len(told), base.name, counted) if sound else ""
        return conclude("durability", findings, words, unchecked)


def _list_accounts(case: Case) -> list[_Account]:
    """Of each trial in which transactions changed rows."""
    found = (
        _Account(case.candidate, trial, record)
        for trial in case.played
        for record in trial.phases
        if record.phase == case.phase
    )
    return [each for each in found if each.commits]


def _judge_flushes(case: Case) -> Finding | None:
    """Commits that were to survive a power cut had too few flushes for it."""
    lacking = [it for it in _list_accounts(case) if it.lacking and not it.why_unknown]
    if not lacking:
        return None
    worst = max(lacking, key=lambda it: (it.is_proof, it.lacking))
    own = "" if worst.is_seen else " by the server's own count"
    words = (
        f"{_describe_count([worst])}{own}, and {worst.needed:,} are needed for a commit to survive "
        f"{POWER_CUT}"
    )
    claimed = worst.readings.get("fsyncs", 0.0)
    if worst.is_seen and claimed >= worst.needed:
        words += f" (the server itself counted {claimed:,.0f}, which did not reach the kernel)"
    only = replace(case, played=tuple(it.trial for it in lacking))
    return only.make_finding("durability", "invalid" if worst.is_proof else "doubtful", words)


def _list_unchecked(case: Case) -> Iterator[Unchecked]:
    """Why nothing is known of commits that were to survive a power cut."""
    for each in _list_accounts(case):
        if each.data.survives == POWER_CUT:
            if each.flushes is None:
                yield Unchecked("flushes were not counted, and settings prove nothing", case.name)
            elif each.lacking and each.why_unknown:
                yield Unchecked(f"{_describe_count([each])}, but {each.why_unknown}", case.name)


def _describe_count(accounts: Sequence[_Account]) -> str:
    """`812 commits, 830 flushes`."""
    commits = sum(it.commits for it in accounts)
    return f"{commits:,} commits, {sum(it.flushes or 0 for it in accounts):,.0f} flushes"


def _describe_counts(cases: Sequence[Case]) -> dict[str, str]:
    """Of each candidate with commits of which flushes were counted."""
    accounts = [it for case in cases for it in _list_accounts(case) if it.flushes is not None]
    names = dict.fromkeys(it.side.name for it in accounts)
    return {
        name: _describe_count([it for it in accounts if it.side.name == name]) for name in names
    }


def _describe_sound(
    known: Mapping[str, DataCondition], told: int, base: str, counted: Mapping[str, str]
) -> str:
    """What a commit survives on all, and what was counted on each."""
    where, survives = f"on {len(known)} of {told} candidates", known[base].survives
    if not counted:
        return f"{where} settings promise that a commit survives {survives}; no commit changed rows"
    words = ", ".join(f"{words} on {name}" for name, words in counted.items())
    return f"{where} a commit survives {survives}: {words}"


def _make_finding(
    base: Candidate, side: Candidate, promises: dict[str, str], trials: Sequence[Trial]
) -> Finding:
    sentence = f"by settings a commit survives {promises[side.name]} and {promises[base.name]}"
    asked = side.engine == base.engine and side.settings != base.settings
    soundness: Soundness = "sound" if asked else "doubtful"
    words = (
        f"{sentence}, {'as was asked' if asked else 'so one pays for what the other leaves out'}"
    )
    meant = tuple(t.number for t in trials if t.status == "ok" and t.candidate == side.name)
    return Finding("durability", soundness, words, () if asked else meant)


def _find_without_autocommit(
    told: dict[str, DataCondition | None], trials: Sequence[Trial]
) -> list[Finding]:
    """Where statements outside a transaction commit nothing, on one side or on all."""
    names = [name for name, found in told.items() if found and found.autocommits is False]
    if not names:
        return []
    words = f"a statement outside a transaction never commits on {', '.join(names)} (autocommit)"
    if len(names) == len(told):
        return [Finding("durability", "not checked", words)]
    meant = tuple(t.number for t in trials if t.status == "ok" and t.candidate in names)
    words = f"{words}, and does on the others: there it pays for a commit"
    return [Finding("durability", "doubtful", words, meant)]


def _find_last_condition(side: Candidate, trials: Sequence[Trial]) -> DataCondition | None:
    """The condition as the candidate's last good trial found it."""
    own = [t.conditions for t in trials if t.status == "ok" and t.candidate == side.name]
    return own[-1].data if own else None


def _describe_facts(found: DataCondition, counted: str | None) -> str:
    facts = ", ".join(f"{name}={value}" for name, value in found.decided_by.items()) or "always"
    return f"{facts}; {counted}" if counted else facts


AUDIT = Durability()
