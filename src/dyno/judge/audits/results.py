"""Audit `results`: do all candidates give the same answers?

An engine that answers wrongly is not faster. Two accounts:

- Statements of the ledger without counters are asked of every candidate after the last phase, when
  nobody waits for them: checksums in the hot path would cost a client as much as the answer did.
  In a block, where all have the same seed and the same load, candidates of one engine must answer
  them with the same rows, in the order that the statement asks for: else invalid. What it leaves
  open, as a LIMIT does among ties, is not checked. Of rows that are too many for a record the exact
  checksums must agree: else doubtful. Different engines must agree in the number of rows and,
  where a record has them, in their values: else doubtful. What may be a spelling of their own is
  not checked.
- Every answer's rows are counted while they come, text by text. Where both sides were sent the same
  in the same order, any other number of rows is invalid (doubtful between different engines). Where
  either side read one whole number of rows each time, in every restart of 100 executions or more,
  so is any other average from 0.5 % on. Elsewhere a difference beyond chance (1 of 10,000 texts) is
  doubtful from 5 % on, invalid from 20 %; where work per second changes, the share of one side's
  further executions is added.
- So are the rows per query of a whole stream, since engines of other dialects are sent other texts:
  1 / √events of the side with fewer is added to both limits. Streams with fewer than 100 queries in
  a restart are judged by their texts alone.

`null` answers nothing, and is not judged. Cells that play a workload with other options are sent
other requests: only those with the same options are compared, the first of them as their base.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from dyno.answers import Answer, are_ordered, compare_answers
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    KEEPS_NOTHING,
    Case,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    keeps_data,
    list_every_case,
)
from dyno.judge.audits._rows import (
    PairOfStreams,
    RowsOfText,
    describe_compared,
    list_uncompared,
)
from dyno.judge.audits._statements import pair_streams
from dyno.record import Candidate, Evidence, Finding, Run, Soundness, Tally, Trial

QUERIES_LEAST = 100
DOUBTFUL_SHARE = 0.05
INVALID_SHARE = 0.20
#: Digits of each checksum of rows: as they came, and in any order.
HALF = 16
OTHER_RECORDS = "their checksums are of an older Dyno and of this one"
#: `1.0`, `-2.50`: a number whose fraction ends with zeros.
FRACTION = re.compile(r"^(-?\d+)(?:\.0+|(\.\d*[1-9])0+)$", re.ASCII)
NO_ROWS = "engines spell values otherwise, and the rows are too many for a record"
TOO_MANY = "the same rows in another order are too many for a record, which holds their checksums"

Rows = tuple[tuple[str | None, ...], ...]


class Results:
    """Rows of check statements, and rows per query of each stream."""

    summary = "all candidates answer the same statements with the same rows"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and statement or stream that differs; else a sound one."""
        run, trials = view.run, view.trials
        sides = {side.name: side for side in run.candidates if keeps_data(side)}
        good = [t for t in trials if t.status == "ok" and t.candidate in sides and t.block >= 0]
        compared = list(_compare_texts(view))
        findings, undecided = _compare_statements(sides, good)
        findings += [
            it.stream.case.make_finding("results", word, f"{it.stream.name}: {words}")
            for it in compared
            if it.fault
            for word, words in [it.fault]
        ]
        blamed = {it.stream.case.name for it in compared if it.fault}
        streams = _compare_streams(run, good)
        findings += [it for it in streams if not any(map(it.sentence.startswith, blamed))]
        answers = sum(bool(entry.digest) for trial in good for entry in trial.evidence)
        counted = sum(
            _compute_rows_per_query([t for _, t in s]) is not None
            for case in list_every_case(run, good)
            for s in case.streams.values()
        )
        alike = f"candidates answer alike in rows per query of {counted} streams"
        texts = describe_compared(compared)
        told = [alike + texts] if counted or texts else []
        agreed = answers - len(undecided)
        told += [f"{agreed} answers to check statements agree"] if agreed > 0 else []
        unjudged: list[Unjudged] = []
        if not sides:
            unjudged.append(Inapplicable(KEEPS_NOTHING))
        elif not counted and not texts:
            unjudged.append(Unchecked(f"no stream asked {QUERIES_LEAST} queries in a restart"))
        if sides and not answers:
            why = "no answer was checksummed: no check statement is declared"
            unjudged.append(Inapplicable(why))
        unjudged += [*dict.fromkeys(undecided), *list_uncompared(compared)]
        return conclude("results", findings, "; ".join(told), unjudged)


def _compare_texts(view: RunView) -> Iterator[RowsOfText]:
    """Each text that brought rows back on a side, beside the base's."""
    for own, base in pair_streams(view):
        if not own.is_counted or not base.is_counted or own.is_load:
            continue
        pair = PairOfStreams(own, base, "read", lambda it: it.rows_read)
        for digest, each in own.statements.items():
            there = base.statements.get(digest)
            if there and digest and each.rows_read + there.rows_read:
                yield pair.compare(digest)


