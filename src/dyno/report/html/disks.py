"""The page of a run of disks: the verdict, each job, where the time goes, what the audits found."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dyno import numbers
from dyno.record.disk import DiskFinding, DiskRun, DiskVerdict
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render
from dyno.report.html.page import PageHead, PagePart, build_page
from dyno.report.text import disks as text

_PARAGRAPHS = "{% for each in sentences %}<p>{{ each }}</p>\n{% endfor %}"
#: Each bar is a row of parts, whose widths are shares of the time.
_BARS = """
<svg viewBox="0 0 600 {{ 22 * rows | length + 4 }}" width="600" role="img"
 aria-label="where the time of a request goes">
{% for row in rows %}
<g transform="translate(0 {{ 22 * loop.index0 }})">
<text x="0" y="14" font-size="12" fill="currentColor">{{ row.name }}</text>
{% for part in row.parts %}
<rect x="{{ part.at }}" y="3" width="{{ part.width }}" height="14" fill="currentColor"
 opacity="{{ part.shade }}"><title>{{ part.why }}</title></rect>
{% endfor %}
</g>
{% endfor %}
</svg>
"""
#: Where bars begin, how wide they are, and the shade of each part.
BAR_LEFT, BAR_WIDTH, SHADES = 330.0, 260.0, (0.25, 0.45, 0.95, 0.65)


def render_disks(run: DiskRun, verdict: DiskVerdict) -> str:
    """The page as text."""
    head = PageHead(
        title=f"{run.name}: {verdict.overall or 'measured'}",
        eyebrow="Dyno disk",
        heading=run.name,
        question=run.question or "What does this disk do under a database?",
        aside=run.created_utc,
        leads=True,
    )
    parts = [_make_verdict(run, verdict), _make_jobs(run), _make_times(run)]
    parts += _make_commits(run)
    return build_page(head, [*parts, _make_audits(verdict), _make_basis(run)])


def _make_verdict(run: DiskRun, verdict: DiskVerdict) -> PagePart:
    told = [verdict.sentence]
    told += [f"Published: {it}" for it in text.describe_published(run)]
    told += [f"{it.audit}: {it.sentence}" for it in verdict.list_findings("invalid", "doubtful")]
    rows = [
        TableRow(
            row.job,
            (
                TableCell(
                    numbers.format_signed_percent(row.slowdown_percent),
                    {"slower": "low", "faster": "high"}.get(row.verdict, ""),
                ),
                TableCell(numbers.format_interval(row.low_percent, row.high_percent)),
                TableCell(row.verdict),
            ),
            row.candidate,
        )
        for row in verdict.comparisons
    ]
    title = f"Time of an operation beside {run.sides[0].name}"
    table = HtmlTable(title, "job", ("change, %", "interval", "verdict"), rows)
    return PagePart("Verdict", "verdict", _render_paragraphs(told) + build_tables([table]))


def _make_jobs(run: DiskRun) -> PagePart:
    jobs = {job.name: job for job in run.jobs}
    rows = [
        TableRow(
            each.job,
            [
                TableCell(text.format_rate(jobs[each.job], each.rate)),
                TableCell(numbers.format_quantity(each.p50, "ns")),
                TableCell(numbers.format_quantity(each.p99, "ns")),
                TableCell(numbers.format_quantity(each.sync_p50, "ns") if each.sync_p50 else ""),
                TableCell(numbers.format_percent(each.spread_percent)),
            ],
            each.side,
        )
        for each in text.summarize_jobs(run)
    ]
    heads = ("rate", "p50", "p99", "sync p50", "blocks apart")
    return PagePart("Jobs", "jobs", build_tables([HtmlTable("All jobs", "job", heads, rows)]))


def _make_times(run: DiskRun) -> PagePart:
    rows = []
    for each in text.summarize_jobs(run):
        values = each.time.parts
        whole, at, parts = sum(values) or 1.0, BAR_LEFT, []
        for name, value, shade in zip(text.PARTS, values, SHADES, strict=True):
            width = BAR_WIDTH * value / whole
            why = f"{name}: {numbers.format_quantity(value, 'ns')}"
            parts.append({"at": at, "width": width, "shade": shade, "why": why})
            at += width
        side = f", {each.side}" if len(run.sides) > 1 else ""
        rows.append({"name": f"{each.job}{side}", "parts": parts})
    told = (
        "Submit: handed to the kernel. Queue: until the kernel sends it on, and device: until it "
        "is completed, by the kernel's block events; without these the device's counters tell its "
        "time, everybody's requests included, and the queue is part of the rest: file system, "
        "interrupt and wake-up."
    )
    body = _render_paragraphs([told]) + render(_BARS, rows=rows)
    return PagePart("Where the time of a request goes", "time", body)


def _make_commits(run: DiskRun) -> list[PagePart]:
    rows = [
        TableRow(name, list(map(TableCell, cells)))
        for name, *cells in map(text.make_commit_cells, text.forecast_commits(run))
    ]
    if not rows:
        return []
    first, *heads = text.COMMIT_HEADS
    table = HtmlTable("Commits of a comparison on this disk", first, heads, rows)
    body = _render_paragraphs(text.describe_commits(run)) + build_tables([table])
    return [PagePart("What a database pays", "commits", body)]


def _make_audits(verdict: DiskVerdict) -> PagePart:
    return PagePart("Audits", "audits", _render_findings(verdict.findings))


def _render_findings(findings: Sequence[DiskFinding]) -> Markup:
    return _render_paragraphs([f"{it.audit}: {it.soundness}. {it.sentence}" for it in findings])


def _make_basis(run: DiskRun) -> PagePart:
    told = [*map(text.describe_device, run.sides), *run.notes, text.describe_basis(run)]
    return PagePart(
        "How it was measured", "basis", _render_paragraphs([*told, f"To repeat: {run.command}"])
    )


def _render_paragraphs(sentences: Sequence[str]) -> Markup:
    return render(_PARAGRAPHS, sentences=sentences)
