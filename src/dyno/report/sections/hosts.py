"""Section: a gathered run by host: each host's effect and interval, and what machine it is."""

from __future__ import annotations

from collections.abc import Sequence

from dyno import numbers
from dyno.judge.analysis.sentence import describe_slices
from dyno.record import Comparison, HostEffect, Run, compute_host_score, list_share_runs
from dyno.report import Book, basis, words
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render

_TEMPLATE = """
{{ tables }}
<p class="aside">Base and candidate are compared within a host only. Each interval here is of one
host's blocks alone, and decides nothing: where several hosts played a workload, the verdict takes
each host's mean as one datum. I² is the part of the spread of these means that is not the blocks'
own.</p>
"""
#: Facts of a host that are told, by their name in its record.
FACTS = ("cpu", "cores", "memory_mb", "kernel", "virtualisation")


class _Hosts:
    title = "By host"
    place = 13

    def render(self, book: Book) -> str | None:
        """Two tables; none of a run of one host."""
        if book.run.gathered is None:
            return None
        rows = [each for each in book.verdict.comparisons if each.primary and each.hosts]
        effects = HtmlTable("Effects", "host", ["blocks", "slowdown"], list_effect_rows(rows))
        return render(_TEMPLATE, tables=build_tables([effects, build_machines(book)]))


def list_effect_rows(found: Sequence[Comparison]) -> list[TableRow]:
    """A row for each host of each primary, under its name and the spread between hosts."""
    rows = []
    for each in found:
        names = words.format_full_metric(each.metric), each.candidate, describe_heterogeneity(each)
        group = ", ".join(filter(None, names))
        for effect in each.hosts:
            rows.append(TableRow(effect.host, _format_effect(effect), group=group))
            group = ""
    return rows


def _format_effect(effect: HostEffect) -> list[TableCell]:
    size = f"{numbers.format_signed_percent(effect.slowdown_percent)} %"
    bounds = numbers.DASH
    if effect.low_percent is not None and effect.high_percent is not None:
        bounds = numbers.format_interval(effect.low_percent, effect.high_percent)
    return [TableCell(str(effect.blocks)), TableCell(size, beside=bounds)]


def describe_heterogeneity(found: Comparison) -> str:
    """`between hosts 0.8 %, I² 40 %`; empty where it is not known."""
    if found.between_hosts_percent is None or found.heterogeneity_percent is None:
        return ""
    between = numbers.format_percent(found.between_hosts_percent)
    return f"between hosts {between} (sd), I² {found.heterogeneity_percent:.0f} %"


def build_machines(book: Book) -> HtmlTable:
    """A row for each share, with its host's facts, slices, score and calibration."""
    names = {trial.share: trial.host for trial in book.view.trials}
    rows = [
        TableRow(names.get(own.share.index, own.share.host), _format_machine(own))
        for own in list_share_runs(book.run)
        if own.share
    ]
    heads = ["share", *(fact.replace("_", " ") for fact in FACTS), "slices", "score", "errors"]
    return HtmlTable("Machines", "host", heads, rows)


def _format_machine(run: Run) -> list[TableCell]:
    share = f"{run.share.index} of {run.share.of}" if run.share else ""
    score = numbers.DASH if run.survey is None else str(compute_host_score(run.survey))
    slices = describe_slices(run) or "none"
    facts = [run.host.get(fact, numbers.DASH) for fact in FACTS]
    return [TableCell(text) for text in (share, *facts, slices, score, _describe_errors(run))]


def _describe_errors(run: Run) -> str:
    known = basis.summarize_calibration(run)
    if not known.when:
        return "not calibrated"
    alarms = [each for each in known.own if not each.effect_percent]
    worst = max(alarms, key=lambda each: each.high_percent, default=None)
    told = f"{worst.slower} of {worst.comparisons} called slower" if worst else known.when
    return f"{told} (stale)" if known.stale else told


SECTION = _Hosts()
