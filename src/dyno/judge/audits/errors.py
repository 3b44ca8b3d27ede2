"""Audit `errors`: were events answered, or did they fail?

An event that failed has no latency and adds nothing to a rate, so what is shown holds for the
others only. The limits follow from what is then unknown of *all* that was begun:

- beyond 1 % failed the p99 of all is unknown, beyond 50 % the median is, and errors are what was
  measured: *doubtful* and *invalid*. A deadlock now and then belongs to a workload.
- A candidate that fails on 10 % more of its events than the base does less work, whatever its
  rate says: five times the default margin, *invalid*. (Fewer failures than the base are no fault.)
- Events that were begun anew (RESTART_EVENT) are done in the end, with all attempts inside their
  latency. Where over half of the attempts are thrown away, conflicts were measured: *doubtful*.

Statements are judged like events: a script may catch what the engine said (`pcall`), and then its
event ends well. Of the statements sent those count that were refused, but for the one that each
failed event and each attempt begun anew had; the limits are the same.

The shares are taken over all restarts, since that is what the figures rest on. Each stream is
judged by itself, those of the load too. Codes are the engine's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import NO_EVENT, Case, Unchecked, conclude, list_every_case
from dyno.record import Finding, Soundness, Tally

DOUBTFUL_PERCENT = 1.0
INVALID_PERCENT = 50.0
#: More than the base, in points.
INVALID_POINTS = 10.0
RESTARTED_PERCENT = 50.0
#: How many codes a sentence names.
CODES = 3


@dataclass(frozen=True)
class _Share:
    """What became of a stream's events over all restarts, and of its statements: `caught` are those
    that were refused and failed no event.
    """

    failed_percent: float
    restarted_percent: float
    caught_percent: float
    codes: str


class ErrorsAudit:
    """The share of failed events and statements, and of attempts thrown away."""

    summary = "few events and statements failed, no candidate's far more often than the base's"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each stream that failed too often; else one with the largest share."""
        run, trials = view.run, view.trials
        shares = {
            (case.workload, case.candidate.name, case.phase, stream): _compute_share(
                [t for _, t in seen]
            )
            for case in list_every_case(run, trials)
            for stream, seen in case.streams.items()
            if any(tally.done or tally.failed or tally.statements for _, tally in seen)
        }
        findings: list[Finding] = []
        unchecked: list[Unchecked] = []
        for case in list_every_case(run, trials):
            for stream in case.streams:
                place = (case.phase, stream)
                own = shares.get((case.workload, case.candidate.name, *place))
                if own is None:
                    unchecked.append(Unchecked(NO_EVENT, f"{case.name}, {stream}"))
                    continue
                base = shares.get((case.workload, run.design.base, *place))
                findings += _make_findings(case, stream, own, base)
        most = max((share.failed_percent for share in shares.values()), default=0.0)
        told = (
            f"{most:.2g} % of the events of a stream failed at most, of {len(shares)}"
            if shares
            else ""
        )
        if not shares and not unchecked:
            unchecked = [Unchecked("no event was counted")]
        return conclude("errors", findings, told, unchecked)


def _compute_share(tallies: Sequence[Tally]) -> _Share:
    begun = sum(tally.done + tally.failed for tally in tallies)
    restarted = sum(tally.restarted for tally in tallies)
    codes: Counter[str] = Counter()
    for tally in tallies:
        codes.update(tally.errors)
    return _Share(
        _compute_percent(sum(tally.failed for tally in tallies), begun),
        _compute_percent(restarted, begun + restarted),
        _compute_caught_percent(tallies),
        ", ".join(code for code, _ in codes.most_common(CODES)),
    )


def _compute_caught_percent(tallies: Sequence[Tally]) -> float:
    statements = [each for tally in tallies for each in tally.statements]
    refused = sum(each.failed for each in statements)
    caught = refused - sum(tally.failed + tally.restarted for tally in tallies)
    # what could not be prepared was never sent
    return _compute_percent(max(0, caught), max(refused, sum(each.sent for each in statements)))


def _compute_percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _make_findings(case: Case, stream: str, own: _Share, base: _Share | None) -> Iterator[Finding]:
    for soundness, words in _find_faults(own, base):
        codes = f" ({own.codes})" if own.codes else ""
        yield case.make_finding("errors", soundness, f"{stream}: {words}{codes}")


def _find_faults(own: _Share, base: _Share | None) -> Iterator[tuple[Soundness, str]]:
    there = base.failed_percent if base else None
    if fault := _check_rate("events", own.failed_percent, there):
        yield fault
    there = base.caught_percent if base else None
    if fault := _check_rate("statements", own.caught_percent, there):
        soundness, words = fault
        yield soundness, f"{words}, and the script went on"
    if own.restarted_percent > RESTARTED_PERCENT:
        words = f"{own.restarted_percent:.0f} % of the attempts were thrown away and begun anew"
        yield "doubtful", words


def _check_rate(what: str, percent: float, base: float | None) -> tuple[Soundness, str] | None:
    told = f"{percent:.1f} % of the {what} failed"
    if percent > INVALID_PERCENT:
        return "invalid", f"{told}, over {INVALID_PERCENT:.0f} %: errors are what was measured"
    if base is not None and percent - base > INVALID_POINTS:
        return "invalid", f"{told}, {base:.1f} % on the base: it did less work"
    if percent > DOUBTFUL_PERCENT:
        words = f"{told}, over {DOUBTFUL_PERCENT:.0f} %: the others' p99 is not that of all"
        return "doubtful", words
    return None


AUDIT = ErrorsAudit()
