"""The page of a run of disks: the verdict, each job, where the time goes, what the audits found."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dyno import numbers
from dyno.record.disk import DiskRun, DiskVerdict
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render
from dyno.report.html.page import PageHead, PagePart, build_page
from dyno.report.text import disks as text

_PARAGRAPHS = "{% for each in sentences %}<p>{{ each }}</p>\n{% endfor %}"
#: The verdict, what else is told, and what is wrong or in doubt.
_FRONT = """
<p class="verdict {{ word }}">{{ sentence }}</p>
{% for each in told %}<p>{{ each }}</p>{% endfor %}
{% for it in findings %}
<p class="reason {{ it.soundness }}"><b>{{ it.soundness }}</b>, {{ it.audit }}:
{{ it.sentence }}</p>
{% endfor %}
"""
_AUDITS = """
<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">audit</th>
<th scope="col">finding</th></tr></thead><tbody>
{% for it in findings %}<tr><th scope="row">{{ it.audit }}
<small class="badge {{ it.soundness.replace(" ", "-") }}">{{ it.soundness }}</small></th>
<td>{{ it.sentence }}</td></tr>{% endfor %}
</tbody></table></div>
"""
#: Each bar has parts, whose widths are shares of the time; below its name stand their figures.
_BARS = """
<p class="legend">{% for name, colour in legend.items() %}
<span><i class="swatch c{{ colour }}"></i>{{ name }}</span>{% endfor %}</p>
{% for row in rows %}
<div class="shares"><p>{{ row.name }} <small>{{ row.figures }}</small></p>
<div role="img" aria-label="{{ row.figures }}">{% for part in row.parts %}
<i class="c{{ part.colour }}" style="width:{{ part.percent }}%" title="{{ part.why }}"></i>
{% endfor %}</div></div>
{% endfor %}
"""
#: A smaller part of a bar is not seen.
SHOWN_SHARE = 1e-3
#: The colour of each part, of those that candidates have.
COLOURS = dict(zip(text.PARTS, (2, 4, 1, 0, 3), strict=True))


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
    told = [text.describe_error_rates(verdict)]
    told += [f"Published: {it.what} ({it.source})." for it in run.published]
    invalid = not verdict.overall and verdict.list_findings("invalid")
    front = render(
        _FRONT,
        word="invalid" if invalid else (verdict.overall or "").replace(" ", "-"),
        sentence=verdict.sentence,
        told=list(filter(None, told)),
        findings=verdict.list_findings("invalid", "doubtful"),
    )
    others = len(run.sides) > 2
    rows = [
        TableRow(
            row.job,
            (
                TableCell(
                    row.verdict,
                    {"slower": "low", "faster": "high", "invalid": "low"}.get(row.verdict, ""),
                ),
                TableCell(
                    numbers.format_signed_percent(row.slowdown_percent),
                    beside=numbers.format_interval(row.low_percent, row.high_percent),
                ),
            ),
            row.candidate if others else "",
        )
        for row in verdict.comparisons
    ]
    other = "" if others or len(run.sides) < 2 else f" on {run.sides[1].name}"
    title = f"Time of an operation{other} beside {run.sides[0].name}"
    table = HtmlTable(title, "job", ("verdict", "change, % [interval]"), rows)
    body = front + build_tables([_make_published(run), table])
    return PagePart("Verdict", "verdict", body)


def _make_published(run: DiskRun) -> HtmlTable:
    """What was published, beside what was measured here."""
    rows = [
        TableRow(
            f"{it.candidate} ÷ {it.base}",
            (
                TableCell(f"{it.figure.factor:.1f}", why=it.figure.what),
                TableCell(text.format_factor(it.factor), why=f"medians of '{it.job}'"),
            ),
        )
        for it in text.list_published(run)
    ]
    return HtmlTable("Published, and here", "time of a request", ("published", "here"), rows)


def _make_jobs(run: DiskRun) -> PagePart:
    several, before = len(run.sides) > 1, ""
    rows = []
    for each in text.summarize_jobs(run):
        cells = [
            TableCell(text.format_rate(each)),
            TableCell(numbers.format_quantity(each.p50, "ns")),
            TableCell(numbers.format_quantity(each.p99, "ns")),
            TableCell(numbers.format_quantity(each.sync_p50, "ns") if each.sync_p50 else ""),
            TableCell(numbers.format_quantity(each.sync_p99, "ns") if each.sync_p99 else ""),
            TableCell(numbers.format_percent(each.spread_percent)),
        ]
        group = each.job if several and each.job != before else ""
        rows.append(TableRow(each.side if several else each.job, cells, group=group))
        before = each.job
    heads = ("rate", "p50", "p99", "sync p50", "sync p99", "blocks apart")
    head = "path" if several else "job"
    return PagePart("Jobs", "jobs", build_tables([HtmlTable("All jobs", head, heads, rows)]))


def _make_times(run: DiskRun) -> PagePart:
    rows, seen = [], set()
    for each in text.summarize_jobs(run):
        whole = sum(each.time.parts) or 1.0
        parts = [
            {
                "colour": COLOURS[name],
                "percent": f"{100.0 * value / whole:.2f}",
                "why": f"{name}: {numbers.format_quantity(value, 'ns')}",
            }
            for name, value in zip(text.PARTS, each.time.parts, strict=True)
            if value >= SHOWN_SHARE * whole
        ]
        seen |= {part["colour"] for part in parts}
        side = f", {each.side}" if len(run.sides) > 1 else ""
        figures = ", ".join(str(part["why"]) for part in parts)
        rows.append({"name": f"{each.job}{side}", "parts": parts, "figures": figures})
    told = (
        "Submit: handed to the kernel. Queue: until the kernel sends it on, and device: until it "
        "is completed, by the kernel's block events; without these the device's counters tell its "
        "time, everybody's requests included, and the queue is part of the rest: file system, "
        "interrupt and wake-up. Where no device is visible, completion is all behind the submit, "
        "by fio alone."
    )
    legend = {name: colour for name, colour in COLOURS.items() if colour in seen}
    body = _render_paragraphs([told]) + render(_BARS, rows=rows, legend=legend)
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
    return PagePart("Audits", "audits", render(_AUDITS, findings=verdict.findings))


def _make_basis(run: DiskRun) -> PagePart:
    told = [*map(text.describe_device, run.sides), *run.notes, text.describe_basis(run)]
    return PagePart(
        "How it was measured", "basis", _render_paragraphs([*told, f"To repeat: {run.command}"])
    )


def _render_paragraphs(sentences: Sequence[str]) -> Markup:
    return render(_PARAGRAPHS, sentences=sentences)
