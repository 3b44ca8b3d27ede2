"""Section: the hosts that played the load together, and what each did in a phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from dyno.record import ClientPart, PhaseRecord
from dyno.report import Book, Section
from dyno.report.document import Document, Prose, RowTable, make_columns

#: What the numbers are.
MEDIANS = (
    "Medians over all restarts of all candidates. A start is the last user's, after the common "
    "one; foreign CPU is not told of hosts that share their machine with others of the run."
)
_Part = tuple[PhaseRecord, ClientPart]


def build(book: Book) -> Document:
    """A row per phase and host; nothing where one driver played."""
    heads = ("users", "events/s", "busiest thread", "started after", "clock known to")
    columns = make_columns(("phase", "host"), *heads, "steal", "foreign CPU")
    rows = list(_list_rows(book))
    return [RowTable(columns, rows), Prose(MEDIANS, "quiet")] if rows else []


def _list_rows(book: Book) -> Iterator[list[str]]:
    parts: dict[tuple[str, str], list[_Part]] = {}
    for trial in book.view.counted_trials:
        for record in trial.phases:
            for part in record.clients:
                name = f"{trial.workload}/{record.phase}"
                parts.setdefault((name, part.host), []).append((record, part))
    for (phase, host), own in parts.items():
        yield [phase, host, str(own[0][1].users), *_format_numbers(own)]


def _format_numbers(own: list[_Part]) -> Iterator[str]:
    def find(value: Callable[[PhaseRecord, ClientPart], float | None]) -> float | None:
        known = [number for each in own if (number := value(*each)) is not None]
        return median(known) if known else None

    rate = find(lambda r, p: sum(p.done.values()) / r.duration_s if r.duration_s else None)
    start_ns = find(lambda r, p: max(0, p.last_began_ns - r.started_ns))
    error_ns = find(lambda r, p: max(p.clock.error_ns, p.clock_after.error_ns))
    yield _format(rate, "{:,.0f}")
    yield _format(find(lambda r, p: p.busiest_percent / r.own_share), "{:.0f} %")
    yield _format(None if start_ns is None else start_ns / 1e3, "{:,.0f} µs")
    yield _format(None if error_ns is None else error_ns / 1e3, "± {:,.0f} µs")
    yield _format(find(lambda r, p: p.stolen_percent), "{:.1f} %")
    yield _format(find(lambda r, p: p.foreign_percent), "{:.1f} %")


def _format(number: float | None, words: str) -> str:
    return "not known" if number is None else words.format(number)


SECTION = Section("Client hosts", 79, build)
