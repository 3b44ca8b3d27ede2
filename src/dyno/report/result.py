"""A run of any kind as formats tell it: who was compared, the one verdict, what each restart gave.

Each instrument makes one of its records (`Instrument.read_result`); a format knows no kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dyno.record import Candidate, Comparison, Metric, Verdict
from dyno.record.verdict import WORST_FIRST
from dyno.report.accepted import AcceptedLoss, find_accepted, judge_accepted
from dyno.report.document import Document, Heading, Prose, Words
from dyno.report.names import NamedRow

#: What a result may hold, and a format tell: `times` are comparisons of times and rates, `classes`
#: those of a rehearsal's statements.
Holding = Literal[
    "a verdict", "comparisons", "comparisons of times", "statement classes", "numbers"
]
#: What a run of one side holds, and one that compares times or rates.
MEASURED: frozenset[Holding] = frozenset({"a verdict", "numbers"})
COMPARED: frozenset[Holding] = MEASURED | {"comparisons", "comparisons of times"}
#: Units of durations, in s.
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
NO_VERDICT = Verdict("measured", "", True, (), (), ())
#: What a number of a table may be.
Cell = str | int | float | None


@dataclass(frozen=True)
class Result:
    """What any kind of run came to. `noun` is its kind in a sentence; `verdict` is
    `NO_VERDICT` of what has none (a server's profile).

    `question` is what was asked, `command` asks it again.
    `rows` are the comparisons that decide, with their titles, `headline` says them. `values` has
    each restart's number of a candidate in a metric, `numbers` is a table of columns and rows where
    there is more than those. `causes` say what changed, `basis` what it rests on; `document` is all
    that its report has in words. `warnings` are what one has to know first: what failed, what is
    unlike. `losses` are those that the repository accepts, `report_url` is where the report lies.
    """

    noun: str
    name: str
    headline: str
    created_utc: str = ""
    question: str = ""
    command: str = ""
    verdict: Verdict = NO_VERDICT
    sides: Sequence[Candidate] = ()
    workloads: Sequence[str] = ()
    rows: Sequence[NamedRow] = ()
    values: Mapping[tuple[str, Metric], Sequence[float]] = field(default_factory=dict)
    numbers: tuple[Sequence[str], Sequence[Sequence[Cell]]] | None = None
    causes: Sequence[str] = ()
    basis: Sequence[Words] = ()
    document: Document = ()
    warnings: Sequence[str] = ()
    losses: tuple[AcceptedLoss, ...] = ()
    report_url: str = ""

    @property
    def primaries(self) -> list[Comparison]:
        """The comparisons that a format has an entry for."""
        return [it for it in self.verdict.comparisons if it.primary]

    @property
    def overall(self) -> str:
        """The verdict's word, where accepted losses are none."""
        return judge_accepted(self.losses, self.verdict)

    @property
    def body(self) -> Document:
        """What stands below the headline: the document without the paragraph that says it again,
        and without a title that then has nothing below it.
        """
        said = self.headline
        kept = [it for it in self.document if not (isinstance(it, Prose) and it.words == said)]
        pairs = zip(kept, [*kept[1:], Heading("")], strict=True)
        return [
            it
            for it, below in pairs
            if not (isinstance(it, Heading) and isinstance(below, Heading) and not below.within)
        ]

    def is_accepted(self, row: Comparison) -> bool:
        """Return whether a row is a loss that is accepted today."""
        found = find_accepted(self.losses, row)
        return found is not None and not found.is_over

    @property
    def holdings(self) -> set[Holding]:
        """What there is to be told."""
        found: set[Holding] = {"numbers"} if self.numbers or self.values else set()
        if self.verdict is NO_VERDICT:
            return found
        if self.verdict.rehearsal:
            return found | {"a verdict", "statement classes"}
        if self.verdict.comparisons or self.verdict.overall in WORST_FIRST:
            timed = [is_timed(it.metric) for it in self.primaries]
            found |= {"comparisons", "comparisons of times"} if all(timed) else {"comparisons"}
        return found | {"a verdict"}


def find_period_s(metric: Metric) -> float | None:
    """Return the unit of time of a rate in seconds; None if smaller is better, as of no rate."""
    if metric.better != "higher":
        return None
    return 60.0 if metric.name.endswith("_per_min") else 1.0


def is_timed(metric: Metric) -> bool:
    """Return whether it is a time, or a rate, which formats tell as the time of an operation."""
    return metric.unit in SECONDS or metric.better == "higher"
