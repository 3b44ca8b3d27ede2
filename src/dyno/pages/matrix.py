"""Workloads × builds: a cell is the verdict of the newest run of a build on a workload, and leads
to that run. Each engine has a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dyno.compare.history.series import parse_version
from dyno.judge.analysis.effect_words import describe_word
from dyno.numbers import format_count
from dyno.pages.frame import MATRIX, SitePage, quote_key, read_template
from dyno.pages.heat import TONES
from dyno.pages.library import ListedRun
from dyno.pages.run_list import DOUBTFUL
from dyno.record.run_summary import BuildOutcome
from dyno.report.html.markup import render
from dyno.report.render.forest import MARKS

#: The newest so many builds are columns.
BUILDS_MAX = 40

Told = tuple[ListedRun, BuildOutcome]


@dataclass(frozen=True)
class BuildColumn:
    """A build: its short name, the subject of its commit, and both in whole."""

    name: str
    subject: str
    told: str


@dataclass(frozen=True)
class MatrixTable:
    """The builds of an engine by workload; a cell of a build that no run played is None. `left` is
    how many older builds have no column.
    """

    engine: str
    builds: Sequence[BuildColumn]
    rows: Sequence[tuple[str, Sequence[dict[str, object] | None]]]
    left: int


def build_matrix_page(runs: Sequence[ListedRun]) -> SitePage:
    """The page of all that is judged; `runs` are newest first."""
    told = [(run, it) for run in runs for it in run.summary.outcomes]
    engines = sorted({it.engine for _, it in told})
    tables = [_build_table(name, [it for it in told if it[1].engine == name]) for name in engines]
    cells = {(it.engine, it.workload, it.build) for _, it in told}
    return SitePage(
        title="Matrix of workloads and builds",
        heading=f"{format_count(len(cells), 'verdict')} by workload and build",
        body=render(read_template("matrix.html"), tables=tables),
        here=MATRIX,
    )


def _build_table(engine: str, told: Sequence[Told]) -> MatrixTable:
    cells: dict[tuple[str, str], list[Told]] = {}
    builds: dict[str, BuildOutcome] = {}
    for run, it in reversed(told):  # so builds stand as they were first played
        cells.setdefault((it.workload, it.build), []).append((run, it))
        if it.build not in builds or it.committed:  # which an older Dyno did not write down
            builds[it.build] = it
    ordered = sorted(builds.values(), key=lambda it: (parse_version(it.version), it.committed))
    shown = ordered[::-1][:BUILDS_MAX]
    rows = [
        (name, [_describe_cell(cells.get((name, it.build), ())) for it in shown])
        for name in sorted({it.workload for _, it in told})
    ]
    columns = [
        BuildColumn(it.build, it.subject, ", ".join(filter(None, (it.build, it.subject))))
        for it in shown
    ]
    return MatrixTable(engine, columns, rows, len(ordered) - len(shown))


def _describe_cell(told: Sequence[Told]) -> dict[str, object] | None:
    """The newest of a cell's runs, which stand oldest first."""
    if not told:
        return None
    run, it = told[-1]
    word = describe_word(it.metric, it.verdict)
    return {
        "address": quote_key(run.key),
        "mark": MARKS.get(it.verdict, "◆"),
        "word": f"{DOUBTFUL}: {word}" if it.is_doubtful else word,
        "tone": "open" if it.is_doubtful else TONES.get(it.verdict, "open"),
        "tip": f"{it.build} against {it.base}, {run.summary.created_utc}: {run.summary.sentence}",
        "runs": len(told),
    }
