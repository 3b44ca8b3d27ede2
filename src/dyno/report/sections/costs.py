"""Section: where the time went: what an operation of each phase cost the engine.

The columns are whatever the probes gave for a whole phase, and the longest answer; the form is
again the insert benchmark's, where cost per operation explains a rate.
"""

from __future__ import annotations

import math

from dyno import numbers
from dyno.judge.analysis.effect_words import format_metric_name
from dyno.judge.analysis.measures import find_client_baselines
from dyno.record import Metric, Tally
from dyno.report import Book, facts
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render

_TEMPLATE = """
{{ tables }}
<p class="aside">Medians over the valid blocks; below them candidate ÷ base. Counters are divided
by the operations of the phase, sizes are those at its end, and the longest response is that of
all trials.{% if embedded %} Engines that live in the driver's process have the driver's own CPU,
as measured without them, taken off.{% endif %}</p>
"""


class _Costs:
    title = "Cost of an operation"
    place = 62

    def render(self, book: Book) -> str | None:
        """A table per workload, a row per phase and candidate."""
        names = [w.name for w in book.run.workloads if book.view.list_counted(w.name)]
        found = [_build_costs(book, name) for name in names]
        embedded = bool(find_client_baselines(book.trials)) and any(
            c.embedded for c in book.run.candidates
        )
        return render(_TEMPLATE, tables=build_tables(found), embedded=embedded) if found else None


def _build_costs(book: Book, workload: str) -> HtmlTable:
    trials = book.view.list_counted(workload)
    numbers_of = facts.compute_medians(book, trials)
    costs = sorted({m for _, m in numbers_of if m.transaction == ""}, key=lambda m: m.name)
    names = list(dict.fromkeys(metric.name for metric in costs))
    phases = list(dict.fromkeys(stream.phase for stream in facts.list_streams(book, workload)))
    rows = []
    for phase in phases:
        own = {m.name: m for m in costs if m.phase == phase}
        for candidate in book.view.candidates:
            is_base = candidate == book.run.design.base
            base = book.run.design.base
            cells = [_format_cost(numbers_of, (candidate, base), own.get(name)) for name in names]
            cells.append(_find_longest(book, workload, phase, candidate))
            rows.append(TableRow(candidate, cells, group=phase if is_base else ""))
    columns = [*map(_format_heading, names), "max response"]
    return HtmlTable(workload, "phase", columns, rows)


def _format_heading(name: str) -> str:
    """The title says that these are costs of one operation."""
    return format_metric_name(name).removesuffix("/op")


def _format_cost(
    numbers_of: dict[tuple[str, Metric], float], sides: tuple[str, str], metric: Metric | None
) -> TableCell:
    candidate, base = sides
    if metric is None or (candidate, metric) not in numbers_of:
        return TableCell(numbers.DASH)
    value, reference = numbers_of[candidate, metric], numbers_of.get((base, metric), math.nan)
    text = numbers.format_quantity(value, metric.unit)
    if candidate == base or not reference > 0:
        return TableCell(text)
    return TableCell(text, beside=f"{numbers.format_ratio(value / reference)}×")


def _find_longest(book: Book, workload: str, phase: str, candidate: str) -> TableCell:
    found: list[Tally] = [
        tally
        for trial in book.view.list_counted(workload)
        if trial.candidate == candidate
        for record in trial.phases
        if record.phase == phase
        for tally in record.streams
    ]
    longest = max((float(tally.latency.max_ns) for tally in found), default=math.nan)
    return TableCell(numbers.format_quantity(longest, "ns"))


SECTION = _Costs()
