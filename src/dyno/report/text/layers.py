"""CPU time by layer on a terminal: the whole, and the layers that changed or hold much of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dyno.judge.analysis.layer_words import format_ends, format_time
from dyno.record import Verdict
from dyno.record.cause import CpuDifference, LayerDifference

#: Layers that are told; the page has all, with their functions.
LAYERS_SHOWN = 8
#: How a word stands out.
STYLES = {"costlier": "bold red", "cheaper": "green"}


def build_layer_tables(verdict: Verdict) -> list[RenderableType]:
    """A table for each candidate's phase that changed most; nothing where none was sampled."""
    found = [cause.cpu[0] for cause in verdict.causes if cause.cpu]
    return [part for cpu in found for part in _build_table(cpu)]


def _build_table(cpu: CpuDifference) -> Iterator[RenderableType]:
    yield Text(f"CPU time of {cpu.candidate} by layer: {cpu.workload}, {cpu.phase}", style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", overflow="fold")
    for head in ("base", "candidate", "difference", "interval"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("word")
    rows = _choose_layers(cpu)
    for row in (cpu.total, *rows):
        table.add_row(*_format_cells(row, cpu.total.base_ns))
    yield table
    if (more := len(cpu.layers) - len(rows)) > 0:
        yield Text(f"and {more} further layer{'s' if more > 1 else ''} in report.html", "dim")
    yield Text()


def _choose_layers(cpu: CpuDifference) -> Sequence[LayerDifference]:
    """Those that changed first, then the largest; in the order of the record."""
    ranked = sorted(cpu.layers, key=lambda row: (row.word not in STYLES, -row.base_ns))
    kept = ranked[:LAYERS_SHOWN]
    return [row for row in cpu.layers if row in kept]


def _format_cells(row: LayerDifference, scale_ns: float) -> tuple[Text, ...]:
    times = [format_time(ns, scale_ns, further=1) for ns in (row.base_ns, row.candidate_ns)]
    times.append(format_time(row.difference_ns, scale_ns, signed=True, further=1))
    times.append(format_ends(row.low_ns, row.high_ns, scale_ns, further=1))
    return *map(Text, (row.layer, *times)), Text(row.word, style=STYLES.get(row.word, "dim"))
