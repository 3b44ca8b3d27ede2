"""Rows of each text on two sides: by exact counts where both did the same work, by an interval
where each drew its own.

The work is the same in a block that both played, where each text was sent equally often, without a
failure, in the same order: by one connection in a phase that ends by events or has a rate, whose
values come from the block's seed, or by a recorded log's connections that only read. What was
played before must have been the same, too, or have written nothing. A recorded log sends the same
in each block, so rows that differ between restarts of the base itself are no steady answer and are
left to the interval.

The interval is around the difference of two averages per execution. It is the wider of two: by the
spread of the restarts (t), and by the count of rows as if each execution drew them (z), each at
`ALPHA`. Rows that come in lots, as the greatest common divisor of all restarts' sums tells, are
counted in lots. Where a phase is not declared stationary, executions that one side has beyond the
other's may find other rows: the share of these is added.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from dyno.judge.audits._cases import Unchecked
from dyno.judge.audits._statements import WRITES, StatementOutcome, StreamView
from dyno.record import Phase, PhaseRecord, Soundness, StatementTally, Trial

#: How often a text that is the same on both sides is taken for another, at the most.
ALPHA = 1e-4
#: Averages that lie so far apart, beyond chance.
DOUBTFUL_SHARE, INVALID_SHARE = 0.05, 0.20
#: How far an average may lie from a whole number that the other side always has.
WHOLE_SHARE = 0.005
#: Executions of a restart whose average is no whole number by chance.
WHOLE_LEAST = 100
#: Executions of all restarts, where both averages are whole numbers, and different ones.
WHOLE_BOTH_LEAST = 6
_READS = frozenset({"read", "begin", "commit", "rollback"})
#: Another answer each time.
_UNSTEADY = re.compile(r"(?i)\b(?:rand\w*|uuid\w*|gen_random\w*|now|current_time\w*|sysdate)\b")


@dataclass(frozen=True)
class RowsOfText:
    """One text's rows on a side and on the base; `fault` is empty where they agree.

    `executions` of both sides were looked at; None: it could be judged by neither way.
    """

    stream: StreamView
    text: str
    fault: tuple[Soundness, str] | None
    executions: int | None
    is_exact: bool


_Table = dict[str, StatementTally]


@dataclass(frozen=True)
class PairOfStreams:
    """A stream beside the base's, and what of it both sent alike."""

    own: StreamView
    base: StreamView
    verb: str
    count: Callable[[StatementTally], int]

    @cached_property
    def _same(self) -> list[tuple[_Table, _Table]]:
        """The statements of both in each attempt at a block in which they did the same work."""
        tables = []
        theirs = {(t.block, t.attempt): at for at, t in enumerate(self.base.trials)}
        for at, trial in enumerate(self.own.trials):
            other = theirs.get((trial.block, trial.attempt))
            if other is None or not _is_same(self.own, trial, self.base.trials[other]):
                continue
            pair = (self.own.tallies[at], self.base.tallies[other])
            ours, there = ({it.digest: it for it in tally.statements} for tally in pair)
            tables.append((ours, there))
        return tables

    def compare(self, digest: str) -> RowsOfText:
        """The rows of a text that both were sent."""
        each, there = self.own.statements[digest], self.base.statements[digest]
        is_replay = _is_replay(self.own.case.plan)
        rows = {self.count(it) for it in there.counts if it}
        if self._same and not (_UNSTEADY.search(each.text) or (is_replay and len(rows) > 1)):
            pairs = [(a[digest], b[digest]) for a, b in self._same if digest in a]
            if pairs:
                return self._compare_exactly(each, pairs)
        return self._compare_averages(each, there)

    def _compare_exactly(
        self, each: StatementOutcome, pairs: Sequence[tuple[StatementTally, StatementTally]]
    ) -> RowsOfText:
        ours, theirs = (sum(self.count(pair[side]) for pair in pairs) for side in (0, 1))
        sent = sum(pair[0].sent for pair in pairs)
        fault: tuple[Soundness, str] | None = None
        if any(self.count(a) != self.count(b) for a, b in pairs):
            told = f"{each.quoted} {self.verb} {ours:,} rows in {sent:,} executions"
            same = f"{theirs:,} in the same on {self.base.candidate.name}"
            fault = ("invalid" if self._is_one_engine else "doubtful"), f"{told}, and {same}"
        return RowsOfText(self.own, each.quoted, fault, 2 * sent, True)

    @property
    def _is_one_engine(self) -> bool:
        return self.own.candidate.engine == self.base.candidate.engine

    def _compare_averages(self, each: StatementOutcome, there: StatementOutcome) -> RowsOfText:
        sides = [_count_rows(it, self.count) for it in (each, there)]
        if not all(len(executions) for executions, _ in sides):
            return RowsOfText(self.own, each.quoted, None, None, False)
        is_stationary = self.own.case.plan is not None and self.own.case.plan.stationary
        sums = [float(executions.sum()) for executions, _ in sides]
        word = judge_averages(sides, 0.0 if is_stationary else 1 - min(sums) / max(sums))
        ours, theirs = (float(rows.sum() / executions.sum()) for executions, rows in sides)
        fault: tuple[Soundness, str] | None = None
        if word:
            told = f"{ours:.3g} rows on average, {theirs:.3g} on {self.base.candidate.name}"
            fault = word, f"{each.quoted} {self.verb} {told}"
        is_judged = all(len(n) > 1 for n, _ in sides) or word is not None
        return RowsOfText(
            self.own, each.quoted, fault, round(sum(sums)) if is_judged else None, False
        )


