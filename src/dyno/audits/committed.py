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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dyno.analysis.run_view import RunView
from dyno.audits._cases import conclude
from dyno.audits._statements import StreamView, pairs, streams, unjudged
from dyno.record import Finding, Soundness

ROWS_LEAST = 100
ENDS_LEAST = 20
DOUBTFUL_LOST_PERCENT = 1.0
INVALID_PERCENT = 50.0
LOST_POINTS = 10.0
ROLLED_BACK_POINTS = 10.0
INVALID_ROLLED_BACK_POINTS = 25.0
OPEN_POINTS = 5.0

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
        known = list(streams(view))
        counted = [it for it in known if it.is_counted]
        base = {_key(own): other for own, other in pairs(view) if other.is_counted}
        findings = [
            own.case.finding("committed", soundness, f"{own.name}: {words}")
            for own in counted
            for soundness, words in _faults(_rows(own), base.get(_key(own)))
        ]
        return conclude("committed", findings, _sound(counted), unjudged(view, known))


def _key(own: StreamView) -> tuple[str, str]:
    return own.case.name, own.name


def _rows(own: StreamView) -> _Rows:
    committed = sum(each.rows_committed for each in own.tallies)
    rolled_back = sum(each.rows_rolled_back for each in own.tallies)
    lost = sum(each.rows_lost for each in own.tallies)
    ends = sum(each.ends for each in own.tallies)
    changed = committed + rolled_back + lost
    return _Rows(
        changed,
        _percent(lost, changed, ROWS_LEAST),
        _percent(rolled_back, changed, ROWS_LEAST),
        _percent(sum(each.ends_open for each in own.tallies), ends, ENDS_LEAST),
    )


def _percent(part: int, whole: int, least: int) -> float | None:
    return 100 * part / whole if whole >= least else None


def _faults(own: _Rows, base: StreamView | None) -> Iterator[_Fault]:
    there = _rows(base) if base else None
    yield from _lost(own, there)
    yield from _rolled_back(own, there)
    if own.open_percent is None or there is None or there.open_percent is None:
        return
    if abs(own.open_percent - there.open_percent) > OPEN_POINTS:
        words = f"{own.open_percent:.0f} % of the events left a transaction open"
        yield "invalid", f"{words}, {there.open_percent:.0f} % on the base"


def _lost(own: _Rows, there: _Rows | None) -> Iterator[_Fault]:
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


def _rolled_back(own: _Rows, there: _Rows | None) -> Iterator[_Fault]:
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


def _sound(counted: Sequence[StreamView]) -> str:
    if not counted:
        return ""
    rows = sum(tally.rows_committed for it in counted for tally in it.tallies)
    return f"{rows:,} changed rows were committed" if rows else "no row was changed"


AUDIT = Committed()
