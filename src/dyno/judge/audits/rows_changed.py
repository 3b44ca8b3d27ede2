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
- Candidates of one engine are held against the base, text by text. Where either side changed one
  and the same whole number of rows each time, in every restart, any other average is *invalid* from
  0.5 % on. Elsewhere the average may depend on how far a candidate came (an upsert, a delete of
  what may be gone), so only a phase that is declared stationary is judged: all restarts of one side
  beyond all of the other, *doubtful* from 10 % on, *invalid* from 25 %.

A statement that returns its rows (`RETURNING`) may report none as changed. Requests of a batch and
texts of several statements are judged together, by what they changed in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Inapplicable, conclude
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
COMPARED_LEAST = 100
#: How far an average may lie from a whole number that the other side always has.
WHOLE_SHARE = 0.005
DOUBTFUL_SHARE = 0.10
INVALID_SHARE = 0.25

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
        for own, base in pair_streams(view):
            if own.is_counted and base.is_counted:
                findings += [_make_finding(own, fault) for fault in _check_against(own, base)]
        findings += [_make_finding(it, f) for it in counted for f in _find_unchanged(it, counted)]
        left = list_unjudged(view, known)
        if counted and not _has_changed_rows(counted):
            left.append(Inapplicable("no statement that writes rows was sent"))
        return conclude("rows_changed", findings, _describe_sound(counted), left)


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


def _check_against(own: StreamView, base: StreamView) -> Iterator[_Fault]:
    """Against the base, where both are of one engine."""
    if own.candidate.engine != base.candidate.engine:
        return
    is_stationary = own.case.plan is not None and own.case.plan.stationary
    for digest, each in own.statements.items():
        there = base.statements.get(digest)
        if there is None or each.rows_expected or _is_without_effect(each):
            continue
        ours, theirs = _compute_averages(each), _compute_averages(there)
        if not ours or not theirs or _is_without_effect(there):
            continue
        share = abs(_compute_average(each) - _compute_average(there)) / max(
            _compute_average(each), _compute_average(there), 1e-9
        )
        if soundness := _judge(ours, theirs, share, is_stationary):
            told = f"{_compute_average(each):.3g} rows on average, {_compute_average(there):.3g}"
            yield soundness, f"{each.quoted} changed {told} on {base.candidate.name}"


def _judge(
    ours: Sequence[float], theirs: Sequence[float], share: float, is_stationary: bool
) -> Soundness | None:
    if _are_whole(ours) or _are_whole(theirs):
        return "invalid" if share > WHOLE_SHARE else None
    apart = max(ours) < min(theirs) or max(theirs) < min(ours)
    if not (is_stationary and apart) or share <= DOUBTFUL_SHARE:
        return None
    return "invalid" if share > INVALID_SHARE else "doubtful"


def _are_whole(averages: Sequence[float]) -> bool:
    """Are all the same whole number, but 0?"""
    return averages[0] >= 1 and averages[0].is_integer() and len(set(averages)) == 1


def _compute_average(each: StatementOutcome) -> float:
    return each.rows_changed / each.answered if each.answered else 0.0


def _compute_averages(each: StatementOutcome) -> list[float]:
    """The rows changed by an execution, in each restart; none where too few were sent."""
    counts = [it for it in each.counts if it and it.sent - it.failed >= COMPARED_LEAST]
    if not each.rows_changed or any(it.kind not in WRITES | {"several", "batch"} for it in counts):
        return []
    return [it.rows_changed / (it.sent - it.failed) for it in counts]


def _has_changed_rows(counted: Sequence[StreamView]) -> bool:
    """Was a write sent, or another statement that changed rows?"""
    every = (each for it in counted for each in it.statements.values())
    return any(each.kind in WRITES or each.rows_changed for each in every)


def _describe_sound(counted: Sequence[StreamView]) -> str:
    if not _has_changed_rows(counted):
        return ""
    writes = [e for it in counted for e in it.statements.values() if e.kind in WRITES]
    rows = sum(each.rows_changed for each in writes)
    return f"{len(writes)} statements changed {rows:,} rows, as declared or as on the base"


AUDIT = RowsChanged()
