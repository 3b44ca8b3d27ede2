"""Audit `rows_changed`: did statements that write rows change as many as they should?

What an engine reports of each statement (affected rows, the command tag's number) is added up text
by text. An update that finds nothing, or an insert that is told to ignore what is there already,
costs little and looks like work.

- A workload may declare how many rows each execution changes (`changes` of a declared event);
  the built-in updates and inserts by key do. Other numbers than that: *invalid*.
- A text that writes and changed no row at all, of 20 or more: *invalid* where it changed some on
  the base (or only on the candidate). So is a stream whose inserts changed no row, where another
  side's did, in whatever texts, by whatever options. Where all sides agree, *doubtful* if it is a
  tenth of what the stream sent.
- Candidates of one engine are held against the base, text by text. Where both were sent the same in
  the same order, any other number of rows is *invalid*. Where either side changed one and the same
  whole number of rows each time, in every restart of 100 executions or more, so is any other
  average from 0.5 % on. Elsewhere a difference beyond chance (1 of 10,000 texts) is *doubtful* from
  5 % on, *invalid* from 20 %; where work per second changes, one side's further executions may
  have changed other rows, and their share is added.

A statement that returns its rows (`RETURNING`) may report none as changed. Requests of a batch and
texts of several statements are judged together, by what they changed in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Inapplicable, conclude
from dyno.judge.audits._rows import (
    PairOfStreams,
    RowsOfText,
    describe_compared,
    list_uncompared,
)
from dyno.judge.audits._statements import (
    WRITES,
    StatementOutcome,
    StreamView,
    list_streams,
    list_unjudged,
    pair_streams,
)
from dyno.record import Finding, Soundness

#: Fewer statements than this may have found nothing by chance.
ZERO_LEAST = 20
#: Of what a stream sent.
ZERO_SHARE = 0.10
#: What changes rows by itself; a procedure's count is engines' own.
_COMPARED = WRITES | {"several", "batch"}

_Fault = tuple[Soundness, str]


class RowsChanged:
    """Rows changed by statement, against what is declared, against none and against the base."""

    summary = "statements that write rows changed as many as they should, as engines report it"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and statement that changed other rows; else a sound one."""
        known = list(list_streams(view))
        counted = [it for it in known if it.is_counted]
        findings = [_make_finding(it, fault) for it in counted for fault in _check_alone(it)]
        compared = [
            each
            for own, base in pair_streams(view)
            if own.is_counted and base.is_counted
            for each in _compare_texts(own, base)
        ]
        findings += [_make_finding(it.stream, it.fault) for it in compared if it.fault]
        findings += [_make_finding(it, f) for it in counted for f in _find_unchanged(it, counted)]
        left = list_unjudged(view, known)
        if counted and not _has_changed_rows(counted):
            left.append(Inapplicable("no statement that writes rows was sent"))
        left += list_uncompared(compared)
        return conclude("rows_changed", findings, _describe_sound(counted, compared), left)


def _make_finding(own: StreamView, fault: _Fault) -> Finding:
    soundness, words = fault
    return own.case.make_finding("rows_changed", soundness, f"{own.name}: {words}")


def _check_alone(own: StreamView) -> Iterator[_Fault]:
    """Against what its script declares."""
    for each in own.statements.values():
        expected = each.rows_expected
        if expected and expected != each.rows_changed:
            yield (
                "invalid",
                f"{each.quoted} changed {each.rows_changed:,} rows, and must change {expected:,}",
            )


def _find_unchanged(own: StreamView, all_streams: Sequence[StreamView]) -> Iterator[_Fault]:
    """Writes that changed no row."""
    whole = sum(each.sent for each in own.statements.values())
    inserting = [
        it.candidate.name for it in all_streams if _is_beside(it, own) and _has_inserted(it)
    ]
    for digest, each in own.statements.items():
        if not _is_without_effect(each) or each.rows_expected:
            continue
        others = [it for it in all_streams if _is_same_stream(it, own) and it is not own]
        found = [it.candidate.name for it in others if _has_effect(it.statements.get(digest))]
        told = f"{each.quoted} changed no row in {each.answered:,} executions"
        if found:
            yield "invalid", f"{told}, and did on {found[0]}"
        elif each.kind == "insert" and inserting and own.candidate.name not in inserting:
            yield "invalid", f"{told}: nothing was inserted, and rows were on {inserting[0]}"
        elif each.sent >= ZERO_SHARE * whole:
            yield "doubtful", f"{told}: the statement finds nothing to change"


def _is_beside(one: StreamView, other: StreamView) -> bool:
    ours = (one.case.workload, one.case.phase, one.name)
    return ours == (other.case.workload, other.case.phase, other.name)


def _is_same_stream(one: StreamView, other: StreamView) -> bool:
    return _is_beside(one, other) and one.candidate.options == other.candidate.options


def _has_inserted(own: StreamView) -> bool:
    return any(it.kind == "insert" and _has_effect(it) for it in own.statements.values())


def _is_without_effect(each: StatementOutcome) -> bool:
    nothing = each.rows_changed == 0 and each.rows_read == 0
    return each.kind in WRITES and nothing and each.answered >= ZERO_LEAST


def _has_effect(each: StatementOutcome | None) -> bool:
    return each is not None and each.rows_changed + each.rows_read > 0


def _compare_texts(own: StreamView, base: StreamView) -> Iterator[RowsOfText]:
    """Beside the base, where both are of one engine."""
    if own.candidate.engine != base.candidate.engine:
        return
    pair = PairOfStreams(own, base, "changed", lambda it: it.rows_changed)
    for digest, each in own.statements.items():
        there = base.statements.get(digest)
        if there is None or not digest or each.rows_expected:
            continue
        if _is_without_effect(each) or _is_without_effect(there):
            continue
        if each.kind in _COMPARED and each.rows_changed + there.rows_changed:
            yield pair.compare(digest)


def _has_changed_rows(counted: Sequence[StreamView]) -> bool:
    """Was a write sent, or another statement that changed rows?"""
    every = (each for it in counted for each in it.statements.values())
    return any(each.kind in WRITES or each.rows_changed for each in every)


def _describe_sound(counted: Sequence[StreamView], compared: Sequence[RowsOfText]) -> str:
    if not _has_changed_rows(counted):
        return ""
    writes = [e for it in counted for e in it.statements.values() if e.kind in WRITES]
    rows = sum(each.rows_changed for each in writes)
    told = f"{len(writes)} statements changed {rows:,} rows, as declared or as on the base"
    return told + describe_compared(compared)


AUDIT = RowsChanged()
