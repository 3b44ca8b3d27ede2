"""What the sections need of a run: its candidates, the trials that count, and their numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from dyno.record import Finding, Metric, PhaseRecord, Soundness, Tally, Trial
from dyno.report import Book
from dyno.report.document import TextSpan, Tone

WORST_FIRST: tuple[Soundness, ...] = (
    *("invalid", "doubtful", "not checked", "does not apply", "sound"),
)
#: In the order in which a summary counts them.
COUNTED: tuple[Soundness, ...] = (
    *("invalid", "doubtful", "sound", "not checked", "does not apply"),
)


@dataclass(frozen=True)
class StreamFacts:
    """A stream of a phase of a workload, as the tables and charts name it."""

    workload: str
    phase: str
    name: str
    unit: str

    @property
    def label(self) -> str:
        """`insert / qr100 / query`."""
        return f"{self.workload} / {self.phase} / {self.name}"


def list_streams(book: Book, workload: str) -> list[StreamFacts]:
    """Every stream that a trial of `workload` played, in the order of the phases."""
    found: dict[StreamFacts, None] = {}
    for trial in book.view.played_trials:
        if trial.workload != workload:
            continue
        for record in trial.phases:
            for tally in record.streams:
                found[StreamFacts(workload, record.phase, tally.name, tally.unit)] = None
    return list(found)


def list_all_streams(book: Book) -> list[StreamFacts]:
    return [s for workload in book.run.workloads for s in list_streams(book, workload.name)]


def collect_tallies(
    trials: Iterable[Trial], stream: StreamFacts
) -> list[tuple[Trial, PhaseRecord, Tally]]:
    """What each of `trials` did in `stream`."""
    return [
        (trial, record, tally)
        for trial in trials
        for record in trial.phases
        if trial.workload == stream.workload and record.phase == stream.phase
        for tally in record.streams
        if tally.name == stream.name
    ]


def compute_medians(book: Book, trials: Sequence[Trial]) -> dict[tuple[str, Metric], float]:
    """The median over `trials` of each number, by (candidate, metric)."""
    values: dict[tuple[str, Metric], list[float]] = defaultdict(list)
    for trial in trials:
        for metric, value in book.view.compute_numbers(trial).items():
            values[trial.candidate, metric].append(value)
    return {key: median(found) for key, found in values.items()}


def sort_worst_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: WORST_FIRST.index(f.soundness))


def count_findings(findings: Iterable[Finding]) -> dict[Soundness, int]:
    """How many there are of each word, the worst first and *sound* before what was not judged."""
    counts = Counter(finding.soundness for finding in findings)
    return {word: counts[word] for word in COUNTED if counts[word]}


def format_findings(word: Soundness, number: int) -> str:
    """`21 sound`, `11 do not apply`."""
    plural = word == "does not apply" and number > 1
    return f"{number} {'do not apply' if plural else word}"


def make_sort_key(book: Book, metric: Metric) -> tuple[int, int, str, str]:
    names = [workload.name for workload in book.run.workloads]
    phases = [p.name for w in book.run.workloads if w.name == metric.workload for p in w.phases]
    at = names.index(metric.workload) if metric.workload in names else len(names)
    phase = phases.index(metric.phase) if metric.phase in phases else len(phases)
    return at, phase, metric.transaction, metric.name


#: How an audit's word is to be taken.
TONES: dict[Soundness, Tone] = {"invalid": "bad", "doubtful": "doubt", "sound": "good"}


def tell_soundness(finding: Finding) -> TextSpan:
    return TextSpan(finding.soundness, TONES.get(finding.soundness, "quiet"))


#: More links than a reader follows.
LINKED = 8


def link_trials(numbers: Sequence[int]) -> list[str | TextSpan]:
    """The trials' numbers as links into the list of all trials, the first few of them."""
    spans: list[str | TextSpan] = []
    for n in numbers[:LINKED]:
        spans += [", "] * bool(spans) + [TextSpan(str(n), link=f"#trial-{n}")]
    if more := numbers[LINKED:]:
        spans += [" ", TextSpan(f"and {len(more)} more", why=", ".join(map(str, more)))]
    return spans
