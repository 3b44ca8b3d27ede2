"""A stream of one candidate beside the base's, restart by restart, for audits of its statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    KEEPS_NOTHING,
    NO_EVENT,
    Case,
    Inapplicable,
    Unchecked,
    Unjudged,
    keeps_data,
    list_every_case,
)
from dyno.record import Candidate, StatementKind, StatementTally, Tally, Trial

#: Statements that write rows, and do nothing else.
WRITES: frozenset[StatementKind] = frozenset({"insert", "update", "delete", "write"})
#: Letters of a statement that a sentence quotes.
QUOTED = 90
NO_PAIR = "there is one candidate, or each has options of its own"
UNCOUNTED = "an older driver did not count statements by their text"


@dataclass(frozen=True)
class StatementOutcome:
    """What became of one text in each of several restarts; None where it was not sent."""

    text: str
    kind: StatementKind
    counts: tuple[StatementTally | None, ...]

    @property
    def sent(self) -> int:
        """How often it was sent in all."""
        return sum(each.sent for each in self.counts if each)

    @property
    def answered(self) -> int:
        """Those of them that were not refused."""
        return sum(each.sent - each.failed for each in self.counts if each)

    @property
    def rows_changed(self) -> int:
        """Rows that it changed in all."""
        return sum(each.rows_changed for each in self.counts if each)

    @property
    def rows_read(self) -> int:
        """Rows that it brought back in all."""
        return sum(each.rows_read for each in self.counts if each)

    @property
    def rows_expected(self) -> int | None:
        """Rows that it must have changed; None where its script does not say."""
        known = [each.rows_expected for each in self.counts if each]
        expected = [rows for rows in known if rows is not None]
        return sum(expected) if expected else None

    @property
    def quoted(self) -> str:
        """The text, in backticks and no longer than a sentence bears."""
        text = self.text if len(self.text) <= QUOTED else f"{self.text[:QUOTED]}…"
        return f"`{text}`"


@dataclass(frozen=True)
class StreamView:
    """A stream of a case: its trials, and its tally in each of them."""

    case: Case
    name: str
    trials: tuple[Trial, ...]
    tallies: tuple[Tally, ...]

    @property
    def candidate(self) -> Candidate:
        """Whose it is."""
        return self.case.candidate

    @property
    def is_counted(self) -> bool:
        """Did the driver count its statements by their text, or were there none?"""
        told = any(each.statements or each.statements_before for each in self.tallies)
        return told or not any(each.queries for each in self.tallies)

    @property
    def is_idle(self) -> bool:
        """Was no event begun, and no statement sent?"""
        return not any(t.intended or t.statements or t.statements_before for t in self.tallies)

    @property
    def is_load(self) -> bool:
        """Is it no stream of a declared phase, but one call of a command?"""
        return self.case.plan is None

    @cached_property
    def statements(self) -> dict[str, StatementOutcome]:
        """Its statements by digest; of those beyond what the driver keeps apart, by none."""
        return _group_by_digest([each.statements for each in self.tallies])

    @cached_property
    def statements_before(self) -> dict[str, StatementOutcome]:
        """The same of `thread_init`."""
        return _group_by_digest([each.statements_before for each in self.tallies])

    def align(self, other: StreamView) -> tuple[StreamView, StreamView]:
        """Both, in the attempts at blocks that both have played: there they were sent the same. A
        block that was torn or failed has attempts of one side alone.
        """
        attempts = {(t.block, t.attempt) for t in self.trials}
        attempts &= {(t.block, t.attempt) for t in other.trials}
        return self._select_attempts(attempts), other._select_attempts(attempts)

    def _select_attempts(self, attempts: set[tuple[int, int]]) -> StreamView:
        pairs = zip(self.trials, self.tallies, strict=True)
        kept = [
            (trial, tally) for trial, tally in pairs if (trial.block, trial.attempt) in attempts
        ]
        trials, tallies = tuple(t for t, _ in kept), tuple(t for _, t in kept)
        return StreamView(self.case, self.name, trials, tallies)


def _group_by_digest(restarts: Sequence[Sequence[StatementTally]]) -> dict[str, StatementOutcome]:
    known: dict[str, StatementTally] = {}
    tables: list[Mapping[str, StatementTally]] = []
    for statements in restarts:
        tables.append({each.digest: each for each in statements})
        known |= tables[-1]
    return {
        digest: StatementOutcome(each.text, each.kind, tuple(table.get(digest) for table in tables))
        for digest, each in known.items()
    }


def list_streams(view: RunView) -> Iterator[StreamView]:
    """Every stream of every candidate in every phase, loads included; `null` changes nothing and is
    left out.
    """
    for case in list_every_case(view.run, view.trials):
        if not keeps_data(case.candidate):
            continue
        found: dict[str, list[tuple[Trial, Tally]]] = {}
        for trial in case.played:
            for record in trial.phases:
                for tally in record.streams if record.phase == case.phase else ():
                    found.setdefault(tally.name, []).append((trial, tally))
        for name, seen in found.items():
            yield StreamView(case, name, tuple(t for t, _ in seen), tuple(t for _, t in seen))


def pair_streams(view: RunView) -> Iterator[tuple[StreamView, StreamView]]:
    """Each stream beside that of the base: of the base itself, or of the first candidate with the
    same options, since others were asked for other work.
    """
    base: dict[tuple[str, ...], StreamView] = {}
    ordered = sorted(list_streams(view), key=lambda it: it.candidate.name != view.run.design.base)
    for own in ordered:
        options = (f"{name}={value}" for name, value in own.candidate.options.items())
        at = (own.case.workload, own.case.phase, own.name, *options)
        first = base.setdefault(at, own)
        if first is not own:
            yield own, first


def list_unjudged(view: RunView, known: Sequence[StreamView]) -> list[Unjudged]:
    """The cases of which nothing is known, and why; `known` are all streams of the run."""
    if not any(map(keeps_data, view.run.candidates)):
        return [Inapplicable(KEEPS_NOTHING)]
    if not known:
        return [Unchecked("no statement was sent in a trial that ended well")]
    idle: list[Unjudged] = [Unchecked(NO_EVENT, it.case.name) for it in known if it.is_idle]
    return idle + [Unchecked(UNCOUNTED, it.case.name) for it in known if not it.is_counted]
