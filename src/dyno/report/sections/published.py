"""Section: what others published, and on what, beside what was measured here, and on what."""

from __future__ import annotations

from collections.abc import Iterator

from dyno import numbers
from dyno.judge.analysis.layer_words import format_difference, name_layer
from dyno.record import Comparison, CounterDifference, Verdict, WaitDifference
from dyno.record.cause import CpuDifference
from dyno.report import Book, Section, words
from dyno.report.document import Document, Prose, RowTable, TableColumn, TableRow

ELSEWHERE = (
    "Other machine, other compiler, often other sizes: the direction may be compared, the size "
    "hardly."
)
#: What a figure's `metric` may name beside a metric: the CPU time of the engine's layers.
LAYERS = "CPU by layer"
#: Layers that a line tells, the largest differences first.
LAYERS_NAMED = 6


def build(book: Book) -> Document:
    """A row per published figure; nothing where the experiment names none."""
    figures = book.run.published
    keys = list(dict.fromkeys(key for figure in figures for key in figure))
    rows: list[TableRow] = []
    for figure in figures:
        measured = [
            *_describe_measured(figure, book.verdict),
            *_describe_causes(figure, book.verdict),
            *_describe_spread(figure, book),
        ]
        told = measured or [_say_missing(figure, book)]
        rows.append((*(figure.get(key, "") for key in keys), ";\n".join(told)))
    heads = [key.replace("_", " ") for key in keys]
    here = f"Measured here on {_describe_host(book.run.host)}. {ELSEWHERE}"
    columns = list(map(TableColumn, (*heads, "measured here")))
    return [RowTable(columns, rows), Prose(here, "quiet")] if rows else []


def _say_missing(figure: dict[str, str], book: Book) -> str:
    """Why nothing stands beside a figure: a sweep was shortened, a count is 0, nothing is known."""
    workload, metric = figure.get("workload", ""), figure.get("metric", "")
    if workload and workload not in {each.name for each in book.run.workloads}:
        return f"not played: {workload}"
    records = (record for trial in book.trials for record in trial.phases)
    counts = [it.value for record in records for it in record.readings if it.name == metric]
    if counts and not any(counts):
        return "0 on every side"
    return "nothing: not counted here, or in too few blocks"


def _describe_host(host: dict[str, str]) -> str:
    """`AMD EPYC, 2 cores, 24.1 GB`."""
    memory = host.get("memory_mb", "")
    told = [host.get("cpu", ""), f"{host['cores']} cores" if host.get("cores") else ""]
    told.append(f"{float(memory) / 1000:.1f} GB" if memory.isdigit() else "")
    return ", ".join(each for each in told if each) or "a host that told nothing of itself"


def _describe_spread(figure: dict[str, str], book: Book) -> list[str]:
    """How far the restarts of the cell lie apart that the figure's `cell` names."""
    cell = figure.get("cell")
    return [
        f"{s.restarts} restarts, {words.format_metric(s.metric)}: "
        f"range {numbers.format_percent(s.range_percent)}, "
        f"CoV {numbers.format_percent(s.cov_percent)}"
        for s in book.verdict.spread
        if s.candidate == cell
    ]


def _describe_measured(figure: dict[str, str], verdict: Verdict) -> list[str]:
    """The primaries that the figure's `workload`, `phase`, `metric`, `candidate` single out: both
    sides' own numbers, and how they differ.
    """
    return [
        f"{c.candidate}, {c.metric.phase} {words.format_metric(c.metric)}: "
        f"{' → '.join(words.format_values(c))}, slowdown {words.format_size(c)}"
        for c in verdict.comparisons
        if _is_meant(figure, c)
    ]


def _is_meant(figure: dict[str, str], comparison: Comparison) -> bool:
    metric = comparison.metric
    own = {
        "workload": metric.workload,
        "phase": metric.phase,
        "transaction": metric.transaction,
        "stream": metric.transaction,
        "metric": metric.name,
        "candidate": comparison.candidate,
    }
    asked = {key: value for key, value in figure.items() if key in own}
    if not asked or any(own[key] != value for key, value in asked.items()):
        return False
    return comparison.primary or "metric" in asked


def _describe_causes(figure: dict[str, str], verdict: Verdict) -> Iterator[str]:
    """Where the figure's `metric` names a counter, a kind of waits or the layers: what the table of
    what changed has of it.
    """
    metric = figure.get("metric")
    for cause in verdict.causes:
        for counter in cause.counters:
            if counter.counter == metric and _is_same_place(figure, counter):
                values = counter.base_value, counter.candidate_value
                told = " → ".join(numbers.format_digits(value) for value in values)
                yield f"{_name_place(counter)}: {told} {counter.unit} an operation"
        for wait in cause.waits:
            if wait.kind == metric and _is_same_place(figure, wait):
                told = " → ".join(f"{us:.2f}" for us in (wait.base_us, wait.candidate_us))
                how = "by the engine's own count" if wait.is_counted else "by samples"
                yield f"{_name_place(wait)}: {told} µs an operation, {how}"
        for cpu in cause.cpu:
            if metric == LAYERS and _is_same_place(figure, cpu):
                rows = sorted(cpu.layers, key=lambda row: -abs(row.difference_ns))
                parts = [
                    f"{name_layer(row)} {format_difference(row, cpu.total.base_ns)}"
                    for row in rows[:LAYERS_NAMED]
                ]
                whole = format_difference(cpu.total, cpu.total.base_ns)
                yield f"{_name_place(cpu)}: {whole} of CPU an operation; {', '.join(parts)}"


def _is_same_place(
    figure: dict[str, str], row: CounterDifference | WaitDifference | CpuDifference
) -> bool:
    own = {"workload": row.workload, "phase": row.phase, "candidate": row.candidate}
    return all(figure.get(key, value) == value for key, value in own.items())


def _name_place(row: CounterDifference | WaitDifference | CpuDifference) -> str:
    return f"{row.candidate}, {row.workload} {row.phase}"


SECTION = Section("Published figures", 75, build)