def _compare_statements(
    sides: dict[str, Candidate], good: Sequence[Trial]
) -> tuple[list[Finding], list[Unchecked]]:
    """Each candidate's answers against the first of its engine, and against the base, by block:
    what differs, and what could not be decided.
    """
    faults: dict[tuple[Soundness, str], list[int]] = defaultdict(list)
    undecided: list[Unchecked] = []
    for block in _group_blocks(good):
        ordered = [block[name] for name in sides if name in block]
        for position, trial in enumerate(ordered):
            for other in (each for each in ordered[:position] if each.options == trial.options):
                same = sides[trial.candidate].engine == sides[other.candidate].engine
                where = f"{trial.workload}: {trial.candidate} and {other.candidate} answer"
                for name, soundness, words in _list_differences(trial, other, same):
                    if soundness == "not checked":
                        undecided.append(Unchecked(words, f"{where} '{name}'"))
                    else:
                        faults[soundness, f"{where} '{name}' with {words}"].append(trial.number)
    findings = [
        Finding("results", soundness, words, tuple(numbers))
        for (soundness, words), numbers in faults.items()
    ]
    return findings, undecided


def _group_blocks(good: Sequence[Trial]) -> list[dict[str, Trial]]:
    """The trials of each block's last attempt by candidate."""
    blocks: dict[tuple[str, int, int], dict[str, Trial]] = defaultdict(dict)
    for trial in good:
        blocks[trial.workload, trial.block, trial.attempt][trial.candidate] = trial
    last = {(w, b): max(a for v, c, a in blocks if (v, c) == (w, b)) for w, b, _ in blocks}
    return [found for (w, b, a), found in blocks.items() if last[w, b] == a]


def _list_differences(
    trial: Trial, other: Trial, same_engine: bool
) -> Iterator[tuple[str, Soundness, str]]:
    """The names of the statements that are answered otherwise, how bad that is, and with what."""
    theirs = {entry.name: entry for entry in other.evidence if entry.digest}
    for entry in trial.evidence:
        there = theirs.get(entry.name)
        if there is None or not entry.digest or entry.sql != there.sql:
            continue
        if entry.found != there.found:
            words = f"{entry.found} and {there.found} rows"
            yield entry.name, "invalid" if same_engine else "doubtful", words
        elif entry.digest != there.digest:
            soundness, words = _compare_rows_of(entry, there, same_engine)
            if words:
                yield entry.name, soundness, words


def _compare_rows_of(entry: Evidence, there: Evidence, same_engine: bool) -> tuple[Soundness, str]:
    """As many rows whose texts are not the same: how bad that is, and with what they differ;
    nothing where they are the same all the same. Engines pad a CHAR and a number or do not.
    """
    if not entry.rows or not there.rows:
        return _compare_digests(entry, there) if same_engine else ("not checked", NO_ROWS)
    base, own = (
        Answer(rows=it.rows if same_engine else _strip_spelling(it.rows)) for it in (there, entry)
    )
    found = compare_answers(base, own, entry.sql, kind=entry.session, same_engine=same_engine)
    if found.word == "differs":
        what = "rows in another order" if found.kind == "order" else "other values"
        soundness: Soundness = "invalid" if same_engine else "doubtful"
        return soundness, f"{what}: {found.theirs[0]} and {found.ours[0]}"
    return "not checked", "" if found.word == "same" else found.why


def _strip_spelling(rows: Rows) -> Rows:
    """Without blanks at the end, and without zeros at the end of a number's fraction."""
    return tuple(
        tuple(cell and FRACTION.sub(r"\1\2", cell.rstrip(" ")) for cell in row) for row in rows
    )


def _compare_digests(entry: Evidence, there: Evidence) -> tuple[Soundness, str]:
    if len(entry.digest) != len(there.digest):
        return "not checked", OTHER_RECORDS
    if len(entry.digest) <= HALF:
        return "invalid", "other values"
    if entry.digest[HALF:] == there.digest[HALF:]:
        is_open = not are_ordered(entry.sql, kind=entry.session)
        return "not checked", "" if is_open else TOO_MANY
    return "doubtful", "other checksums: their values differ, or their spelling"


def _compare_streams(run: Run, good: Sequence[Trial]) -> Iterator[Finding]:
    base: dict[tuple[str, ...], tuple[float, int]] = {}
    for case in sorted(
        list_every_case(run, good), key=lambda case: case.candidate.name != run.design.base
    ):
        for name, stream in case.streams.items():
            rows = _compute_rows_per_query([tally for _, tally in stream])
            if rows is None:
                continue
            own = (f"{option}={value}" for option, value in case.candidate.options.items())
            at = (case.workload, case.phase, name, *own)
            events = sum(tally.done for _, tally in stream)
            there, fewest = base.setdefault(at, (rows, events))
            chance = 1 / math.sqrt(max(1, min(events, fewest)))
            yield from _compare_rows(case, name, (rows, there), chance)


def _compare_rows(
    case: Case, stream: str, found: tuple[float, float], chance: float
) -> Iterator[Finding]:
    """The candidate's rows per query beside the base's, which chance alone may part by so much."""
    rows, base = found
    most = max(rows, base)
    share = (abs(rows - base) / most if most else 0.0) - chance
    if share > DOUBTFUL_SHARE:
        words = f"{stream} read {rows:.3g} rows per query, the base {base:.3g}"
        yield case.make_finding(
            "results", "invalid" if share > INVALID_SHARE else "doubtful", words
        )


def _compute_rows_per_query(tallies: Sequence[Tally]) -> float | None:
    """The median over the restarts; None where too few were asked."""
    asked = [tally for tally in tallies if tally.queries >= QUERIES_LEAST]
    return median(tally.rows_read / tally.queries for tally in asked) if asked else None


AUDIT = Results()
