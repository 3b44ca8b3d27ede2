"""Section: a suite's tests by group: the rate relative to the base's, what an operation cost beside
it, and where the engine chose another plan.

The form is that of the tables by which regressions are hunted through a row of versions: a glance
down one column finds the tests that stand out, the columns beside it say why.
"""

from __future__ import annotations

from itertools import groupby

from dyno import numbers
from dyno.judge.analysis.effect_words import format_metric_name
from dyno.judge.analysis.plans import compare_plans
from dyno.record import Comparison, Metric, WorkloadPlan
from dyno.report import Book, Section, facts, words
from dyno.report import document as doc

RATIOS = (
    "Rate: the candidate's over the base's, from the blocks judged; above 1 is faster. The other "
    "columns are costs of an operation, the candidate's over the base's, medians over the valid "
    "blocks, with its own beside; below 1 is cheaper."
)
COSTS = (
    *("server_cpu_us_per_op", "read_calls_per_op", "read_bytes_per_op", "write_calls_per_op"),
    *("written_bytes_per_op", "context_switches_per_op"),
)
#: Endings that tell apart when one and the same test was played.
ENDINGS = (".pre", ".post")


def build(book: Book) -> doc.Document:
    """A table per workload of grouped phases and candidate."""
    found = [
        _build_table(book, workload, candidate)
        for workload in book.run.workloads
        if any(phase.group for phase in workload.phases)
        for candidate in book.view.candidates[1:]
    ]
    return [*found, doc.Prose(RATIOS, "quiet")] if found else []


def _build_table(book: Book, workload: WorkloadPlan, candidate: str) -> doc.RowTable:
    base = book.run.design.base
    judged = {
        c.metric.phase: c
        for c in book.verdict.comparisons
        if c.primary and c.candidate == candidate and c.metric.workload == workload.name
    }
    typical = facts.compute_medians(book, book.view.list_counted(workload.name))
    costs = {(m.phase, m.name): m for _, m in typical if m.name in COSTS and not m.transaction}
    names = [name for name in COSTS if any(known == name for _, known in costs)]
    replanned = {
        it.statement
        for it in compare_plans(book.view, candidate).changes
        if it.workload == workload.name and it.kind == "between"
    }
    rows: list[doc.TableRow] = []
    grouped = sorted(workload.phases, key=lambda phase: _find_first(workload, phase.group))
    for group, phases in groupby(grouped, key=lambda phase: phase.group):
        rows += [doc.Group(group)] if group else []
        for phase in phases:
            cells = [*_format_judged(judged.get(phase.name))]
            for name in names:
                cells.append(
                    _format_cost(typical, (candidate, base), costs.get((phase.name, name)))
                )
            detail = "another plan" if _has_another_plan(phase.name, replanned) else ""
            rows.append((doc.TableCell(phase.name, detail), *cells))
    heads = ["rate", "slowdown", "verdict", *(format_metric_name(name) for name in names)]
    title = f"{workload.name}: {candidate} against {base}"
    return doc.RowTable(doc.make_columns("test", *heads), rows, title)


def _find_first(workload: WorkloadPlan, group: str) -> int:
    return next(at for at, phase in enumerate(workload.phases) if phase.group == group)


def _format_judged(found: Comparison | None) -> list[doc.Words | doc.TableCell]:
    if found is None:
        return [numbers.DASH] * 3
    relative = 1 / (1 + found.slowdown_percent / 100)
    tones: dict[str, doc.Tone] = {"slower": "bad", "faster": "good"}
    tone = tones.get(words.choose_standing(found), "")
    return [
        doc.TableCell(f"{relative:.2f}", tone=tone),
        words.format_ends(found)[1],
        words.format_verdict(found, False),
    ]


def _format_cost(
    typical: dict[tuple[str, Metric], float], sides: tuple[str, str], metric: Metric | None
) -> doc.TableCell:
    candidate, base = sides
    if metric is None or (candidate, metric) not in typical:
        return doc.TableCell(numbers.DASH)
    value, reference = typical[candidate, metric], typical.get((base, metric), 0.0)
    own = numbers.format_quantity(value, metric.unit)
    if not value or not reference:
        return doc.TableCell(own)
    return doc.TableCell(f"{numbers.format_ratio(value / reference)}×", beside=own)


def _has_another_plan(test: str, replanned: set[str]) -> bool:
    """A statement is named by the first test that plays it, with a number where it has several."""
    plain = _normalize_name(test)
    return any(_normalize_name(named.rpartition(" ")[0] or named) == plain for named in replanned)


def _normalize_name(test: str) -> str:
    return next((test.removesuffix(it) for it in ENDINGS if test.endswith(it)), test)


SECTION = Section("The suite, test by test", 11, build)
