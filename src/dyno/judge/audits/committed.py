"""Audit `committed`: were the rows that statements changed committed?

After each answer the driver knows whether a transaction is open: servers say so in every answer
(MySQL's status flags, PostgreSQL's `ReadyForQuery`), SQLite and DuckDB by what was sent to them. So
each changed row was committed, was rolled back, or was neither when its connection was closed: a
lost row, which no commit ever waited for. Counted from the start to the close, warm-up included.

- Over half of the rows lost: *invalid*, nothing was committed. Over 1 %: *doubtful*. More than on
  the base by 10 points: *invalid*, it left out commits that the base made.
- Over half of the rows rolled back: *doubtful*. More than on the base by 10 points: *doubtful*, by
  25: *invalid*. A transaction that is rolled back now and then belongs to a workload.
- Events that leave a transaction open, in a larger share than on the base by 5 points: *invalid*.
  A session without autocommit reads in one endless transaction, which costs less.

Streams that changed fewer than 100 rows are judged by their open ends alone.

A server counts commits, too (PostgreSQL's `xact_commit`, the `Handler_commit` of MySQL's family).
Over a phase, from before its start until the driver's connections were closed, it must have counted
one for each transaction that changed rows and was committed, and may have counted others'. More
than 50 fewer: *invalid*, it did not commit what it said; *doubtful* beside a server that runs
already, since a proxy may have sent it elsewhere, and where a collector may have lost some
(PostgreSQL before 15). *Not checked* where tables have no transactions or nobody counts along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Unchecked, conclude, list_every_case
from dyno.judge.audits._statements import StreamView, list_streams, list_unjudged, pair_streams
from dyno.judge.audits.server_count import COMMITS, LOSSY
from dyno.numbers import format_count
from dyno.record import Finding, PhaseRecord, Soundness, Trial

ROWS_LEAST = 100
ENDS_LEAST = 20
DOUBTFUL_LOST_PERCENT = 1.0
INVALID_PERCENT = 50.0
LOST_POINTS = 10.0
ROLLED_BACK_POINTS = 10.0
INVALID_ROLLED_BACK_POINTS = 25.0
OPEN_POINTS = 5.0
#: Commits that a server may count less.
FREE_COMMITS = 50

_Fault = tuple[Soundness, str]


@dataclass(frozen=True)
class _Rows:
    """What became of the rows that a stream changed; percentages are None of too few."""

    changed: int
    lost_percent: float | None
    rolled_back_percent: float | None
    open_percent: float | None


class Committed:
    """Rows committed, rolled back and lost; transactions left open."""

    summary = "the rows that were changed were committed, and no candidate leaves commits out"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each stream whose rows were not committed; else one with their number."""
        known = list(list_streams(view))
        counted = [it for it in known if it.is_counted and not it.is_idle]
        base = {_make_key(own): other for own, other in pair_streams(view) if other.is_counted}
        findings = [
            own.case.make_finding("committed", soundness, f"{own.name}: {words}")
            for own in counted
            for soundness, words in _find_faults(_count_rows(own), base.get(_make_key(own)))
        ]
        cases = list(list_every_case(view.run, view.trials))
        findings += [it for case in cases if (it := _judge_server(case))]
        asked = sum(it.counted is not None for case in cases for it in _count_commits(case))
        missing = [
            *list_unjudged(view, known),
            *(why for case in cases if (why := _find_without_commits(case))),
        ]
        return conclude("committed", findings, _describe_sound(counted, asked), missing)


def _make_key(own: StreamView) -> tuple[str, str]:
    return own.case.name, own.name


def _count_rows(own: StreamView) -> _Rows:
    committed = sum(each.rows_committed for each in own.tallies)
    rolled_back = sum(each.rows_rolled_back for each in own.tallies)
    lost = sum(each.rows_lost for each in own.tallies)
    ends = sum(each.ends for each in own.tallies)
    changed = committed + rolled_back + lost
    return _Rows(
        changed,
        _compute_percent(lost, changed, ROWS_LEAST),
        _compute_percent(rolled_back, changed, ROWS_LEAST),
        _compute_percent(sum(each.ends_open for each in own.tallies), ends, ENDS_LEAST),
    )


def _compute_percent(part: int, whole: int, least: int) -> float | None:
    return 100 * part / whole if whole >= least else None


