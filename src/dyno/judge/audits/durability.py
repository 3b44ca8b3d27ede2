"""Audit `durability`: does every candidate promise as much for a commit?

An engine that lets a commit wait for the disk does work that another one leaves out; no other
setting changes the rate of small writes as much. It is the first thing that a reader asks.

- Candidates of one engine that differ here because one was asked to (its own settings differ from
  the base's) are what is compared: told, and sound. Where nobody asked, a default did it: doubtful.
- Different engines that promise differently are doubtful however it came: who waits less is faster.

- A server whose sessions begin without autocommit commits no statement outside a transaction. What
  a commit survives then says nothing of such statements: doubtful where it is one side's alone,
  asked for or not, and not checked where it is all sides'.

What a commit survives, each engine says itself from the settings that it reported (`data` among the
conditions); what the disk below does with a flush, no engine knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Inapplicable, Unchecked, conclude, keeps_data
from dyno.record import Candidate, DataCondition, Finding, Soundness, Trial


class Durability:
    """What a commit survives on each candidate."""

    summary = "commits are equally durable on every candidate"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate that promises otherwise than the base; else a sound one."""
        run, trials = view.run, view.trials
        keeping = [side for side in run.candidates if keeps_data(side)]
        told = {side.name: _find_last_condition(side, trials) for side in keeping}
        if found := _find_without_autocommit(told, trials):
            return found
        if len(keeping) < 2 or run.design.base not in told:
            left = Inapplicable("no candidate keeps data beside a base that does")
            return conclude("durability", [], "", [left])
        known = {name: found for name, found in told.items() if found and found.survives}
        base = next(side for side in keeping if side.name == run.design.base)
        if base.name not in known:
            why = "the base does not tell what a commit survives"
            return [Finding("durability", "not checked", why)]
        findings = [
            _make_finding(base, side, known, trials)
            for side in keeping
            if side.name in known and known[side.name].survives != known[base.name].survives
        ]
        same = f"on {len(known)} of {len(told)} candidates a commit survives "
        silent = [name for name in told if name not in known]
        why = "the engine does not tell what a commit survives"
        unchecked = [Unchecked(why, name) for name in silent]
        told_alike = same + known[base.name].survives if len(known) > 1 else ""
        return conclude("durability", findings, told_alike, unchecked)


def _make_finding(
    base: Candidate, side: Candidate, known: dict[str, DataCondition], trials: Sequence[Trial]
) -> Finding:
    ours, theirs = known[side.name], known[base.name]
    sentence = (
        f"a commit survives {ours.survives} on {side.name} ({_describe_facts(ours)}) and "
        f"{theirs.survives} on {base.name} ({_describe_facts(theirs)})"
    )
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


def _describe_facts(found: DataCondition) -> str:
    return ", ".join(f"{name}={value}" for name, value in found.decided_by.items()) or "always"


AUDIT = Durability()
