"""A suite as a heat map: measurements down, candidates across, and for each candidate its metrics.

A cell has its number, a shape and its word; colour repeats them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dyno import numbers
from dyno.errors import UsageError
from dyno.judge.analysis.effect_words import describe_verdict, format_metric_name, is_slight_gain
from dyno.pages.frame import RUNS, SitePage, read_template
from dyno.pages.library import ListedRun
from dyno.pages.reports import read_verdict
from dyno.record import Comparison, Run, Verdict
from dyno.report.html.markup import render
from dyno.report.names import name_measurements
from dyno.report.render.forest import MARKS
from dyno.runs.run_folder import RunFolder

#: Metrics beside the primaries that are a column, those that most rows have first.
COLUMNS_MAX = 8
#: A slowdown or gain of so many times the margin has a frame.
STRONG_MARGINS = 5.0
TONES = {
    **{"slower": "worse", "faster": "better", "not slower": "alike"},
    **{"inconclusive": "open", "invalid": "worse", "doubtful": "open"},
}


@dataclass(frozen=True)
class HeatTable:
    """Rows of cells under `columns`; a cell without a number is None."""

    title: str
    head: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[dict[str, object] | None]]]
    note: str = ""


def build_heat_page(listed: ListedRun) -> SitePage:
    """The page; `UsageError` where the run cannot be read, or compares nothing."""
    if not listed.place.instrument.has_trials:
        raise UsageError(f"{listed.key} is no comparison", hint="only these have a heat map")
    run = RunFolder(listed.place.path).read_run()
    verdict = read_verdict(listed.place.path)
    tables = [_build_primaries(run, verdict), *_build_metrics(run, verdict)]
    body = render(
        read_template("heat.html"),
        base=run.design.base,
        strong=f"{STRONG_MARGINS:g}",
        complete=verdict.complete,
        tables=[table for table in tables if table.rows],
    )
    return SitePage(
        title=f"Heat map: {run.name}",
        heading=f"Heat map of {run.name}",
        question=run.question,
        body=body,
        here=RUNS,
        depth=1,
    )


def _build_primaries(run: Run, verdict: Verdict) -> HeatTable:
    """Measurements × candidates."""
    own = [row for row in verdict.comparisons if row.primary and len(row.levels) < 2]
    titles = {it.row.metric: it.title for it in name_measurements(run, own)}
    candidates = list(dict.fromkeys(row.candidate for row in own))
    cells = {(row.metric, row.candidate): _describe_cell(row) for row in own}
    several = len(run.workloads) > 1
    rows = [
        (
            f"{metric.workload}: {title}" if several and metric.workload not in title else title,
            [cells.get((metric, name)) for name in candidates],
        )
        for metric, title in titles.items()
    ]
    return HeatTable("Measurements by candidate", "measurement", candidates, rows)


def _build_metrics(run: Run, verdict: Verdict) -> list[HeatTable]:
    """For each candidate, phases × metrics: the primaries, and what was measured beside them."""
    tables = []
    for candidate in dict.fromkeys(row.candidate for row in verdict.comparisons):
        own = [r for r in verdict.comparisons if r.candidate == candidate and len(r.levels) < 2]
        counts = Counter(_name_column(row) for row in own)
        primary = list(dict.fromkeys(_name_column(row) for row in own if row.primary))
        others = [name for name, _ in counts.most_common() if name not in primary]
        columns = [*primary, *others][:COLUMNS_MAX]
        places = list(dict.fromkeys((row.metric.workload, row.metric.phase) for row in own))
        cells = {
            (row.metric.workload, row.metric.phase, _name_column(row)): _describe_cell(row)
            for row in own
        }
        rows = [
            (" / ".join(place), [cells.get((*place, name)) for name in columns]) for place in places
        ]
        note = (
            f"{', '.join(primary)} {'decides' if len(primary) == 1 else 'decide'}; the other "
            "columns stand beside, by a weaker rule."
        )
        tables.append(HeatTable(f"Metrics of {candidate}", "phase", columns, rows, note))
    return tables


def _name_column(row: Comparison) -> str:
    metric = row.metric
    return f"{metric.transaction} {format_metric_name(metric.name)}".strip()


def _describe_cell(row: Comparison) -> dict[str, object]:
    word = describe_verdict(row)
    shape = "not slower" if is_slight_gain(row) else row.verdict
    ends = numbers.format_interval(row.low_percent, row.high_percent)
    return {
        "mark": MARKS[shape],
        "size": numbers.format_signed_percent(row.slowdown_percent),
        "word": f"{word}, doubtful" if row.is_doubtful else word,
        "tone": TONES["doubtful" if row.is_doubtful else shape],
        "strong": abs(row.slowdown_percent) > STRONG_MARGINS * row.margin_percent > 0
        and row.verdict in ("slower", "faster"),
        "tip": f"{row.candidate} against {row.base}: {word}, {ends} %",
    }