_Side = tuple["np.ndarray[tuple[int], np.dtype[np.float64]]", ...]


def _count_rows(each: StatementOutcome, count: Callable[[StatementTally], int]) -> _Side:
    """Executions that were not refused, and their rows, in each restart that has some."""
    known = [it for it in each.counts if it and it.sent > it.failed]
    return (
        np.array([float(it.sent - it.failed) for it in known]),
        np.array([float(count(it)) for it in known]),
    )


def judge_averages(sides: Sequence[_Side], slack: float = 0.0) -> Soundness | None:
    """What the averages of two sides tell, of which so large a share may differ; None: nothing."""
    ours, theirs = (float(rows.sum() / executions.sum()) for executions, rows in sides)
    share = abs(ours - theirs) / max(ours, theirs, 1e-9) - slack
    whole = [_find_whole(n, rows) for n, rows in sides]
    fewest = min(int(n.min()) for n, _ in sides)
    in_all = min(int(n.sum()) for n, _ in sides)
    is_known = all(whole) and in_all >= WHOLE_BOTH_LEAST
    if is_known or (any(whole) and fewest >= WHOLE_LEAST):
        return "invalid" if share > WHOLE_SHARE else None
    if share <= DOUBTFUL_SHARE or not _is_beyond_chance(*sides):
        return None
    return "invalid" if share > INVALID_SHARE else "doubtful"


def _is_beyond_chance(one: _Side, other: _Side) -> bool:
    """Is the difference of two averages more than the restarts' spread and chance explain? False
    where a side has one restart only.
    """
    restarts = [len(executions) for executions, _ in (one, other)]
    if min(restarts) < 2:
        return False
    executions = [float(n.sum()) for n, _ in (one, other)]
    totals = [float(rows.sum()) for _, rows in (one, other)]
    difference = abs(totals[0] / executions[0] - totals[1] / executions[1])
    mean = sum(totals) / sum(executions)
    lot = math.gcd(*(int(it) for _, rows in (one, other) for it in rows))
    drawn = math.sqrt(mean * (lot + mean) * sum(1 / n for n in executions))
    freedom = sum(restarts) - 2
    squares = sum(float(((rows / n - (rows / n).mean()) ** 2).sum()) for n, rows in (one, other))
    spread = math.sqrt(squares / freedom * sum(1 / n for n in restarts))
    t = float(scipy.special.stdtrit(freedom, 1 - ALPHA / 2))
    return difference > max(t * spread, float(scipy.special.ndtri(1 - ALPHA / 2)) * drawn)


def _find_whole(executions: object, rows: object) -> int:
    """The whole number that each restart's average is; 0: there is none."""
    averages = set((np.asarray(rows) / np.asarray(executions)).tolist())
    first = averages.pop()
    return int(first) if not averages and first >= 1 and first.is_integer() else 0


def _is_replay(plan: Phase | None) -> bool:
    """Does it play what was recorded, connection by connection, to its end?"""
    return plan is not None and plan.stop.kind == "count" and plan.stop.events == 0


def _is_same(own: StreamView, trial: Trial, other: Trial) -> bool:
    """Did two trials do the same up to the end of the phase, with nothing left to chance?"""
    plan = own.case.plan
    if plan and plan.stop.kind != "count" and len(plan.paced) < len(plan.streams):
        return False
    theirs = {record.phase: record for record in other.phases}
    for record in trial.phases:
        there = theirs.get(record.phase)
        if there is None:
            return False
        if record.phase == own.case.phase:
            alone = sum(tally.connections for tally in record.streams) == 1
            reads = _is_reading(record) and _is_reading(there) and _is_replay(plan)
            return (alone or reads) and _is_sent_alike(record, there)
        if _is_reading(record) and _is_reading(there):
            continue
        is_load = len(record.streams) == 1 and record.streams[0].connections == 1
        if not (is_load and _is_sent_alike(record, there)):
            return False
    return False


def _is_reading(record: PhaseRecord) -> bool:
    texts = [it for tally in record.streams for it in tally.statements]
    return not any(
        it.rows_changed or it.kind in WRITES | {"ddl", "several", "batch"} for it in texts
    ) and not any(tally.rows_changed for tally in record.streams)


def _is_sent_alike(record: PhaseRecord, there: PhaseRecord) -> bool:
    theirs = {tally.name: tally for tally in there.streams}
    for tally in record.streams:
        other = theirs.get(tally.name)
        if other is None or any(it.failed or it.restarted for it in (tally, other)):
            return False
        ours, others = ({it.digest: it.sent for it in t.statements} for t in (tally, other))
        refused = any(it.failed for t in (tally, other) for it in t.statements)
        if ours != others or not ours or "" in ours or refused or tally.warmup != other.warmup:
            return False
    return len(theirs) == len(record.streams)


def list_uncompared(compared: Sequence[RowsOfText]) -> Iterator[Unchecked]:
    """The texts of which too little is known."""
    for each in compared:
        if each.executions is None and not each.stream.is_load:
            yield Unchecked("one restart tells no chance, and other work was sent", each.text)


def describe_compared(compared: Sequence[RowsOfText]) -> str:
    """`; 9 texts were compared over 4,000 executions, 7 exactly`; empty without any."""
    known = [it for it in compared if it.executions is not None]
    if not known:
        return ""
    exact = sum(it.is_exact for it in known)
    times = sum(it.executions or 0 for it in known)
    return f"; {len(known)} texts were compared over {times:,} executions, {exact} exactly"