def _find_faults(own: _Rows, base: StreamView | None) -> Iterator[_Fault]:
    there = _count_rows(base) if base else None
    yield from _find_lost(own, there)
    yield from _find_rolled_back(own, there)
    if own.open_percent is None or there is None or there.open_percent is None:
        return
    if abs(own.open_percent - there.open_percent) > OPEN_POINTS:
        words = f"{own.open_percent:.0f} % of the events left a transaction open"
        yield "invalid", f"{words}, {there.open_percent:.0f} % on the base"


def _find_lost(own: _Rows, there: _Rows | None) -> Iterator[_Fault]:
    lost = own.lost_percent
    if lost is None:
        return
    told = f"{lost:.1f} % of the {own.changed:,} rows changed were never committed"
    if lost > INVALID_PERCENT:
        yield "invalid", f"{told}, and were gone when their connection was closed"
    elif there and lost - (there.lost_percent or 0.0) > LOST_POINTS:
        yield "invalid", f"{told}, {there.lost_percent or 0.0:.1f} % on the base"
    elif lost > DOUBTFUL_LOST_PERCENT:
        yield "doubtful", told


def _find_rolled_back(own: _Rows, there: _Rows | None) -> Iterator[_Fault]:
    percent = own.rolled_back_percent
    if percent is None:
        return
    told = f"{percent:.1f} % of the {own.changed:,} rows changed were rolled back"
    more = percent - (there.rolled_back_percent or 0.0) if there else 0.0
    if there and abs(more) > ROLLED_BACK_POINTS:
        soundness: Soundness = "invalid" if abs(more) > INVALID_ROLLED_BACK_POINTS else "doubtful"
        yield soundness, f"{told}, {there.rolled_back_percent or 0.0:.1f} % on the base"
    elif percent > INVALID_PERCENT:
        yield "doubtful", f"{told}: what was measured is work that was undone"


@dataclass(frozen=True)
class _Commits:
    """Those of a phase that the driver knows of, and the server's count; None: it has none."""

    trial: Trial
    known: int
    counted: float | None
    is_lossy: bool

    @property
    def lacking(self) -> float:
        """How many the server did not count."""
        return 0.0 if self.counted is None else self.known - self.counted


def _count_commits(case: Case) -> Iterator[_Commits]:
    """Of each trial in which enough transactions changed rows on a server."""
    if case.candidate.embedded or case.candidate.engine == "null":
        return
    for trial in case.played:
        record = next((each for each in trial.phases if each.phase == case.phase), None)
        known = sum(tally.commits for tally in record.streams) if record else 0
        if record and known > FREE_COMMITS:
            names = {each.name for each in record.readings}
            yield _Commits(trial, known, _read_counted(record), LOSSY in names)


def _read_counted(record: PhaseRecord) -> float | None:
    """None, too, where the server's count began anew meanwhile."""
    found = (each.value for each in record.readings if each.name == COMMITS and each.value >= 0)
    return next(found, None)


def _judge_server(case: Case) -> Finding | None:
    """The server committed fewer transactions than it said."""
    odd = [it for it in _count_commits(case) if it.lacking > FREE_COMMITS]
    if not odd:
        return None
    worst = max(odd, key=lambda it: it.lacking)
    sure = not case.candidate.attached and not worst.is_lossy
    words = (
        f"the server counted {worst.counted:,.0f} commits, "
        f"and said that {worst.known:,} transactions with changed rows were committed"
    )
    only = replace(case, played=tuple(it.trial for it in odd))
    return only.make_finding("committed", "invalid" if sure else "doubtful", words)


def _find_without_commits(case: Case) -> Unchecked | None:
    if all(it.counted is not None for it in _count_commits(case)):
        return None
    return Unchecked("the server did not count commits along", case.name)


def _describe_sound(counted: Sequence[StreamView], asked: int) -> str:
    """`asked`: phases whose commits a server counted, too."""
    if not counted:
        return ""
    rows = sum(tally.rows_committed for it in counted for tally in it.tallies)
    if not rows:
        return f"no row was changed in {format_count(len(counted), 'stream')}"
    told = f"{rows:,} changed rows were committed"
    return f"{told}, as the server counted in {asked} phases" if asked else told


AUDIT = Committed()
