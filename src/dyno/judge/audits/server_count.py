"""Audit `server_count`: did the server see the work that the driver claims, and no other?

The server's own count over a phase, taken before its start and after the driver's connections were
closed, is held against what the driver's sessions claim: every statement that they sent (MySQL's
`Questions`), or every transaction whose end they were told (PostgreSQL's commits and rollbacks),
those of the warm-up, of failed events and of restarts included.

- Less than claimed: the driver counted work that never reached the server. *Invalid*; *doubtful*
  beside a server that runs already, since a proxy may have sent it elsewhere, and where the server
  may have lost some of its own count (PostgreSQL before 15 tells its collector by UDP).
- More than claimed by over 1 %: *doubtful*. Somebody else works on a server that runs already; one
  of our own nobody else reaches, so there a procedure or a text of the script's commits by itself.

A text of several statements is claimed as one, and what its further results tell of as possible:
whether they are a text's statements, which MySQL counts, or a procedure's, which it does not,
cannot be seen in an answer. Either number of the server's is sound.

`ANALYZE` and `VACUUM` of a whole PostgreSQL database take a transaction for each table, so up to
10,000 of them for each such statement are possible, too.

Either way some are free, since they are nobody's fault: 50 of a phase (our own questions, logging
in, autovacuum), 4 of a user and of a connection made anew (hanging up, a last ROLLBACK), each
failed statement, and what `thread_init` did, since a PostgreSQL adds that up to a second late. Of a
phase with fewer than that nothing is known, and nothing where the server's count was not to be had:
an embedded engine, a pooler that keeps connections.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    Case,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    list_every_case,
)
from dyno.record import Finding, PhaseRecord, Soundness, Trial

PROBE = "server"
COMMITS = "server_commits"
LOSSY = "server_collected_transactions"
FREE = 50
FREE_OF_A_USER = 4
MORE_PERCENT = 1.0


@dataclass(frozen=True)
class _Account:
    """Both counts of a phase, in the server's `unit`, and how many may be one side's alone.

    `further` may have been counted beyond what is claimed. `is_lossy`: the server may have lost
    some of its own count.
    """

    unit: str
    counted: float
    claimed: int
    further: int
    free: int
    is_lossy: bool

    @property
    def odd(self) -> float:
        """How many more the server counted, beyond the free ones; negative: how many less."""
        more = self.counted - self.claimed
        return max(0.0, more - self.further - self.free) + min(0.0, more + self.free)

    @property
    def odd_percent(self) -> float:
        """The same in percent of what was claimed."""
        return 100 * self.odd / max(1, self.claimed)


class ServerCount:
    """The server's own count of statements or transactions beside the driver's."""

    summary = "the server itself counted the statements or transactions that the driver sent"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each phase of a candidate whose counts differ; else one that is sound."""
        run, trials = view.run, view.trials
        findings: list[Finding] = []
        asked: list[_Account] = []
        unjudged: list[Unjudged] = []
        for case in list_every_case(run, trials):
            seen = [(trial, _read_account(trial, case.phase)) for trial in case.played]
            known = [(trial, account) for trial, account in seen if account]
            asked += [account for _, account in known]
            unjudged += [_make_unjudged(case)] if len(known) < len(seen) else []
            for less in (True, False):
                odd = [(t, a) for t, a in known if (_lacks(a) if less else _exceeds(a))]
                if odd:
                    findings.append(_make_finding(case, odd, less=less))
        return conclude("server_count", findings, _describe_sound(asked), unjudged)


def _make_unjudged(case: Case) -> Unjudged:
    if case.candidate.embedded:
        return Inapplicable("an embedded engine has no counts of its own", case.name)
    failed = next((r.unread[PROBE] for r in case.records if PROBE in r.unread), "")
    refused = f"the server could not be asked: {failed}" if failed else ""
    why = refused or "the server's own counts are not known"
    return Unchecked(why, case.name)


def _read_account(trial: Trial, phase: str) -> _Account | None:
    """None: one of the two did not count, or the server's count began anew (audit `counters`)."""
    record = next((each for each in trial.phases if each.phase == phase), None)
    readings = record.readings if record else ()
    counts = [r for r in readings if r.probe == PROBE and r.name != COMMITS and r.value >= 0]
    if record is None or not counts:
        return None
    claims = [tally.claimed for tally in record.streams if tally.claimed is not None]
    if len(claims) < len(record.streams):
        return None
    own, further = counts[0], sum(tally.claimed_further for tally in record.streams)
    numbers = own.value, sum(claims), further, _count_free(record)
    return _Account(own.unit, *numbers, own.name == LOSSY)


def _count_free(record: PhaseRecord) -> int:
    return FREE + sum(
        FREE_OF_A_USER * (tally.connections + tally.reconnected)
        + sum(tally.errors.values())
        + tally.claimed_before
        for tally in record.streams
    )


def _lacks(account: _Account) -> bool:
    return account.odd < 0


def _exceeds(account: _Account) -> bool:
    return account.odd_percent > MORE_PERCENT


def _make_finding(case: Case, odd: list[tuple[Trial, _Account]], less: bool) -> Finding:
    worst = max((account for _, account in odd), key=lambda account: abs(account.odd))
    attached = case.candidate.attached
    sure = less and not attached and not worst.is_lossy
    soundness: Soundness = "invalid" if sure else "doubtful"
    told = (
        f"the server counted {worst.counted:,.0f} {worst.unit}, the driver sent {worst.claimed:,}"
    )
    words = f"{told}: {_explain_cause(less, attached, worst.is_lossy)}"
    return replace(case, played=tuple(t for t, _ in odd)).make_finding(
        "server_count", soundness, words
    )


def _explain_cause(less: bool, attached: bool, is_lossy: bool) -> str:
    if less and is_lossy:
        return "work that was never done, or that the server's collector was not told of"
    if less:
        return "sent elsewhere by a proxy, or never" if attached else "work that was never done"
    if attached:
        return "somebody else is using the server"
    return "a text or a procedure that commits by itself, or a count that is wrong"


def _describe_sound(asked: list[_Account]) -> str:
    if not asked:
        return ""
    beside = (max(a.claimed - a.counted, a.counted - a.claimed - a.further, 0) for a in asked)
    told = f"the server's own count of {len(asked)} phases is what the driver sent"
    return f"{told}, to within {max(beside):,.0f}"


AUDIT = ServerCount()
